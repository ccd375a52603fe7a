"""Propensity scores and differences of distribution functions: drawn, and said by rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from larvatus.comparison.headline import headlines
from larvatus.data.score import Rows, Score, Scores
from larvatus.reporting.figures.ecdf import EcdfGap, ecdf_blocks
from larvatus.reporting.figures.histograms import Histogram
from larvatus.reporting.figures.propensity import propensity_figures
from larvatus.reporting.figures.value_axis import ValueAxis
from larvatus.reporting.page.blocks import Figure, Fold

AXIS = ValueAxis((1.0, 2.0, 3.0))


def told_apart(*counts: tuple[int, int], model: str = "logit") -> Score:
    edges = [None, 0.4, 0.6, None]
    rows = [{"model": model, "low": low, "high": high, "original": a, "released": b}
            for low, high, (a, b) in zip(edges, edges[1:], counts, strict=False)]
    return Score("propensity", "loss", 0.1, details={"scores": Rows.of(rows)})


def figure(comparison, *scores: Score) -> Figure:
    made = comparison(len(scores))
    made = replace(made, candidates=tuple(replace(c, scores=Scores([s])) for c, s in zip(made.candidates, scores, strict=True)))
    (found,) = propensity_figures(headlines(made.candidates), scores)
    assert found.title in made.html()
    return found


def test_the_sentence_names_where_files_are_told_apart(comparison):
    found = figure(comparison, told_apart((80, 10), (10, 10), (10, 80)), told_apart((50, 40), (25, 30), (25, 30)))
    assert "“noise 0” is easiest to tell from the original: with the logit model, 70.0\u00a0%" in found.sentence
    assert "“noise 1” is hardest to tell (10.0\u00a0%)" in found.sentence
    assert "70.0\u00a0% differ" in found.svg


def test_alike_is_said(comparison):
    assert "have the same distribution of scores" in figure(comparison, told_apart((50, 50), (25, 25), (25, 25))).sentence


@pytest.mark.parametrize("score", [Score("propensity", "loss", 0.0), told_apart((0, 0), (0, 0), (0, 0))])
def test_nothing_to_draw_is_no_figure(comparison, score):
    assert propensity_figures(headlines(comparison(1).candidates), [score]) == []


def test_a_gap_is_the_difference_of_cumulated_shares():
    gap = EcdfGap.of(Histogram(AXIS, (0.1, 0.2, 0.3, 0.4), (0.2, 0.4, 0.2, 0.2)))
    assert gap.at == pytest.approx((0, 0.1, 0.3, 0.2, 0))
    assert (gap.largest, gap.where) == (pytest.approx(0.3), 2.0)


def test_the_largest_difference_is_said_with_its_side():
    same, low = Histogram(AXIS, (0.25,) * 4, (0.25,) * 4), Histogram(AXIS, (0.4, 0.2, 0.2, 0.2), (0.1, 0.2, 0.3, 0.4))
    drawn, table = ecdf_blocks([("a", {"x": same}), ("b", {"x": low})], ["x"], "")
    assert isinstance(drawn, Figure)
    assert isinstance(table, Fold)
    assert "x differs most in “b”: the share of records below about 1 is 30.0 percentage points smaller" in drawn.sentence
    assert "“a” has no differences." in drawn.sentence
    assert table.blocks[0].rows == (("x", "none", "−30.0\u00a0% at 1"),)


def test_no_difference_anywhere_needs_no_figure():
    same = Histogram(AXIS, (0.25,) * 4, (0.25,) * 4)
    assert ecdf_blocks([("a", {"x": same})], ["x"], "") == []
