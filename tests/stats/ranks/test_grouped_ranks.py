"""Ranks of many sub-groups at once against the same one by one, on every kind of column that sorting can stumble over."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from larvatus.core.randomness import RecordRandom
from larvatus.stats.ranks import grouped_ranks as group_ranks
from larvatus.stats.ranks import ranks

RANDOM = RecordRandom(b"0123456789abcdef")
SIZES = (0, 1, 2, 47, 48, 49, 300, 3000)


def words(record):
    return RANDOM.words(record)[0]


def columns():
    rng = np.random.default_rng(5)
    n = sum(SIZES)
    x = rng.normal(size=n)
    some = rng.random(n) < 0.3
    return {
        "plain": x,
        "tied": np.round(x),
        "both zeros": np.where(some, -0.0, 0.0) * np.where(rng.random(n) < 0.5, 1, -1),
        "missing": np.where(some, np.nan, x),
        "all missing": np.full(n, np.nan),
        "negative NaN": np.where(some, -np.nan, x),
        "large mean": 1e9 + rng.integers(0, 1000, n),
        "equal upper halves": rng.choice([-7e12, -1e12, 1e12, 2.3e12, 3e12], n) + rng.integers(0, 9000, n),
        "last bits": 1.0 + rng.integers(0, 200, n) * np.finfo(float).eps,
        "far apart": np.exp(100 * x),
        "subnormal": rng.integers(0, 5000, n) * 5e-324,
        "sorted": np.sort(x),
        "reversed": -np.sort(x),
    }


STARTS = np.concatenate([[0], np.cumsum(SIZES)])
PARTS = [slice(a, b) for a, b in pairwise(STARTS)]
RECORD = np.random.default_rng(6).permutation(int(STARTS[-1])).astype(np.int64)


@pytest.mark.parametrize("name", columns())
def test_ranks_are_those_of_each_sub_group(name):
    x = columns()[name]
    expected = np.concatenate([ranks.average_ranks(x[part]) for part in PARTS])
    np.testing.assert_array_equal(group_ranks.grouped_average_ranks(x, STARTS), expected)


@pytest.mark.parametrize("name", columns())
def test_keyed_ranks_are_those_of_each_sub_group(name):
    x = columns()[name]
    expected = np.concatenate([ranks.keyed_ranks(x[part], RECORD[part], words) for part in PARTS])
    np.testing.assert_array_equal(group_ranks.grouped_keyed_ranks(x, STARTS, RECORD, words), expected)


@pytest.mark.parametrize("name", columns())
@pytest.mark.parametrize("share", [1.0, 0.6, 2.5])
def test_values_are_placed_as_in_each_sub_group(name, share):
    given = columns()[name]
    order = columns()["missing"]
    sizes = [int(share * n) for n in SIZES]
    theirs = np.concatenate([[0], np.cumsum(sizes)])
    given = np.resize(given, theirs[-1])
    expected = [
        ranks.values_in_order(ranks.keyed_order(order[p], RECORD[p], words), p.stop - p.start, given[a:b])
        for p, a, b in zip(PARTS, theirs[:-1], theirs[1:], strict=True)
    ]
    found = group_ranks.place_in_groups(group_ranks.keyed_orders(order, STARTS, RECORD, words), STARTS, given, theirs)
    np.testing.assert_array_equal(found, np.concatenate(expected))
