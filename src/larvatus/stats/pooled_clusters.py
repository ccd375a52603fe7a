"""Originals and released records clustered together: who shares a cluster with their own record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.stats.sides import blocks_along

Floats = NDArray[np.float64]


def cluster_credit(x: Floats, y: Floats, shares: Sequence[float], most: int) -> Floats:
    """Shares × rows: one over the released records in a row's cluster where its own is among them, nothing where only others.

    Clusters are Ward's, cut at each share of as many clusters as there are originals. A row without any released record in
    its cluster is guessed among all. More than `most` rows are clustered in blocks.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    n = len(x)
    out = np.full((len(shares), n), 1.0 / n)
    if n < 2 or x.shape[1] == 0:
        return out
    for a, b in blocks_along(x, y, most):
        points = np.vstack([x[a], y[b]])
        order = np.lexsort(points.T[::-1])
        tree = linkage(points[order], "ward")
        for i, share in enumerate(shares):
            label = np.empty(len(points), dtype=np.int64)
            label[order] = fcluster(tree, max(1, round(share * len(a))), "maxclust")
            size = np.bincount(label[len(a) :], minlength=int(label.max()) + 1)
            mine, theirs = np.full(n, -1), np.full(n, -2)
            mine[a], theirs[b] = label[: len(a)], label[len(a) :]
            credit = np.where(mine[a] == theirs[a], 1.0 / np.maximum(size[mine[a]], 1), 0.0)
            out[i, a] = np.where(size[mine[a]] == 0, 1.0 / n, credit)
    return out
