"""Swaps and groups of tables with columns that are empty, constant, tied, or have one name only."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

MASKS = ["random_swap(rate=0.5)", "random_swap(rate=1.0, together=true)", "rank_swap(window=0.1)",
         "rank_swap(window=0.1, tails=\"two_sided\")", "rank_swap(window=0.1, distance=\"distribution\")",
         "microaggregation", "microaggregation(grouping=\"fixed\")", "microaggregation(grouping=\"optimal\")",
         "microaggregation(grouping=\"projection\", centre=\"median\")"]


@pytest.mark.parametrize("engine", ["memory", "pieces"])
@pytest.mark.parametrize("mask", MASKS)
def test_odd_columns_come_through_and_the_others_are_masked(mask, engine):
    rng = np.random.default_rng(1)
    odd = pd.DataFrame({
        "empty": np.nan, "flat": 0.1, "one": np.where(np.arange(60) == 5, 1.0, 0.0), "huge": rng.normal(size=60) * 1e300,
        "tiny": rng.normal(size=60) * 1e-300, "x": rng.normal(size=60),
        "few": np.where(np.arange(60) < 30, np.nan, rng.random(60)),
    })
    after = lv.mask(lv.read(odd, confidential=list(odd), engine=engine), mask, secret=SECRET).frame()
    assert after.isna().equals(odd.isna())
    assert (after.flat == 0.1).all()
    for name in ("huge", "tiny", "x", "few"):
        assert not after[name].equals(odd[name])
        assert np.isfinite(after[name].dropna()).all()
    if "swap" in mask:
        for name in odd:
            assert sorted(after[name].dropna()) == sorted(odd[name].dropna())


def test_a_column_of_one_name_and_one_that_is_nearly_empty():
    odd = pd.DataFrame({"one": ["a"] * 30, "rare": [*"efghi", *[None] * 25], "job": ["b", "c", "d"] * 10})
    after = lv.mask(lv.read(odd, confidential=["one", "rare", "job"]), "random_swap(rate=1.0)", secret=SECRET).frame()
    assert (after.one == "a").all()
    assert sorted(after.rare[:5]) == list("efghi")
    assert (after.rare[:5] != odd.rare[:5]).all()
    assert after.rare[5:].isna().all()
    assert sorted(after.job) == sorted(odd.job)
    assert (after.job != odd.job).any()
    two = odd.assign(rare=["e", "f", *[None] * 28])
    with pytest.raises(lv.LarvatusError, match="'rare' has 2 values in the whole file, and 5 are needed"):
        lv.mask(lv.read(two, confidential=["one", "rare", "job"]), "random_swap(rate=1.0)", secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="would equal the original"):
        lv.mask(lv.read(odd[["one"]], confidential=["one"]), "random_swap", secret=SECRET)
