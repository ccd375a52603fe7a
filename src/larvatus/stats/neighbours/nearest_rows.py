"""The k nearest points of each target, in order of (distance, row), by matrix products, by k-d tree, or in one sorted column.

Ties are decided for the point that comes first, so that all ways give the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.neighbours.blocked_counts import WORDS, all_negative, measure
from larvatus.stats.neighbours.blocked_products import BlockedProducts

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

_PAIRS, _COLUMNS = 5_000_000, 8  # from which a k-d tree may be slow
_ROOM = 1e-13  # relative room for the rounding of distances in a tree
_ROWS = 1024  # targets in one query of a tree


def nearest_lists(targets: Floats, points: Floats, counts: Sequence[int]) -> list[Ints]:
    """Rows of the nearest points, targets × k, for each k in `counts`.

    With few pairs or few columns a k-d tree is asked for each k, and decides ties in its own way.
    """
    if points.shape[1] >= _COLUMNS and len(targets) * len(points) >= _PAIRS:
        near = nearest_rows(targets, points, max(counts))
        return [near[:, :k] for k in counts]
    from scipy.spatial import cKDTree

    tree = cKDTree(points, balanced_tree=False)
    return [np.asarray(tree.query(targets, k=min(k, len(points)))[1]).reshape(len(targets), -1) for k in counts]


def nearest_rows(targets: Floats, points: Floats, k: int) -> Ints:
    """Rows of the k nearest points (fewer if there are fewer), targets × k."""
    from larvatus.stats.neighbours.faster_way import search_faster

    targets, points = np.ascontiguousarray(targets), np.ascontiguousarray(points)
    k = min(k, len(points))
    if points.shape[1] == 1:
        return nearest_in_line(targets, points, k)
    out = np.empty((len(targets), k), dtype=np.int64)
    products = BlockedProducts.of(points)

    def by_products(rows: Ints) -> None:
        out[rows] = nearest_by_products(products, targets[rows], k)

    def grow_tree() -> Callable[[Ints], None]:
        from scipy.spatial import cKDTree

        tree = cKDTree(points, balanced_tree=False, compact_nodes=False)

        def by_tree(rows: Ints) -> None:
            for first in range(0, len(rows), _ROWS):
                some = rows[first : first + _ROWS]
                out[some] = nearest_by_tree(tree, points, targets[some], k)

        return by_tree

    search_faster(len(targets), len(points), by_products, grow_tree)
    return out


def nearest_by_products(products: BlockedProducts, targets: Floats, k: int) -> Ints:
    """Candidates are ruled out by the distance of the k-th nearest point among those seen before."""
    best, which = np.full((len(targets), k), np.inf), np.full((len(targets), k), len(products.points))
    reach = 2 * (np.abs(targets - products.centre).sum(axis=1) + np.sqrt(products.square[-1]) / products.unit)  # all points
    for rows, candidates, values in products.sift(targets, reach, np.zeros(len(targets), dtype=bool)):
        _keep_nearest(values.view(np.int64), values, rows, targets, candidates, products.points, best, which)
        reach[rows] = np.minimum(reach[rows], best[rows, -1])
    return which


def nearest_by_tree(tree: cKDTree, points: Floats, targets: Floats, k: int) -> Ints:
    """One point more than k is asked for; if it is as near as the k-th, all points as near are looked at."""
    depth = min(k + 1, len(points))
    index = np.asarray(tree.query(targets, k=depth, workers=-1)[1], dtype=np.int64).reshape(len(targets), depth)
    away = _measure_listed(targets, points, index)
    index = np.take_along_axis(index, np.lexsort((index, away), axis=1), axis=1)
    if depth > k:
        away.sort(axis=1)
        for i in np.flatnonzero(away[:, k] <= away[:, k - 1] * (1 + _ROOM)):
            reach = away[i, k - 1] * (1 + _ROOM) + np.finfo(float).tiny
            near = np.array(tree.query_ball_point(targets[i], reach), dtype=np.int64)
            order = np.lexsort((near, _measure_listed(targets[i : i + 1], points, near[None])[0]))
            index[i, :k] = near[order[:k]]
    return index[:, :k]


@kernel()
def _measure_listed(targets: Floats, points: Floats, index: Ints) -> Floats:
    out = np.empty(index.shape)
    for i in range(len(targets)):
        for j in range(index.shape[1]):
            out[i, j] = measure(targets[i], points[index[i, j]], 2)
    return out


@kernel()
def _keep_nearest(
    signs: NDArray[Any], values: NDArray[Any], rows: Ints, targets: Floats, order: Ints, points: Floats, best: Floats,
    which: Ints,
) -> None:
    """Insert the candidates of a block into the sorted lists of nearest points."""
    words, k = signs.shape[1], best.shape[1]
    for i in range(len(rows)):
        row = rows[i]
        for start in range(0, words, WORDS):
            stop = min(start + WORDS, words)
            if all_negative(signs[i, start:stop]):
                continue
            for at in range(2 * start, min(2 * stop, len(order))):
                if values[i, at] >= 0:
                    j, away, place = order[at], measure(targets[row], points[order[at]], 2), k
                    while place > 0 and (
                        away < best[row, place - 1] or (away == best[row, place - 1] and j < which[row, place - 1])
                    ):
                        if place < k:
                            best[row, place], which[row, place] = best[row, place - 1], which[row, place - 1]
                        place -= 1
                    if place < k:
                        best[row, place], which[row, place] = away, j


def nearest_in_line(targets: Floats, points: Floats, k: int) -> Ints:
    """The same in one column: a walk outwards from the place of the target among the sorted points.

    Of equal points only the first k by row can be among the nearest.
    """
    order = np.argsort(points[:, 0], kind="stable")
    values = points[order, 0]
    begins = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    ends = np.append(begins[1:], len(values))
    place = np.searchsorted(values[begins], targets[:, 0])  # the first group that is not below the target
    return _walk_outwards(targets, values[begins][:, None], order, begins, ends, place, k)


@kernel()
def _walk_outwards(targets: Floats, groups: Floats, order: Ints, begins: Ints, ends: Ints, place: Ints, k: int) -> Ints:
    """Groups of equal points on either side, until one is farther than the k-th nearest point found on that side."""
    which = np.empty((len(targets), k), dtype=np.int64)
    best = np.empty(k)
    for i in range(len(targets)):
        best[:] = np.inf
        which[i] = len(order)
        for side in range(2):
            g, step = (place[i], 1) if side == 0 else (place[i] - 1, -1)
            while 0 <= g < len(groups):
                away = measure(targets[i], groups[g], 2)
                if away > best[k - 1]:
                    break
                for at in range(begins[g], min(begins[g] + k, ends[g])):
                    row, spot = order[at], k
                    while spot > 0 and (away < best[spot - 1] or (away == best[spot - 1] and row < which[i, spot - 1])):
                        if spot < k:
                            best[spot], which[i, spot] = best[spot - 1], which[i, spot - 1]
                        spot -= 1
                    if spot < k:
                        best[spot], which[i, spot] = away, row
                g += step
    return which
