"""Nearest-record counts against a dense matrix, ties and duplicates included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn_examples import drawn
from larvatus.stats.estimates.intervals import wilson
from larvatus.stats.linkage.nearest_counts import credit_within, nearer_and_tied


def dense(targets: np.ndarray, candidates: np.ndarray, guesses: int) -> np.ndarray:
    d = np.sqrt(((targets[:, None] - candidates[None]) ** 2).sum(axis=2))
    own = np.diag(d)[:, None]
    tied = np.isclose(d, own, rtol=1e-11, atol=0)
    nearer = ((d < own) & ~tied).sum(axis=1)
    return np.clip((guesses - nearer) / tied.sum(axis=1), 0, 1)


@drawn(120)
@given(
    n=st.integers(1, 60), p=st.integers(1, 4), seed=st.integers(0, 10**6), grid=st.sampled_from([None, 2, 5]),
    k=st.integers(1, 8),
)
def test_credits_are_those_of_a_dense_matrix(n, p, seed, grid, k):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, n, p))
    if grid:
        x, y = np.round(x * grid) / grid, np.round(y * grid) / grid
    found = credit_within(*nearer_and_tied(x, y, k), k)
    assert found == pytest.approx(dense(x, y, k), abs=1e-12)


def test_more_ties_than_the_search_looks_at_share_the_credit():
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    ring = np.round(np.column_stack([np.cos(angle), np.sin(angle)]) * 2**20) / 2**20
    corners = np.array([[3.0, 4.0], [4.0, 3.0], [-3.0, 4.0], [-4.0, 3.0], [3.0, -4.0], [4.0, -3.0], [-3.0, -4.0], [5.0, 0.0]])
    targets = np.zeros_like(corners)
    assert credit_within(*nearer_and_tied(targets, corners, 1), 1) == pytest.approx(1 / 8)
    assert credit_within(*nearer_and_tied(targets, corners, 3), 3) == pytest.approx(3 / 8)
    assert credit_within(*nearer_and_tied(ring, ring, 2), 2) == pytest.approx(1.0)


def test_credits_sum_to_the_number_of_guesses_over_identical_records():
    x = np.zeros((50, 2))
    assert credit_within(*nearer_and_tied(x, x, 3), 3) == pytest.approx(3 / 50)


@pytest.mark.parametrize(("hits", "n", "low", "high"), [
    (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662),
])
def test_wilson_is_the_published_interval(hits, n, low, high):
    assert wilson(hits / n, n) == pytest.approx((low, high), abs=1e-4)


def test_wilson_without_records_says_nothing():
    assert wilson(0.5, 0) == (0.0, 1.0)
