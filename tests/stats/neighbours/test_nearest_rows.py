"""The nearest rows by matrix products and by k-d tree are the first of all rows sorted by distance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from drawn_examples import drawn
from larvatus.stats.linkage.microaggregates import nearest_of
from larvatus.stats.models.attribute_predictors import predictions
from larvatus.stats.neighbours import faster_way
from larvatus.stats.neighbours.blocked_products import BlockedProducts
from larvatus.stats.neighbours.nearest_rows import nearest_by_products, nearest_by_tree, nearest_rows


def _sequential(targets: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Distances of all pairs, squares added column by column."""
    total = np.zeros((len(targets), len(points)))
    for u, v in zip(targets.T, points.T, strict=True):
        total += (u[:, None] - v) ** 2
    return np.sqrt(total)


@drawn(150)
@given(
    n=st.integers(1, 400), p=st.integers(1, 22), k=st.integers(1, 7), seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-12, 1.0, 1e12]), digits=st.sampled_from([None, 0, 1]), tail=st.sampled_from([1.0, 8.0]),
)
def test_both_ways_give_the_first_rows_by_distance(n, p, k, seed, scale, digits, tail):
    rng = np.random.default_rng(seed)
    points, targets = rng.normal(size=(n, p)), rng.normal(size=(30, p))
    if digits is not None:
        points, targets = np.round(points, digits), np.round(targets, digits)
    points, targets = (scale * np.sign(v) * np.abs(v) ** tail for v in (points, targets))
    k = min(k, n)
    expected = np.argsort(_sequential(targets, points), axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(nearest_by_products(BlockedProducts.of(points), targets, k), expected)
    np.testing.assert_array_equal(nearest_by_tree(cKDTree(points), points, targets, k), expected)
    np.testing.assert_array_equal(nearest_rows(targets, points, k), expected)


@drawn(100)
@given(
    n=st.integers(1, 400), k=st.integers(1, 9), seed=st.integers(0, 10**6), digits=st.sampled_from([None, 0, 1, 2]),
    scale=st.sampled_from([1e-200, 1e-12, 1.0, 1e12]),
)
def test_one_column_gives_the_first_rows_by_distance(n, k, seed, digits, scale):
    """Also with many equal points, and with differences whose squares are zero."""
    rng = np.random.default_rng(seed)
    points, targets = rng.normal(size=(n, 1)), rng.normal(size=(30, 1))
    if digits is not None:
        points, targets = np.round(points, digits), np.round(targets, digits)
    points, targets = scale * points, scale * targets
    expected = np.argsort(_sequential(targets, points), axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(nearest_rows(targets, points, k), expected)


@pytest.mark.parametrize("digits", [1, 9])
def test_many_blocks_and_a_timed_choice_change_nothing(digits, monkeypatch):
    rng = np.random.default_rng(4)
    points, targets = (np.round(rng.normal(size=(n, 3)), digits) for n in (3501, 1200))
    expected = np.argsort(_sequential(targets, points), axis=1, kind="stable")[:, :6]
    np.testing.assert_array_equal(nearest_rows(targets, points, 6), expected)
    monkeypatch.setattr(faster_way, "_UNTIMED", 0)
    monkeypatch.setattr(faster_way, "_BUILD", 0.0)
    np.testing.assert_array_equal(nearest_rows(targets, points, 6), expected)


def test_predictions_and_microaggregates_do_not_depend_on_the_search(monkeypatch):
    rng = np.random.default_rng(6)
    train, test = rng.normal(size=(300, 9)), rng.normal(size=(80, 9))
    values, own = rng.normal(size=300), rng.integers(0, 300, 80)
    released = np.repeat(train[:100], 3, axis=0)

    def results() -> list[np.ndarray]:
        codes = [np.array(pair) for pair in nearest_of(train, released)]
        return [predictions(train, values, test), predictions(train, values, test, own), *codes]

    before = results()
    monkeypatch.setattr("larvatus.stats.neighbours.nearest_rows._PAIRS", 0)
    for a, b in zip(before, results(), strict=True):
        np.testing.assert_array_equal(a, b)
