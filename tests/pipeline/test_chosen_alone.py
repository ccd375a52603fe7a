"""Masks that look at a record alone, with `where`: what they count and refuse is about the chosen records."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

TABLE = pd.DataFrame({"x": [10.0, 20, 33, 47, 51, -4], "y": [1.0, 2, 3, 4, 5, 6], "s": [0, 0, 1, 1, 1, 0], "g": list("aabbbb")})


def masked(step: object, **roles: object) -> lv.Release:
    given = {"confidential": ["x"], "non_confidential": ["s"], **roles}
    return lv.mask(lv.read(TABLE, **given), step, secret=SECRET)


def texts(release: lv.Release) -> str:
    return "; ".join(n.text for n in release.notes)


@pytest.mark.parametrize("scope", ["file", "sub_group"])
def test_rounding_counts_the_chosen_records(scope):
    release = masked(lv.masks.Rounding(where="s == 1", scope=scope), sub_groups=lv.SubGroups(columns=("g",)))
    assert "3 of 3 values of x are rounded" in texts(release)
    assert release.frame().x.tolist() == [10, 20, 30, 50, 50, -4]


def test_rounding_that_changes_no_chosen_value_is_refused():
    with pytest.raises(lv.LarvatusError, match="base 10 changes no value of 'x'"):
        masked(lv.masks.Rounding(where="x >= 10 and s == 0"))


def test_blanking_counts_the_chosen_records_and_draws_as_ever():
    release = masked(lv.masks.RandomBlanking(rate=0.9, where="s == 1"))
    gone = release.frame().x.isna().to_numpy()
    assert f"{gone.sum()} of 3 values of x were made missing" in texts(release)
    assert not gone[[0, 1, 5]].any()


@pytest.mark.parametrize("step", [
    lv.masks.AdditiveNoise(positive=True, variance=1, where="x > 0"),
    lv.masks.CorrelatedNoise(positive=True, where="x > 0"),
    lv.masks.VariancePreservingNoise(positive=True, where="x > 0"),
])
def test_a_negative_value_that_is_not_chosen_is_no_hindrance(step):
    after = masked(step, confidential=["x", "y"]).frame()
    assert after.x[5] == -4
    assert after.y[5] == 6
    assert (after.x[:5] > 0).all()
    assert not np.isclose(after.x[:5], TABLE.x[:5]).any()
    with pytest.raises(lv.LarvatusError, match="'x' has 1 negative"):
        masked(step.model_copy(update={"where": "s == 0"}), confidential=["x", "y"])


def test_a_record_that_is_not_chosen_is_not_drawn_again_and_again():
    """Noise could never lift it above zero, and need not."""
    table = pd.DataFrame({"x": [*np.linspace(40, 60, 99), -1000.0]})
    step = lv.masks.AdditiveNoise(positive=True, variance=0.01, where="x > 0")
    after = lv.mask(lv.read(table, confidential=["x"]), step, secret=SECRET).frame().x
    assert after[99] == -1000
    assert (after[:99] > 0).all()
