"""Originals and released records clustered together: who shares a cluster with their own record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.stats.sides import blocks_along

Floats = NDArray[np.float64]


def cluster_credit(x: Floats, y: Floats, own: NDArray[np.int64], shares: Sequence[float], most: int) -> Floats:
    """Shares × rows of x: one over the released records in a row's cluster where its own is among them, else nothing.

    `own` names each row's own row of y.
    Clusters are Ward's, cut at each share of as many clusters as there are originals. A row without any released record in
    its cluster is guessed among all. More than `most` rows are clustered in blocks.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    n = len(y)
    out = np.full((len(shares), len(x)), 1.0 / n)
    if n < 2 or not len(x) or x.shape[1] == 0:
        return out
    for a, b in blocks_along(x, y, most):
        points = np.vstack([x[a], y[b]])
        order = np.lexsort(points.T[::-1])
        tree = linkage(points[order], "ward")
        for i, share in enumerate(shares):
            label = np.empty(len(points), dtype=np.int64)
            label[order] = fcluster(tree, max(1, round(share * len(a))), "maxclust")
            size = np.bincount(label[len(a) :], minlength=int(label.max()) + 1)
            mine, theirs = label[: len(a)], np.full(n, -2)
            theirs[b] = label[len(a) :]
            credit = np.where(mine == theirs[own[a]], 1.0 / np.maximum(size[mine], 1), 0.0)
            out[i, a] = np.where(size[mine] == 0, 1.0 / n, credit)
    return out
