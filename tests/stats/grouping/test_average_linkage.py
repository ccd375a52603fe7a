"""Average linkage against SciPy's, and cells of near points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from larvatus.stats.grouping.average_linkage import cluster_points
from larvatus.stats.grouping.birch_cells import features, summed_up


def same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two labellings are the same clusters."""
    return len(np.unique(np.column_stack([one, other]), axis=0)) == len(np.unique(one)) == len(np.unique(other))


@pytest.mark.parametrize(("n", "d"), [(2, 1), (60, 1), (300, 2), (900, 3), (500, 8)])
def test_clusters_are_those_of_scipy(n, d):
    x = np.random.default_rng(n + d).standard_t(3, size=(n, d))
    tree = linkage(x, "average", metric="sqeuclidean")
    groups = [g for g in (1, 2, 5, 40, n) if g <= n]
    for g, found in zip(groups, cluster_points(x, np.ones(n), np.zeros(n), groups), strict=True):
        assert found.max() + 1 == g
        assert same(found, fcluster(tree, g, "maxclust"))


def test_points_that_stand_for_several_are_linked_like_these():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 2))
    near = np.concatenate([x + 1e-5 * rng.normal(size=x.shape) for _ in range(3)])
    cell = np.tile(np.arange(400), 3)
    whole = cluster_points(near, np.ones(1200), np.zeros(1200), [30])[0]
    summed = cluster_points(*summed_up(near, np.ones(1200), cell), [30])[0]
    assert same(whole, summed[cell])


def test_cells_are_as_many_as_asked_for_and_narrow():
    x = np.random.default_rng(4).standard_t(2, size=(5000, 3))
    cell = features(x, np.ones(5000), 400)
    assert len(np.unique(cell)) == 400
    centre, size, radius = summed_up(x, np.ones(5000), cell)
    assert size.sum() == 5000
    assert (size * radius).sum() < 0.03 * ((x - x.mean(axis=0)) ** 2).sum()
    assert np.allclose(centre[7], x[cell == 7].mean(axis=0))


def test_no_more_cells_than_distinct_points():
    x = np.repeat(np.arange(5.0), 20)[:, None]
    assert len(np.unique(features(x, np.ones(100), 50))) == 5
