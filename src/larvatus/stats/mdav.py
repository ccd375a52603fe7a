"""Groups of k near points by maximum distance to the average (Domingo-Ferrer and Torra 2005), exactly and without n² work."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.kernels import kernel
from larvatus.stats.point_tree import apart, cut_in_leaves, farthest, grown, nearest, removed

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
LEAF = 8
OUTER = 8.0
SLACK = 1.0 + 1e-9


@kernel()
def _outermost(points: Floats, left: Ints, centre: Floats) -> Any:
    """The points far from a centre, the farthest first; their distances; and a distance that no other point reaches."""
    gaps = np.empty(len(left))
    for i in range(len(left)):
        gaps[i] = apart(points, left[i], centre)
    many = min(len(left), 64 + int(OUTER * np.sqrt(len(left))))
    limit = np.partition(gaps, len(gaps) - many)[len(gaps) - many]
    outer = np.flatnonzero(gaps >= limit)
    order = np.argsort(-gaps[outer], kind="mergesort")
    outer = outer[order]
    return left[outer], np.sqrt(gaps[outer]), np.sqrt(limit) if many < len(left) else -1.0


@kernel()
def _farthest_listed(
    points: Floats, group: Ints, listed: Ints, reach: Floats, beyond: float, shift: float, centre: Floats
) -> Any:
    """The farthest point from a centre that has shifted since the list was made, or -1 where the list cannot tell."""
    best, found = -1.0, np.int64(-1)
    for i in range(len(listed)):
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
def mdav(points: Floats, k: int) -> Any:
    """The group of each point: sizes k to 2k - 1. Ties go to the point that comes first."""
    n, d = points.shape
    group, groups, remaining = np.full(n, -1), 0, n
    total, near, gaps = np.zeros(d), np.empty(k - 1, dtype=np.int64), np.empty(k - 1)
    for i in range(n):
        total += points[i]
    tree = grown(points, np.arange(n), LEAF)
    size, anchor = n, np.zeros(d)
    listed, reach, beyond = np.empty(0, dtype=np.int64), np.empty(0), 0.0
    while remaining >= 2 * k:
        if 2 * remaining < size:
            size = remaining
            tree = grown(points, np.flatnonzero(group < 0), LEAF)
        if np.all(tree.low[0] == tree.high[0]):
            break
        centre = total / remaining
        first = _farthest_listed(points, group, listed, reach, beyond, np.sqrt(((centre - anchor) ** 2).sum()), centre)
        if first < 0:
            listed, reach, beyond = _outermost(points, np.flatnonzero(group < 0), centre)
            anchor = centre
            first = _farthest_listed(points, group, listed, reach, beyond, 0.0, centre)
            if first < 0:
                first = farthest(tree, centre)
        twice = remaining >= 3 * k
        for turn in range(2 if twice else 1):
            head = first if turn == 0 else farthest(tree, points[first])
            group[head] = groups
            total -= points[head]
            removed(tree, head)
            nearest(tree, points[head], near, gaps)
            for number in near:
                group[number] = groups
                total -= points[number]
                removed(tree, number)
            groups += 1
            remaining -= k
    rest = np.flatnonzero(group < 0)
    for i in range(len(rest)):
        group[rest[i]] = groups + min(i // k, max(len(rest) // k - 1, 0))
    return group


@kernel()
def plain_mdav(points: Floats, k: int) -> Any:
    """The same by looking at every point each time: what the quick search is tested against."""
    n, d = points.shape
    group, groups, remaining = np.full(n, -1), 0, n
    total, gaps = np.zeros(d), np.empty(n)
    for i in range(n):
        total += points[i]
    while remaining >= 2 * k:
        to = total / remaining
        twice = remaining >= 3 * k
        for _ in range(2 if twice else 1):
            head, best = 0, -1.0
            for i in range(n):
                if group[i] < 0 and apart(points, i, to) > best:
                    head, best = i, apart(points, i, to)
            for i in range(n):
                gaps[i] = apart(points, i, points[head]) if group[i] < 0 else np.inf
            gaps[head] = -1.0
            for _ in range(k):
                nearest_one = np.argmin(gaps)
                gaps[nearest_one] = np.inf
                group[nearest_one] = groups
                total -= points[nearest_one]
            groups += 1
            remaining -= k
            to = points[head]
    for i in range(n):
        if group[i] < 0:
            group[i] = groups
    return group


def mdav_in_parts(points: Floats, k: int, size: int) -> Ints:
    """MDAV inside parts of about `size` points, cut at medians of the widest column."""
    order = np.arange(len(points))
    starts = cut_in_leaves(points, order, max(size, 2 * k))
    group, groups = np.empty(len(points), dtype=np.int64), 0
    for low, high in pairwise(starts.tolist()):
        members = np.sort(order[low:high])
        inside = mdav(points[members], k)
        group[members] = groups + inside
        groups += int(inside.max(initial=-1)) + 1
    return group
