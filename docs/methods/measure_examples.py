"""One measure on releases by several masks: what it reports as lost."""

from __future__ import annotations

import time
from typing import Any

from attack_examples import SIZES, USUAL, released
from example_data import SECRET, people
from pictures import Bar, draw_release_bars

import larvatus as lv
from larvatus.data.contracts import Measure

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
    out = []
    for n in (600, *SIZES):
        data = lv.read(people(n), record_id="person", **{k: list(v) if isinstance(v, tuple) else v for k, v in USUAL.roles})
        release = lv.mask(data, "additive_noise(variance=0.1)", secret=SECRET)
        began = time.process_time()
        lv.utility(data, release, [measure.name()])
        out.append(round(time.process_time() - began, 3))
    return out[1:]
