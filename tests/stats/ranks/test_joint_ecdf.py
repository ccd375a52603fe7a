"""Joint distribution functions against counting every point below every other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from drawn_examples import drawn
from larvatus.stats.ranks.joint_ecdf import BLOCK, RankedPoints


def counted(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """Every point of both samples against every point of each; a missing value is above all values."""
    one, other = (np.where(np.isnan(v), np.inf, v) for v in (one, other))
    points = np.concatenate([one, other])
    gap = np.array([(one <= p).all(axis=1).mean() - (other <= p).all(axis=1).mean() for p in points])
    return np.abs(gap).max(), (gap**2).mean()


@drawn(150)
@given(
    n=st.integers(1, 60), m=st.integers(1, 60), d=st.integers(1, 9), seed=st.integers(0, 10**6),
    grid=st.sampled_from([None, 1, 3]), missing=st.booleans(),
)
def test_gaps_are_those_of_counting(n, m, d, seed, grid, missing):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, d)), rng.normal(0.3, 1.2, size=(m, d))
    if grid:
        x, y = np.round(x * grid) / grid, np.round(y * grid) / grid
    if missing:
        x[rng.random((n, d)) < 0.2], y[rng.random((m, d)) < 0.3] = np.nan, np.nan
    assert RankedPoints.of(x, y).gap(range(d)) == pytest.approx(counted(x, y), abs=1e-13)


@pytest.mark.parametrize(("d", "grid"), [(2, None), (3, None), (3, 4), (5, 2)])
def test_many_blocks_of_points_are_counted_too(d, grid):
    rng = np.random.default_rng(d)
    x, y = rng.normal(size=(2 * BLOCK + 77, d)), rng.normal(0.1, 1, size=(BLOCK + 300, d))
    if grid:
        x, y = np.round(x * grid) / grid, np.round(y * grid) / grid
    assert RankedPoints.of(x, y).gap(range(d)) == pytest.approx(counted(x, y), abs=1e-13)


def test_one_column_is_kolmogorov_and_smirnov():
    x, y = np.random.default_rng(3).normal(size=(2, 5000, 1))
    assert RankedPoints.of(x, y[:700]).gap([0]).largest == pytest.approx(ks_2samp(x[:, 0], y[:700, 0]).statistic, abs=1e-13)


def test_some_of_the_columns():
    x, y = np.random.default_rng(4).normal(size=(2, 400, 4))
    ranked = RankedPoints.of(x, y + 0.2)
    for chosen in ([3], [2, 0], [3, 1, 0]):
        assert ranked.gap(chosen) == pytest.approx(counted(x[:, chosen], y[:, chosen] + 0.2), abs=1e-13)


def test_nothing_to_compare_is_not_a_number():
    assert np.isnan(RankedPoints.of(np.ones((3, 2)), np.ones((0, 2))).gap([0, 1])).all()
