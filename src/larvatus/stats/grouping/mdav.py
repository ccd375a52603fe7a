"""Groups of k near points by maximum distance to the average (Domingo-Ferrer and Torra 2005), exactly and without n² work.

Each turn forms two groups. With x̄ the mean of the remaining points: r = argmax |x − x̄| with its k − 1 nearest points, then
s = argmax |x − r| with its k − 1 nearest. A k-d tree from which points are removed finds the nearest points and s. r is found
in a list of outer points: as long as the mean has moved by no more than a given shift, no point outside the list can be the
farthest. Ties go to the lowest number. All kernels are in this file, because Numba's cache checks only a kernel's own file.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.grouping.median_cuts import cut_in_leaves
from larvatus.stats.linear.portable_algebra import column_mean as mean
from larvatus.stats.linear.portable_algebra import total as sum_of

LEAF = 8
OUTER = 8.0
_SLACK = 1e-9


def mdav(points: Floats, k: int) -> Ints:
    """The group of each point, with sizes k to 2k - 1. Ties go to the first point."""
    n = len(points)
    group, total, done = np.full(n, -1), sum_of(points), np.zeros(2, dtype=np.int64)
    left, size = np.arange(n), 0
    while len(left) >= 2 * k:
        if size == 0 or 2 * len(left) < size:
            tree, size = grow_point_tree(points, left, LEAF), len(left)
        if np.array_equal(tree.low[0], tree.high[0]):
            break
        centre = total / len(left)
        _turns(points, k, group, total, done, tree, *_outermost(points, left, centre), centre, size // 2)
        left = left[group[left] < 0]
    group[left] = done[0] + np.minimum(np.arange(len(left)) // k, max(len(left) // k - 1, 0))
    return group


def mdav_in_parts(points: Floats, k: int, size: int) -> Ints:
    """MDAV within parts of at most `size` points, cut at medians of the widest column."""
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
    """The points far from a centre, farthest first; their distances; and an upper bound for the distance of all others."""
    gaps = np.sqrt(sum_of((points[left] - centre) ** 2, axis=1))
    many = 64 + int(OUTER * np.sqrt(len(left)))
    if many >= len(left):
        order = np.argsort(-gaps)
        return left[order], gaps[order], -1.0
    limit = np.partition(gaps, len(gaps) - many)[len(gaps) - many]
    outer = np.flatnonzero(gaps >= limit)
    outer = outer[np.argsort(-gaps[outer])]
    return left[outer], gaps[outer], float(limit)


class PointTree(NamedTuple):
    """Node i has children 2i + 1 and 2i + 2; leaves come last. A leaf's points are contiguous, removed ones at the end."""

    points: Floats
    number: Ints
    place: Ints
    leaf: Ints
    start: Ints
    left: Ints
    least: Ints
    low: Floats
    high: Floats
    middle: Floats
    span: Floats
    waiting: Ints
    bound: Floats


def grow_point_tree(points: Floats, numbers: Ints, size: int) -> PointTree:
    """A tree over the points with these numbers, at most `size` of them in a leaf."""
    order = numbers.copy()
    starts = cut_in_leaves(points, order, size)
    leaves, d = len(starts) - 1, points.shape[1]
    nodes, held = 2 * leaves - 1, points[order]
    place = np.full(len(points), -1)
    place[order] = np.arange(len(order))
    start, left = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    start[leaves - 1 :], left[leaves - 1 :] = starts[:-1], np.diff(starts)
    tree = PointTree(
        held, order, place, np.repeat(np.arange(leaves - 1, nodes), np.diff(starts)), start, left,
        np.zeros(nodes, dtype=np.int64), np.empty((nodes, d)), np.empty((nodes, d)), mean(held), np.zeros(nodes),
        np.empty(80, dtype=np.int64), np.empty(80),
    )
    _fit_all(tree)
    return tree


@kernel(inline="always")
def squared_distance(points: Floats, i: int, to: Floats) -> Any:
    """Squared distance, summed in the order of the columns."""
    total = 0.0
    for c in range(len(to)):
        gap = points[i, c] - to[c]
        total += gap * gap
    return total


