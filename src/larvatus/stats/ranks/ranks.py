"""Order and ranks, with ties averaged or broken by keyed words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel

_FEW = 32
_COMPILED = 20_000  # rows from which compiled loops pay for their compilation


def present_order(values: Floats) -> Ints:
    """Positions of the present values in ascending order; missing ones sort last and are left out."""
    order = np.argsort(values)
    if len(order) and np.isnan(values[order[-1]]):
        order = order[: len(values) - np.count_nonzero(np.isnan(values))]
    return order


@kernel()
def _tied(ordered: Floats) -> tuple[Ints, Ints]:
    """Positions of tied values in sorted order, where each run of equal ones begins among these, and the end."""
    n = len(ordered)
    count = runs = 0
    for i in range(n):
        before = i > 0 and ordered[i] == ordered[i - 1]
        after = i + 1 < n and ordered[i] == ordered[i + 1]
        count += before or after
        runs += after and not before
    tied, starts = np.empty(count, dtype=np.int64), np.empty(runs + 1, dtype=np.int64)
    count = runs = 0
    for i in range(n):
        before = i > 0 and ordered[i] == ordered[i - 1]
        after = i + 1 < n and ordered[i] == ordered[i + 1]
        if after and not before:
            starts[runs] = count
            runs += 1
        if before or after:
            tied[count] = i
            count += 1
    starts[runs] = count
    return tied, starts


@kernel()
def _by_insertion(rows: Ints, words: NDArray[np.uint64], record: Ints) -> None:
    for i in range(1, len(rows)):
        row, word, own, j = rows[i], words[i], record[i], i
        while j > 0 and (words[j - 1] > word or (words[j - 1] == word and record[j - 1] > own)):
            rows[j], words[j], record[j] = rows[j - 1], words[j - 1], record[j - 1]
            j -= 1
        rows[j], words[j], record[j] = row, word, own


@kernel()
def _settled(rows: Ints, words: NDArray[np.uint64], record: Ints, starts: Ints) -> None:
    """Rows of every run in the order of their words, then of their record ids."""
    for r in range(len(starts) - 1):
        low, high = starts[r], starts[r + 1]
        if high - low > _FEW:
            order = np.argsort(words[low:high])
            rows[low:high] = rows[low:high][order]
            record[low:high] = record[low:high][order]
            words[low:high] = words[low:high][order]
        _by_insertion(rows[low:high], words[low:high], record[low:high])


def _settle(rows: Ints, words: NDArray[np.uint64], record: Ints, starts: Ints) -> None:
    """Put the rows of every run into the order of their words, then of their record ids."""
    if len(rows) > _COMPILED:
        _settled(rows, words, record, starts)
        return
    run = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    rows[:] = rows[np.lexsort((record, words, run))]


def keyed_order(values: Floats, record: Ints, words: Callable[[Ints], NDArray[np.uint64]]) -> Ints:
    """Positions of the present values in the order (value, keyed word, record id); words are drawn for ties only."""
    order = present_order(values)
    tied, starts = _tied(values[order])
    if len(tied):
        rows = order[tied]
        ids = record[rows]
        _settle(rows, words(ids), ids, starts)
        order[tied] = rows
    return order


def in_keyed_order(values: Floats, words: NDArray[np.uint64], record: Ints) -> Ints:
    """Positions in the order (value, word, record id), the words of all given."""
    order = np.argsort(values)
    tied, starts = _tied(values[order])
    if len(tied):
        rows = order[tied]
        _settle(rows, words[rows], record[rows], starts)
        order[tied] = rows
    return order


def keyed_ranks(values: Floats, record: Ints, words: Callable[[Ints], NDArray[np.uint64]]) -> Floats:
    """Ranks 1…n of the present values, each rank once; NaN if missing."""
    order = keyed_order(values, record, words)
    out = np.full(len(values), np.nan)
    out[order] = np.arange(1, len(order) + 1)
    return out


@kernel()
def _averaged(values: Floats, order: Ints, out: Floats) -> None:
    """Ranks of sorted values, with each run of equal ones sharing its mean."""
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
    """Ranks 1…n of the present values, with ties sharing their mean; NaN if missing."""
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


def values_in_order(order: Ints, rows: int, given: Floats) -> Floats:
    """Given values, sorted, placed in the rows of an order; NaN in the other rows."""
    ordered = np.sort(given)
    if len(ordered) and np.isnan(ordered[-1]):
        ordered = ordered[: len(given) - np.count_nonzero(np.isnan(given))]
    out = np.empty(rows) if len(order) == rows and len(ordered) else np.full(rows, np.nan)
    if len(ordered):
        out[order] = by_rank(ordered, len(order))
    return out


def alike(now: NDArray[np.float64], was: NDArray[np.float64], tolerance: float) -> tuple[int, int]:
    """Rows in which both agree to a tolerance and to rounding error, and rows in which the second is present."""
    if len(was) > _COMPILED:
        return _alike(now, was, tolerance)
    with np.errstate(invalid="ignore"):
        same = np.abs(now - was) <= tolerance + 1e-15 * np.abs(was)
    return int(np.count_nonzero(same)), len(was) - int(np.count_nonzero(np.isnan(was)))


@kernel()
def _alike(now: NDArray[np.float64], was: NDArray[np.float64], tolerance: float) -> tuple[int, int]:
    same = there = 0
    for i in range(len(was)):
        if not np.isnan(was[i]):
            there += 1
            if abs(now[i] - was[i]) <= tolerance + 1e-15 * abs(was[i]):
                same += 1
    return same, there
