"""Order and ranks, with ties averaged or settled by keyed words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def keyed_order(values: Floats, record: Ints, words: Callable[[Ints], NDArray[np.uint64]]) -> Ints:
    """Positions of the present values in the order (value, keyed word, record id); words are drawn for ties only."""
    order = np.argsort(values)
    order = order[: len(values) - int(np.isnan(values).sum())]
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


def average_ranks(values: Floats) -> Floats:
    """Ranks 1…n of the present values, tied ones sharing their mean, NaN where missing."""
    order = np.argsort(values)
    order = order[: len(values) - int(np.isnan(values).sum())]
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))[: len(ordered)]
    lengths = np.diff(np.append(starts, len(ordered)))
    out = np.full(len(values), np.nan)
    out[order] = np.repeat(starts + (lengths + 1) / 2.0, lengths)
    return out


def by_rank(ordered: Floats, m: int) -> Floats:
    """The values that ranks 1…m of another file receive: the ⌈r·n/m⌉-th smallest of n."""
    n = len(ordered)
    if n == m:
        return ordered
    index = -(-np.arange(1, m + 1) * n // m) - 1
    return ordered[index]
