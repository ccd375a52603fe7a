"""Original and released values in the same units, and in blocks if there are too many for memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from larvatus.core.arrays import Floats, Ints


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


def blocks_along(x: Floats, y: Floats, most: int) -> Iterator[tuple[Ints, Ints]]:
    """Blocks of rows of x and of y in a canonical order, with at most `most` rows of y each.

    If there are more, both sides are sorted along the direction in which y varies most and cut at the same ranks.
    """
    if len(y) <= most:
        yield canonical_order(x), canonical_order(y)
        return
    mine, theirs = _along(x, y)
    parts = -(-len(y) // most)
    yield from zip(np.array_split(mine, parts), np.array_split(theirs, parts), strict=True)


@dataclass(frozen=True, slots=True)
class PointWindow:
    """Rows of x and of y that are linked together, and the positions in `left` (`inner`) for which the links count."""

    left: Ints
    right: Ints
    inner: slice


def windows_along(x: Floats, y: Floats, most: int) -> Iterator[PointWindow]:
    """Windows as `blocks_along`, but each overlaps the next by half, and links count in its middle half only.

    So no record is near a cut. Each row of x counts once.
    """
    n, m = len(x), len(y)
    if m <= most:
        yield PointWindow(canonical_order(x), canonical_order(y), slice(0, n))
        return
    mine, theirs = _along(x, y)
    step = most // 2
    starts = [*range(0, m - most, step), m - most]
    edges = [0, *((one + most + other) // 2 for one, other in itertools.pairwise(starts)), m]
    for start, low, high in zip(starts, edges[:-1], edges[1:], strict=True):
        first, last, a, b = (round(at * n / m) for at in (start, start + most, low, high))
        yield PointWindow(mine[first:last], theirs[start : start + most], slice(a - first, b - first))


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
    return np.lexsort(values.T[::-1]) if values.shape[1] else np.arange(len(values))
