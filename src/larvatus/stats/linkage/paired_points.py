"""Original and released values in the same units, and in windows if there are too many to link at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.ranks.row_order import row_order

_SPREAD = 0.6180339887498949  # multiples of it, without their whole parts, are spread evenly


def in_same_units(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Both sides in standard deviations of the released values; columns without variation become zeros."""
    left, right = np.empty_like(x), np.empty_like(y)
    for j in range(y.shape[1]):
        there = y[~np.isnan(y[:, j]), j]
        varies = len(there) > 0 and float(there.max()) > float(there.min())
        centre, sd = (float(there.mean()), float(there.std())) if varies else (0.0, np.inf)
        left[:, j], right[:, j] = (x[:, j] - centre) / sd, (y[:, j] - centre) / sd
    return left, right


def with_indicators(values: Floats, columns: Any) -> Floats:
    """Missing values as zero, and an indicator of missingness for each marked column."""
    return np.hstack([np.nan_to_num(values), np.isnan(values[:, columns]).astype(np.float64)])


def rows_by_code(same: Ints) -> Iterator[Ints]:
    """The rows of each code."""
    order = np.argsort(same, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(same[order])) + 1)


@dataclass(frozen=True, slots=True)
class PointWindow:
    """Rows of x and of y that are linked together, and the positions in `left` (`inner`) for which the links count.

    `whole` lists all rows of y that have the same S, in the order in which they were cut, if the window is only a part of them.
    """

    left: Ints
    right: Ints
    inner: slice
    whole: Ints | None = None

    @property
    def targets(self) -> Ints:
        """The rows of x whose links count."""
        return self.left[self.inner]


def windows_along(x: Floats, y: Floats, most: int, every: int = 1, start: float = 0.0) -> Iterator[PointWindow]:
    """Windows of at most `most` rows of y; if there are more, both sides are sorted along the direction in which y varies most.

    Windows overlap, and links count only in the middle, so that no record is near a cut. Each row of x counts once. With
    `every` above 1, only one in `every` rows of x counts, in stretches of the sorted rows: the rows are divided into equal
    stretches, and of each run of `every` stretches one is drawn, from `start` in [0, 1).
    """
    n, m = len(x), len(y)
    if m <= most:
        yield PointWindow(canonical_order(x), canonical_order(y), slice(0, n))
        return
    mine, theirs = _along(x, y)
    for first, low, high in _stretches(m, most, every, start):
        begin, end, a, b = (round(at * n / m) for at in (first, first + most, low, high))
        if b > a:
            yield PointWindow(mine[begin:end], theirs[first : first + most], slice(a - begin, b - begin), theirs)


def blocks_along(x: Floats, y: Floats, most: int, every: int = 1, start: float = 0.0) -> Iterator[PointWindow]:
    """As `windows_along`, but blocks do not overlap and every row of a block counts; of each `every` blocks one is drawn."""
    if len(y) <= most:
        yield PointWindow(canonical_order(x), canonical_order(y), slice(0, len(x)))
        return
    mine, theirs = _along(x, y)
    runs = max(1, -(-len(y) // (most * every)))
    parts = -(-len(y) // most) if every == 1 else runs * every
    drawn = range(parts) if every == 1 else [_drawn(i, every, start) for i in range(runs)]
    cuts = [np.linspace(0, len(v), parts + 1).round().astype(np.int64) for v in (mine, theirs)]
    for i in drawn:
        a, b = (order[cut[i] : cut[i + 1]] for order, cut in zip((mine, theirs), cuts, strict=True))
        yield PointWindow(a, b, slice(0, len(a)), theirs)


def _stretches(m: int, most: int, every: int, start: float) -> Iterator[tuple[int, int, int]]:
    """Where windows of `most` of m sorted rows start, and the rows between which links count."""
    if every == 1:
        step = most // 2
        starts = [*range(0, m - most, step), m - most]
        edges = [0, *((one + most + other) // 2 for one, other in itertools.pairwise(starts)), m]
        yield from zip(starts, edges[:-1], edges[1:], strict=True)
        return
    runs = max(1, -(-2 * m // (most * every)))
    for i in range(runs):
        low, high = (round((_drawn(i, every, start) + k) * m / (runs * every)) for k in (0, 1))
        yield min(max((low + high - most) // 2, 0), m - most), low, high


def _drawn(run: int, every: int, start: float) -> int:
    """The stretch drawn from a run of `every` stretches, spread evenly over the runs."""
    return run * every + min(int((start + run * _SPREAD) % 1.0 * every), every - 1)


def _along(x: Floats, y: Floats) -> tuple[Ints, Ints]:
    """Rows of both sides sorted along the direction in which y varies most."""
    centred = y - y.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    turn = vectors[:, -1] * (1.0 if vectors[:, -1].sum() >= 0 else -1.0)
    mine, theirs = (rows[np.argsort((v @ turn)[rows], kind="stable")] for v, rows in
                    ((x, canonical_order(x)), (y, canonical_order(y))))
    return mine, theirs


def canonical_order(values: Floats) -> Ints:
    """Rows sorted by all columns, so that results do not depend on the input order."""
    return row_order([*values.T]) if values.shape[1] else np.arange(len(values))
