"""Exact totals of two releases with different sub-groups: what their differences tell, and when they tell nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

MOVED = [17, 130]


def table() -> pd.DataFrame:
    """160 records in four areas, of which two records moved from one area to another."""
    rng = np.random.default_rng(2)
    x = np.exp(rng.normal(9, 0.5, (160, 2)))
    out = pd.DataFrame({"x": x[:, 0], "y": x[:, 1], "old": np.repeat(list("abcd"), 40), "s": np.tile([0.0, 1.0], 80)})
    return out.assign(new=[{17: "b", 130: "a"}.get(i, a) for i, a in enumerate(out["old"])])


def released(area: str, mask: str, **roles: object) -> tuple[lv.Microdata, lv.Release]:
    data = lv.read(table(), **{"confidential": ["x", "y"], "sub_groups": [area], **roles})
    return data, lv.mask(data, mask, secret=SECRET, name=area)


def score(data: lv.Microdata, one: lv.Release, other: lv.Release, intruder: object = None) -> lv.Score:
    attack = lv.attacks.ExactEquations(annealed=0, branched=0)  # the order of the records is not of interest here
    return lv.risk(data, one, [attack], other_releases=[other], intruder=intruder)[0]


@pytest.mark.parametrize("mask", ["sufficiency_based", "random_orthogonal", "sufficiency_based(similarity=0.5)"])
def test_records_that_moved_are_known(mask):
    data, one = released("old", mask)
    found = score(data, one, released("new", "sufficiency_based")[1])
    assert found.records[found.by_record == 1].tolist() == MOVED
    assert found.details["exact_totals"].column("count") == [2, 0, 0]
    assert found.value == pytest.approx((2 + 158 / 40) / 160, rel=0.02)
    assert any("exact totals of the releases together give the values of 2 records" in n for n in found.notes)


def test_each_record_alone_breaks_a_check_and_an_unmoved_file_does_not():
    data, one = released("old", "sufficiency_based")
    moved, still = released("new", "sufficiency_based")[1], released("old", "random_orthogonal")[1]
    limits = {"exact_equations": {"at_most": 0.5}}
    judged = lv.check(data, one, limits, other_releases=[moved])
    assert [r["figure"] for r in judged.broken] == ["records known from totals of several releases"]
    assert judged.broken[0]["value"] == 2
    assert lv.check(data, one, limits, other_releases=[still]).meets_limits
    assert lv.check(data, one, limits).meets_limits


def test_no_effect_without_exact_totals_on_both_sides():
    data, one = released("old", "sufficiency_based")
    plain = released("new", "additive_noise(variance=4)")[1]
    exact = released("new", "sufficiency_based")[1]
    assert "exact_totals" not in score(data, one, plain).details
    assert "exact_totals" not in score(data, one, exact, {"published": "none"}).details
    assert "exact_totals" not in score(data, one, exact, {"known": ["x", "y", "old"]}).details, "not known who moved"
    over = lv.mask(lv.read(table(), confidential=["x", "y"], sub_groups=["new"]), "sufficiency_based",
                   "random_swap(rate=0.5)", secret=SECRET)
    assert "exact_totals" not in score(data, one, over).details


def test_a_redundant_column_of_s_changes_nothing():
    data, one = released("old", "sufficiency_based", non_confidential=["s"])
    found = score(data, one, released("new", "sufficiency_based", non_confidential=["s"])[1])
    assert found.details["exact_totals"].column("count") == [2, 0, 0]
