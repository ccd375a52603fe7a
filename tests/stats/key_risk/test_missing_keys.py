"""Sizes of classes with missing keys against comparing every pair of records, under each convention."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from drawn_examples import drawn
from larvatus.stats.key_risk.missing_keys import (
    CONVENTIONS,
    class_numbers,
    matching_records,
    matching_totals,
    pattern_count,
    records_below,
)


def by_pairs(rows: np.ndarray, missing: str) -> list[int]:
    out = []
    for i, mine in enumerate(rows):
        size = 0
        for j, theirs in enumerate(rows):
            same = mine == theirs
            if missing == "any":
                same |= (mine < 0) | (theirs < 0)
            elif missing == "none":
                same &= (mine >= 0) & (theirs >= 0)
            size += bool(same.all() or i == j)
        out.append(size)
    return out


@drawn(80)
@given(arrays(np.int64, st.tuples(st.integers(1, 15), st.integers(1, 4)), elements=st.integers(-1, 2)),
       st.sampled_from(CONVENTIONS))
def test_against_all_pairs(rows, missing):
    codes, place, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    assert matching_records(codes, count, missing)[place.reshape(-1)].tolist() == by_pairs(rows, missing)


ROWS = np.array([[0, 0], [0, -1], [1, 0], [1, 1]])


def test_by_hand():
    """Records (a, x), (a, missing), (b, x), (b, y). A missing second key may be the x of the first record."""
    one = np.ones(4, dtype=int)
    assert matching_records(ROWS, one, "value").tolist() == [1, 1, 1, 1]
    assert matching_records(ROWS, one, "any").tolist() == [2, 2, 1, 1]
    assert matching_records(ROWS, one, "none").tolist() == [1, 1, 1, 1]
    assert matching_records(ROWS, 3 * one, "none").tolist() == [3, 1, 3, 3]
    assert matching_totals(ROWS, np.array([1.0, 10, 100, 1000]), "any").tolist() == [11, 11, 100, 1000]
    assert records_below(np.array([1, 2, 3]), np.array([1, 2, 3]), 3) == 3
    assert pattern_count(ROWS) == 2


def test_class_numbers_of_many_levels():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2**40, (300, 4))
    twice = np.vstack((rows, rows))
    numbers = class_numbers(twice)
    assert len(np.unique(numbers)) == 300
    assert (numbers[:300] == numbers[300:]).all()


@pytest.mark.parametrize("missing", CONVENTIONS)
def test_nothing(missing):
    assert len(matching_records(np.zeros((0, 2), dtype=int), np.zeros(0, dtype=int), missing)) == 0