@kernel()
def _fit(tree: PointTree, node: int) -> Any:
    """Shrink a node's box to its remaining points; returns whether it changed."""
    changed = False
    inner = 2 * node + 2 < len(tree.left)
    for c in range(tree.points.shape[1]):
        low, high = np.inf, -np.inf
        if inner:
            low = min(tree.low[2 * node + 1, c], tree.low[2 * node + 2, c])
            high = max(tree.high[2 * node + 1, c], tree.high[2 * node + 2, c])
        else:
            for i in range(tree.start[node], tree.start[node] + tree.left[node]):
                low, high = min(low, tree.points[i, c]), max(high, tree.points[i, c])
        changed |= low != tree.low[node, c] or high != tree.high[node, c]
        tree.low[node, c], tree.high[node, c] = low, high
    least, span = np.int64(np.iinfo(np.int64).max), 0.0
    if inner:
        least = min(tree.least[2 * node + 1], tree.least[2 * node + 2])
        span = max(tree.span[2 * node + 1], tree.span[2 * node + 2])
    else:
        for i in range(tree.start[node], tree.start[node] + tree.left[node]):
            least, span = min(least, tree.number[i]), max(span, squared_distance(tree.points, i, tree.middle))
    changed |= least != tree.least[node] or span != tree.span[node]
    tree.least[node], tree.span[node] = least, span
    return changed


@kernel()
def _fit_all(tree: PointTree) -> None:
    for node in range(len(tree.left) - 1, -1, -1):
        if 2 * node + 2 < len(tree.left):
            tree.left[node] = tree.left[2 * node + 1] + tree.left[2 * node + 2]
        _fit(tree, node)


@kernel()
def remove_point(tree: PointTree, number: Any) -> None:
    """Remove a point."""
    here = tree.place[number]
    node = tree.leaf[here]
    last = tree.start[node] + tree.left[node] - 1
    other = tree.number[last]
    for c in range(tree.points.shape[1]):
        tree.points[here, c], tree.points[last, c] = tree.points[last, c], tree.points[here, c]
    tree.number[here], tree.number[last] = other, number
    tree.place[other], tree.place[number] = here, last
    tree.left[node] -= 1
    fitting = _fit(tree, node)
    while node > 0:
        node = (node - 1) // 2
        tree.left[node] -= 1
        if fitting:
            fitting = _fit(tree, node)


@kernel(inline="always")
def _nearest_in(tree: PointTree, node: int, to: Floats) -> Any:
    total = 0.0
    for c in range(len(to)):
        gap = max(tree.low[node, c] - to[c], to[c] - tree.high[node, c], 0.0)
        total += gap * gap
    return total


@kernel(inline="always")
def _farthest_in(tree: PointTree, node: int, to: Floats, beside: float) -> Any:
    """Upper bound for the distance of a node's points: the farthest corner of its box, or by the radius around its middle.

    With m the middle, |x - t|² = |x - m|² + |t - m|² - 2 (x - m)·(t - m), the last term bounded over the box.
    """
    total, along = 0.0, 0.0
    for c in range(len(to)):
        low, high = tree.low[node, c], tree.high[node, c]
        gap = max(high - to[c], to[c] - low)
        total += gap * gap
        lean = tree.middle[c] - to[c]
        along += lean * ((high if lean > 0 else low) - tree.middle[c])
    return min(total, (tree.span[node] + beside + 2.0 * along) + _SLACK * (tree.span[node] + beside))


