"""Two multivariate empirical distribution functions compared at every point of both samples, exactly, with ties.

    U_m = maxᵢ |F₁(xᵢ) − F₂(xᵢ)|,   U_s = meanᵢ (F₁(xᵢ) − F₂(xᵢ))²   over the points of both samples

One column needs a sum along the sorted values, two a Fenwick tree, O(N log N), more sets of bits, O(N² d / 64).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel, usable_threads

_Codes = NDArray[np.int32]
_WORDS = 16
BLOCK = 64 * _WORDS


class JointGap(NamedTuple):
    """The largest difference and the mean squared difference of two distribution functions over the points of both samples."""

    largest: float
    mean_square: float


@dataclass(frozen=True, slots=True)
class RankedPoints:
    """Points of two samples (the first `first` rows are the first sample), each column as dense ranks with their order."""

    codes: tuple[_Codes, ...]
    orders: tuple[Ints, ...]
    first: int

    @classmethod
    def of(cls, one: Floats, other: Floats) -> RankedPoints:
        """From rows × columns of either sample; a missing value counts as larger than all others."""
        ranked = [_dense(np.concatenate([one[:, j], other[:, j]])) for j in range(one.shape[1])]
        return cls(tuple(c for c, _ in ranked), tuple(o for _, o in ranked), len(one))

    def gap(self, columns: Sequence[int]) -> JointGap:
        """The differences of the joint distribution functions of these columns."""
        n = len(self.codes[0])
        sizes = self.first, n - self.first
        if min(sizes) == 0:
            return JointGap(float("nan"), float("nan"))
        shared = gcd(*sizes)
        plus, minus = sizes[1] // shared, sizes[0] // shared
        codes = [self.codes[j] for j in columns]
        if len(columns) == 1:
            steps = np.where(np.arange(n) < self.first, plus, -minus)
            found = _along(steps, codes[0], self.orders[columns[0]])
        elif len(columns) == 2:
            found = _in_the_plane(self.orders[columns[0]], codes[0], codes[1], self.first, plus, minus)
        else:
            found = _by_bits(codes, self.first, plus, minus)
        size = found.astype(np.float64) / (plus * sizes[0])
        return JointGap(float(np.abs(size).max()), float(np.mean(size**2)))


def _dense(values: Floats) -> tuple[_Codes, Ints]:
    values = np.where(np.isnan(values), np.inf, values)
    order = np.argsort(values)
    ranked = values[order]
    codes = np.empty(len(values), dtype=np.int32)
    codes[order] = np.concatenate([[0], np.cumsum(ranked[1:] != ranked[:-1])]) if len(values) else 0
    return codes, order


def _along(steps: Ints, codes: _Codes, order: Ints) -> Ints:
    total = np.cumsum(steps[order])
    last = np.searchsorted(codes[order], np.arange(codes.max() + 1), side="right") - 1
    return np.asarray(total[last][codes])


@kernel()
def _in_the_plane(order: Ints, a: _Codes, b: _Codes, first: int, plus: int, minus: int) -> Ints:
    """At every point, the weighted count of points not larger in both columns; rows are sorted by the first column."""
    n = len(order)
    levels = 0
    for i in range(n):
        levels = max(levels, b[i] + 1)
    tree = np.zeros(levels + 1, dtype=np.int64)
    out = np.empty(n, dtype=np.int64)
    low = 0
    while low < n:
        high = low
        while high < n and a[order[high]] == a[order[low]]:
            i = order[high]
            step = plus if i < first else -minus
            k = b[i] + 1
            while k <= levels:
                tree[k] += step
                k += k & -k
            high += 1
        for p in range(low, high):
            i = order[p]
            k = b[i] + 1
            total = 0
            while k > 0:
                total += tree[k]
                k -= k & -k
            out[i] = total
        low = high
    return out


def _by_bits(codes: Sequence[_Codes], first: int, plus: int, minus: int) -> Ints:
    """The same for any number of columns, in integers: blocks of nearby points of one sample at a time, on all cores."""
    points = np.array(codes)
    n = points.shape[1]
    samples = np.arange(first), np.arange(first, n)
    parts = [part for rows in samples for part in _near(points, rows)]
    order = np.concatenate(parts)
    ends = np.cumsum([0, *(len(p) for p in parts)])
    weight = np.array([plus if p[0] < first else -minus for p in parts])
    table = np.ascontiguousarray(points[:, order])
    low, high = (np.array([f(table[:, a:b], axis=1) for a, b in pairwise(ends)]) for f in (np.min, np.max))
    sorting = np.empty(table.shape, dtype=np.int64)
    for a, b in pairwise(ends):
        sorting[:, a:b] = np.argsort(table[:, a:b], axis=1)
    workers = min(usable_threads(), len(parts))

    def count(k: int) -> Ints:
        total = np.zeros(n, dtype=np.int64)
        _count_blocks(table, sorting, ends, weight, low, high, np.arange(k, len(parts), workers), total)
        return total

    with ThreadPoolExecutor(workers) as pool:
        total = sum(pool.map(count, range(workers)), np.zeros(n, dtype=np.int64))
    out = np.empty(n, dtype=np.int64)
    out[order] = total
    return out


def _near(points: _Codes, rows: Ints, depth: int = 0) -> list[Ints]:
    """Rows in blocks of nearby points: halved along one column after the other."""
    if len(rows) <= BLOCK:
        return [rows]
    half = BLOCK * (-(-len(rows) // BLOCK) // 2)
    split = rows[np.argpartition(points[depth % len(points), rows], half)]
    return [*_near(points, split[:half], depth + 1), *_near(points, split[half:], depth + 1)]


@kernel()
def _counts_below(out: NDArray[np.uint16], codes: _Codes) -> None:
    """For every code, how many of a block's points have it or a smaller one."""
    out[:] = 0
    for c in codes:
        out[c] += 1
    total = 0
    for i in range(len(out)):
        total += out[i]
        out[i] = total


