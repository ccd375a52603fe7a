"""Scores with everything that is drawn, in any shape."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from larvatus.comparison.comparison import Comparison
from larvatus.core.number_format import Cell
from larvatus.data.score import Row, Rows, Score, Scores

FEW_ORIGINAL = 7321  # stands for a count that must not be public
EDGES = [0.0, 1.0, 2.0, 3.0, 4.0]
TITLES = (
    "Original and released distributions", "Scatter plots of the pairs", "Correlations: original, released and difference",
    "Rank correlations: original, released and difference", "Change in rank", "interval for an original value",
)


def histogram(variable: str, place: str, released: Sequence[Cell], original: Sequence[Cell] | None = None) -> list[Row]:
    edges = EDGES[: len(released) - 1]
    before = original or [40, 60, FEW_ORIGINAL, 60, 40, 20][: len(released)]
    return [
        {"variable": variable, "sub_group": place, "low": low, "high": high, "original": a, "released": b}
        for low, high, a, b in zip([None, *edges], [*edges, None], before, released, strict=True)
    ]


def losses(names: Sequence[str], groups: Sequence[tuple[str, int]], draw: random.Random, exact: bool) -> list[Score]:
    lost = 0.0 if exact else 0.2
    by_variable = Rows.of({"variable": n, "loss": lost, "same_values": exact} for n in names)
    by_group = Rows.of({"sub_group": g, "records": size, "value": lost} for g, size in groups)
    places = ["all records", *(g for g, _ in groups[:3])]
    counts = [40, 60, FEW_ORIGINAL, 60, 40, 20]
    bins = [r for n in names for p in places
            for r in histogram(n, p, counts if exact else [draw.randrange(10, 900) for _ in counts])]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    moved: list[Row] = [
        {"first": a, "second": b, "loss": lost, "original": 0.5, "released": 0.5 - lost * draw.random()} for a, b in pairs
    ]
    grid: list[Row] = [
        {"first": a, "second": b, "x_low": x, "x_high": EDGES[i + 1] if i < 4 else None, "y_low": None, "y_high": EDGES[0],
         "original": draw.randrange(1, 50), "released": draw.randrange(1, 50)}
        for a, b in pairs[:3] for i, x in enumerate(EDGES)
    ]
    return [
        Score("correlation", "loss", lost / 2, by_pair=Rows.of(moved), by_group=by_group),
        Score("rank_correlation", "loss", lost / 2, by_pair=Rows.of(moved)),
        Score("marginal", "loss", lost, by_variable=by_variable, by_group=by_group),
        Score("distributions", "loss", lost, by_variable=by_variable, by_group=by_group, details={"histogram": Rows.of(bins)}),
        Score("scatter", "loss", lost, by_pair=Rows.of(moved), details={"grid": Rows.of(grid)}),
    ]


def risks(names: Sequence[str], groups: Sequence[tuple[str, int]], value: float) -> list[Score]:
    widths = [{"sub_group": p, **dict.fromkeys(names, 1 - value)} for p in ("all records", *(g for g, _ in groups))]
    ranks = [{"from": low, "to": top, **dict.fromkeys(names, 100)} for low, top in ((0, 0), (1, 5), (6, 50), (51, 500))]
    by_variable = Rows.of({"variable": n, "value": value, "chance": 0.02} for n in names)
    ends = (max(0.0, value - 0.03), value + 0.03)
    return [
        Score("value_disclosure", "risk", value, chance=0.02, interval=ends, by_variable=by_variable,
              details={"interval_width": Rows.of(widths)}),
        Score("rank_disclosure", "risk", value, chance=0.02, interval=ends, details={"rank_change": Rows.of(ranks)}),
    ]


def pictured(made: Comparison) -> Comparison:
    """The same comparison with scores that can be drawn; the last release is at its baselines and keeps every value."""
    draw = random.Random(2)
    names, groups = made.about.confidential, made.about.group_sizes
    last = len(made.candidates) - 1
    return replace(made, candidates=tuple(
        replace(c, scores=Scores([*risks(names, groups, 0.02 if i == last else 0.6), *losses(names, groups, draw, i == last)]))
        for i, c in enumerate(made.candidates)
    ))


def with_scores(made: Comparison, *scores: Score) -> Comparison:
    return replace(made, candidates=(replace(made.candidates[0], scores=Scores(scores)),))
