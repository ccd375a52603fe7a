"""An intruder who reads digits: do imputed cells show that they are imputed? NumPy alone, and no original value is used.

The intruder marks cells that are multiples of a round step as original. Original cells are a share `1 − rate` of all. If digits
say nothing, the share of original cells among the marked ones is the same, up to chance (FALSE_ALARM = 1e-6).
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

import larvatus as lv

FALSE_ALARM = 1e-6
RATE, N = 0.8, 400
STEPS = [0.01, 0.25, 1.0, 50.0, 100.0]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_digits_do_not_mark_original_cells(step: float, engine: str) -> None:
    """Before imputed values were rounded, all marked cells were original with steps of .01, .25, 50 and 100."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"x{j}": np.round(rng.gamma(2, 400, N)) * step for j in range(3)}).round(2)
    data = lv.read(frame, confidential=list(frame), engine=engine)
    y = lv.mask(data, f"blank_and_impute(rate={RATE})", secret=bytes(32)).to_pandas()[list(frame)].to_numpy(float)
    marked = np.abs(y / step - np.rint(y / step)) < 1e-6
    original = y == frame.to_numpy()
    assert 0.1 < original.mean() < 0.3
    share = binomtest(int((original & marked).sum()), int(marked.sum()), float(original.mean()))
    assert share.pvalue > FALSE_ALARM, (share.statistic, original.mean())


def test_cells_that_all_copies_share_are_announced():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=list("abc"))
    release = lv.mask(lv.read(frame, confidential=list(frame)), f"blank_and_impute(rate={RATE}, copies=3)", secret=bytes(32))
    copies = np.array([release.frame(c).to_numpy(float) for c in range(3)])
    same = (copies == copies[0]).all(axis=0)
    assert (copies[0] == frame.to_numpy())[same].all()
    assert any("equal in all copies is original" in str(note) for note in release.notes)
