"""The orders of released rows that satisfy the equations of a mask whose moments are exact (in one sub-group).

With released rows [1, S, Y] and noise orthogonal to [1, S, X], the right order π of the known rows of X satisfies

    Σ_i w_i s_i x_π(i)ᵀ = C_SY,      Σ_i w_i y_i x_π(i)ᵀ = (I − β) C_YS C_SS⁻¹ C_SY + β C_YY

with rows centred and C their sums of products, which the release itself gives. All equations are combined into one number for
each pair of rows, by fixed weights. Orders are searched by meeting in the middle: for each half of the known rows, all ways to
fill the first half of the released rows with them are matched with all ways to fill the second half with the others. This costs
about √(n! 2ⁿ) instead of n!, and hardly any memory. What is found is checked against every equation.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, permutations, product
from typing import NamedTuple

import numpy as np

from larvatus.core.arrays import Floats, Ints

_MOST_ORDERS = 10_000_000
_ROUNDING = 1e-10
_SPREAD = 4.0  # standard deviations of the error that printed digits leave in an equation


class Equations(NamedTuple):
    """For each released row i and known row j, the terms of all equations; their sums in the right order; tolerances."""

    terms: Floats
    right: Floats
    tolerance: Floats


def exact_equations(
    x: Floats, y: Floats, s: Floats, weight: Floats, beta: Floats, base: Floats | None = None,
) -> Equations | None:
    """The equations of one sub-group, rows × columns, in standard deviations; None if no column varies.

    The rows of `x` are in any order. `s` and `weight` belong to the released rows. Only columns of Y whose similarity
    involves no other column are used unless those are given too. `base` has the base to which each column was rounded, 0 if
    it was not; whole numbers and printed decimals are recognised.
    """
    share = weight / weight.mean()
    yc, scale = _standardised(y, share)
    free = scale > 0
    if not free.any() or len(y) < 2:
        return None
    sc, spread = _standardised(s, share)
    sc = sc[:, spread > 0]
    units = np.where(free, scale, 1.0)
    xc = (x - np.average(y, axis=0, weights=share)) / units
    b = beta * units / units[:, None]
    cross = sc.T @ (share[:, None] * yc)
    square = yc.T @ (share[:, None] * yc)
    inside = cross.T @ np.linalg.pinv(sc.T @ (share[:, None] * sc)) @ cross
    right = np.vstack([cross, (np.eye(len(b)) - b) @ inside + b @ square])[:, free]
    left = np.hstack([sc, yc]) * share[:, None]
    n = len(y)
    terms = np.einsum("ia,jb->ijab", left, xc[:, free]).reshape(n, n, -1)
    far = np.abs(y).max(axis=0, initial=0.0) / units
    steps = np.array([_step(v) for v in y.T])
    digits = (steps if base is None else np.maximum(steps, base)) / units
    rounding = _ROUNDING * n * (1 + 1e-4 * far.max(initial=0.0))
    # rounding moves y by up to half a step: in each equation, in C_YS and in C_YY
    coarse = _SPREAD * (digits[:, None] + digits) * np.sqrt(n / 12)
    coarse = np.vstack([np.tile(_SPREAD * digits * np.sqrt(n / 12), (sc.shape[1], 1)), coarse])[:, free]
    return Equations(terms, right.ravel(), (coarse + rounding).ravel())


def order_credit(equations: Equations, same: Ints) -> Floats | None:
    """Probability that each known row is linked to the released row of the same position, orders sharing it equally.

    A known row is linked only to released rows with the same code. None if no order satisfies the equations, or if more than
    ten million satisfy the combined one.
    """
    rows = np.argsort(same, kind="stable")
    half = len(rows) // 2
    first, last = ((r, _within_codes(same[r])) for r in (rows[:half], rows[half:]))
    terms, goal, room = _with_combined(equations)
    credit, found, tried = np.zeros(len(rows)), 0, 0
    for mine, others in _known_sets(same, rows):
        left, right = _Filling(terms, *first, mine), _Filling(terms, *last, others)
        pairs = _fitting_pairs(left.sums(0), right.sums(0), goal[0], room[0], _MOST_ORDERS - tried)
        if pairs is None:
            return None
        i, j = pairs
        tried += len(i)
        for e in range(1, len(goal)):
            if len(i):
                good = np.abs(left.sums(e)[i] + right.sums(e)[j] - goal[e]) <= room[e]
                i, j = i[good], j[good]
        for side, at in ((left, i), (right, j)):
            credit[side.rows] += (side.known[side.orders[at]] == side.rows).sum(axis=0)
        found += len(i)
    return credit / found if found else None


class _Filling(NamedTuple):
    """All ways to fill half of the released rows with certain known rows; `terms` has the equations first."""

    terms: Floats
    rows: Ints
    orders: Ints
    known: Ints

    def sums(self, equation: int) -> Floats:
        """The sum of the terms of an equation, for each way."""
        cost = self.terms[equation][self.rows[:, None], self.known]
        return np.asarray(cost[np.arange(len(self.rows)), self.orders].sum(axis=1))


def _with_combined(equations: Equations) -> tuple[Floats, Floats, Floats]:
    """Terms, sums and tolerances of all equations, equations first in the terms, with one in front that combines them."""
    terms, right, tolerance = equations
    size = np.maximum(np.abs(terms).max(axis=(0, 1), initial=0.0), 1e-300)
    mix = (np.modf(np.sqrt(2.0) * np.arange(1, len(size) + 1))[0] + 0.5) / np.maximum(size, tolerance)
    return (np.concatenate([(terms @ mix)[None], np.moveaxis(terms, 2, 0)]), np.r_[right @ mix, right],
            np.r_[tolerance @ mix, tolerance])


def _within_codes(codes: Ints) -> Ints:
    """All orders of positions that move none to another code; equal codes stand together."""
    blocks = [permutations(np.flatnonzero(codes == code).tolist()) for code in np.unique(codes)]
    return np.array([[*chain(*order)] for order in product(*blocks)], dtype=np.int64).reshape(-1, len(codes))


def _known_sets(same: Ints, rows: Ints) -> Iterator[tuple[Ints, Ints]]:
    """The ways to share the known rows between the two halves of `rows`, so that each half keeps its codes."""
    codes, half = same[rows], len(rows) // 2
    both = rows[codes == codes[half]]  # the only code that both halves may have
    before, after = rows[codes < codes[half]], rows[codes > codes[half]]
    for some in combinations(both.tolist(), half - len(before)):
        yield np.r_[before, np.array(some, dtype=np.int64)], np.r_[np.setdiff1d(both, some), after]


def _fitting_pairs(left: Floats, right: Floats, total: float, tolerance: float, most: int) -> tuple[Ints, Ints] | None:
    """Places i and j with left[i] + right[j] = total, to the tolerance; None if there are more than `most`."""
    up, order = np.argsort(right), np.argsort(-left)
    ordered, wanted = right[up], total - left[order]
    low = np.searchsorted(ordered, wanted - tolerance, side="left")
    many = np.searchsorted(ordered, wanted + tolerance, side="right") - low
    if int(many.sum()) > most:
        return None
    place = np.repeat(low - np.r_[0, np.cumsum(many)[:-1]], many) + np.arange(many.sum())
    return np.repeat(order, many), up[place]


def unchanged_credit(x: Floats, y: Floats, same: Ints, own: Ints) -> Floats:
    """Credit of each target among the released rows that equal its known values; a guess among its code if none does.

    A missing released value agrees with everything, as long as another one agrees.
    """
    from larvatus.stats.linkage.coordinates import same_rows

    n = len(y)
    known, released = (_digits(v) for v in (x, y))
    matches, mine = np.zeros(n), np.zeros(n, dtype=bool)
    patterns = same_rows(np.isnan(released).T, n)
    for pattern in np.unique(patterns):
        rows = np.flatnonzero(patterns == pattern)
        there = ~np.isnan(released[rows[0]])
        if not there.any():
            continue
        both = np.concatenate([known[:, there], released[np.ix_(rows, there)]])
        code = same_rows([np.r_[same, same[rows]], *both.T], len(both))
        count = np.bincount(code[n:], minlength=int(code.max()) + 1)
        matches += count[code[:n]]
        mine[rows] |= code[rows] == code[n:]
    guess = 1.0 / np.bincount(same)[same]
    return np.asarray(np.where(matches > 0, mine / np.maximum(matches, 1.0), guess)[own])


def _digits(values: Floats) -> Floats:
    """Values to about twelve digits."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(mantissa * 2.0**40) / 2.0**40, exponent) + 0.0)


def _standardised(values: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Columns centred and scaled by weighted moments; 0 with scale 0 if a column does not vary."""
    centred = values - np.average(values, axis=0, weights=share)
    scale = np.sqrt(np.average(centred**2, axis=0, weights=share))
    flat = (values == values[:1]).all(axis=0)
    scale = np.where(flat, 0.0, scale)
    return np.where(flat, 0.0, centred / np.where(scale > 0, scale, 1.0)), scale


def _step(values: Floats) -> float:
    """The step of printed decimals, if all values have at most six; else 0."""
    for k in range(7):
        shown = values * 10.0**k
        near = np.abs(shown - np.rint(shown)) <= 1e-9 * np.maximum(np.abs(shown), 1)
        if np.abs(shown).max(initial=0.0) < 1e15 and near.all():
            return float(10.0**-k)
    return 0.0


def insiders_needed(residual: int, rank: int, rotated: bool) -> int:
    """The number of insiders who can compute the other records, with residual dimensions m and rank r of X given S."""
    needed = residual - (rank + 1) / 2 - (0 if rotated else rank)
    return int(max(np.ceil(needed), 0))
