"""Distributions, scatter plots, correlations, ranks and intervals as figures: there where there is something to draw."""

from __future__ import annotations

import math
import re

import pytest

from larvatus.data.score import Rows, Score
from larvatus.reporting.figures.histograms import cumulate, histograms_of
from larvatus.reporting.figures.scatter_grids import select_pairs
from larvatus.reporting.figures.value_axis import ValueAxis, short
from reporting.pictured import FEW_ORIGINAL, TITLES, histogram, pictured, with_scores

NASTY = '<script>alert("x")</script> & "name"'


def hist(*rows) -> Score:
    return Score("distributions", "loss", 0.1, details={"histogram": Rows.of(rows)})


def test_every_figure_is_there_and_raw_rows_are_not(comparison, parsed):
    page = parsed(pictured(comparison(4)).html())
    for title in TITLES:
        assert title in page.text, title
    assert "x low" not in page.text.lower()
    assert f"{FEW_ORIGINAL:,}" not in page.text, "bins are drawn, not printed"


@pytest.mark.parametrize("lacking", [None, "details", "rows"])
def test_no_figure_without_something_to_draw(comparison, parsed, lacking):
    made = comparison(1)
    methods = ("distributions", "scatter", "correlation", "rank_correlation")
    names = ("histogram", "grid") if lacking else ()
    row = Rows.of([{"variable": None}]) if lacking == "rows" else Rows()
    scores = [Score(m, "loss", 0.1, by_pair=row, details=dict.fromkeys(names, row)) for m in methods]
    scores += [Score(m, "risk", 0.1, details=dict.fromkeys(("rank_change", "interval_width"), row))
               for m in ("rank_disclosure", "value_disclosure")]
    html = with_scores(made, *scores).html()
    assert not [title for title in TITLES if title in html]


@pytest.mark.parametrize("odd", [None, math.nan, math.inf, -5, 0, "many"])
def test_odd_cells_are_passed_over(comparison, parsed, odd):
    bins = histogram("income_0", "all records", [odd, 60, odd, 60, 40, 20], [odd, 5, 6, 7, 8, 9])
    edge = [{**bins[0], "variable": "b", "high": odd}, {**bins[1], "variable": "b"}]
    cell = {"first": "a", "second": "b", "x_low": odd, "x_high": 1.0, "y_high": odd, "original": 3, "released": odd}
    pair = {"first": "a", "second": "b", "loss": odd, "original": 0.1, "released": odd}
    ranks, width = {"from": 0, "to": 5, "a": odd, "b": 3}, {"sub_group": "all records", "a": odd, "b": 0.5}
    made = with_scores(
        comparison(1), hist(*bins, *edge), Score("correlation", "loss", 0.1, by_pair=Rows.of([pair])),
        Score("scatter", "loss", 0.1, by_pair=Rows.of([pair]), details={"grid": Rows.of([cell, {**cell, "released": 4}])}),
        Score("rank_disclosure", "risk", 0.1, details={"rank_change": Rows.of([ranks, {**ranks, "to": 10}])}),
        Score("value_disclosure", "risk", 0.1, details={"interval_width": Rows.of([width])}),
    )
    for edition in ("internal", "public"):
        html = made.html(edition)
        assert not re.search(r'="[^"]*\b(nan|inf)\b', html), edition


@pytest.mark.parametrize(("candidates", "groups", "columns"), [(1, 1, 2), (2, 6, 40), (60, 300, 40)])
def test_any_shape_stays_modest(comparison, parsed, candidates, groups, columns):
    html = pictured(comparison(candidates, groups, columns)).html()
    assert len(html.encode()) < 5_000_000
    if columns == 40:
        assert "the 6 of 40" in html
        assert "the 15 of 40" in html
    if candidates == 60:
        assert "of 60 releases, chosen from" in html


def test_names_in_figures_are_text(comparison):
    bins = [{**r, "variable": NASTY} for r in histogram("", "all records", [20, 30, 40, 50, 60, 70])]
    inside = [{**r, "sub_group": NASTY} for r in bins]
    pair = {"first": NASTY, "second": "b", "loss": 0.2, "original": 0.4, "released": 0.2}
    cell = {"first": NASTY, "second": "b", "x_high": 1.0, "y_high": 2.0, "original": 3, "released": 4}
    made = with_scores(
        comparison(1, names={0: NASTY}), hist(*bins, *inside), Score("correlation", "loss", 0.1, by_pair=Rows.of([pair])),
        Score("scatter", "loss", 0.1, by_pair=Rows.of([pair]), details={"grid": Rows.of([cell])}),
        Score("rank_disclosure", "risk", 0.1, details={"rank_change": Rows.of([{"from": 0, "to": 5, NASTY: 4}])}),
        Score("value_disclosure", "risk", 0.1, details={"interval_width": Rows.of([{"sub_group": "all records", NASTY: 0.5}])}),
    )
    html = made.html()
    assert "<script>alert" not in html
    assert html.count("<script") == 1
    assert all(title in html for title in TITLES if not title.startswith("Rank"))


def test_a_histogram_is_read_as_shares():
    found = histograms_of(hist(*histogram("a", "all records", [10, 10, 20, 40], [20, 20, 20, 20])))["all records"]["a"]
    assert found.original == (0.25, 0.25, 0.25, 0.25)
    assert found.released == (0.125, 0.125, 0.25, 0.5)
    assert found.share_moved == 0.25
    assert cumulate(found.released) == (0.0, 0.125, 0.25, 0.5, 1.0)
    assert found.heights(found.original) == pytest.approx(found.original), "bins of equal width: shares are heights"


def test_a_wider_bin_is_lower_for_the_same_share():
    rows = histogram("a", "all records", [10, 10, 10, 10])
    rows[2], rows[3] = {**rows[2], "high": 4.0}, {**rows[3], "low": 4.0}
    heights = histograms_of(hist(*rows))["all records"]["a"]
    drawn = heights.heights(heights.released)
    assert drawn[1] == pytest.approx(3 * drawn[2])


def test_an_axis_is_to_scale_unless_bins_widen_strongly():
    even, wide = ValueAxis((0.0, 1.0, 3.0)), ValueAxis((0.0, 1.0, 10.0))
    assert even.at(2.0) == pytest.approx((2.0 + 1.0) / 6.0)
    assert not even.widens
    assert wide.widens
    assert wide.ends == (0.0, 0.25, 0.5, 0.75, 1.0)


@pytest.mark.parametrize("edges", [
    (), (0.5,), (1.5, 2.5, 3.5), (-1e6, 0.0, 5e6), (1e-7, 2e-7), tuple(2.0**k for k in range(30)),
])
def test_ticks_lie_between_the_outer_edges_and_differ(edges):
    ticks = ValueAxis(edges).ticks()
    assert all(0 <= part <= 1 for part, _ in ticks)
    assert len({said for _, said in ticks}) == len(ticks)
    assert bool(ticks) == bool(edges)


@pytest.mark.parametrize(("value", "said"), [
    (0, "0"), (350_000, "350k"), (1_250_000, "1.25M"), (-2.5, "−2.5"), (0.05, "0.05"), (1e-5, "1e−05"), (100, "100"),
    (999.9, "1k"),
])
def test_short_values(value, said):
    assert short(value) == said


def test_every_release_gets_a_pair_of_its_own():
    one, other = {("a", "b"): 1, ("a", "c"): 1}, {("d", "e"): 1}
    assert ("d", "e") in select_pairs([one, one, other], 2)
