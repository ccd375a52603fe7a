"""Cuts of trees against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from larvatus.stats.grouping.tree_cuts import cut_tree


@pytest.mark.parametrize("decimals", [0, 1, 9])
def test_clusters_are_those_of_scipy(decimals):
    """Points that are equal, many at equal distances, or all different; from one cluster to half as many as points."""
    rng = np.random.default_rng(decimals)
    for n in (3, 4, 10, 61):
        tree = linkage(np.round(rng.normal(size=(n, 2)), decimals), "ward")
        for most in range(1, n // 2 + 1):
            mine, theirs = cut_tree(tree, most), fcluster(tree, most, "maxclust")
            assert len(np.unique(mine)) <= most
            assert ((mine[:, None] == mine) == (theirs[:, None] == theirs)).all()


def test_as_many_clusters_as_points():
    tree = linkage(np.arange(5.0)[:, None] ** 2, "ward")
    assert len(np.unique(cut_tree(tree, 5))) == len(np.unique(cut_tree(tree, 9))) == 5
