"""Links over all one-to-one matchings, against every permutation."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from larvatus.stats.linkage.matching import best_row_credit, link_odds


def exact_odds(scores: np.ndarray) -> np.ndarray:
    n = len(scores)
    total = np.zeros((n, n))
    for order in permutations(range(n)):
        weight = np.exp(scores[np.arange(n), order].sum())
        total[np.arange(n), order] += weight
    share = total / total.sum(axis=1, keepdims=True)
    return np.log(share / (1 - share))


@pytest.mark.parametrize("seed", range(6))
def test_the_best_rows_are_those_of_all_permutations(seed):
    """The approximation is not exact; where the exact odds differ clearly, it finds the same best row."""
    scores = np.random.default_rng(seed).normal(size=(6, 6)) * 2
    exact, found = exact_odds(scores), link_odds(scores)
    ordered = np.sort(exact, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 0.7
    assert clear.any()
    assert (exact.argmax(axis=1) == found.argmax(axis=1))[clear].all()


def test_a_row_that_another_record_needs_is_left_to_it():
    scores = np.array([[5.0, 4.9, -50.0], [5.0, -50.0, -50.0], [-50.0, -50.0, 1.0]])
    assert link_odds(scores).argmax(axis=1).tolist() == [1, 0, 2]


def test_constants_of_records_and_rows_change_nothing():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(20, 20))
    moved = scores + 100 * rng.normal(size=(20, 1)) + 100 * rng.normal(size=(1, 20))
    assert (link_odds(scores).argmax(axis=1) == link_odds(moved).argmax(axis=1)).all()


def test_ties_share_the_credit_and_a_row_elsewhere_has_none():
    scores = np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0], [3.0, 0.0, 0.0]])
    assert best_row_credit(scores, np.array([0, 1, -1])).tolist() == [0.5, 1.0, 0.0]
