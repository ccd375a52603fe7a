"""The order of the rows of a matrix: by the first column, ties by the second, and so on.

The result is that of `np.lexsort`, which sorts by every column. Here rows are sorted by as many columns as it takes to tell
most of them apart. The columns after these are only read for rows that are tied so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Bools, Ints

_MANY = 0.1  # share of rows that equal the row before, from which one more column is sorted by
_SHORT = 1 << 16  # codes below it are sorted by counting them


def row_order(columns: Sequence[NDArray[Any]], code: Ints | None = None) -> Ints:
    """Rows sorted by code, if codes are given, then by the columns, the first one first; equal rows keep their order."""
    if code is None:
        return _by_columns(columns)
    order = _by_columns(columns) if len(columns) else np.arange(len(code))
    small = len(code) and int(code.min()) >= 0 and int(code.max()) < _SHORT
    return order[np.argsort(code[order].astype(np.uint16) if small else code[order], kind="stable")]


def _by_columns(columns: Sequence[NDArray[Any]]) -> Ints:
    order, used = np.argsort(columns[0]), 1
    again = _equal_before(columns[:1], order)
    while used < len(columns) and np.count_nonzero(again) > _MANY * len(order):
        used = _telling(columns, used)
        order = np.lexsort([*columns[:used]][::-1])
        again = _equal_before(columns[:used], order)
    if again.any():
        tied = np.append(again, False) | np.append(False, again)
        run = np.cumsum(np.append(True, ~again))[tied]
        rows = order[tied]
        order[tied] = rows[np.lexsort((rows, *(c[rows] for c in columns[used:][::-1]), run))]
    return order


def _telling(columns: Sequence[NDArray[Any]], used: int) -> int:
    """How many columns to sort by next: up to the first one after those used that has few equal values."""
    for j in range(used, len(columns)):
        ordered = np.sort(columns[j])
        if np.count_nonzero(ordered[1:] == ordered[:-1]) <= _MANY * len(ordered):
            return j + 1
    return len(columns)


def _equal_before(columns: Sequence[NDArray[Any]], order: Ints) -> Bools:
    """Whether each row but the first equals the row before it; a missing value equals a missing value."""
    same = np.ones(max(len(order) - 1, 0), dtype=bool)
    for column in columns:
        ordered = column[order]
        equal = ordered[1:] == ordered[:-1]
        gone = ordered != ordered
        same &= equal | (gone[1:] & gone[:-1]) if gone.any() else equal
    return same
