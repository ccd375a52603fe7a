"""Weights of pairs: the matrix against the compiled search, laws with one parameter by hand, and links one to one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from larvatus.stats.linkage.pair_weights import (
    category_weights,
    number_weights,
    one_to_one_credit,
    pair_weights,
    stay_weights,
    weighed_credit,
)


def _pairs(n: int = 40, seed: int = 1) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    b = np.where(rng.random(n) < 0.7, a, rng.integers(0, 4, n))
    a[3], b[5] = -1, -1
    x = rng.normal(size=(n, 1))
    y = x + rng.normal(size=(n, 1))
    y[7] = np.nan
    return a, b, x, y


def _counts(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    out, both = np.zeros((4, 4)), (a >= 0) & (b >= 0)
    np.add.at(out, (a[both], b[both]), 1)
    return out


def test_the_matrix_of_weights_gives_the_credits_of_the_search():
    a, b, x, y = _pairs()
    form, own = number_weights(np.array([0.7])), np.arange(len(a))
    table = category_weights(_counts(a, b), a, b)
    weights = pair_weights(x, y, form, [table], b[:, None])
    best = weights >= weights.max(axis=1, keepdims=True) - 1e-9
    by_matrix = np.where(best[own, own], 1 / best.sum(axis=1), 0.0)
    found = weighed_credit(x, y, form, [table], b[:, None], np.zeros(len(a), dtype=np.int64), own, (1,))[0]
    assert found == pytest.approx(by_matrix)


def test_the_law_of_staying_is_counted_without_the_own_pair():
    counts = np.array([[5.0, 1.0, 0.0], [2.0, 6.0, 0.0], [1.0, 1.0, 4.0]])
    found = stay_weights(counts, np.array([0]), np.array([0]), by_frequency=False)[0]
    stay, share = 14 / 19, np.array([7, 8, 4]) / 19
    assert found == pytest.approx(np.log(np.array([stay, (1 - stay) / 2, (1 - stay) / 2]) / share))
    found = stay_weights(counts, np.array([0]), np.array([0]), by_frequency=True)[0]
    assert found == pytest.approx(np.log(np.array([stay, (1 - stay) * 9 / 14, (1 - stay) * 5 / 14]) / share))


def test_a_missing_category_says_nothing():
    counts = np.eye(3) * 5 + 1
    assert np.all(stay_weights(counts, np.array([-1]), np.array([1]), by_frequency=True) == 0)


def _most_probable(weights: np.ndarray) -> np.ndarray:
    """Probability of every pair over all one-to-one links, by enumeration."""
    n, out = len(weights), np.zeros_like(weights)
    for order in itertools.permutations(range(n)):
        out[np.arange(n), order] += np.exp(weights[np.arange(n), order].sum())
    return out


def test_one_to_one_links_exclude_records_that_belong_to_others():
    """The first target alone would take the first record; the second target fits nothing else."""
    weights = np.array([[2.0, 1.9], [5.0, -5.0]])
    assert one_to_one_credit(weights, np.array([1, 0]), (1,))[0] == pytest.approx([1, 1])
    assert weights[0].argmax() == 0


def test_one_to_one_links_agree_with_enumeration():
    """Scaling is an approximation: the best record must agree in at least nine of ten targets."""
    rng, right, total = np.random.default_rng(2), 0, 0
    for _ in range(50):
        weights = 1.5 * rng.normal(size=(6, 6))
        exact = _most_probable(weights).argmax(axis=1)
        right += one_to_one_credit(weights, exact, (1,))[0].sum()
        total += 6
    assert right / total > 0.9


def test_more_guesses_find_more_and_order_does_not_matter():
    rng = np.random.default_rng(3)
    weights = rng.normal(size=(8, 10))
    mine = rng.permutation(10)[:8]
    one, three = one_to_one_credit(weights, mine, (1, 3))
    assert np.all(three >= one)
    order = rng.permutation(8)
    assert one_to_one_credit(weights[order], mine[order], (1,))[0] == pytest.approx(one[order])
