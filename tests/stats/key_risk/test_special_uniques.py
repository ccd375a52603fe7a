"""Minimal sample uniques against brute force over all subsets, scores by hand.

The formulas are those of sdcMicro's code. The example of its documentation is not reproduced: its figures were not at hand.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from drawn_examples import drawn
from larvatus.stats.key_risk.special_uniques import (
    can_examine,
    matching_probability,
    minimal_uniques,
    msu_weight,
    sets_of_keys,
    special_uniques,
)


def brute(rows: np.ndarray, most: int) -> set[tuple[int, tuple[int, ...]]]:
    """Every (record, set of keys) that is alone, and whose proper subsets are not; a missing key is in no set."""
    def alone(i: int, chosen: tuple[int, ...]) -> bool:
        if (rows[i, list(chosen)] < 0).any():
            return False
        return sum((rows[j, list(chosen)] == rows[i, list(chosen)]).all() for j in range(len(rows))) == 1

    found = set()
    keys = range(rows.shape[1])
    for i in range(len(rows)):
        for size in range(1, most + 1):
            for chosen in combinations(keys, size):
                parts = [p for m in range(1, size) for p in combinations(chosen, m)]
                if alone(i, chosen) and not any(alone(i, p) for p in parts):
                    found.add((i, chosen))
    return found


@drawn(60)
@given(arrays(np.int64, st.tuples(st.integers(1, 14), st.integers(1, 4)), elements=st.integers(-1, 3)), st.integers(1, 4))
def test_against_brute_force(rows, most):
    codes, count = np.unique(rows, axis=0, return_counts=True)
    place = {tuple(c): i for i, c in enumerate(codes)}
    wanted = {(place[tuple(rows[i])], chosen) for i, chosen in brute(rows, min(most, rows.shape[1]))}
    found = {(int(i), chosen) for chosen, own in minimal_uniques(codes, count, min(most, rows.shape[1]))
             for i in np.flatnonzero(own)}
    assert found == wanted


TABLE = np.array([  # region, sex, job
    [0, 0, 0], [0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 2],
])


def test_by_hand():
    """Five records, three keys, all sets (M = 3, so the product runs to A − 1 = 2).

    Weights: one key (3 − 1)(3 − 2) = 2, two keys (3 − 2) = 1, three keys 1 (an empty product).
    Record 2 (0, 1, 1): alone in no single key; region–sex (0, 1), region–job (0, 1) and sex–job (1, 1) are unique: 3.
    Record 3 (1, 0, 1): region–sex, region–job and sex–job are unique: 3.
    Record 4 (1, 1, 2): job 2 is unique: 2. Region–sex (1, 1) is unique and contains no unique key: + 1 = 3.
    Contributions: region is in two sets of records 2 and 3 each, and in one of record 4: 2 + 2 + 1 = 5 of 9; so is sex.
    Job: 2 + 2 + 2.
    """
    codes, count = np.unique(TABLE, axis=0, return_counts=True)
    found = special_uniques(codes, count, 3, 0.1)
    assert found.score.tolist() == [0, 3, 3, 3]
    assert found.by_size.tolist() == [[0, 0, 0], [0, 3, 0], [0, 3, 0], [1, 1, 0]]
    assert found.contribution == pytest.approx(np.array([5, 5, 6]) / 9)
    # DIS: 3 uniques, 2 records in a pair: .3 / (.3 + 1.8) = 1/7. Equal scores: score^q Σ score^−q = 3, so the DIS score is DIS.
    assert found.dis == pytest.approx(1 / 7)
    assert found.dis_score == pytest.approx([0, 1 / 7, 1 / 7, 1 / 7])


def test_smaller_sets_score_more():
    assert [msu_weight(size, 6, 3) for size in (1, 2, 3)] == [5 * 4 * 3, 4 * 3, 3]
    assert [msu_weight(size, 4, 4) for size in (1, 2, 3, 4)] == [6, 2, 1, 1]


def test_dis_of_files_without_uniques_or_pairs():
    assert matching_probability(np.array([3, 4]), 0.1) == 0
    assert matching_probability(np.array([1, 1]), 0.1) == 1
    assert special_uniques(np.array([[0], [1]]), np.array([2, 2]), 1, 0.1).score.tolist() == [0, 0]


def test_one_record_is_alone_in_every_key():
    found = special_uniques(np.array([[0, 0, 5]]), np.array([1]), 3, 0.1)
    assert found.by_size.tolist() == [[3, 0, 0]]


def test_bounds():
    assert sets_of_keys(6, 6) == 63
    assert sets_of_keys(20, 3) == 20 + 190 + 1140
    assert can_examine(10_000, 20, 3)
    assert not can_examine(1_000_000, 20, 3)


def test_many_levels_do_not_overflow():
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 10**6, (200, 5))
    found = special_uniques(rows, np.ones(200, dtype=int), 5, 0.1)
    assert (found.by_size[:, 0] >= 4).all()


def test_dis_scores_of_different_scores_by_hand():
    """Two keys: (0, 0) twice, (0, 1), (1, 0), (2, 2). Weights: one key 1, two keys 1 (M = 2, A − 1 = 1).

    (0, 1): the second key 1 is unique: 1. (1, 0): the first key 1: 1. (2, 2): both keys: 2.
    U = 3, P = 2, δ = ½: DIS = 1.5 / 2.5 = .6, U / DIS − U = 2. q = 1 + 6/20 = 1.3.
    """
    codes, count = np.array([[0, 0], [0, 1], [1, 0], [2, 2]]), np.array([2, 1, 1, 1])
    found = special_uniques(codes, count, 2, 0.5)
    assert found.score.tolist() == [0, 1, 1, 2]
    total = 1 + 1 + 2**-1.3
    assert found.dis_score == pytest.approx([0, 1 / (1 + 2 / total), 1 / (1 + 2 / total), 1 / (1 + 2 / (2**1.3 * total))])
