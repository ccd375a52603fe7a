"""One measure on releases by several masks: what it reports as lost."""

from __future__ import annotations

from typing import Any

from attack_examples import SIZES, USUAL, read_people, released
from example_data import SECRET, processor_seconds
from pictures import Bar, draw_release_bars

import larvatus as lv
from larvatus.data.contracts import Measure
from larvatus.data.microdata import Microdata

RELEASES = ("additive_noise(variance=0.1)", "correlated_noise(variance=0.5)", "rank_swap(window=0.1)", "random_swap(rate=0.5)",
            "microaggregation(k=5)", "rounding(base=10)", "sufficiency_based", "data_shuffling", "normal_model")


def measure_example(measure: type[Measure]) -> tuple[str, dict[str, Any]]:
    """The picture of a measure as SVG, and its figures."""
    bars = []
    for steps in RELEASES:
        data, release = released(USUAL.roles, steps)
        score = lv.utility(data, release, [measure.name()])[0]
        bars.append(Bar(steps, float(f"{score.value:.4g}")))
    drawn = draw_release_bars(measure.name(), bars, False, "loss", "loss, 0 is best")
    return drawn, {"releases": [[b.name, b.value] for b in bars]}


def measure_seconds(measure: type[Measure]) -> list[float]:
    """Processor seconds of the measure on two file sizes, after a first run that compiles."""
    return [_seconds(measure, read_people(USUAL.roles, n)) for n in SIZES]


def _seconds(measure: type[Measure], data: Microdata) -> float:
    """The shorter of two runs: the first one may compile."""
    release = lv.mask(data, "additive_noise(variance=0.1)", secret=SECRET)
    return round(min(processor_seconds(lambda: lv.utility(data, release, [measure.name()])) for _ in range(2)), 3)
