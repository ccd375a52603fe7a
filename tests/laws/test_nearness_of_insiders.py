"""Masks with exact moments refuse small sub-groups in which three insiders come near the values of others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.core.errors import MaskError
from sample import SECRET


def _groups(size: int, seed: int = 1) -> pd.DataFrame:
    z = np.random.default_rng(seed).normal(size=(6 * size, 2))
    return pd.DataFrame({"a": z[:, 0], "b": z[:, 0] + z[:, 1], "g": np.repeat(np.arange(6), size).astype(str)})


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_similarity_near_one_is_refused_in_small_sub_groups(engine):
    data = lv.read(_groups(9), confidential=["a", "b"], sub_groups=["g"], engine=engine)
    with pytest.raises(MaskError, match=r"sub-groups, 3 persons who know their own records come too near .*\(g="):
        lv.mask(data, "sufficiency_based(similarity=0.999)", secret=SECRET)
    lv.mask(data, "sufficiency_based(similarity=0.999, insiders=0)", secret=SECRET)
    lv.mask(data, "sufficiency_based(similarity=0.5)", secret=SECRET)


def test_large_sub_groups_are_not_refused():
    data = lv.read(_groups(60), confidential=["a", "b"], sub_groups=["g"])
    lv.mask(data, "sufficiency_based(similarity=0.99)", secret=SECRET)


def test_sub_groups_with_missing_cells_are_examined_too():
    frame = _groups(30)
    frame.loc[frame.index % 3 == 0, "b"] = np.nan
    data = lv.read(frame, confidential=["a", "b"], sub_groups=["g"])
    with pytest.raises(MaskError, match="come too near"):
        lv.mask(data, "sufficiency_based(similarity=0.9999)", secret=SECRET)
