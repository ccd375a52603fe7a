"""Distances to the nearest points, and the relative distance by which near copies show.

    r(q) = d₁(q) / d₅(q)      d_k the distance to the k-th nearest point

If points are locally even in m dimensions, r does not depend on their density. A near copy of one point has an r near 0. A
query at a place that five points share has r = 1: it is no copy of one of them.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.neighbours.nearest_rows import nearest_rows

NEIGHBOURS = 5
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
    distance = nearest_distances(queries, points, min(NEIGHBOURS, len(points)))[0]
    last = distance[:, -1]
    return np.asarray(np.divide(distance[:, 0], last, out=np.ones(len(queries)), where=last > 0))


def fresh_distances(training: Floats, holdout: Floats) -> Floats:
    """r of real records that were not copied: the holdout among the training records, and one half of these among the other.

    Only one half asks, because two records that are near each other would otherwise count twice.
    """
    order = np.lexsort(training.T)
    halves = training[order[::2]], training[order[1::2]]
    return np.concatenate([relative_distances(holdout, training), relative_distances(*halves)])
