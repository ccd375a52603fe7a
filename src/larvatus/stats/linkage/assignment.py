"""One-to-one linkage: π = arg min Σᵢ |xᵢ − y_π(i)|² over all assignments of released records to originals."""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.linkage.coordinates import same_rows
from larvatus.stats.linkage.paired_points import blocks_along, with_indicators

_FAR = 100.0  # squared standard deviations
BLANK = 0.25  # cost of a missing value of y if not every row of y is assigned
TIES, FEWER_TIES, _FEW = 12, 3, 400  # assignments tried among those of equal cost, and rows above which fewer are tried
NUDGE = 1e-9
VARIED = 0.9


def assignment_credit(x: Floats, y: Floats, most: int, own: Ints | None = None) -> Floats:
    """Probability that the best assignment gives each row of x its own row of y, with ties broken at random.

    The own row of y has the same position, or is given by `own`. Equal rows of y are exchangeable, and so are equal rows of
    x. Other assignments of equal cost are sampled by small perturbations of the costs. A missing value of y is equally far
    from every x. A missing value of x is far from every present value of y. More than `most` rows are assigned in blocks.
    """
    from scipy.optimize import linear_sum_assignment

    own = np.arange(len(x)) if own is None else own
    mine, theirs = (same_rows(v.T, len(v)) for v in (x, y))
    tries = 1 if _varied(x) and _varied(y) else TIES if len(y) <= _FEW else FEWER_TIES
    out = np.zeros(len(x))
    width = int(theirs.max()) + 1
    wanted = mine * width + theirs[own]
    same_x, same_y = np.bincount(mine)[mine], np.bincount(theirs)[theirs[own]]
    gone = np.isnan(x).any(axis=0) | np.isnan(y).any(axis=0)
    whole = with_indicators(x, gone), with_indicators(y, gone)
    blocks = [(a, b, _costs(x[a], y[b])) for a, b in blocks_along(*whole, most)]
    for k in range(tries):
        given = np.full(len(x), -1, dtype=np.int64)
        for a, b, cost in blocks:
            size = NUDGE * (1.0 + float(cost.max(initial=0.0)))
            rows, columns = linear_sum_assignment(cost + size * _nudges(len(a), len(b), k) if tries > 1 else cost)
            given[a[rows]] = theirs[b[columns]]
        pairs, times = np.unique((mine * width + given)[given >= 0], return_counts=True)
        spot = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
        out += np.where(pairs[spot] == wanted, times[spot], 0) / same_x / same_y
    return np.asarray(out / tries)


def _varied(values: Floats) -> bool:
    """Whether hardly any value occurs twice, so that no two assignments cost the same."""
    return all(len(np.unique(v)) > VARIED * len(v) for v in values.T)


def _nudges(n: int, m: int, k: int) -> Floats:
    """Numbers in [0, 1) for every pair of places in the canonical order, different for every try."""
    from larvatus.stats.linkage.row_hash import combination

    rows, columns = (combination([np.arange(size), np.full(size, k)], size) for size in (n, m))
    return np.asarray(np.modf(np.outer(1.0 + rows / 2.0**53, 1e4 * (1.0 + columns / 2.0**53)))[0])


def _costs(x: Floats, y: Floats) -> Floats:
    cost = np.zeros((len(x), len(y)))
    for u, v in zip(x.T, y.T, strict=True):
        there, also = ~np.isnan(u), ~np.isnan(v)
        cost[np.ix_(there, also)] += (u[there][:, None] - v[also]) ** 2
        cost[np.ix_(~there, also)] += _FAR
        if len(x) < len(y):
            cost[np.ix_(there, ~also)] += BLANK
    return cost
