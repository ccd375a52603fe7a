"""Distances to the nearest points, and the relative distance by which near copies show.

    r(q) = d₁(q) / d₅(q)      d_k the distance to the k-th nearest point

If points are locally even in m dimensions, r does not depend on their density. A near copy of one point has an r near 0. A
query at a place that five points share has r = 1: it is no copy of one of them.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.stats.neighbours.nearest_rows import nearest_rows

NEIGHBOURS = 5
_LISTED = 33  # records near a training record, of which about half are asked: fewer than five of 32 once in 100,000
_ROWS = 4096


def nearest_distances(queries: Floats, points: Floats, k: int) -> tuple[Floats, Ints]:
    """Distances to the k nearest points in increasing order, and their rows, queries × k (fewer if there are fewer points)."""
    near = nearest_rows(queries, points, k)
    out = np.empty(near.shape)
    for first in range(0, len(queries), _ROWS):
        part = slice(first, first + _ROWS)
        apart = points[near[part]] - queries[part, None, :]
        out[part] = np.sqrt(np.einsum("ijk,ijk->ij", apart, apart))
    return out, near


def relative_distances(queries: Floats, points: Floats) -> Floats:
    """r of each query."""
    return first_over_last(nearest_distances(queries, points, NEIGHBOURS)[0])


def first_over_last(distance: Floats) -> Floats:
    """r of each query, from its distances to the five nearest points; 1 if all are 0."""
    last = distance[:, -1]
    return np.asarray(np.divide(distance[:, 0], last, out=np.ones(len(distance)), where=last > 0))


def fresh_distances(training: Floats, holdout: Floats) -> Floats:
    """r of real records that were not copied: the holdout among the training records, then these among half of the others.

    Of two training records that are near each other, one asks and the other is asked, by a coin for the pair. Otherwise such a
    pair would count twice.
    """
    order = np.lexsort(training.T)
    ordered = training[order]
    distance, near = nearest_distances(ordered, ordered, min(_LISTED, len(ordered)))
    asks = _asks(np.arange(len(ordered))[:, None], near).cumsum(axis=1)
    own = np.arange(len(ordered))
    first = distance[own, np.argmax(asks >= 1, axis=1)]
    last = distance[own, np.where(asks[:, -1] >= NEIGHBOURS, np.argmax(asks >= NEIGHBOURS, axis=1), -1)]
    apart = np.divide(first, last, out=np.ones(len(own)), where=(last > 0) & (asks[:, -1] > 0))
    return np.concatenate([relative_distances(holdout, training), apart[np.argsort(order)]])


def _asks(first: Ints, second: Ints) -> Bools:
    """Whether the first record of a pair asks the second, by a fair coin for the pair (SplitMix64). One of the two does."""
    low, high = np.minimum(first, second).astype(np.uint64), np.maximum(first, second).astype(np.uint64)
    word = (low << np.uint64(32)) + high + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    coin = ((word ^ (word >> np.uint64(31))) & np.uint64(1)) == 1
    return np.asarray((coin == (first < second)) & (first != second))
