"""Ranks against SciPy, keyed ties against plain sorting, values by rank against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from drawn_examples import drawn
from larvatus.stats.ranks.ranks import average_ranks, by_rank, keyed_order, keyed_ranks

values = st.lists(st.one_of(st.integers(0, 5).map(float), st.just(np.nan), st.floats(-1e3, 1e3)), min_size=1, max_size=60)


def words(record: np.ndarray) -> np.ndarray:
    return (record.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(3)


@drawn(200)
@given(values)
def test_average_ranks_are_scipys(x):
    x = np.array(x)
    there = ~np.isnan(x)
    expected = np.full(len(x), np.nan)
    expected[there] = stats.rankdata(x[there])
    assert average_ranks(x) == pytest.approx(expected, nan_ok=True)


@drawn(200)
@given(values)
def test_keyed_order_is_value_then_word_then_record(x):
    x = np.array(x)
    record = np.arange(len(x))[::-1] + 100
    expected = [i for i in np.lexsort((record, words(record), x)) if not np.isnan(x[i])]
    assert keyed_order(x, record, words).tolist() == expected
    ranks = keyed_ranks(x, record, words)
    assert sorted(ranks[~np.isnan(x)]) == list(range(1, len(expected) + 1))


@pytest.mark.parametrize(("n", "m"), [(5, 5), (10, 4), (4, 10), (1, 7), (7, 1)])
def test_values_by_rank_of_another_number_of_records(n, m):
    ordered = np.arange(1.0, n + 1)
    assert by_rank(ordered, m).tolist() == [ordered[int(np.ceil(r * n / m)) - 1] for r in range(1, m + 1)]
