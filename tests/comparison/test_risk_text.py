"""Correlations are shown as correlations, shares as percentages."""

from __future__ import annotations

import pytest

import larvatus as lv
from larvatus.comparison.release_sentences import release_in_words
from larvatus.comparison.risk_text import CORRELATION_ATTACKS, risk_interval_text, risk_range_text, risk_text
from larvatus.core.discovery import file_names
from larvatus.core.number_format import NONE, SPACE
from larvatus.data.score import Score
from sample import ROLES, SECRET, people

RANKS = Score("rank_disclosure", "risk", 0.683, chance=0.03, interval=(0.65, 0.71), unit="correlation")
LINKS = Score("nearest_record", "risk", 0.683, chance=0.03)


@pytest.mark.parametrize(("score", "text"), [(RANKS, "0.68"), (LINKS, f"68.3{SPACE}%"), (None, f"68.3{SPACE}%")])
def test_a_value_follows_its_unit(score, text):
    assert risk_text(score, 0.683) == text
    assert risk_text(score, None) == NONE


def test_intervals_and_ranges_follow_the_unit():
    assert risk_interval_text(RANKS, 0.65, 0.71) == "0.65 to 0.71"
    assert risk_interval_text(LINKS, 0.65, 0.71) == f"65.0 to 71.0{SPACE}%"
    assert risk_interval_text(RANKS, None, None) == NONE
    assert risk_range_text(RANKS, [0.03, 0.5]) == "0.03 to 0.50"
    assert risk_range_text(RANKS, [0.031, 0.029]) == "0.03"
    assert risk_range_text(RANKS, []) == NONE


def test_sentences_on_a_release_follow_the_unit():
    assert "Rank disclosure reaches 0.68, 23 times its baseline" in release_in_words([RANKS], ())


def test_the_names_of_attacks_agree_with_the_units_of_their_scores():
    assert {*CORRELATION_ATTACKS} <= {*file_names("larvatus.attacks")}
    data = lv.read(people(200, missing=False), **ROLES)
    release = lv.mask(data, "additive_noise(variance=0.5)", secret=SECRET)
    scores = lv.risk(data, release, [*CORRELATION_ATTACKS, "value_disclosure"])
    assert {s.method for s in scores if s.unit == "correlation"} == {*CORRELATION_ATTACKS}
