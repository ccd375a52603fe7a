"""Table 1 of 000 by measurement: which technique preserves what, on data with three kinds of relation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.datasets import relations
from larvatus.papers.framework.model import Where
from larvatus.papers.framework.shortcuts import attack_once, column_number, make_releases, measure_once
from larvatus.pipeline import read

_X = ["line", "second_line", "curve", "turn"]
LINES = {("line", "second_line"), ("line", "s"), ("second_line", "s")}
CURVES = {("line", "curve"), ("second_line", "curve")}
_TURNS = {("turn", "s_squared")}
NOTHING_LEARNT, _SAME, _KEPT = 0.01, 1e-9, 0.04
TECHNIQUES: Mapping[str, Any] = {
    "noise": {"method": "additive_noise", "variance": 0.25},
    "Kim": {"method": "correlated_noise", "variance": 0.25},
    "Tendick and Matloff": {"method": "variance_preserving_noise", "variance": 0.25},
    "linear model (5)": {"method": "linear_model", "similarity": 0.5},
    "linear model (6)": {"method": "linear_model", "similarity": 0.0},
    "SBLM": {"method": "sufficiency_based", "similarity": 0.0, "insiders": 0},
    "multiple imputation": {"method": "multiple_imputation", "copies": 1},
    "micro-aggregation": {"method": "microaggregation", "k": 100},
    "swapping": {"method": "rank_swap", "window": 0.2, "tails": "two_sided", "pairs": True},
    "shuffling": "data_shuffling",
}


def techniques(seed: int, where: Where) -> dict[str, float]:
    """1 if a technique of the table preserves a property, else 0.

    Risk is minimal if the release explains less than .01 more of the variance of X than S alone. Marginals are preserved if
    every column has the same values. Sufficient statistics are preserved if means, standard deviations and correlations
    agree to 1e-9. A kind of relation is preserved if no correlation of its pairs changes by more than .04, about five
    standard errors at 4,000 records. Monotonic relations use rank correlations, non-monotonic ones correlations with s².
    """
    table = relations(4000, seed)
    data = read(table.drop_columns(["s_squared"]), confidential=_X, non_confidential="s")
    squared = read(table, confidential=_X, non_confidential=["s", "s_squared"])
    out: dict[str, float] = {}
    for name, release in make_releases(data, TECHNIQUES, seed).items():
        with_square = release.frame().append_column("s_squared", table["s_squared"])
        kept = _kept(data, release) | {"non-monotonic relationships": _largest(
            measure_once(squared, with_square, "correlation", row_order="keep"), _TURNS) < _KEPT}
        out |= {f"1/{what}/{name}": float(yes) for what, yes in kept.items()}
    return out


def _kept(data: Any, release: Release) -> dict[str, bool]:
    value = attack_once(data, release, "value_disclosure")
    correlation, ranks = measure_once(data, release, "correlation"), measure_once(data, release, "rank_correlation")
    return {
        "disclosure risk minimized": value.value - (value.s_alone or 0.0) < NOTHING_LEARNT,
        "marginal distributions": all(r["same_values"] for r in measure_once(data, release, "marginal").by_variable),
        "sufficient statistics": max(measure_once(data, release, "moments").value, correlation.value) < _SAME,
        "linear relationships": _largest(correlation, LINES) < _KEPT,
        "monotonic relationships": _largest(ranks, CURVES) < _KEPT,
    }


def _largest(score: Score, pairs: set[tuple[str, str]]) -> float:
    return max(column_number(r["loss"]) for r in score.by_pair if (r["first"], r["second"]) in pairs)
