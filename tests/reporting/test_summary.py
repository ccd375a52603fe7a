"""The table at the top: what it says in colour it says in words, and both follow from the scores."""

from __future__ import annotations

import pytest

from larvatus.comparison.excess_risk import at_baseline
from larvatus.comparison.headline import headlines
from larvatus.comparison.release_sentences import release_in_words
from larvatus.data.score import Rows, Score
from larvatus.reporting.sections.summary import glance
from reporting.pictured import pictured, with_scores

GROUPS = Rows.of({"sub_group": g, "value": 1e-17} for g in "ab")
SAME = Rows.of([{"variable": "a", "loss": 0.0, "same_values": True}])
CLEAR = Score("link", "risk", 0.02, chance=0.01, interval=(0.008, 0.03))
FOUND = Score("link", "risk", 0.3, chance=0.01, interval=(0.2, 0.4))


def test_an_attack_is_at_its_baseline_where_its_interval_reaches_it():
    assert at_baseline(CLEAR)
    assert not at_baseline(FOUND)
    assert at_baseline(Score("link", "risk", 0.01, s_alone=0.01))
    assert not at_baseline(Score("link", "risk", 0.011, s_alone=0.01))
    assert not at_baseline(Score("link", "risk", float("nan"), chance=0.5))


def test_exact_is_said_only_of_what_is_exact():
    kept = [Score("moments", "loss", 1e-16, by_group=GROUPS), Score("correlation", "loss", 0.0, by_group=GROUPS)]
    said = release_in_words([CLEAR], [*kept, Score("marginal", "loss", 0.177)])
    assert "No attack beats its baseline." in said
    assert "Unchanged, also within every sub-group: means and standard deviations, and correlations." in said
    assert "Changed (loss in brackets): the distribution of each column (0.177)." in said
    uneven = Score("moments", "loss", 1e-16, by_group=Rows.of([*GROUPS, {"sub_group": "c", "value": 0.1}]))
    assert "sub-group" not in release_in_words([], [uneven])


def test_the_same_values_are_more_than_the_same_shape():
    assert "Unchanged: the values of every column." in release_in_words([], [Score("marginal", "loss", 0.0, by_variable=SAME)])
    assert "Unchanged: the distribution of each column." in release_in_words([], [Score("marginal", "loss", 0.0)])
    said = release_in_words([], [Score("correlation", "loss", 0.01)])
    assert said == "Nearly unchanged (loss in brackets): correlations (0.010)."


def test_a_success_is_said_with_how_much_it_is_and_how_many_more_there_are():
    said = release_in_words([FOUND, Score("value", "risk", 0.9, chance=0.5, interval=(0.8, 0.95)), CLEAR], [])
    assert "Value reaches 90.0\N{NO-BREAK SPACE}%, 1.8 times its baseline" in said
    assert "1\N{NO-BREAK SPACE}other attack also beats its baseline" in said


def test_colour_follows_the_scores(comparison):
    made = pictured(comparison(3))
    table = glance(made.candidates, headlines(made.candidates))[0]
    depths = {name: [c.depth for c in cells if c.tone == "risk"] for name, cells in table.rows}
    assert depths["noise 2"] == [0.0, 0.0]
    assert min(depths["noise 0"]) > 0.4
    losses = {name: [c.text for c in cells if c.tone == "loss"] for name, cells in table.rows}
    assert set(losses["noise 2"]) == {"exact"}
    assert "On “noise 2” no attack beats its baseline" in table.sentence
    assert sum(wide for _, wide in table.spans) == len(table.columns) == len(table.rows[0][1])


@pytest.mark.parametrize("many", [1, 6, 7, 60])
def test_words_for_few_and_a_table_for_all(comparison, parsed, many):
    text = parsed(pictured(comparison(many)).html()).text
    assert text.count("the values of every column") == 2, "at a glance, and on the page of that release"
    assert "At a glance" in text


def test_nothing_at_a_glance_without_scores(comparison):
    assert "At a glance" not in with_scores(comparison(1)).html()


def test_risks_that_no_useful_release_is_without_do_not_decide():
    import larvatus as lv
    from sample import ROLES, SECRET, people

    data = lv.read(people(300), **ROLES)
    releases = [lv.mask(data, step, secret=SECRET) for step in ("sufficiency_based", "additive_noise")]
    found = lv.compare(data, releases, ["aggregate_disclosure", "attribute_inference", "nearest_record"], ["moments"])
    assert [row["strongest attack"] for row in found.headline()] == ["nearest_record"] * 2
