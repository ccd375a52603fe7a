"""Rows are sorted as NumPy sorts them by every column, whatever is tied or missing."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.ranks import row_order as module
from larvatus.stats.ranks.row_order import row_order


def columns_of(rng: np.random.Generator, rows: int, levels: list[int]) -> list[np.ndarray]:
    """Whole numbers with so many levels, with zeros of both signs; continuous values for 0."""
    out = []
    for n in levels:
        column = rng.normal(size=rows) if n == 0 else rng.integers(0, n, rows).astype(np.float64)
        out.append(np.where((column == 0) & (rng.random(rows) < 0.5), -0.0, column))
    return out


@pytest.mark.parametrize("levels", [[0, 0], [3, 0, 0], [2, 2, 2], [5, 3, 0, 2], [40, 2, 0], [1]])
@pytest.mark.parametrize("gone", [0.0, 0.3])
@pytest.mark.parametrize("codes", [0, 4, 70_000])
def test_the_order_is_that_of_a_sort_by_every_column(levels, gone, codes):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = int(rng.integers(0, 60))
        columns = [np.where(rng.random(rows) < gone, np.nan, c) for c in columns_of(rng, rows, levels)]
        code = rng.integers(0, codes, rows) if codes else None
        expected = np.lexsort([*columns[::-1], *(() if code is None else (code,))])
        np.testing.assert_array_equal(row_order(columns, code), expected)


def test_codes_alone_keep_the_order_of_equal_rows():
    np.testing.assert_array_equal(row_order([], np.array([1, 0, 1, -1, 0])), [3, 1, 4, 0, 2])


def test_columns_after_a_telling_one_are_not_sorted_by(monkeypatch):
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 2, 500).astype(np.float64), rng.normal(size=500), *rng.normal(size=(6, 500))]
    keys = []
    before = np.lexsort
    monkeypatch.setattr(module.np, "lexsort", lambda by: keys.append(len(by)) or before(by))
    row_order(columns)
    assert keys == [2]
