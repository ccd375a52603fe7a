"""One-to-one linkage: π = arg min Σᵢ c(xᵢ, y_π(i)) over all assignments of released records to originals.

The cost c is squared distance, or −log f(y | x) under the law of the mask. A second rule for the law links each original to
its most probable record, with probabilities scaled so that each released record has one original in all (Sinkhorn and Knopp
1967). It finds more than the single best assignment where many assignments are almost as good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.linkage.coordinates import same_rows
from larvatus.stats.linkage.paired_points import PointWindow, windows_along, with_indicators

_FAR = 100.0  # squared standard deviations
BLANK = 0.25  # cost of a missing value of y if not every row of y is assigned
TIES, FEWER_TIES, _FEW = 12, 3, 400  # assignments tried among those of equal cost, and rows above which fewer are tried
NUDGE = 1e-9
VARIED = 0.9
_IMPOSSIBLE = 1e6  # cost of a pair of density zero: as few as possible are assigned
_SWEEPS, _WIDE = 30, 5000
_SAME = 1e-9
_BOUND = 1e100
Costs = Callable[[Ints, Ints], Floats]
_Windows = Iterator[tuple[PointWindow, Floats]]


def assignment_credit(x: Floats, y: Floats, most: int, own: Ints | None = None) -> Floats:
    """Probability that the best assignment gives each row of x its own row of y, with ties broken at random.

    The own row of y has the same position, or is given by `own`. Equal rows of y are exchangeable, and so are equal rows of
    x. Other assignments of equal cost are sampled by small perturbations of the costs. A missing value of y is equally far
    from every x. A missing value of x is far from every present value of y. More than `most` rows are assigned in windows.
    """
    own = np.arange(len(x)) if own is None else own
    gone = np.isnan(x).any(axis=0) | np.isnan(y).any(axis=0)
    windows = windows_along(with_indicators(x, gone), with_indicators(y, gone), most)
    return _assigned(x, y, own, ((w, _costs(x[w.left], y[w.right])) for w in windows))


def law_credits(x: Floats, y: Floats, own: Ints, costs: Costs, most: int, level: bool = False) -> Floats:
    """Credits, 2 × rows of x: of the best assignment, and of the most probable record if each record has one original.

    `costs(a, b)` gives −log f(y | x) for rows a of x and b of y. If not all rows of y are assigned, it must be relative to the
    density of y. `level` says that many costs are equal although values differ. Equal rows of x and of y are exchangeable.
    More than `most` rows are linked in windows; those of the second rule, which takes less time, are at least 5,000 wide.
    """
    gone = np.isnan(x).any(axis=0) | np.isnan(y).any(axis=0)
    points = with_indicators(x, gone), with_indicators(y, gone)
    assigned = _assigned(x, y, own, ((w, costs(w.left, w.right)) for w in windows_along(*points, most)), level)
    return np.array([assigned, most_probable_credit(x, y, own, costs, most)])


def most_probable_credit(x: Floats, y: Floats, own: Ints, costs: Costs, most: int) -> Floats:
    """The credit of the most probable record of each row of x if each record has one original; as in `law_credits`."""
    gone = np.isnan(x).any(axis=0) | np.isnan(y).any(axis=0)
    shares = np.zeros(len(x))
    for w in windows_along(with_indicators(x, gone), with_indicators(y, gone), max(most, _WIDE)):
        shares[w.left[w.inner]] = _balanced_credit(costs(w.left, w.right), w.left, w.right, own)[w.inner]
    return shares


def _assigned(x: Floats, y: Floats, own: Ints, windows: _Windows, level: bool = False) -> Floats:
    """The credit of each row of x under the best assignments within windows."""
    from scipy.optimize import linear_sum_assignment

    mine, theirs = (same_rows(v.T, len(v)) for v in (x, y))
    tries = 1 if _varied(x) and _varied(y) and not level else TIES if len(y) <= _FEW else FEWER_TIES
    width = int(theirs.max()) + 1
    wanted = mine * width + theirs[own]
    same_x, same_y = np.bincount(mine)[mine], np.bincount(theirs)[theirs[own]]
    given = np.full((tries, len(x)), -1, dtype=np.int64)
    for w, cost in windows:
        possible = np.isfinite(cost)
        size = NUDGE * (1.0 + float(np.abs(cost).max(initial=0.0, where=possible)))
        cost = np.where(possible, cost, _IMPOSSIBLE)
        for k in range(tries):
            rows, columns = linear_sum_assignment(cost + size * _nudges(len(w.left), len(w.right), k) if tries > 1 else cost)
            found = np.full(len(w.left), -1, dtype=np.int64)
            found[rows] = theirs[w.right[columns]]
            given[k, w.left[w.inner]] = found[w.inner]
    out = np.zeros(len(x))
    for chosen in given:
        pairs, times = np.unique((mine * width + chosen)[chosen >= 0], return_counts=True)
        spot = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
        out += np.where(pairs[spot] == wanted, times[spot], 0) / same_x / same_y
    return np.asarray(out / tries)


def _balanced_credit(cost: Floats, a: Ints, b: Ints, own: Ints) -> Floats:
    """The credit of rows a for the most probable of rows b, with ties broken at random; none if the own one is elsewhere."""
    share = balanced_shares(cost, max(len(b) - len(a), 0))
    order = np.argsort(b)
    spot = order[np.minimum(np.searchsorted(b, own[a], sorter=order), len(b) - 1)]
    mine = share[np.arange(len(a)), spot]
    top = share.max(axis=1)
    best = (b[spot] == own[a]) & (mine >= top * (1 - _SAME))
    return np.where(best, 1.0 / (share >= (top * (1 - _SAME))[:, None]).sum(axis=1), 0.0)


def balanced_shares(cost: Floats, spare: int) -> Floats:
    """exp(−cost) with rows and columns scaled towards sum one; each row is proportional to its probabilities.

    `spare` columns belong to none of the rows: one further row of cost 0 takes them.
    """
    low = np.where(np.isfinite(cost.min(axis=1)), cost.min(axis=1), 0.0)
    left = cost - low[:, None]
    lower = np.where(np.isfinite(left.min(axis=0)), left.min(axis=0), 0.0)
    weight = np.exp(-(left - lower))
    rest = np.exp(np.minimum(lower, 200.0))
    by_column = np.ones(cost.shape[1])
    for _ in range(_SWEEPS):
        by_row = _inverse(weight @ by_column)
        taken = by_row @ weight
        if spare:
            taken += rest * spare * _inverse(np.atleast_1d(rest @ by_column))
        by_column = _inverse(taken)
    return np.asarray(weight * by_column)


def _inverse(values: Floats) -> Floats:
    return np.asarray(np.clip(1.0 / np.clip(values, 1.0 / _BOUND, _BOUND), 1.0 / _BOUND, _BOUND))


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
