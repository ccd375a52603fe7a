"""One released record for every original, so that the sum of squared distances is least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from larvatus.stats.sides import blocks_along, row_codes

Floats = NDArray[np.float64]
FAR = 100.0  # squared standard deviations
DENSE, NEAR, FEW_TIES = 1000, 30, 0.9


def assignment_credit(x: Floats, y: Floats, most: int) -> Floats:
    """Chance that each row of x is given its own row of y by the best assignment, ties settled at random.

    Equal rows of y can stand in for each other, and so can equal rows of x. A missing value of y is as far from every x, which
    leaves the best assignment as it is; one of x is far from every value of y that is there. More than `most` rows are
    assigned in blocks. In more than a thousand rows only near ones are linked, which is exact unless a best partner is far.
    """
    from scipy.optimize import linear_sum_assignment

    mine, theirs = row_codes(x), row_codes(y)
    given = np.full(len(x), -1, dtype=np.int64)
    for a, b in blocks_along(np.nan_to_num(x), np.nan_to_num(y), most):
        plain = not (np.isnan(x[a]).any() or np.isnan(y[b]).any())
        distinct = min(len(np.unique(mine[a])), len(np.unique(theirs[b])))
        near = len(a) > DENSE and plain and distinct > FEW_TIES * len(a)
        given[a] = theirs[b[_among_near(x[a], y[b]) if near else linear_sum_assignment(_costs(x[a], y[b]))[1]]]
    width = int(theirs.max()) + 1
    pairs, times = np.unique(mine * width + given, return_counts=True)
    wanted = mine * width + theirs
    spot = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
    often = np.where(pairs[spot] == wanted, times[spot], 0)
    return np.asarray(often / np.bincount(mine)[mine] / np.bincount(theirs)[theirs])


def _costs(x: Floats, y: Floats) -> Floats:
    cost = np.zeros((len(x), len(y)))
    for u, v in zip(x.T, y.T, strict=True):
        there, also = ~np.isnan(u), ~np.isnan(v)
        cost[np.ix_(there, also)] += (u[there][:, None] - v[also]) ** 2
        cost[np.ix_(~there, also)] += FAR
    return cost


def _among_near(x: Floats, y: Floats) -> NDArray[np.int64]:
    """The best assignment among pairs of which one is among the thirty nearest of the other.

    So that everybody has a partner, pairs of the same rank along the direction in which y varies most are added. Which rows
    belong together is not used.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching
    from scipy.spatial import cKDTree

    n = len(x)
    forth, back = cKDTree(y).query(x, k=NEAR)[1], cKDTree(x).query(y, k=NEAR)[1]
    mine, theirs = next(iter(blocks_along(x, y, n)))
    turn = np.linalg.eigh(np.cov(y.T).reshape(y.shape[1], -1))[1][:, -1]
    mine, theirs = mine[np.argsort(x[mine] @ turn, kind="stable")], theirs[np.argsort(y[theirs] @ turn, kind="stable")]
    rows = np.concatenate([np.repeat(np.arange(n), NEAR), back.ravel(), mine])
    columns = np.concatenate([forth.ravel(), np.repeat(np.arange(n), NEAR), theirs])
    rows, columns = np.divmod(np.unique(rows * n + columns), n)
    cost = 1.0 + ((x[rows] - y[columns]) ** 2).sum(axis=1)
    found = min_weight_full_bipartite_matching(csr_matrix((cost, (rows, columns)), shape=(n, n)))
    return np.asarray(found[1], dtype=np.int64)
