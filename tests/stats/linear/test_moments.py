"""Moments against pandas, merged in any split, on awkward data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn_examples import drawn
from larvatus.stats.linear.moments import SampleMoments


def awkward(n: int, seed: int, missing: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)) * [1, 1e-3, 1e6, 1] + [0, 5, 1e9, 0]
    x[:, 3] = x[:, 0] * 2
    x[rng.random((n, 4)) < missing] = np.nan
    return x


@drawn(40)
@given(n=st.integers(6, 80), seed=st.integers(0, 10**6), missing=st.sampled_from([0.0, 0.1, 0.5]), cuts=st.integers(0, 5))
def test_agrees_with_pandas_however_the_rows_are_cut(n, seed, missing, cuts):
    x = awkward(n, seed, missing)
    edges = np.sort(np.random.default_rng(seed).integers(1, n, cuts))
    m = SampleMoments.total([SampleMoments.of(part) for part in np.split(x, edges) if len(part)])
    frame = pd.DataFrame(x)
    scale = np.array([1, 1e-3, 1e6, 2])
    assert m.present == pytest.approx(frame.count().to_numpy())
    assert m.mean / scale == pytest.approx(frame.mean().to_numpy() / scale, rel=1e-12, abs=1e-9, nan_ok=True)
    expected = frame.cov(min_periods=2).to_numpy() / np.outer(scale, scale)
    assert m.covariance / np.outer(scale, scale) == pytest.approx(expected, abs=1e-7, nan_ok=True)
    assert m.variance / scale**2 == pytest.approx(frame.var().to_numpy() / scale**2, rel=1e-7, nan_ok=True)
    strong = m.count >= 3
    r = frame.corr(min_periods=3).to_numpy()
    assert m.correlation[strong] == pytest.approx(r[strong], abs=1e-6, nan_ok=True)


def test_constants_are_seen_through_rounding():
    x = np.column_stack([np.full(1000, 0.1), np.full(1000, 1e15), np.arange(1000.0), np.full(1000, np.nan)])
    m = SampleMoments.total([SampleMoments.of(part) for part in np.array_split(x, 7)])
    assert m.constant.tolist() == [True, True, False, True]
    assert np.isnan(m.correlation[0, 2])
    assert m.correlation[2, 2] == pytest.approx(1.0)


def test_small_spread_on_a_large_mean_is_not_a_constant():
    x = np.column_stack([1e9 + np.arange(100.0), 1e6 + 1e-4 * np.arange(100)])
    m = SampleMoments.of(x)
    assert not m.constant.any()
    assert m.correlation[0, 1] == pytest.approx(1.0, abs=1e-6)


def test_one_row_and_none():
    one = SampleMoments.of(np.array([[1.0, np.nan]]))
    assert np.isnan(one.variance).all()
    assert one.mean[0] == 1
    assert SampleMoments.of(np.empty((0, 2))).present.tolist() == [0, 0]


def test_a_stack_answers_for_each():
    rng = np.random.default_rng(3)
    parts = [SampleMoments.of(np.where(rng.random((40, 4)) < 0.1 * k, np.nan, rng.normal(size=(40, 4)))) for k in range(3)]
    parts.append(SampleMoments.of(np.column_stack([np.ones(9), rng.normal(size=(9, 3))])))
    every = SampleMoments.stack(parts)
    for name in ("present", "mean", "variance", "covariance", "correlation", "constant"):
        np.testing.assert_array_equal(getattr(every, name), [getattr(m, name) for m in parts])
