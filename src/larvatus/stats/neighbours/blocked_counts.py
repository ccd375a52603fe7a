"""Candidates below and at a given distance from each target, by blocked matrix products: fast in many columns.

A target is finished as soon as `deepest` candidates are nearer, so that most releases need a part of the products.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.neighbours.blocked_products import BlockedProducts

WORDS = 128  # pairs of single-precision numbers whose signs are tested together
_SIGNS = -0x7FFFFFFF80000000  # the two sign bits in such a pair
_PAIRS = 20_000_000  # pairs measured in one call: well below a second


@dataclass(frozen=True, slots=True)
class BlockedCounts:
    """Candidates with their frequencies."""

    products: BlockedProducts
    copies: Floats

    @classmethod
    def of(cls, points: Floats, copies: Floats) -> BlockedCounts:
        return cls(BlockedProducts.of(points), copies)

    def count(self, targets: Floats, low: Floats, high: Floats, deepest: int) -> tuple[Floats, Floats]:
        """Candidates nearer than `low`, and those from `low` to `high`; exact while fewer than `deepest` are nearer."""
        targets = np.ascontiguousarray(targets)
        counts, done = np.zeros((2, len(targets))), np.zeros(len(targets), dtype=bool)
        for rows, candidates, values in self.products.sift(targets, high, done):
            _measure_hits(values.view(np.int64), values, rows, targets, candidates, self.products.points, self.copies, low,
                          high, deepest, counts)
            done[rows] = counts[0, rows] >= deepest
        return counts[0], counts[1]


def count_directly(
    targets: Floats, points: Floats, copies: Floats, start: Ints, stop: Ints, low: Floats, high: Floats, deepest: int,
    power: int = 2,
) -> tuple[Floats, Floats]:
    """The same counts from the distance of every pair; the candidates of target i are those from start[i] to stop[i]."""
    counts = np.zeros((2, len(targets)))
    ends = np.cumsum(stop - start) // _PAIRS
    edges = [0, *(np.flatnonzero(np.diff(ends)) + 1), len(targets)]
    targets, points = np.ascontiguousarray(targets), np.ascontiguousarray(points)
    for a, b in pairwise(edges):
        _measure_all(targets, points, copies, a, b, start, stop, low, high, deepest, power, counts)
    return counts[0], counts[1]


def count_in_lists(
    targets: Floats, points: Floats, copies: Floats, which: Ints, start: Ints, low: Floats, high: Floats, power: int
) -> tuple[Floats, Floats, Floats]:
    """The same counts among candidates listed in `which`, from start[i] to start[i + 1], and the largest distance."""
    out = np.zeros((3, len(targets)))
    _measure_listed(np.ascontiguousarray(targets), np.ascontiguousarray(points), copies, which, start, low, high, power, out)
    return out[0], out[1], out[2]


@kernel()
def all_negative(signs: NDArray[Any]) -> bool:
    """Whether all single-precision numbers, read as pairs, have the sign bit."""
    every = np.int64(-1)
    for w in range(len(signs)):
        every &= signs[w]
    return bool(every & _SIGNS == _SIGNS)


@kernel()
def measure(x: Floats, y: Floats, power: int) -> float:
    """Every count compares the distance computed here, so that it does not depend on how candidates were found."""
    total = 0.0
    for k in range(len(x)):
        d = x[k] - y[k]
        total += d * d if power == 2 else abs(d)
    return float(np.sqrt(total)) if power == 2 else total


@kernel()
def _measure_hits(
    signs: NDArray[Any], values: NDArray[Any], rows: Ints, targets: Floats, order: Ints, points: Floats, copies: Floats,
    low: Floats, high: Floats, deepest: int, counts: Floats,
) -> None:
    """Add the candidates of a block whose value is not negative; most pieces of a row have none, as their signs show."""
    words = signs.shape[1]
    for i in range(len(rows)):
        row = rows[i]
        for start in range(0, words, WORDS):
            stop = min(start + WORDS, words)
            if all_negative(signs[i, start:stop]):
                continue
            for at in range(2 * start, min(2 * stop, len(order))):
                if values[i, at] >= 0:
                    j = order[at]
                    distance = measure(targets[row], points[j], 2)
                    if distance < low[row]:
                        counts[0, row] += copies[j]
                    elif distance <= high[row]:
                        counts[1, row] += copies[j]
                    if counts[0, row] >= deepest:
                        break
            if counts[0, row] >= deepest:
                break


@kernel()
def _measure_all(
    targets: Floats, points: Floats, copies: Floats, first: int, last: int, start: Ints, stop: Ints, low: Floats, high: Floats,
    deepest: int, power: int, counts: Floats,
) -> None:
    width = targets.shape[1]
    for i in range(first, last):
        most = (high[i] * high[i] if power == 2 else high[i]) * (1 + 1e-14)
        for j in range(start[i], stop[i]):
            total = 0.0
            for k in range(width):
                d = targets[i, k] - points[j, k]
                total += d * d if power == 2 else abs(d)
                if total > most:
                    break
            if total > most:
                continue
            distance = np.sqrt(total) if power == 2 else total
            if distance < low[i]:
                counts[0, i] += copies[j]
            elif distance <= high[i]:
                counts[1, i] += copies[j]
            if counts[0, i] >= deepest:
                break


@kernel()
def _measure_listed(
    targets: Floats, points: Floats, copies: Floats, which: Ints, start: Ints, low: Floats, high: Floats, power: int,
    out: Floats,
) -> None:
    for i in range(len(targets)):
        for at in range(start[i], start[i + 1]):
            distance = measure(targets[i], points[which[at]], power)
            if distance < low[i]:
                out[0, i] += copies[which[at]]
            elif distance <= high[i]:
                out[1, i] += copies[which[at]]
            out[2, i] = max(out[2, i], distance)
