"""Average linkage of both files' records against the matrix of distances that it does without."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from larvatus.stats.grouping.average_linkage import cluster_points
from run import Claim, MemoryClaim


def _points(n: int) -> np.ndarray:
    return np.random.default_rng(1).standard_t(3, size=(n, 8))


def claim_average_linkage() -> Claim:
    x, ones, zeros = _points(20_000), np.ones(20_000), np.zeros(20_000)
    return Claim(
        "average linkage, exact, 20,000 × 8", lambda: pdist(x[:10_000], "sqeuclidean"),
        lambda: cluster_points(x, ones, zeros, (100, 1000)), 15.0, "SciPy's distances of half as many points", repeats=3,
    )


def claim_memory_average_linkage() -> MemoryClaim:
    return MemoryClaim(
        "average linkage, exact, 20,000 × 8, peak memory", 10.0, "the input",
        """
import numpy as np
from claims.clusters import _points
from larvatus.stats.grouping.average_linkage import clustered
clustered(_points(500), np.ones(500), np.zeros(500), (10,))
x = _points(20_000)
INPUT = x.nbytes
def work():
    return clustered(x, np.ones(20_000), np.zeros(20_000), (100, 1000))
""",
    )
