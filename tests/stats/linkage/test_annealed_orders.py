"""Annealing finds the one order that satisfies the equations, and says so if there is none."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.linkage.annealed_orders import annealed_order


def planted(n: int, p: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Terms of p² equations, and their sums in a planted order."""
    rng = np.random.default_rng(seed)
    x, y, order = rng.normal(size=(n, p)), rng.normal(size=(n, p)), rng.permutation(n)
    terms = np.einsum("ia,jb->ijab", y, x).reshape(n, n, -1)
    return terms, terms[np.arange(n), order].sum(axis=0), order


@pytest.mark.parametrize(("n", "p"), [(12, 5), (17, 8), (22, 8)])
def test_the_planted_order_is_found(n, p):
    terms, right, order = planted(n, p)
    found = annealed_order(terms, right, np.full(len(right), 1e-8), np.zeros(n, dtype=np.int64))
    np.testing.assert_array_equal(found, order)


def test_no_order_is_reported_if_the_equations_have_no_solution():
    terms, right, _ = planted(12, 5)
    assert annealed_order(terms, right + 0.1, np.full(len(right), 1e-8), np.zeros(12, dtype=np.int64)) is None


def test_rows_keep_their_codes():
    n = 16
    same = np.arange(n) % 2
    terms, _, _ = planted(n, 6)
    order = np.arange(n)
    rng = np.random.default_rng(5)
    for code in (0, 1):
        order[same == code] = rng.permutation(order[same == code])
    right = terms[np.arange(n), order].sum(axis=0)
    np.testing.assert_array_equal(annealed_order(terms, right, np.full(len(right), 1e-8), same), order)
