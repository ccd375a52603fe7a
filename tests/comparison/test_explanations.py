"""Sentences on a comparison: true of the scores they are made from, in plain words, each with its figure."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from larvatus.comparison.comparison import About, Candidate, Comparison
from larvatus.comparison.explanations import ASIDE
from larvatus.comparison.release_sentences import KEPT, NAMES
from larvatus.core.discovery import file_names
from larvatus.data.score import Rows, Score, Scores

ABOUT = About(100, ("x",), (), (), None, (("all", 100),), ("x",))


FOUND = "share of records found"


def attack(name: str, value: float, chance: float, s_alone: float | None = None, meaning: str = FOUND) -> Score:
    return Score(name, "risk", value, meaning, chance=chance, s_alone=s_alone, interval=(value * 0.95, min(value * 1.05, 1)))


def released(name: str, *scores: Score) -> Candidate:
    return Candidate(name, ({"method": "m"},), ("s",), (), (), 100, Scores(scores))


def said(*candidates: Candidate) -> list[tuple[str, str, str]]:
    return [(r["about"], r["release"], r["sentence"].replace("\xa0", " ")) for r in Comparison(candidates, ABOUT).explain()]


def test_a_release_at_its_baseline_is_not_beaten_for_what_s_alone_gives():
    """A unique weight finds everybody: the safe release must not look worse than the one whose values are disclosed."""
    safe = released("safe", attack("cluster_match", 1.0, 0.01, 1.0), attack("value_disclosure", 0.01, 0.01, 0.01),
                    Score("moments", "loss", 0.1))
    open_ = released("open", attack("cluster_match", 1.0, 0.01, 1.0), attack("value_disclosure", 0.8, 0.01, 0.01),
                     Score("moments", "loss", 0.0))
    bad = released("bad", attack("value_disclosure", 0.9, 0.01, 0.01), Score("moments", "loss", 0.5))
    rows = said(safe, open_, bad)
    together = [(release, text) for about, release, text in rows if about == "together"]
    assert together[0][1].startswith("The unmasked columns alone let cluster matching reach 100 %")
    assert "chance gives 1.0 %" in together[0][1]
    assert [release for release, _ in together[1:]] == ["safe", "open"]
    assert "Strongest attack: value disclosure (80.0 %, baseline 1.0 %). Loss: 0" in together[2][1]
    own = next(text for about, release, text in rows if (about, release) == ("risk", "safe"))
    assert own == "No attack beats its baseline. The highest, cluster matching, reaches 100 %; its baseline is 100 %."


@pytest.mark.parametrize("weight", [None, "weight"])
def test_the_weight_is_mentioned_only_if_there_is_one(weight):
    found = Comparison((released("a", attack("cluster_match", 1.0, 0.01, 1.0)),), replace(ABOUT, weight=weight))
    first = found.explain()[0]["sentence"]
    assert "No mask helps against that: release fewer or coarser columns" in first
    assert first.endswith("columns; group or round the weight, or do not release it." if weight else "coarser columns.")


def test_attacks_that_decide_nothing_are_told_apart():
    """Shuffled values keep totals and relations: it would not be true that no attack gains from them."""
    totals = Score("aggregate_disclosure", "risk", 1.0, "share of totals found", chance=0.0, decides=False)
    alike = Score("attribute_inference", "risk", 0.1, "share predicted", chance=0.1, decides=False)
    rows = [text for _, _, text in said(released("a", attack("nearest_record", 0.01, 0.01), totals, alike))]
    assert rows[0].startswith("No attack beats its baseline (aggregate disclosure is not counted: every useful release allows "
                              "some of it). The highest, nearest-record linkage,")
    assert rows[1].startswith("Aggregate disclosure (share of totals found) reaches 100 %; its baseline is 0.")
    assert rows[1].endswith(f". {ASIDE}")
    assert len(rows) == 2


def test_small_differences_of_s_alone_are_not_made_much_of():
    rows = said(released("a", attack("nearest_record", 0.3, 0.01, 0.05)))
    assert not any(text.startswith("The unmasked columns") for *_, text in rows)


def test_of_two_releases_that_give_nothing_away_only_the_one_that_loses_less_is_named():
    """A little more or less than chance is no difference."""
    one = released("one", attack("nearest_record", 0.0101, 0.01), Score("moments", "loss", 0.1))
    two = released("two", attack("nearest_record", 0.0099, 0.01), Score("moments", "loss", 0.3))
    together = [(release, text) for about, release, text in said(one, two) if about == "together"]
    assert together == [("one", "On the frontier: no other release has both less excess risk and less loss. No attack beats "
                         "its baseline. Loss: 0.100.")]


def test_correlations_are_not_shares():
    score = replace(attack("rank_disclosure", 0.826, 0.037, None, "agreement of ranks"), unit="correlation")
    assert "reaches 0.83, 22 times its baseline (0.04)" in said(released("a", score))[0][2]


def test_losses_say_what_is_measured_in_which_unit_and_where_most():
    columns = Rows.of([{"variable": "pay", "loss": 0.3}, {"variable": "tax", "loss": 0.1}])
    meaning = "shift of means and standard deviations, in standard deviations"
    score = Score("moments", "loss", 0.2, meaning, by_variable=columns)
    assert said(released("a", score))[0][2] == (
        f"Means and standard deviations: changed, loss 0.200 ({meaning}), largest for pay (0.300).")
    joint = Score("propensity", "loss", 0.4, "distance", by_variable=columns)
    assert "; the largest loss of a single column is 0.300 (pay)." in said(released("a", joint))[0][2]
    none = Score("marginal", "loss", 0.0, by_variable=Rows.of([{"variable": n, "loss": 0.0} for n in "ab"]))
    assert said(released("a", none))[0][2] == "The distribution of each column: unchanged."


def test_the_same_figure_gets_the_same_word():
    texts = [said(released("a", Score("moments", "loss", v)))[0][2] for v in (0.0199, 0.0201)]
    assert [re.search(r"nearly unchanged|changed", t)[0] for t in texts] == ["changed", "changed"], "both are told as 0.020"
    assert "nearly unchanged" in said(released("a", Score("moments", "loss", 0.0194)))[0][2]


def test_every_attack_and_measure_has_a_name_in_plain_words():
    assert {*file_names("larvatus.attacks"), *file_names("larvatus.measures")} <= {*NAMES}
    assert {*file_names("larvatus.measures")} <= {*KEPT}
