"""Every release says how much of it was changed, column by column where some was not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

M = lv.masks
TABLE = pd.DataFrame({
    "x": np.random.default_rng(2).permutation(np.arange(60.0)) * 7 + 1, "still": [5.0] * 60, "empty": [np.nan] * 60,
    "y": np.arange(60.0) * 3 + 1,
})


def said(step: object, confidential: list[str]) -> dict[str, str]:
    return {n.text: n.kind for n in lv.mask(lv.read(TABLE, confidential=confidential), step, secret=SECRET).notes}


@pytest.mark.parametrize("step", [M.AdditiveNoise(), M.CorrelatedNoise(), M.RankSwap(window=0.5), M.RandomSwap(rate=1.0)])
def test_columns_without_values_and_without_change_are_named(step):
    notes = said(step, ["x", "still", "empty"])
    assert notes["empty has no values, so there was nothing to mask"] == "warning"
    assert notes["no value of still was changed: all 60 are released unchanged"] == "warning"


@pytest.mark.parametrize("step", [M.DataShuffling(), M.LatinHypercube()])
def test_a_constant_column_is_named_by_masks_that_permute(step):
    assert said(step, ["x", "y", "still"])["no value of still was changed: all 60 are released unchanged"] == "warning"


def test_a_release_in_which_all_is_changed_says_so():
    assert said(M.AdditiveNoise(), ["x", "y"])["all 120 values of the 2 confidential columns were changed"] == "information"
    assert "all 60 values of x were changed" in said(M.AdditiveNoise(), ["x"])
    assert not any("were changed" in text for text in said(M.RandomSwap(), ["x", "y"]))


def test_rank_swap_counts_what_it_exchanged():
    notes = said(M.RankSwap(window=0.1), ["x"])
    stay = next((int(t.split()[0]) for t in notes if "have no free partner" in t), 0)
    assert f"{60 - stay} of 60 values of x were moved to another record" in notes