@kernel()
def nearest(tree: PointTree, to: Floats, found: Ints, distance: Floats) -> None:
    """Fill `found` with the numbers of the nearest remaining points."""
    k, leaves = len(found), (len(tree.left) + 1) // 2
    distance[:] = np.inf
    found[:] = np.iinfo(np.int64).max
    tree.waiting[0], tree.bound[0] = 0, _nearest_in(tree, 0, to)
    depth = 1
    while depth > 0:
        depth -= 1
        node, bound = tree.waiting[depth], tree.bound[depth]
        while bound < distance[k - 1] or (bound == distance[k - 1] and tree.least[node] < found[k - 1]):
            if node >= leaves - 1:
                for i in range(tree.start[node], tree.start[node] + tree.left[node]):
                    gap, number = squared_distance(tree.points, i, to), tree.number[i]
                    if gap < distance[k - 1] or (gap == distance[k - 1] and number < found[k - 1]):
                        at = k - 1
                        while at > 0 and (gap < distance[at - 1] or (gap == distance[at - 1] and number < found[at - 1])):
                            distance[at], found[at] = distance[at - 1], found[at - 1]
                            at -= 1
                        distance[at], found[at] = gap, number
                break
            one, other = 2 * node + 1, 2 * node + 2
            near, far = _nearest_in(tree, one, to), _nearest_in(tree, other, to)
            if far < near:
                one, other, near, far = other, one, far, near
            if tree.left[other] > 0:
                tree.waiting[depth], tree.bound[depth] = other, far
                depth += 1
            node, bound = one, near


@kernel()
def farthest(tree: PointTree, to: Floats) -> Any:
    """The number of the farthest remaining point."""
    leaves = (len(tree.left) + 1) // 2
    best, found = -1.0, np.int64(np.iinfo(np.int64).max)
    beside = 0.0
    for c in range(len(to)):
        beside += (tree.middle[c] - to[c]) ** 2
    tree.waiting[0], tree.bound[0] = 0, _farthest_in(tree, 0, to, beside)
    depth = 1
    while depth > 0:
        depth -= 1
        node, bound = tree.waiting[depth], tree.bound[depth]
        while tree.left[node] > 0 and (bound > best or (bound == best and tree.least[node] < found)):
            if node >= leaves - 1:
                for i in range(tree.start[node], tree.start[node] + tree.left[node]):
                    gap, number = squared_distance(tree.points, i, to), tree.number[i]
                    if gap > best or (gap == best and number < found):
                        best, found = gap, number
                break
            one, other = 2 * node + 1, 2 * node + 2
            far = _farthest_in(tree, one, to, beside) if tree.left[one] > 0 else -1.0
            near = _farthest_in(tree, other, to, beside) if tree.left[other] > 0 else -1.0
            if near > far:
                one, other, near, far = other, one, far, near
            if tree.left[other] > 0:
                tree.waiting[depth], tree.bound[depth] = other, near
                depth += 1
            node, bound = one, far
    return found


@kernel()
def _farthest_listed(
    points: Floats, group: Ints, listed: Ints, reach: Floats, many: int, beyond: float, shift: float, centre: Floats
) -> Any:
    """The farthest point from a centre that has shifted since the list was made, or -1 if the list does not determine it."""
    best, found = -1.0, np.int64(-1)
    for i in range(many):
        number = listed[i]
        if group[number] >= 0:
            continue
        if best >= 0.0 and (reach[i] + shift) * (1.0 + _SLACK) < np.sqrt(best):
            return found
        gap = squared_distance(points, number, centre)
        if gap > best or (gap == best and number < found):
            best, found = gap, number
    if best >= 0.0 and (beyond < 0.0 or (beyond + shift) * (1.0 + _SLACK) < np.sqrt(best)):
        return found
    return np.int64(-1)


@kernel()
def _still_listed(group: Ints, listed: Ints, reach: Floats, many: int) -> Any:
    """Remove grouped points from the list; returns how many remain."""
    kept = 0
    for i in range(many):
        if group[listed[i]] < 0:
            listed[kept], reach[kept] = listed[i], reach[i]
            kept += 1
    return kept


@kernel()
def _turns(
    points: Floats, k: int, group: Ints, total: Floats, done: Ints, tree: PointTree, listed: Ints, reach: Floats, beyond: float,
    anchor: Floats, fewest: int,
) -> None:
    """Turns until fewer than 2k points (or `fewest`) remain, all are equal, or the list does not determine the farthest.

    `done` counts the groups made and the points in them.
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
            remove_point(tree, head)
            nearest(tree, points[head], near, gaps)
            group[head] = done[0]
            for c in range(d):
                total[c] -= points[head, c]
            for number in near:
                remove_point(tree, number)
                group[number] = done[0]
                for c in range(d):
                    total[c] -= points[number, c]
            done[0] += 1
            done[1] += k
        turn += 1
