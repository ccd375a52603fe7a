"""The section of certificates: its sentence, its rows, and what it compares with."""

from __future__ import annotations

from dataclasses import replace

import pytest

import larvatus as lv
from larvatus.comparison.comparison import Comparison
from larvatus.core.number_format import share, share_at_most
from larvatus.reporting.board.subject import subject_of
from larvatus.reporting.sections.certificates import certificate_hint, certificates_story, strongest_of_kind
from sample import SECRET


@pytest.fixture(scope="module")
def compared() -> Comparison:
    data = lv.read(lv.datasets.households(200), confidential=["home_value", "net_assets"], sub_groups=["gender"])
    plan = [{"name": "noise", "steps": ["additive_noise(variance=0.5)"]},
            {"name": "exact", "steps": ["sufficiency_based(similarity=0.5)"]}]
    scoring = lv.Scoring(attacks=["nearest_record", "optimal_assignment", "value_disclosure"], measures="moments", certify=True)
    return lv.compare(data, plan, scoring=scoring, secret=SECRET)


def test_every_release_has_a_row_per_intruder(compared):
    story = certificates_story(subject_of(compared))
    rows = {(r[0], r[1]): r for r in story.picture[0].rows}
    assert len(rows) == 4
    for c in compared.candidates:
        for one in c.certificates:
            row = rows[c.name, one.intruder]
            assert (row[2], row[3]) == (share_at_most(one.expected), share_at_most(one.upper))
            assert row[5] == share(strongest_of_kind(c, one.intruder).value)
    assert any("keeps equations exactly" in text for _, text in story.below[0].items)


def test_an_intruder_is_compared_with_attacks_of_its_kind(compared):
    """Only links count; the single target is not compared with attacks on the whole file."""
    noise = compared.candidates[0]
    assert strongest_of_kind(noise, "single target").method == "nearest_record"
    both = {s.method: s.value for s in noise.of_kind("risk") if s.identifies}
    assert strongest_of_kind(noise, "whole file").value == max(both.values())


def test_the_sentence_names_the_bound_and_the_attack(compared):
    story = certificates_story(subject_of(compared))
    assert story.title == "What no intruder can do"
    assert "expectation; the strongest such attack links" in story.finding or "no bound below 100" in story.finding
    hint = certificate_hint(compared.candidates[0])
    assert "no intruder who knows one person's record and the mask, and judges each released row on its own, links more" in hint
    assert hint.endswith("in expectation")
    assert certificate_hint(compared.candidates[1]) == "; no bound on links is proved"
    assert "the mask draws each record on its own" in story.beside[0].text


def test_there_is_no_section_without_certificates(compared):
    plain = replace(compared, candidates=tuple(replace(c, certificates=None) for c in compared.candidates))
    assert certificates_story(subject_of(plain)) is None
    assert certificate_hint(plain.candidates[0]) == ""
    assert "What no intruder can do" not in plain.html()
