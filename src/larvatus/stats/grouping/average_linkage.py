"""Average linkage on squared distances (the default in SAS), without a matrix of distances.

    d²(A, B) = mean |a − b|² = |c_A − c_B|² + s_A + s_B

c is the centre of a cluster and s its mean squared radius, so a cluster is described by size, centre and scatter. Points may
already be clusters: then this is the last phase of BIRCH.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel

STRETCH = 512


def cluster_points(centre: Floats, size: Floats, scatter: Floats, groups: Sequence[int]) -> list[Ints]:
    """For each number of clusters, the cluster of every point (points × axes, with its size and mean squared radius)."""
    first, second, height = _merged(np.ascontiguousarray(centre.T), size.astype(np.float64), scatter.astype(np.float64))
    order = np.argsort(height, kind="stable")
    return [_cut(first[order], second[order], len(centre), g) for g in groups]


def _cut(first: Ints, second: Ints, n: int, groups: int) -> Ints:
    """Clusters after the first merges, numbered from 0."""
    return np.asarray(np.unique(_roots(first, second, n, max(n - groups, 0)), return_inverse=True)[1], dtype=np.int64)


@kernel()
def _roots(first: Ints, second: Ints, n: int, merges: int) -> Ints:
    parent = np.arange(n)
    for m in range(merges):
        a, b = first[m], second[m]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        parent[max(a, b)] = min(a, b)
    for i in range(n):
        parent[i] = parent[parent[i]]
    return parent


@kernel(fastmath={"nnan", "nsz"})
def _nearest(centre: Floats, scatter: Floats, active: int, own: int, start: int, best: float) -> tuple[int, float]:
    """The cluster nearest to a given one; ties go to the starting one. The smallest of a stretch is found first, as vectors."""
    d = len(centre)
    found = start
    away = np.empty(STRETCH)
    for low in range(0, active, STRETCH):
        high = min(low + STRETCH, active)
        for k in range(high - low):
            away[k] = scatter[low + k] + scatter[own]
        for j in range(d):
            mine, others = centre[j, own], centre[j, low:high]
            for k in range(high - low):
                away[k] += (others[k] - mine) ** 2
        if low <= own < high:
            away[own - low] = np.inf
        least = np.inf
        for k in range(high - low):
            least = away[k] if away[k] < least else least
        if least < best:
            best = least
            for k in range(high - low):
                if away[k] == least:
                    found = low + k
                    break
    return found, best


@kernel()
def _merged(centre: Floats, size: Floats, scatter: Floats) -> tuple[Ints, Ints, Floats]:
    """All merges by nearest-neighbour chains: a point of either cluster, and the height. The arrays are overwritten."""
    n = len(size)
    first, second, height = np.empty(max(n - 1, 0), np.int64), np.empty(max(n - 1, 0), np.int64), np.empty(max(n - 1, 0))
    point = np.arange(n)
    chain, place = np.empty(n, np.int64), np.full(n, -1)
    active, length = n, 0
    for m in range(n - 1):
        if length == 0:
            chain[0], place[0], length = 0, 0, 1
        while True:
            top = chain[length - 1]
            before, best = -1, np.inf
            if length > 1:
                before = chain[length - 2]
                best = scatter[before] + scatter[top]
                for j in range(len(centre)):
                    best += (centre[j, before] - centre[j, top]) ** 2
            near, best = _nearest(centre, scatter, active, top, before, best)
            if near == before:
                break
            chain[length], place[near] = near, length
            length += 1
        a, b = min(top, before), max(top, before)
        first[m], second[m], height[m] = point[a], point[b], best
        length -= 2
        place[a] = place[b] = -1
        total, apart = size[a] + size[b], 0.0
        for j in range(len(centre)):
            apart += (centre[j, a] - centre[j, b]) ** 2
            centre[j, a] += (centre[j, b] - centre[j, a]) * (size[b] / total)
        scatter[a] = (size[a] * scatter[a] + size[b] * scatter[b]) / total + apart * (size[a] / total) * (size[b] / total)
        size[a] = total
        active -= 1
        if b != active:
            size[b], scatter[b], point[b], place[b] = size[active], scatter[active], point[active], place[active]
            for j in range(len(centre)):
                centre[j, b] = centre[j, active]
            if place[b] >= 0:
                chain[place[b]] = b
        place[active] = -1
    return first, second, height
