"""A column that a step makes into names may be masked as names by the steps after it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

M = lv.masks
RNG = np.random.default_rng(6)
TABLE = pd.DataFrame({"x": RNG.normal(size=300), "y": RNG.normal(size=300), "job": RNG.choice(["cook", "smith"], 300)})
LABELS = M.Recoding(replacement="label", bins=4, columns=("x",))


@pytest.mark.parametrize("engine", ["memory", "pieces", "duckdb"])
def test_classes_can_be_changed_at_random(engine):
    data = lv.read(TABLE, confidential=["x"], engine=engine)
    before, after = (pd.DataFrame(lv.mask(data, *s, secret=SECRET).frame()).x for s in (
        [LABELS], [LABELS, M.PostRandomisation(stay=0.5, invariant=False)],
    ))
    assert set(after) == set(before)
    assert 0.3 < (after != before).mean() < 0.7  # half of 300, nine standard deviations off at either end


@pytest.mark.parametrize("later", [
    M.PostRandomisation(columns=("x",)), M.RandomSwap(columns=("x",)), M.LocalSuppression(columns=("x",), k=100),
    M.PostRandomisation(where="x > 0"),
])
def test_other_steps_for_names_may_follow(later):
    data = lv.read(TABLE, confidential=["x", "y"])
    release = lv.mask(data, LABELS, M.AdditiveNoise(columns=("y",)), later, secret=SECRET)
    assert set(release.frame().x.dropna()) <= {f"{i} of 4" for i in range(1, 5)}


def test_steps_for_numbers_are_refused_after_it_and_for_names_before_it():
    data = lv.read(TABLE, confidential=["x"])
    with pytest.raises(lv.LarvatusError, match="an earlier step made 'x' categorical"):
        lv.mask(data, LABELS, M.AdditiveNoise(), secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="post_randomisation: needs categorical columns"):
        lv.mask(data, M.PostRandomisation(), LABELS, secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="post_randomisation: needs categorical columns"):
        lv.mask(data, M.Recoding(), M.PostRandomisation(), secret=SECRET)
