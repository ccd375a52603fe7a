"""Candidates below and at a given distance from each target, by matrix products: exact, at the same cost in many columns.

    |u − v| ≤ r   ⟺   u·v − |v|²/2 − (|u|² − r²)/2 ≥ 0

The left side is a matrix product of blocks of targets (u, −1, −(|u|² − r²)/2) and candidates (v, |v|²/2, 1) in single precision.
A bound on its rounding error is added, so that a negative value rules a candidate out. The few that remain are measured in double
precision. A target is finished as soon as `deepest` candidates are nearer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.kernels import kernel

_ROWS = 1024  # targets in a block
_EDGES = (0, 256, 1024)  # ends of the first blocks of candidates: small, because most targets are often finished after them
_WIDTH = 2048  # candidates in each further block
_WORDS = 128  # pairs of single-precision numbers whose signs are tested together
_SIGNS = -0x7FFFFFFF80000000  # the two sign bits in such a pair
_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53  # unit roundoff
_FAR = 2.0**60  # norm, in units of the farthest candidate, beyond which squares may overflow in single precision
_PAIRS = 20_000_000  # pairs measured in one call: well below a second
_CENTRE = 10_000  # candidates from which the centre is computed


@dataclass(frozen=True, slots=True)
class BlockedCounts:
    """Candidates with their frequencies, and their order by distance from a centre, in which blocks are formed."""

    points: Floats
    copies: Floats
    order: Ints
    square: Floats
    centre: Floats
    unit: float

    @classmethod
    def of(cls, points: Floats, copies: Floats) -> BlockedCounts:
        """Prepare candidates. Medians serve as centre, so that a few extreme candidates do not make all norms large."""
        points = np.ascontiguousarray(points)
        centre = np.median(points[:: max(1, len(points) // _CENTRE)], axis=0)
        largest = float(np.maximum(points.max(axis=0) - centre, centre - points.min(axis=0)).max(initial=0.0))
        unit = float(np.ldexp(1.0, -np.frexp(largest)[1]))  # a power of two, by which products are exact
        square = np.empty(len(points))
        for first in range(0, len(points), _WIDTH):
            apart = (points[first : first + _WIDTH] - centre) * unit
            square[first : first + _WIDTH] = np.einsum("ij,ij->i", apart, apart)
        order = np.argsort(square, kind="stable")
        return cls(points, copies, order, square[order], centre, unit)

    def count(self, targets: Floats, low: Floats, high: Floats, deepest: int) -> tuple[Floats, Floats]:
        """Candidates nearer than `low`, and those from `low` to `high`; exact while fewer than `deepest` are nearer."""
        targets = np.ascontiguousarray(targets)
        with np.errstate(over="ignore"):
            apart = (targets - self.centre) * self.unit
            square = np.einsum("ij,ij->i", apart, apart)
            reach = high * self.unit
        counts = np.zeros((2, len(targets)))
        far = ~((square < _FAR**2) & (reach < _FAR))
        if far.any():
            ends = np.zeros(int(far.sum()), dtype=np.int64), np.full(int(far.sum()), len(self.points))
            counts[:, far] = count_directly(targets[far], self.points, self.copies, *ends, low[far], high[far], deepest)
        alive = np.flatnonzero(~far)
        scratch = np.empty(min(_ROWS, len(alive)) * _WIDTH, dtype=np.float32)
        for first, last in self._blocks():
            alive = alive[counts[0, alive] < deepest]
            norms = np.sqrt(self.square[[first, last - 1]])
            near = alive[_within_reach(np.sqrt(square[alive]), reach[alive], *norms)]
            right = self._right(first, last)
            for start in range(0, len(near), _ROWS):
                rows = near[start : start + _ROWS]
                values = scratch[: len(rows) * right.shape[1]].reshape(len(rows), -1)
                np.matmul(_left(apart[rows], square[rows], reach[rows], norms[1]), right, out=values)
                _measure_hits(values.view(np.int64), values, rows, targets, self.order[first:last], self.points, self.copies,
                              low, high, deepest, counts)
        return counts[0], counts[1]

    def _blocks(self) -> Iterator[tuple[int, int]]:
        n = len(self.points)
        edges = [e for e in (*_EDGES, *range(_EDGES[-1] + _WIDTH, n, _WIDTH)) if e < n]
        return zip(edges, [*edges[1:], n], strict=True)

    def _right(self, first: int, last: int) -> NDArray[np.float32]:
        """The columns of candidates for the product, an even number: the last one may be zero, and is not counted."""
        out = np.zeros((self.points.shape[1] + 2, last - first + (last - first) % 2), dtype=np.float32)
        inside = slice(0, last - first)
        out[:-2, inside] = ((self.points[self.order[first:last]] - self.centre) * self.unit).astype(np.float32).T
        out[-2, inside], out[-1, inside] = self.square[first:last] / 2, 1.0
        return out


def _within_reach(norm: Floats, reach: Floats, nearest: float, farthest: float) -> Bools:
    """Targets whose distance from the centre allows candidates at distances from the centre in a range: ||u| − |v|| ≤ |u − v|."""
    slack = reach + 1e-9 * (norm + farthest + reach)
    return np.asarray((norm - slack <= farthest) & (norm + slack >= nearest))


def _left(apart: Floats, square: Floats, reach: Floats, farthest: float) -> NDArray[np.float32]:
    """The rows of targets for the product with candidates up to a distance from the centre."""
    out = np.empty((len(apart), apart.shape[1] + 2), dtype=np.float32)
    level = (square - reach**2) / 2
    out[:, :-2], out[:, -2] = apart, -1.0
    out[:, -1] = rounding_bound(apart.shape[1], square, level, reach, farthest) - level
    return out


def rounding_bound(columns: int, square: Floats, level: Floats, reach: Floats, norm: float) -> Floats:
    """A bound on the error of u·v − |v|²/2 − level in single precision, for |u|² = `square` and |v| ≤ `norm`.

    A sum of m products in any order has a relative error of at most m roundings of Σ|terms|, and each factor was rounded once.
    The other parts are rounding in double precision, of coordinates and distances, and underflow.
    """
    m = columns + 2
    terms = np.sqrt(square) * norm + norm**2 / 2 + np.abs(level)
    doubles = 8 * (m + 8) * _DOUBLE * (square + norm**2 + reach**2)
    return np.asarray(1.1 * (m + 4) * _SINGLE * terms + doubles + (m + 8) * 2.0**-120)


def count_directly(
    targets: Floats, points: Floats, copies: Floats, start: Ints, stop: Ints, low: Floats, high: Floats, deepest: int,
    power: int = 2,
) -> tuple[Floats, Floats]:
    """The same counts from the distance of every pair; the candidates of target i are those from start[i] to stop[i]."""
    counts = np.zeros((2, len(targets)))
    ends = np.cumsum(stop - start) // _PAIRS
    edges = [0, *(np.flatnonzero(np.diff(ends)) + 1), len(targets)]
    targets, points = np.ascontiguousarray(targets), np.ascontiguousarray(points)
    for a, b in zip(edges[:-1], edges[1:], strict=True):
        _measure_all(targets, points, copies, a, b, start, stop, low, high, deepest, power, counts)
    return counts[0], counts[1]


def count_listed(
    targets: Floats, points: Floats, copies: Floats, which: Ints, start: Ints, low: Floats, high: Floats, power: int
) -> tuple[Floats, Floats, Floats]:
    """The same counts among candidates listed in `which`, from start[i] to start[i + 1], and the largest distance."""
    out = np.zeros((3, len(targets)))
    _measure_listed(np.ascontiguousarray(targets), np.ascontiguousarray(points), copies, which, start, low, high, power, out)
    return out[0], out[1], out[2]


@kernel()
def _distance(x: Floats, y: Floats, power: int) -> float:
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
    """Add the candidates of a block whose value is not negative; most pieces of a row have none, as their signs tell."""
    words = signs.shape[1]
    for i in range(len(rows)):
        row = rows[i]
        for start in range(0, words, _WORDS):
            stop = min(start + _WORDS, words)
            every = np.int64(-1)
            for w in range(start, stop):
                every &= signs[i, w]
            if every & _SIGNS == _SIGNS:
                continue
            for at in range(2 * start, min(2 * stop, len(order))):
                if values[i, at] >= 0:
                    j = order[at]
                    distance = _distance(targets[row], points[j], 2)
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
    targets: Floats, points: Floats, copies: Floats, which: Ints, start: Ints, low: Floats, high: Floats, power: int, out: Floats
) -> None:
    for i in range(len(targets)):
        for at in range(start[i], start[i + 1]):
            distance = _distance(targets[i], points[which[at]], power)
            if distance < low[i]:
                out[0, i] += copies[which[at]]
            elif distance <= high[i]:
                out[1, i] += copies[which[at]]
            out[2, i] = max(out[2, i], distance)
