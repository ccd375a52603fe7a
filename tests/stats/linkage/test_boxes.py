"""Counts inside boxes against a dense comparison."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.linkage.boxes import counts_inside, shared_credit


def case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 8, (200, 3)).astype(float)
    y[rng.random(y.shape) < 0.1] = np.nan
    x = rng.integers(0, 8, (60, 3)).astype(float)
    half = rng.integers(0, 3, x.shape)
    low, high = x - half, x + half
    low[rng.random(x.shape) < 0.1] = np.nan
    return x, low, high, y


def dense(low: np.ndarray, high: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ~((y < low[:, None]) | (y > high[:, None])).any(axis=2)


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_a_dense_comparison(seed):
    _, low, high, y = case(seed)
    assert counts_inside(low, high, y).tolist() == dense(low, high, y).sum(axis=1).tolist()


def test_no_column_leaves_everybody():
    assert counts_inside(np.zeros((2, 0)), np.zeros((2, 0)), np.zeros((5, 0))).tolist() == [5, 5]


def test_credit_is_shared_within_the_same_code_and_guessed_where_nobody_is_left():
    x, low, high, y = case(9)
    same, own = np.arange(200) % 4, np.arange(60) * 3
    x[::7, 1] = np.nan
    inside = dense(low, high, y) & (same[own][:, None] == same) & (~np.isnan(x)[:, None] | np.isnan(y)).all(axis=2)
    count, mine = inside.sum(axis=1), inside[np.arange(60), own]
    expected = np.where(count == 0, 1 / 50, mine / np.maximum(count, 1))
    assert shared_credit(x, low, high, y, same, own) == pytest.approx(expected)
    assert {0.0, 1 / 50} < set(expected)
