"""Sums of columns that hold in most rows are found among many columns, and none is found where there is none.

A row of unrelated amounts fits a sum of other columns with probability near zero, so a false sum needs some hundred
coincidences. Whole numbers of few values agree by chance; there the limit on agreement beyond chance decides, at least six
standard errors away in all cases below.
"""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.linear.total_search import find_sums

N = 1200


def amounts(rng: np.random.Generator, columns: int, zeros: float = 0.3, n: int = N) -> np.ndarray:
    values = np.rint(np.exp(rng.normal(rng.uniform(5, 9, columns), 1, (n, columns))))
    return np.where(rng.random((n, columns)) < zeros, 0, values)


def spoilt(rng: np.random.Generator, total: np.ndarray, share: float) -> np.ndarray:
    """The total, with an error in this share of the rows."""
    return total + np.where(rng.random(len(total)) < share, np.rint(rng.normal(0, np.abs(total).mean(), len(total))) + 0.5, 0)


def found(x: np.ndarray) -> dict[int, dict[int, int]]:
    return {s.total: dict(s.parts) for s in find_sums(x)}


def plus(*columns: int) -> dict[int, int]:
    return dict.fromkeys(columns, 1)


@pytest.mark.parametrize("share", [0.0, 0.06, 0.2, 0.4])
def test_four_parts_among_unrelated_columns(share):
    rng = np.random.default_rng(1)
    parts = amounts(rng, 4)
    x = np.column_stack([parts, spoilt(rng, parts.sum(1), share), amounts(rng, 5)])
    assert found(x) == {4: plus(0, 1, 2, 3)}


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_nested_totals_and_a_difference_among_forty_columns(share):
    rng = np.random.default_rng(2)
    p = amounts(rng, 7)
    first = spoilt(rng, p[:, :4].sum(1), share)
    second = spoilt(rng, first + p[:, 4] + p[:, 5], share)
    third = spoilt(rng, second - p[:, 6], share)
    x = np.column_stack([p, first, second, third, amounts(rng, 30)])
    assert found(x) == {7: plus(0, 1, 2, 3), 8: plus(4, 5, 7), 9: {8: 1, 6: -1}}


@pytest.mark.parametrize("zeros", [0.1, 0.6, 0.92])
def test_a_total_of_many_columns(zeros):
    rng = np.random.default_rng(3)
    parts = amounts(rng, 30, zeros)
    x = np.column_stack([parts, spoilt(rng, parts.sum(1), 0.06), amounts(rng, 5, zeros)])
    assert found(x) == {30: plus(*range(30))}


def test_constants_copies_and_near_copies_do_not_hide_a_total():
    rng = np.random.default_rng(4)
    parts = amounts(rng, 4)
    total = spoilt(rng, parts.sum(1), 0.06)
    x = np.column_stack([parts, total, np.full(N, 3.0), parts[:, 0], total, spoilt(rng, parts[:, 1], 0.1)])
    assert found(x)[4] == plus(0, 1, 2, 3)
    assert not {5, 6, 7} & {j for total, parts in found(x).items() for j in (total, *parts)}


def test_missing_values_in_every_column():
    rng = np.random.default_rng(5)
    parts = amounts(rng, 6, 0.1)
    x = np.column_stack([parts, spoilt(rng, parts[:, :4].sum(1), 0.06)])
    x[rng.random(x.shape) < 0.15] = np.nan
    assert found(x) == {6: plus(0, 1, 2, 3)}


def test_decimals_and_columns_of_another_size():
    rng = np.random.default_rng(6)
    parts = amounts(rng, 5) / 100
    x = np.column_stack([parts, spoilt(rng, parts.sum(1), 0.06), amounts(rng, 2) * 1e6, amounts(rng, 2) / 1e6])
    assert found(x) == {5: plus(0, 1, 2, 3, 4)}


def test_a_count_of_yes_and_no():
    rng = np.random.default_rng(7)
    x = rng.integers(0, 2, (N, 5)).astype(float)
    assert found(np.column_stack([x, x.sum(1)])) == {5: plus(0, 1, 2, 3, 4)}


@pytest.mark.parametrize("kind", ["amounts", "zeros", "correlated", "yes and no", "rarely yes", "digits", "one of eight"])
def test_no_total_among_unrelated_columns(kind):
    rng = np.random.default_rng(8)
    x = {
        "amounts": lambda: amounts(rng, 40), "zeros": lambda: amounts(rng, 40, 0.95),
        "correlated": lambda: rng.normal(size=(N, 1)) + 0.3 * rng.normal(size=(N, 20)),
        "yes and no": lambda: rng.integers(0, 2, (N, 30)).astype(float),
        "rarely yes": lambda: (rng.random((N, 30)) < 0.05).astype(float),
        "digits": lambda: rng.integers(0, 5, (N, 30)).astype(float),
        "one of eight": lambda: np.eye(8)[rng.integers(0, 8, N)],
    }[kind]()
    assert found(x) == {}


def test_a_total_that_holds_in_less_than_half_of_the_rows_is_not_reported():
    rng = np.random.default_rng(9)
    parts = amounts(rng, 4, 0)
    assert found(np.column_stack([parts, spoilt(rng, parts.sum(1), 0.7)])) == {}
