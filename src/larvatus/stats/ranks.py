"""Order and ranks, with ties averaged or settled by keyed words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from larvatus.core.kernels import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def present_order(values: Floats) -> Ints:
    """Positions of the present values in ascending order; missing ones sort last and are left out."""
    order = np.argsort(values)
    if len(order) and np.isnan(values[order[-1]]):
        order = order[: len(values) - np.count_nonzero(np.isnan(values))]
    return order


def keyed_order(values: Floats, record: Ints, words: Callable[[Ints], NDArray[np.uint64]]) -> Ints:
    """Positions of the present values in the order (value, keyed word, record id); words are drawn for ties only."""
    order = present_order(values)
    ordered = values[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(same) == 0:
        return order
    tied = np.union1d(same, same + 1)
    run = np.zeros(len(order), dtype=np.int64)
    run[1:] = np.cumsum(ordered[1:] != ordered[:-1])
    rows = order[tied]
    settled = np.lexsort((record[rows], words(record[rows]), run[tied]))
    order[tied] = rows[settled]
    return order


def keyed_ranks(values: Floats, record: Ints, words: Callable[[Ints], NDArray[np.uint64]]) -> Floats:
    """Ranks 1…n of the present values, each rank once, NaN where missing."""
    order = keyed_order(values, record, words)
    out = np.full(len(values), np.nan)
    out[order] = np.arange(1, len(order) + 1)
    return out


@kernel()
def _averaged(values: Floats, order: Ints, out: Floats) -> None:
    """Ranks of values in sorted order, each run of equal ones sharing its mean."""
    n = len(order)
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and values[order[stop]] == values[order[start]]:
            stop += 1
        rank = (start + stop + 1) / 2.0
        for i in range(start, stop):
            out[order[i]] = rank
        start = stop


def average_ranks(values: Floats) -> Floats:
    """Ranks 1…n of the present values, tied ones sharing their mean, NaN where missing."""
    order = present_order(values)
    out = np.empty(len(values)) if len(order) == len(values) else np.full(len(values), np.nan)
    _averaged(values, order, out)
    return out


def by_rank(ordered: Floats, m: int) -> Floats:
    """The values that ranks 1…m of another file receive: the ⌈r·n/m⌉-th smallest of n."""
    n = len(ordered)
    if n == m:
        return ordered
    index = -(-np.arange(1, m + 1) * n // m) - 1
    return ordered[index]


def placed_by(order: Ints, rows: int, given: Floats) -> Floats:
    """Given values, sorted, in the rows named by an order; NaN in the other rows and where nothing was given."""
    ordered = np.sort(given)
    if len(ordered) and np.isnan(ordered[-1]):
        ordered = ordered[: len(given) - np.count_nonzero(np.isnan(given))]
    out = np.empty(rows) if len(order) == rows and len(ordered) else np.full(rows, np.nan)
    if len(ordered):
        out[order] = by_rank(ordered, len(order))
    return out
