"""Order and ranks of a column in many small sub-groups at once, in one compiled pass.

Rows are sorted by sub-group; `starts` contains the start of each sub-group, and the end. Results equal those of `stats.ranks`
for each sub-group.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints, UInts
from larvatus.core.kernels import kernel

_SIGN, _ALL = np.uint64(1 << 63), np.uint64(0xFFFFFFFFFFFFFFFF)
_DIGITS, VALUES = 4, 256
BYTE, _LOW = np.uint64(8), np.uint64(255)
_FEW, _PATIENCE = 48, 4
_COMPILED = 20_000  # rows from which a compiled sort pays for its compilation


@kernel()
def _inserted(key: UInts, position: Ints, patience: int | np.int64) -> bool:
    """Insertion sort; returns false after more than `patience` moves per key."""
    moves = 0
    for i in range(1, len(key)):
        k, p, j = key[i], position[i], i
        while j > 0 and key[j - 1] > k:
            key[j], position[j] = key[j - 1], position[j - 1]
            j -= 1
        key[j], position[j] = k, p
        moves += i - j
        if moves > patience * len(key):
            return False
    return True


@kernel()
def _by_bytes(key: UInts, position: Ints, spare_key: UInts, spare: Ints, count: Ints, lowest: int) -> None:
    """Stable sort by four bytes of the keys, from bit `lowest` on."""
    n = len(key)
    count[:] = 0
    for i in range(n):
        k = key[i] >> np.uint64(lowest)
        count[np.int64(k & _LOW)] += 1
        count[VALUES + np.int64((k >> BYTE) & _LOW)] += 1
        count[2 * VALUES + np.int64((k >> BYTE + BYTE) & _LOW)] += 1
        count[3 * VALUES + np.int64((k >> BYTE + BYTE + BYTE) & _LOW)] += 1
    here, there, a, b = key, spare_key, position, spare
    for d in range(_DIGITS):
        first = VALUES * d
        below = 0
        for v in range(first, first + VALUES):
            c = count[v]
            count[v] = below
            below += c
        shift = np.uint64(lowest + 8 * d)
        for i in range(n):
            value = first + np.int64((here[i] >> shift) & _LOW)
            at = count[value]
            count[value] = at + 1
            there[at], b[at] = here[i], a[i]
        here, there, a, b = there, here, b, a


@kernel()
def _ascending(key: UInts, position: Ints, spare_key: UInts, spare: Ints, count: Ints) -> None:
    """Sort keys and their positions: by the upper half of the bits in which keys differ, then by insertion.

    If insertion would take long, because many keys differ only in the lower half, all bytes are used.
    """
    n = len(key)
    if n <= _FEW:
        _inserted(key, position, n)
        return
    least, most = key[0], key[0]
    for i in range(n):
        least, most = min(least, key[i]), max(most, key[i])
    bits = 0
    while bits < 64 and (most - least) >> np.uint64(bits):
        bits += 1
    for i in range(n):
        key[i] -= least
    _by_bytes(key, position, spare_key, spare, count, max(bits - 32, 0))
    if bits > 32 and not _inserted(key, position, np.int64(_PATIENCE)):  # a constant would be compiled for itself
        for half in range(2):
            _by_bytes(key, position, spare_key, spare, count, 32 * half)


@kernel()
def _orders(values: Floats, starts: Ints, order: Ints, present: Ints) -> None:
    """Positions in ascending order of value within each sub-group, missing ones last, and the number of present values."""
    size = 0
    for g in range(len(starts) - 1):
        size = max(size, starts[g + 1] - starts[g])
    key, spare_key = np.empty(size, dtype=np.uint64), np.empty(size, dtype=np.uint64)
    position, spare = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    count = np.empty(_DIGITS * VALUES, dtype=np.int64)
    plain = np.empty(size)
    bits = plain.view(np.uint64)
    for g in range(len(starts) - 1):
        low, n = starts[g], starts[g + 1] - starts[g]
        there = n
        for i in range(n):
            plain[i] = values[low + i] + 0.0  # -0 becomes 0
            position[i] = low + i
            if np.isnan(values[low + i]):
                key[i] = _ALL
                there -= 1
            else:
                key[i] = ~bits[i] if bits[i] & _SIGN else bits[i] | _SIGN
        _ascending(key[:n], position[:n], spare_key[:n], spare[:n], count)
        for i in range(n):
            order[low + i] = position[i]
        present[g] = there


@kernel()
def _averaged(values: Floats, order: Ints, starts: Ints, present: Ints, out: Floats) -> None:
    """Average ranks within each sub-group; NaN if missing."""
    for g in range(len(present)):
        low, n = starts[g], present[g]
        start = 0
        while start < n:
            stop = start + 1
            while stop < n and values[order[low + stop]] == values[order[low + start]]:
                stop += 1
            for i in range(start, stop):
                out[order[low + i]] = (start + stop + 1) / 2.0
            start = stop
        for i in range(low + n, starts[g + 1]):
            out[order[i]] = np.nan


@kernel()
def _tied(values: Floats, order: Ints, starts: Ints, present: Ints, run: Ints) -> int:
    """Number the runs of equal values from 1, with 0 for values without ties; returns the number of runs."""
    runs = 0
    for g in range(len(present)):
        low = starts[g]
        for i in range(low, starts[g + 1]):
            run[i] = 0
        for i in range(low + 1, low + present[g]):
            if values[order[i]] == values[order[i - 1]]:
                if run[i - 1] == 0:
                    runs += 1
                    run[i - 1] = runs
                run[i] = runs
    return runs


@kernel()
def _placed(
    order: Ints, starts: Ints, present: Ints, given: Floats, sorting: Ints, given_starts: Ints, given_present: Ints, out: Floats
) -> None:
    """The row ranked r-th of m gets the ⌈r·n/m⌉-th smallest of the n given values of its sub-group."""
    for g in range(len(present)):
        low, m, n = starts[g], present[g], given_present[g]
        for i in range(starts[g + 1] - low):
            out[order[low + i]] = given[sorting[given_starts[g] + (n * (i + 1) + m - 1) // m - 1]] if i < m and n else np.nan


@kernel()
def _numbered(order: Ints, starts: Ints, present: Ints, out: Floats) -> None:
    for g in range(len(present)):
        for i in range(starts[g + 1] - starts[g]):
            out[order[starts[g] + i]] = i + 1.0 if i < present[g] else np.nan


def _read_only(values: Floats) -> Floats:
    """A view that cannot be written to: columns of a file cannot, and loops need not be compiled for both kinds."""
    view = np.ascontiguousarray(values).view()
    view.flags.writeable = False
    return view


def orders(values: Floats, starts: Ints) -> tuple[Ints, Ints]:
    """Positions in ascending order within each sub-group, missing ones last, and the number of values of each."""
    if len(values) <= _COMPILED:
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        there = np.bincount(group, weights=~np.isnan(values), minlength=len(starts) - 1)
        return np.lexsort((values, group)), there.astype(np.int64)
    order, present = np.empty(len(values), dtype=np.int64), np.empty(len(starts) - 1, dtype=np.int64)
    _orders(_read_only(values), starts, order, present)
    return order, present


def keyed_orders(
    values: Floats, starts: Ints, record: Ints, words: Callable[[Ints], NDArray[np.uint64]]
) -> tuple[Ints, Ints]:
    """The same, with ties broken by (keyed word, record id); words are drawn for ties only."""
    order, present = orders(values, starts)
    run = np.empty(len(values), dtype=np.int64)
    if _tied(_read_only(values), order, starts, present, run):
        tied = np.flatnonzero(run)
        rows = order[tied]
        order[tied] = rows[np.lexsort((record[rows], words(record[rows]), run[tied]))]
    return order, present


def grouped_average_ranks(values: Floats, starts: Ints, ordered: tuple[Ints, Ints] | None = None) -> Floats:
    """Ranks within each sub-group, with tied values sharing their mean; NaN if missing. `ordered` are known orders."""
    out = np.empty(len(values))
    _averaged(_read_only(values), *_with(orders(values, starts) if ordered is None else ordered, starts), out)
    return out


def grouped_keyed_ranks(values: Floats, starts: Ints, record: Ints, words: Callable[[Ints], NDArray[np.uint64]]) -> Floats:
    """Ranks within each sub-group, each rank once; NaN if missing."""
    out = np.empty(len(values))
    _numbered(*_with(keyed_orders(values, starts, record, words), starts), out)
    return out


def place_in_groups(
    ordered: tuple[Ints, Ints], starts: Ints, given: Floats, given_starts: Ints, sorted_by: tuple[Ints, Ints] | None = None
) -> Floats:
    """Given values placed in the order of others, within each sub-group; `sorted_by` are the orders of the given values."""
    out = np.empty(len(ordered[0]))
    sorting, given_present = orders(given, given_starts) if sorted_by is None else sorted_by
    _placed(*_with(ordered, starts), _read_only(given), sorting, given_starts, given_present, out)
    return out


def _with(ordered: tuple[Ints, Ints], starts: Ints) -> tuple[Ints, Ints, Ints]:
    return ordered[0], starts, ordered[1]
