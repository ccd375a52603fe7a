"""Targeted record swapping: what it keeps exactly, and which households it exchanges first."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from family_sample import family_file, inconsistent
from sample import SECRET

ROLES = {"confidential": ["region", "rent"], "non_confidential": ["sex", "age"], "nominal": ["region", "sex"],
         "household": "family"}


def swapped(frame: pd.DataFrame, mask: str) -> pd.DataFrame:
    return lv.mask(lv.read(frame, **ROLES), mask, secret=SECRET).frame()


def by_family(frame: pd.DataFrame, family: pd.Series, match: list[str]) -> pd.DataFrame:
    """One row per household: size, composition of the match columns, region."""
    parts = frame.assign(family=family).groupby("family")
    composition = parts.apply(lambda d: tuple(sorted(map(tuple, d[match].to_numpy().tolist()))), include_groups=False)
    return pd.DataFrame({"size": parts.size(), "composition": composition, "region": parts.region.first()})


@pytest.mark.parametrize("match", [[], ["sex"]])
def test_size_and_match_columns_by_geography_do_not_change(match):
    frame = family_file(300)
    after = swapped(frame, f"record_swap(rate=0.4, match={match!r})")
    one, other = (by_family(f, frame.family, match) for f in (frame, after))
    assert inconsistent(after, frame.family, ["region", "rent"]) == 0
    assert one.value_counts().to_dict() == other.value_counts().to_dict()
    pd.testing.assert_series_equal(frame.rent.sort_values(ignore_index=True), after.rent.sort_values(ignore_index=True))
    moved = (one.region != other.region).sum()
    assert 0 < moved <= round(0.4 * len(one))


def test_households_at_high_risk_are_exchanged_first():
    frame = family_file(300)
    after = swapped(frame, "record_swap(rate=0.3, k=3, keys=['age', 'sex'], columns=['region', 'rent'])")
    count = frame.groupby(["region", "rent", "sex", "age"]).age.transform("size")
    risky = (count < 3).groupby(frame.family).any()
    moved = ((after.rent != frame.rent) | (after.region != frame.region)).groupby(frame.family).any()
    assert moved.sum() == pytest.approx(0.3 * len(moved), abs=2)
    # all exchanged households but the partners of risky ones are risky
    assert (moved & risky).sum() >= moved.sum() / 2


def test_pairs_are_alike_and_differ_in_what_is_exchanged():
    from larvatus.stats.grouping.swap_pairs import swap_pairs

    rng = np.random.default_rng(2)
    profile, value, risky = rng.integers(0, 9, 500), rng.integers(0, 4, 500), rng.random(500) < 0.1
    words = rng.integers(0, 2**63, 500).astype(np.uint64)
    partner, failed = swap_pairs(profile, value, risky, words, 200)
    moved = partner != np.arange(500)
    assert (partner[partner] == np.arange(500)).all()
    assert (profile[partner] == profile).all()
    assert (value[partner] != value)[moved].all()
    assert moved.sum() == 200
    assert failed == 0
    assert moved[risky].all()


def test_without_partners_it_refuses():
    frame = pd.DataFrame({"family": [1, 1, 2, 3, 3, 3], "region": list("aabccc"), "sex": [1, 2, 1, 1, 2, 1]})
    data = lv.read(frame, confidential=["region"], non_confidential=["sex"], household="family")
    with pytest.raises(lv.LarvatusError, match="no household has a partner"):
        lv.mask(data, "record_swap", secret=SECRET)


def test_small_blocks_are_widened_and_counted():
    """Blocks of two by (age, sex) exchange within their age; a size that fewer than five households have does not."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"family": np.r_[np.arange(400), 400, 400], "age": np.r_[np.arange(400) // 100, 0, 0],
                          "sex": np.r_[np.arange(400) // 2, 0, 1], "region": rng.choice(list("abcd"), 402)})
    frame.loc[401, "region"] = frame.region[400]
    data = lv.read(frame, confidential=["region"], non_confidential=["age", "sex"], nominal=["region", "sex"],
                   household="family")
    release = lv.mask(data, "record_swap(rate=1, match=['age', 'sex'])", secret=SECRET)
    after = release.frame()
    by_age = [f.iloc[:400].groupby(["age", "region"]).size().to_dict() for f in (frame, after)]
    by_pair = [f.iloc[:400].groupby(["sex", "region"]).size().to_dict() for f in (frame, after)]
    assert by_age[0] == by_age[1]
    assert by_pair[0] != by_pair[1]
    assert (after.region[400:] == frame.region[400:]).all()
    said = " ".join(n.text for n in release.notes if n.kind == "warning")
    assert "with each of 400 households" in said
    assert "1 households have fewer than 5" in said


@pytest.mark.parametrize(("values", "most"), [("ab", 0.5), ("abc", 2 / 3), ("abcdefghij", 0.8)])
def test_no_record_is_exchanged_for_certain(values, most):
    """All 5,000 records are at risk and rate is 1: the share exchanged is 1 − 1/D or .8. False-alarm rate 1e-6."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"key": np.arange(5000), "area": rng.choice(list(values), 5000)})
    data = lv.read(frame, confidential=["area"], non_confidential=["key"], nominal=["area"])
    after = lv.mask(data, "record_swap(rate=1)", secret=SECRET).frame()
    moved = (after.area != frame.area).mean()
    width = 4.9 * np.sqrt(most * (1 - most) / 5000)
    assert most - 2 * width <= moved <= most + width  # a few find no partner