@kernel()
def _ones(word: np.uint64) -> np.int64:
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel()
def _count_blocks(
    table: _Codes, sorting: Ints, ends: Ints, weight: Ints, low: _Codes, high: _Codes, mine: Ints, total: Ints
) -> None:
    """For some blocks: intersect the sets of points not larger, by column, for every query that the block does not decide."""
    d, n = table.shape
    below = np.empty((d, n), dtype=np.uint16)
    sets = np.zeros((d, BLOCK + 1, _WORDS), dtype=np.uint64)
    met = np.empty(_WORDS, dtype=np.uint64)
    open_columns = np.empty(d, dtype=np.int64)
    one = np.uint64(1)
    for block in mine:
        begin, end = ends[block], ends[block + 1]
        size = end - begin
        for j in range(d):
            _counts_below(below[j], table[j, begin:end])
            for r in range(size):
                for word in range(_WORDS):
                    sets[j, r + 1, word] = sets[j, r, word]
                bit = sorting[j, begin + r]
                sets[j, r + 1, bit >> 6] |= one << np.uint64(bit & 63)
        for other in range(len(ends) - 1):
            apart, left = False, 0
            for j in range(d):
                if high[other, j] < low[block, j]:
                    apart = True
                    break
                if low[other, j] < high[block, j]:
                    open_columns[left] = j
                    left += 1
            if apart:
                continue
            for q in range(ends[other], ends[other + 1]):
                met[:] = ~np.uint64(0)
                none = False
                for c in range(left):
                    j = open_columns[c]
                    if below[j, table[j, q]] == 0:
                        none = True
                        break
                if none:
                    continue
                count = size
                if left:
                    count = 0
                    for c in range(left):
                        j = open_columns[c]
                        row = sets[j, below[j, table[j, q]]]
                        for w in range(_WORDS):
                            met[w] &= row[w]
                    for w in range(_WORDS):
                        count += _ones(met[w])
                total[q] += weight[block] * count
