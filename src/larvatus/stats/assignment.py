"""One released record for every original, so that the sum of squared distances is least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from larvatus.stats.sides import blocks_along, row_codes

Floats = NDArray[np.float64]
FAR = 100.0  # squared standard deviations


def assignment_credit(x: Floats, y: Floats, most: int) -> Floats:
    """Chance that each row of x is given its own row of y by the best assignment, ties settled at random.

    Equal rows of y can stand in for each other, and so can equal rows of x. A missing value of y is as far from every x, which
    leaves the best assignment as it is; one of x is far from every value of y that is there. More than `most` rows are
    assigned in blocks.
    """
    from scipy.optimize import linear_sum_assignment

    mine, theirs = row_codes(x), row_codes(y)
    given = np.full(len(x), -1, dtype=np.int64)
    for a, b in blocks_along(np.nan_to_num(x), np.nan_to_num(y), most):
        given[a] = theirs[b[linear_sum_assignment(_costs(x[a], y[b]))[1]]]
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

