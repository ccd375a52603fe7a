"""Limits on key risk: k, l and t, the expected re-identifications, records above the threshold, and the tiers."""

from __future__ import annotations

import pandas as pd
import pytest

import larvatus as lv
from larvatus.comparison.limits import limits_of
from larvatus.comparison.limits_by_release import judge_limits
from larvatus.comparison.tiers import TIERS
from sample import SECRET

# Three classes of the key: a with 2 records, b with 3, c with 5. In class a both have the same illness.
FRAME = pd.DataFrame({
    "job": list("aabbbccccc"), "ill": ["y", "y", "y", "n", "n", "y", "n", "n", "n", "n"],
    "x": [1.0, 5, 2, 8, 4, 9, 3, 7, 6, 10], "w": [10.0] * 10,
})


@pytest.fixture(scope="module")
def scores():
    data = lv.read(FRAME, confidential=["ill", "x"], key=["job"], weight="w")
    return data, lv.risk(data, FRAME, ["key_risk"])


@pytest.mark.parametrize(("limit", "met", "value"), [
    ({"k": 2}, True, 2.0), ({"k": 3}, False, 2.0), ({"l": 1}, True, 1.0), ({"l": 2}, False, 1.0),
    ({"t": 0.6}, True, 0.6), ({"t": 0.59}, False, 0.6),  # four of ten are ill: |1 − .4| in class a
    ({"above_threshold": 0}, True, 0.0),
])
def test_counts_have_no_interval(scores, limit, met, value):
    row = limits_of({"key_risk": limit}).judge(scores[1]).rows[0]
    assert (row["met"], row["value"]) == (met, pytest.approx(value))
    assert "upper end" not in row["figure"]


def test_shares_and_re_identifications_are_judged_by_the_upper_end(scores):
    score = scores[1][0]
    high = score.interval[1]
    rows = limits_of({"key_risk": {"at_most": high - 1e-6, "re_identifications": 10 * high + 1e-6}}).judge(scores[1]).rows
    assert [r["met"] for r in rows] == [False, True]
    assert rows[1]["value"] == pytest.approx(10 * high)
    assert all("upper end" in r["figure"] for r in rows)
    assert rows[0]["reason"].endswith("because the number of persons with the same keys is estimated")
    plain = limits_of({"interval": "value", "key_risk": {"re_identifications": 10 * score.value + 1e-9}}).judge(scores[1])
    assert plain.meets_limits


def test_broken_minima_in_words_and_as_a_violation(scores):
    judged = limits_of({"key_risk": {"k": 4, "l": 1}}).judge(scores[1])
    assert judged.in_words() == "matching by key variables: smallest class (k) 2, limit at least 4"
    assert judged.violation == pytest.approx(0.5)  # two short of four


def test_other_attacks_have_no_classes():
    with pytest.raises(lv.LarvatusError, match=r"limits\.uniqueness\.k: only key_risk has that figure"):
        limits_of({"uniqueness": {"k": 3}})
    with pytest.raises(lv.LarvatusError, match="must be at least 1"):
        limits_of({"key_risk": {"k": 0}})


def test_check_runs_key_risk_for_its_limit_even_without_the_role():
    data = lv.read(FRAME, confidential=["x"], non_confidential=["job"])
    release = lv.mask(data, "additive_noise", secret=SECRET)
    found = lv.check(data, release, {"key_risk": {"k": 3}})
    assert [(r["value"], r["met"]) for r in found.rows if r["score"] == "key_risk"] == [(2.0, False)]
    compared = lv.compare(data, [release], limits={"key_risk": {"k": 3}})
    assert [r["value"] for r in compared.limit_rows()[release.name]] == [2.0]


def test_tiers_limit_the_mean_risk_of_keys(scores):
    rows = limits_of("public").judge(scores[1]).rows
    own = [r for r in rows if r["score"] == "key_risk"]
    assert [(r["limit"], r["met"]) for r in own] == [(TIERS["public"].key_risk, False)]
    stated = limits_of({"tier": "public", "key_risk": 0.5}).judge(scores[1]).rows
    assert [r["limit"] for r in stated if r["score"] == "key_risk"] == [0.5]


def test_key_risk_decides_against_its_limits_only(scores):
    """Without a limit it does not decide; with one, the other attacks are still held to the default rule."""
    data, found = scores
    assert not found[0].decides
    release = lv.mask(data, "additive_noise(columns=['x'])", "post_randomisation(columns=['ill'])", secret=SECRET)
    compared = lv.compare(data, [release], attacks=["key_risk", "uniqueness"], measures=["moments"],
                          limits={"key_risk": {"k": 2}})
    assert not judge_limits(compared).of_attacks
    assert "key_risk" not in [row["strongest attack"] for row in compared.headline()]
