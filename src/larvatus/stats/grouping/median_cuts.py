"""Recursive partition of points at the median of their widest column, into pieces of a stated size."""

from __future__ import annotations

from typing import Any

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel


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
    """Halve the points along the widest axis until pieces have at most `size` points; the start of each, and the end."""
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
