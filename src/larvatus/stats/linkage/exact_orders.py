"""The orders of released rows that satisfy the equations of a mask whose moments are exact (in one sub-group).

With released rows [1, S, Y] and noise orthogonal to [1, S, X], the right order π of the known rows of X satisfies

    Σ_i w_i s_i x_π(i)ᵀ = C_SY,      Σ_i w_i y_i x_π(i)ᵀ = (I − β) C_YS C_SS⁻¹ C_SY + β C_YY

with rows centred and C their sums of products, which the release itself gives. All equations are combined into one number for
each pair of rows, by fixed weights. Orders are searched by meeting in the middle: all ways to fill the first half of the rows
are matched with all ways to fill the second half, which costs about √(n! 2ⁿ) instead of n!. What is found is checked against
every equation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from larvatus.core.arrays import Floats, Ints

_MOST_ROWS = 14
_MOST_ORDERS = 1_000_000
_BITS = 4
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
    a million do.
    """
    n = len(same)
    size = np.maximum(np.abs(equations.terms).max(axis=(0, 1), initial=0.0), 1e-300)
    mix = np.modf(np.sqrt(2.0) * np.arange(1, len(size) + 1))[0] + 0.5
    mix /= np.maximum(size, equations.tolerance)
    cost = equations.terms @ mix
    orders = _orders(cost, float(equations.right @ mix), float(equations.tolerance @ mix), same)
    if orders is None:
        return None
    rows = np.arange(n)
    credit, found = np.zeros(n), 0
    for part in np.array_split(orders, max(len(orders) // 20_000, 1)):
        sums = equations.terms[rows, part].sum(axis=1)
        good = part[(np.abs(sums - equations.right) <= equations.tolerance).all(axis=1)]
        credit += (good == rows).sum(axis=0)
        found += len(good)
    return credit / found if found else None


def _orders(cost: Floats, total: float, tolerance: float, same: Ints) -> Ints | None:
    """Orders π (row i holds known row π(i), of the same code) with Σ cost[i, π(i)] = total, to the tolerance."""
    n = len(cost)
    half = n // 2
    left, right = (_filled(cost, same, rows) for rows in (range(half), range(half, n)))
    whole = (1 << n) - 1
    order = np.lexsort((right[1], right[0]))
    mask, summed, packed = (part[order] for part in right)
    starts = np.flatnonzero(np.r_[True, mask[1:] != mask[:-1]])
    ends = np.r_[starts[1:], len(mask)]
    place = {int(m): k for k, m in enumerate(mask[starts])}
    by = np.argsort(left[0], kind="stable")
    bounds = np.flatnonzero(np.r_[True, np.diff(left[0][by]) != 0])
    out, count = [], 0
    for a, b in zip(bounds, [*bounds[1:], len(by)], strict=True):
        k = place.get(whole ^ int(left[0][by[a]]))
        if k is None:
            continue
        mine = by[a:b]
        wanted = total - left[1][mine]
        inside = summed[starts[k] : ends[k]]
        low = np.searchsorted(inside, wanted - tolerance, side="left")
        many = np.searchsorted(inside, wanted + tolerance, side="right") - low
        count += int(many.sum())
        if count > _MOST_ORDERS:
            return None
        if many.any():
            at = np.repeat(low - np.r_[0, np.cumsum(many)[:-1]], many) + np.arange(many.sum())
            out.append(np.repeat(left[2][mine], many) | packed[starts[k] + at])
    if not out:
        return None
    codes = np.concatenate(out)
    return np.stack([(codes >> (_BITS * i)) & 15 for i in range(n)], axis=1)


def _filled(cost: Floats, same: Ints, rows: range) -> tuple[Ints, Floats, Ints]:
    """All ways to fill these rows with different known rows of the same code: which are used, the sum of costs, the order."""
    used, summed, packed = np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1, dtype=np.int64)
    for i in rows:
        parts = []
        for j in np.flatnonzero(same == same[i]):
            free = (used >> j) & 1 == 0
            parts.append((used[free] | (1 << int(j)), summed[free] + cost[i, j], packed[free] | (int(j) << (_BITS * i))))
        used, summed, packed = (np.concatenate([p[k] for p in parts]) for k in range(3))
    return used, summed, packed


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
