"""One-to-one linkage: π = arg min Σᵢ c(xᵢ, y_π(i)) over all assignments of released records to originals.

The cost c is squared distance, or −log f(y | x) under the law of the mask. A second rule for the law links each original to
its most probable record, with probabilities scaled so that each released record has one original in all (Sinkhorn and Knopp
1967). It finds more than the single best assignment where many assignments are almost as good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.linkage.coordinates import same_rows
from larvatus.stats.linkage.link_windows import WindowPlan, group_windows, stack_small
from larvatus.stats.linkage.paired_points import PointWindow

_FAR = 100.0  # squared standard deviations
BLANK = 0.25  # cost of a missing value of y if not every row of y is assigned
TIES, FEWER_TIES, _FEW = 12, 3, 400  # assignments tried among those of equal cost, and rows above which fewer are tried
NUDGE = 1e-9
VARIED = 0.9
_IMPOSSIBLE = 1e6  # cost of a pair of density zero: as few as possible are assigned
_SWEEPS = 30
_SAME = 1e-9
_BOUND = 1e100
_SWEPT = 40_000  # cells of a matrix that a compiled loop sweeps sooner than NumPy does
_SMALL, _STACK = 24, 192  # windows that are linked together, and rows of a stack of them
Costs = Callable[[Ints, Ints], Floats]


def assignment_credit(x: Floats, y: Floats, most: int) -> Floats:
    """Probability that the best assignment gives each row of x its own row of y, the one at the same position.

    More than `most` rows are assigned in windows. The cost is squared distance; see `distance_costs`.
    """
    everyone = np.arange(len(x))
    windows = group_windows(x, y, np.zeros(len(x), dtype=np.int64), everyone, WindowPlan(most))
    return credit_of_assignments(x, y, np.zeros(len(x), dtype=np.int64), everyone, windows, distance_costs(x, y))


def credit_of_assignments(
    x: Floats, y: Floats, same: Ints, known: Ints, windows: Sequence[PointWindow], costs: Costs, level: bool = False,
    most_tries: int = TIES,
) -> Floats:
    """The credit of each row of x for its own row of y under the best assignments within windows; NaN if it was not linked.

    Ties are broken at random: equal rows of y are exchangeable, and so are equal rows of x; other assignments of equal cost are
    sampled by small perturbations of the costs. `costs(a, b)` gives the costs of rows a of x and b of y. If not all rows of y
    are assigned, it must be relative to the density of y. `level` says that many costs are equal although values differ.
    At most `most_tries` assignments of equal cost are tried.
    """
    mine, theirs = (same_rows([same, *v.T], len(v)) for v in (x, y))
    tries = np.minimum(_tries(x, y, same, known, level), most_tries)
    given = np.full((int(tries.max(initial=1)), len(x)), -1, dtype=np.int64)
    for left, right in stack_small(windows, _SMALL, _STACK):
        for a, b, cost in zip(left, right, _stacked_costs(costs, left, right), strict=True):
            _assign(given, PointWindow(a, b, slice(0, len(a))), cost, theirs, int(tries[same[b[0]]]))
    for w in windows:
        if len(w.right) > _SMALL or w.whole is not None:
            _assign(given, w, costs(w.left, w.right), theirs, int(tries[same[w.right[0]]]))
    linked = given[0] >= 0
    for w in windows:
        linked[w.targets] = True
    width = int(theirs.max(initial=0)) + 1
    wanted = mine * width + theirs
    same_x, same_y = np.maximum(np.bincount(mine[linked], minlength=int(mine.max(initial=0)) + 1)[mine], 1), np.bincount(theirs)
    out = np.zeros(len(x))
    for chosen in given:
        pairs, times = np.unique((mine * width + chosen)[chosen >= 0], return_counts=True)
        if len(pairs):
            spot = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
            out += np.where(pairs[spot] == wanted, times[spot], 0) / same_x / same_y[theirs]
    return np.where(linked, out / tries[same], np.nan)


def probable_credit(rows: int, windows: Sequence[PointWindow], costs: Costs) -> Floats:
    """The credit of each row of x for its most probable row of y if each record has one original; NaN if it was not linked.

    `costs` are those of `credit_of_assignments`.
    """
    out = np.full(rows, np.nan)
    for left, right in stack_small(windows, _SMALL, _STACK):
        out[left] = _balanced_credit(_stacked_costs(costs, left, right), left, right)
    for w in windows:
        if len(w.right) > _SMALL or w.whole is not None:
            out[w.targets] = _balanced_credit(costs(w.left, w.right), w.left, w.right)[w.inner]
    return out


def distance_costs(x: Floats, y: Floats) -> Costs:
    """Squared distances. A missing value of y is equally far from every x; a missing value of x is far from every y."""
    return lambda a, b: _costs(x[a], y[b])


def _assign(given: Ints, w: PointWindow, cost: Floats, theirs: Ints, tries: int) -> None:
    """Enter which row of y, by its code, the best assignments give to each row of x that counts."""
    from scipy.optimize import linear_sum_assignment

    if len(w.right) == 1:
        given[:tries, w.left] = theirs[w.right]
        return
    possible = np.isfinite(cost)
    size = NUDGE * (1.0 + float(np.abs(cost).max(initial=0.0, where=possible)))
    cost = np.where(possible, cost, _IMPOSSIBLE)
    for k in range(tries):
        rows, columns = linear_sum_assignment(cost + size * _nudges(cost.shape[0], cost.shape[1], k) if tries > 1 else cost)
        found = np.full(len(w.left), -1, dtype=np.int64)
        found[rows] = theirs[w.right[columns]]
        given[k, w.targets] = found[w.inner]


def _stacked_costs(costs: Costs, left: Ints, right: Ints) -> Floats:
    """The costs within each window of a stack, windows × rows of x × rows of y; one call costs less than many."""
    k = len(left)
    every = costs(left.ravel(), right.ravel()).reshape(k, left.shape[1], k, right.shape[1])
    return np.asarray(every[np.arange(k), :, np.arange(k)])


def _balanced_credit(cost: Floats, left: Ints, right: Ints) -> Floats:
    """The credit of rows for the most probable candidate, with ties broken at random; none if the own one is elsewhere."""
    share = balanced_shares(cost, max(right.shape[-1] - left.shape[-1], 0))
    match = left[..., :, None] == right[..., None, :]
    mine = np.take_along_axis(share, match.argmax(axis=-1)[..., None], -1)[..., 0]
    least = share.max(axis=-1) * (1 - _SAME)
    best = match.any(axis=-1) & (mine >= least)
    return np.where(best, 1.0 / (share >= least[..., None]).sum(axis=-1), 0.0)


def balanced_shares(cost: Floats, spare: int) -> Floats:
    """exp(−cost) with rows and columns scaled towards sum one; each row is proportional to its probabilities.

    `spare` columns belong to none of the rows: one further row of cost 0 takes them. Several matrices may be stacked.
    """
    low = cost.min(axis=-1)
    left = cost - np.where(np.isfinite(low), low, 0.0)[..., :, None]
    lower = left.min(axis=-2)
    lower = np.where(np.isfinite(lower), lower, 0.0)
    weight = np.exp(-(left - lower[..., None, :]))
    rest = np.exp(np.minimum(lower, 200.0))
    by_column = np.ones(lower.shape)
    if weight.shape[-2] * weight.shape[-1] < _SWEPT:
        shape = (-1, *weight.shape[-2:])
        _sweep(weight.reshape(shape), rest.reshape(-1, shape[-1]), by_column.reshape(-1, shape[-1]), spare, _SWEEPS)
        return np.asarray(weight * by_column[..., None, :])
    for _ in range(_SWEEPS):
        by_row = _inverse(_product(weight, by_column[..., None])[..., 0])
        taken = _product(by_row[..., None, :], weight)[..., 0, :]
        if spare:
            taken = taken + rest * spare * _inverse(_product(rest[..., None, :], by_column[..., None])[..., 0])
        by_column = _inverse(taken)
    return np.asarray(weight * by_column[..., None, :])


@kernel()
def _sweep(weights: Floats, rests: Floats, by_columns: Floats, spare: Any, sweeps: Any) -> None:
    """The sweeps of small matrices, one after the other, in place."""
    n, m = weights.shape[1:]
    taken = np.empty(m)
    for k in range(len(weights)):
        weight, rest, by_column = weights[k], rests[k], by_columns[k]
        for _ in range(sweeps):
            taken[:] = 0.0
            for i in range(n):
                total = 0.0
                for r in range(m):
                    total += weight[i, r] * by_column[r]
                by_row = min(max(1.0 / min(max(total, 1.0 / _BOUND), _BOUND), 1.0 / _BOUND), _BOUND)
                for r in range(m):
                    taken[r] += by_row * weight[i, r]
            if spare > 0:
                total = 0.0
                for r in range(m):
                    total += rest[r] * by_column[r]
                share = spare * min(max(1.0 / min(max(total, 1.0 / _BOUND), _BOUND), 1.0 / _BOUND), _BOUND)
                for r in range(m):
                    taken[r] += rest[r] * share
            for r in range(m):
                by_column[r] = min(max(1.0 / min(max(taken[r], 1.0 / _BOUND), _BOUND), 1.0 / _BOUND), _BOUND)


def _product(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.matmul(a, b))


def _inverse(values: Floats) -> Floats:
    return np.asarray(np.clip(1.0 / np.clip(values, 1.0 / _BOUND, _BOUND), 1.0 / _BOUND, _BOUND))


def _tries(x: Floats, y: Floats, same: Ints, known: Ints, level: bool) -> Ints:
    """The number of assignments to try for each code: one if no two cost the same.

    Exchanging two records changes the cost by Σ_j (x_1j − x_2j)(y_1j − y_2j), up to weights: one column in which hardly any
    value occurs twice, on either side, is enough for that not to be 0.
    """
    size = np.bincount(same)
    by_column = _varied(x[known], same[known], len(size)) & _varied(y, same, len(size))
    varied = by_column.any(axis=0) & (not level)
    return np.where(varied, 1, np.where(size <= _FEW, TIES, FEWER_TIES))


def _varied(values: Floats, code: Ints, count: int) -> NDArray[np.bool_]:
    """For each column and code, whether hardly any value occurs twice in the rows of the code; missing is a value."""
    size = np.bincount(code, minlength=count)
    out = np.ones((values.shape[1], count), dtype=bool)
    for j, v in enumerate(values.T):
        ordered = np.sort(v)
        if (ordered[1:] > ordered[:-1]).all():  # no value occurs twice, and none is missing
            continue
        order = np.lexsort((v, code))
        value, of = v[order], code[order]
        again = (of[1:] == of[:-1]) & ((value[1:] == value[:-1]) | (np.isnan(value[1:]) & np.isnan(value[:-1])))
        distinct = size - np.bincount(of[1:][again], minlength=count)
        out[j] = (distinct > VARIED * size) | (size == 0)
    return out


def _nudges(n: int, m: int, k: int) -> Floats:
    """Numbers in [0, 1) for every pair of places in the canonical order, different for every try."""
    return _small_nudges(n, m, k) if max(n, m) <= _SMALL else new_nudges(n, m, k)


@lru_cache(maxsize=4096)
def _small_nudges(n: int, m: int, k: int) -> Floats:
    return new_nudges(n, m, k)


def new_nudges(n: int, m: int, k: int) -> Floats:
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
