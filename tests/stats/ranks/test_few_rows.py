"""Few rows are ordered by NumPy, many by compiled loops; both give the same."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.ranks import grouped_ranks, ranks

N = 700


@pytest.fixture
def values():
    """Ties, missing values, both zeros and infinities."""
    drawn = np.random.default_rng(3).integers(-20, 20, N) / 4.0
    drawn[::50], drawn[7::60], drawn[3::90] = np.nan, -0.0, np.inf
    return drawn


def both_ways(monkeypatch, module, function):
    few = function()
    monkeypatch.setattr(module, "_COMPILED", -1)
    return few, function()


def test_orders_within_sub_groups(values, monkeypatch):
    starts = np.array([0, 1, 1, 90, 600, N])
    few, many = both_ways(monkeypatch, grouped_ranks, lambda: grouped_ranks.orders(values, starts))
    assert all((a == b).all() and a.dtype == b.dtype for a, b in zip(few, many, strict=True))


def test_orders_with_ties_broken_by_words(values, monkeypatch):
    words, record = np.random.default_rng(4).integers(0, 9, N).astype(np.uint64), np.random.default_rng(5).permutation(N)
    few, many = both_ways(monkeypatch, ranks, lambda: ranks.keyed_order(values, record, lambda ids: words[ids]))
    assert (few == many).all()


def test_values_that_did_not_change(values, monkeypatch):
    now = np.where(np.arange(N) % 3 == 0, values, values + 1e-3)
    few, many = both_ways(monkeypatch, ranks, lambda: ranks.alike(now, values, 1e-6))
    assert few == many
    assert 0 < few[0] < few[1] < N
