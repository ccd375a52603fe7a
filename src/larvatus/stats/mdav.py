"""Groups of k near points by maximum distance to the average (Domingo-Ferrer and Torra 2005), exactly and without n² work.

Each turn takes the point farthest from the average of those left with its k - 1 nearest, then the point farthest from it
with its k - 1 nearest. A tree finds the nearest points, and the second of the far ones. The first is found in a list of
outer points: while the average has moved by no more than a shift, no point outside the list can have become the farthest.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.kernels import kernel
from larvatus.stats.point_tree import Tree, apart, cut_in_leaves, farthest, grown, nearest, removed

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
LEAF = 8
OUTER = 8.0
SLACK = 1.0 + 1e-9


def mdav(points: Floats, k: int) -> Ints:
    """The group of each point: sizes k to 2k - 1. Ties go to the point that comes first."""
    n = len(points)
    group, total, done = np.full(n, -1), points.sum(axis=0), np.zeros(2, dtype=np.int64)
    left, size = np.arange(n), 0
    while len(left) >= 2 * k:
        if size == 0 or 2 * len(left) < size:
            tree, size = grown(points, left, LEAF), len(left)
        if np.array_equal(tree.low[0], tree.high[0]):
            break
        centre = total / len(left)
        _turns(points, k, group, total, done, tree, *_outermost(points, left, centre), centre, size // 2)
        left = left[group[left] < 0]
    group[left] = done[0] + np.minimum(np.arange(len(left)) // k, max(len(left) // k - 1, 0))
    return group


def mdav_in_parts(points: Floats, k: int, size: int) -> Ints:
    """MDAV inside parts of at most `size` points, cut at medians of the widest column."""
    order = np.arange(len(points))
    starts = cut_in_leaves(points, order, max(size, 2 * k))
    group, groups = np.empty(len(points), dtype=np.int64), 0
    for low, high in pairwise(starts.tolist()):
        members = np.sort(order[low:high])
        inside = mdav(points[members], k)
        group[members] = groups + inside
        groups += int(inside.max(initial=-1)) + 1
    return group


def _outermost(points: Floats, left: Ints, centre: Floats) -> tuple[Ints, Floats, float]:
    """The points far from a centre, the farthest first; their distances; and a distance that no other point reaches."""
    gaps = np.sqrt(((points[left] - centre) ** 2).sum(axis=1))
    many = 64 + int(OUTER * np.sqrt(len(left)))
    if many >= len(left):
        order = np.argsort(-gaps)
        return left[order], gaps[order], -1.0
    limit = np.partition(gaps, len(gaps) - many)[len(gaps) - many]
    outer = np.flatnonzero(gaps >= limit)
    outer = outer[np.argsort(-gaps[outer])]
    return left[outer], gaps[outer], float(limit)


@kernel()
def _farthest_listed(
    points: Floats, group: Ints, listed: Ints, reach: Floats, many: int, beyond: float, shift: float, centre: Floats
) -> Any:
    """The farthest point from a centre that has shifted since the list was made, or -1 where the list cannot tell."""
    best, found = -1.0, np.int64(-1)
    for i in range(many):
        number = listed[i]
        if group[number] >= 0:
            continue
        if best >= 0.0 and (reach[i] + shift) * SLACK < np.sqrt(best):
            return found
        gap = apart(points, number, centre)
        if gap > best or (gap == best and number < found):
            best, found = gap, number
    if best >= 0.0 and (beyond < 0.0 or (beyond + shift) * SLACK < np.sqrt(best)):
        return found
    return np.int64(-1)


@kernel()
def _still_listed(group: Ints, listed: Ints, reach: Floats, many: int) -> Any:
    """Close the gaps of points that have left; how many stay."""
    kept = 0
    for i in range(many):
        if group[listed[i]] < 0:
            listed[kept], reach[kept] = listed[i], reach[i]
            kept += 1
    return kept


@kernel()
def _turns(
    points: Floats, k: int, group: Ints, total: Floats, done: Ints, tree: Tree, listed: Ints, reach: Floats, beyond: float,
    anchor: Floats, fewest: int,
) -> None:
    """Turns until fewer than 2k points, or than `fewest`, are left, all are alike, or the list cannot tell the farthest.

    `done` counts the groups made, and the points in them.
    """
    d, many = points.shape[1], len(listed)
    centre, near, gaps = np.empty(d), np.empty(k - 1, dtype=np.int64), np.empty(k - 1)
    turn = 0
    while True:
        remaining = len(points) - done[1]
        alike = True
        for c in range(d):
            alike &= tree.low[0, c] == tree.high[0, c]
        if remaining < 2 * k or alike or (turn > 0 and remaining < fewest):
            return
        shift = 0.0
        for c in range(d):
            centre[c] = total[c] / remaining
            shift += (centre[c] - anchor[c]) ** 2
        if turn % 16 == 15:
            many = _still_listed(group, listed, reach, many)
        head = _farthest_listed(points, group, listed, reach, many, beyond, np.sqrt(shift), centre)
        if head < 0:
            if turn > 0:
                return
            head = farthest(tree, centre)
        for again in range(1 if remaining < 3 * k else 2):
            if again:
                head = farthest(tree, points[head])
            removed(tree, head)
            nearest(tree, points[head], near, gaps)
            group[head] = done[0]
            for c in range(d):
                total[c] -= points[head, c]
            for number in near:
                removed(tree, number)
                group[number] = done[0]
                for c in range(d):
                    total[c] -= points[number, c]
            done[0] += 1
            done[1] += k
        turn += 1
