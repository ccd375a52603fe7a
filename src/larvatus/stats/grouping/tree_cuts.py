"""Cut a tree of merges into clusters, as `scipy.cluster.hierarchy.fcluster` does with "maxclust", without its overhead."""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel


def cut_tree(tree: Floats, most: int) -> Ints:
    """A label for each point, below twice the number of points; there are at most `most` clusters.

    `tree` is a matrix of merges as SciPy's `linkage` returns it, with heights that do not decrease. Merges of equal height are
    made together, so there may be fewer clusters.
    """
    points = len(tree) + 1
    merges = points - min(most, points)
    if merges:
        merges = int(np.searchsorted(tree[:, 2], tree[merges - 1, 2], "right"))
    return _roots(np.ascontiguousarray(tree[:merges, :2]).astype(np.int64), points)


@kernel()
def _roots(children: Ints, points: int) -> Ints:
    """The last cluster that each point is merged into."""
    root = np.arange(points + len(children))
    for i in range(len(children) - 1, -1, -1):
        for side in range(2):
            root[children[i, side]] = root[points + i]
    return root[:points]
