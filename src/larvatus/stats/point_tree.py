"""A k-d tree over points that leave one by one: exact nearest and farthest among those left, ties to the lowest number."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from larvatus.core.kernels import kernel

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
SLACK = 1e-9


class Tree(NamedTuple):
    """Node i has children 2i + 1 and 2i + 2, leaves are the last; a leaf's points lie together, those that left last."""

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


@kernel()
def _before(points: Floats, axis: int, a: int, b: int) -> Any:
    return points[a, axis] < points[b, axis] or (points[a, axis] == points[b, axis] and a < b)


@kernel()
def _cut(points: Floats, order: Ints, axis: int, low: int, high: int, middle: int) -> None:
    """Re-order so that the first `middle` come before the others along an axis, by value and then number (Hoare)."""
    high -= 1
    while low < high:
        pivot = order[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while _before(points, axis, order[i], pivot):
                i += 1
            while _before(points, axis, pivot, order[j]):
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel()
def cut_in_leaves(points: Floats, order: Ints, size: int) -> Any:
    """Halve the ordered points along the widest axis until pieces hold at most `size`; where each piece starts, and the end."""
    d, depth = points.shape[1], 0
    while len(order) > size << depth:
        depth += 1
    starts = np.zeros((1 << depth) + 1, dtype=np.int64)
    starts[1 << depth] = len(order)
    for level in range(depth):
        step = 1 << (depth - level)
        for node in range(1 << level):
            low, high = starts[node * step], starts[(node + 1) * step]
            widest, axis = -1.0, 0
            for c in range(d):
                least, most = np.inf, -np.inf
                for i in range(low, high):
                    v = points[order[i], c]
                    least, most = min(least, v), max(most, v)
                if most - least > widest:
                    widest, axis = most - least, c
            middle = (low + high) // 2
            _cut(points, order, axis, low, high, middle)
            starts[node * step + step // 2] = middle
    return starts


def grown(points: Floats, numbers: Ints, size: int) -> Tree:
    """A tree over the points with these numbers, at most `size` of them in a leaf."""
    order = numbers.copy()
    starts = cut_in_leaves(points, order, size)
    leaves, d = len(starts) - 1, points.shape[1]
    nodes, held = 2 * leaves - 1, points[order]
    place = np.full(len(points), -1)
    place[order] = np.arange(len(order))
    start, left = np.zeros(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64)
    start[leaves - 1 :], left[leaves - 1 :] = starts[:-1], np.diff(starts)
    tree = Tree(
        held, order, place, np.repeat(np.arange(leaves - 1, nodes), np.diff(starts)), start, left,
        np.zeros(nodes, dtype=np.int64), np.empty((nodes, d)), np.empty((nodes, d)), held.mean(axis=0), np.zeros(nodes),
        np.empty(80, dtype=np.int64), np.empty(80),
    )
    _fit_all(tree)
    return tree


@kernel(inline="always")
def apart(points: Floats, i: int, to: Floats) -> Any:
    """Squared distance, summed in the order of the columns."""
    total = 0.0
    for c in range(len(to)):
        gap = points[i, c] - to[c]
        total += gap * gap
    return total


@kernel()
def _fit(tree: Tree, node: int) -> Any:
    """Draw a node's box around what is left in it; whether it changed."""
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
            least, span = min(least, tree.number[i]), max(span, apart(tree.points, i, tree.middle))
    changed |= least != tree.least[node] or span != tree.span[node]
    tree.least[node], tree.span[node] = least, span
    return changed


@kernel()
def _fit_all(tree: Tree) -> None:
    for node in range(len(tree.left) - 1, -1, -1):
        if 2 * node + 2 < len(tree.left):
            tree.left[node] = tree.left[2 * node + 1] + tree.left[2 * node + 2]
        _fit(tree, node)


@kernel()
def removed(tree: Tree, number: Any) -> None:
    """Take a point out."""
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
def _nearest_in(tree: Tree, node: int, to: Floats) -> Any:
    total = 0.0
    for c in range(len(to)):
        gap = max(tree.low[node, c] - to[c], to[c] - tree.high[node, c], 0.0)
        total += gap * gap
    return total


@kernel(inline="always")
def _farthest_in(tree: Tree, node: int, to: Floats, beside: float) -> Any:
    """No point of a node is farther than its box's farthest corner, nor than one as far from the middle as the farthest is.

    With m the middle, |x - t|² = |x - m|² + |t - m|² - 2 (x - m)·(t - m), the last term bounded over the box.
    """
    total, along = 0.0, 0.0
    for c in range(len(to)):
        low, high = tree.low[node, c], tree.high[node, c]
        gap = max(high - to[c], to[c] - low)
        total += gap * gap
        lean = tree.middle[c] - to[c]
        along += lean * ((high if lean > 0 else low) - tree.middle[c])
    return min(total, (tree.span[node] + beside + 2.0 * along) + SLACK * (tree.span[node] + beside))


@kernel()
def nearest(tree: Tree, to: Floats, found: Ints, distance: Floats) -> None:
    """Fill in the numbers of the nearest points left, as many as there is room for."""
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
                    gap, number = apart(tree.points, i, to), tree.number[i]
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
def farthest(tree: Tree, to: Floats) -> Any:
    """The number of the farthest point left."""
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
                    gap, number = apart(tree.points, i, to), tree.number[i]
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
