"""Shapes and values at the edges: no failure, no empty chart, no giant file."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from larvatus.data.score import Rows, Score, Scores
from reporting.shapes import shaped


@pytest.mark.parametrize("candidates", [1, 60])
@pytest.mark.parametrize("groups", [1, 300])
@pytest.mark.parametrize("columns", [2, 40])
def test_any_shape_within_a_modest_size(comparison, parsed, candidates, groups, columns):
    html = comparison(candidates, groups, columns).html()
    assert len(html.encode()) < 5_000_000
    page = parsed(html)
    assert "nan" not in page.text.lower().split()
    assert not [attrs for attrs in page.named("rect", "circle", "line") if "nan" in attrs.values()]


def test_every_attack_and_measure_there_is_within_five_megabytes(parsed):
    """Fourteen attacks and fourteen measures of 60 releases, 300 sub-groups and 40 columns."""
    made = shaped(60, 300, 40)

    def more(scores):
        attack, measure = scores.nearest_record, scores.moments
        return Scores([*scores, *(replace(attack, method=f"attack_{i}") for i in range(11)),
                       *(replace(measure, method=f"measure_{i}") for i in range(8))])

    html = replace(made, candidates=tuple(replace(c, scores=more(c.scores)) for c in made.candidates)).html()
    assert len(html.encode()) < 5_000_000


@pytest.mark.parametrize("risk", [0.0, 1.0])
@pytest.mark.parametrize("loss", [0.0, 1e-15, 1e9])
@pytest.mark.parametrize("candidates", [1, 9])
def test_edges_of_risk_and_loss(comparison, parsed, risk, loss, candidates):
    page = parsed(comparison(candidates, risk=risk, loss=loss).html())
    assert ("100 %" if risk else " 0 %") in page.text
    assert ("The risk is 0 in every sub-group" in page.text) == (risk == 0)
    assert ("The loss is 0 in every variable" in page.text) == (loss < 1e-9)
    assert ("loss by variable" in page.text) == (loss >= 1e-9)


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.1])
def test_figures_that_are_not_there(comparison, parsed, value):
    made = comparison(2)
    rows = Rows.of({"sub_group": f"g{g}", "records": 20, "value": value, "chance": None, "low": value} for g in range(3))
    scores = Scores([
        Score("nearest_record", "risk", value, interval=(value, value), by_group=rows),
        Score("moments", "loss", value, by_group=rows, by_variable=Rows.of([{"variable": "a", "loss": value}])),
    ])
    one = replace(made.candidates[0], scores=scores)
    for candidates in ((one,), (one, made.candidates[1])):
        for edition in ("internal", "public"):
            page = parsed(replace(made, candidates=candidates).html(edition, one.name))
            assert "nan" not in page.text.lower().split()


@pytest.mark.parametrize("kept", [(), ("risk",), ("loss",)])
def test_without_attacks_or_measures_a_sentence_stands_in(comparison, parsed, kept):
    made = comparison(2)
    bare = tuple(replace(c, scores=Scores(s for s in c.scores if s.kind in kept)) for c in made.candidates)
    page = parsed(replace(made, candidates=bare).html())
    assert "no risk–utility map" in page.text
    assert ("No attack was run" in page.text) == ("risk" not in kept)
    assert ("No loss was measured." in page.text) == ("loss" not in kept)


def test_masked_elsewhere(comparison, parsed):
    made = comparison(1)
    elsewhere = replace(made, candidates=(replace(made.candidates[0], steps=(), sentences=(), publishable=()),))
    assert "masked outside larvatus" in parsed(elsewhere.html()).text
    assert "not described here" in parsed(elsewhere.html("public")).text


def test_very_long_names_fit(comparison, parsed):
    page = parsed(comparison(2, names={0: "x" * 5000}).html())
    assert "x" * 5000 in page.text
    assert "…" in page.text


def test_a_release_that_lacks_a_method_is_said_to_be_off_the_map(comparison, parsed):
    made = comparison(3)
    without = replace(made.candidates[0], scores=Scores(s for s in made.candidates[0].scores if s.kind == "loss"))
    text = parsed(replace(made, candidates=(without, *made.candidates[1:])).html()).text
    assert "1 release without a risk or a loss cannot be shown" in text


def test_only_the_worst_are_drawn_and_all_are_in_the_table(comparison, parsed):
    page = parsed(comparison(2, groups=300).html())
    assert "worst 20 of" in page.text
    assert all(page.text.count(f"region={g}, sex={g % 2} ") >= 4 for g in range(300)), "sizes, one attack, two measures"
    assert "rows are shown" not in page.text


def test_a_table_too_long_to_bear_says_what_it_leaves_out(comparison, parsed):
    page = parsed(comparison(12, groups=2000).html())
    assert "of 2,000 rows are shown" in page.text


def test_over_many_releases_a_table_gives_the_range(comparison, parsed):
    page = parsed(comparison(60, groups=300).html())
    assert "Lowest Median Highest Highest in" in page.text
    assert "Figures summarise all releases" in page.text
    assert "rows are shown" not in page.text
