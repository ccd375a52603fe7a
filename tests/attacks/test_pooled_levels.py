"""A sub-group column with more than fifty levels: it is not refused where pools of small sub-groups make it part of S."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.core.errors import RolesError
from larvatus.data.design import MOST_LEVELS, design_of
from larvatus.data.verbs import as_one_group
from sample import SECRET

LEVELS = 60


def table() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    state = np.repeat([f"s{i:02}" for i in range(LEVELS)], [3, *[6] * (LEVELS - 1)])
    return pd.DataFrame({"state": state, "x": rng.lognormal(size=len(state)), "y": rng.normal(size=len(state))})


def test_attacks_use_a_pooled_column_of_many_levels():
    data = lv.read(table(), confidential=["x", "y"], sub_groups=lv.SubGroups(columns="state", small="pool", smallest=4))
    release = lv.mask(data, "additive_noise", secret=SECRET)
    assert len(release.data.groups) < LEVELS
    scores = lv.risk(data, release, ["attribute_inference"])
    assert [s.method for s in scores] == ["attribute_inference"]


def test_the_most_frequent_levels_have_indicators():
    grouped = as_one_group(lv.read(table(), confidential=["x", "y"], sub_groups="state"))
    terms = design_of(grouped, ["state"]).terms
    assert len(terms) == MOST_LEVELS
    assert "state=s00" not in [t.name for t in terms]
    with pytest.raises(RolesError, match="categorical with 60 levels"):
        design_of(lv.read(table(), confidential=["x", "y"], non_confidential="state"), ["state"])
