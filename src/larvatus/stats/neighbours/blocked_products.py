"""Pairs of targets and candidates that may be within reach of each other, by matrix products in single precision.

    |u − v| ≤ r   ⟺   u·v − |v|²/2 − (|u|² − r²)/2 ≥ 0

The left side is a matrix product of blocks of targets (u, −1, −(|u|² − r²)/2) and candidates (v, |v|²/2, 1). A bound on its
rounding error is added, so that a negative value rules a candidate out. The few others must be measured in double precision.
The cost hardly depends on the data, and grows slowly with the number of columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Bools, Floats, Ints

_ROWS = 1024  # targets in a block
_EDGES = (0, 256, 1024)  # starts of the first blocks of candidates: small, because many targets are often finished after them
_WIDTH = 2048  # candidates in each further block
_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53  # unit roundoff
_FAR = 2.0**60  # distance, in units of the farthest candidate, beyond which squares may overflow in single precision
_CENTRE = 10_000  # candidates from which the centre is computed


@dataclass(frozen=True, slots=True)
class BlockedProducts:
    """Candidates, and their order by distance from a centre, in which blocks are formed."""

    points: Floats
    order: Ints
    square: Floats
    centre: Floats
    unit: float

    @classmethod
    def of(cls, points: Floats) -> BlockedProducts:
        """Prepare candidates. Medians serve as centre, so that a few extreme candidates do not make all norms large."""
        points = np.ascontiguousarray(points)
        centre = np.median(points[:: max(1, len(points) // _CENTRE)], axis=0)
        largest = float(np.maximum(points.max(axis=0) - centre, centre - points.min(axis=0)).max(initial=0.0))
        unit = float(np.ldexp(1.0, -np.frexp(largest)[1]))  # a power of two, by which products are exact
        square = np.empty(len(points))
        for first in range(0, len(points), _WIDTH):
            apart = (points[first : first + _WIDTH] - centre) * unit
            square[first : first + _WIDTH] = np.einsum("ij,ij->i", apart, apart)
        order = np.argsort(square)
        return cls(points, order, square[order], centre, unit)

    def sift(self, targets: Floats, reach: Floats, done: Bools) -> Iterator[tuple[Ints, Ints, NDArray[np.float32]]]:
        """Rows of targets, rows of candidates and their values, which are negative only if the candidate is out of reach.

        Between the blocks `reach` may be lowered and targets may be marked as done.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            apart = (targets - self.centre) * self.unit
            square = np.einsum("ij,ij->i", apart, apart)
        norm = np.sqrt(square)
        scratch = np.empty(min(_ROWS, len(targets)) * _WIDTH, dtype=np.float32)
        for first, last in self._blocks():
            right, nearest, farthest = self._right(first, last), *np.sqrt(self.square[[first, last - 1]])
            with np.errstate(over="ignore", invalid="ignore"):
                scaled = reach * self.unit
                beyond = ~((norm < _FAR) & (scaled < _FAR))
                asked = np.flatnonzero(~done & (beyond | _within_reach(norm, scaled, nearest, farthest)))
            for start in range(0, len(asked), _ROWS):
                rows = asked[start : start + _ROWS]
                values = scratch[: len(rows) * right.shape[1]].reshape(len(rows), -1)
                with np.errstate(over="ignore", invalid="ignore"):
                    np.matmul(_left(apart[rows], square[rows], scaled[rows], farthest), right, out=values)
                values[beyond[rows]] = 0.0
                yield rows, self.order[first:last], values

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
    """Targets that may have a candidate within reach, by distances from the centre: ||u| − |v|| ≤ |u − v|."""
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
