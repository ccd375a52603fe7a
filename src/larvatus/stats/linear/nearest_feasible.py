"""The nearest point to each row that obeys linear rules: arg min_y Σ ((yⱼ − xⱼ)/sdⱼ)² subject to A y ≤ b, l ≤ y ≤ u.

Most rows are solved by sweeps over all rows at once, the rest by least-distance programming.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Bools, Floats
from larvatus.stats.linear.portable_algebra import product, pseudo_inverse, total

_SWEEPS, LOOKS = 12, (2, 6, 11)
SAFE, SNAP = 1e-12, 1e-10


def nearest_obeying(
    x: Floats, spread: Floats, lower: Floats, upper: Floats, slope: Floats, limit: Floats, equal: Bools, active: Bools
) -> Floats:
    """Rows moved as little as possible, in units of `spread`, so that `slope` · row ≤ (or =) `limit`, within the bounds.

    `slope` is lines × columns; `limit` and `active` are rows × lines. A line that is not active does not constrain the row.
    Inequalities are met with a margin in the twelfth digit if possible. Rows without such a point are only brought within
    their bounds.
    """
    y = np.clip(x, lower, upper)
    over = product(y, slope.T) - limit
    rows = np.flatnonzero((active & (np.where(equal, np.abs(over), over) > 0)).any(axis=1))
    tied = np.flatnonzero((slope != 0).any(axis=0))
    if len(rows):
        part = _nearest(
            x[np.ix_(rows, tied)], spread[tied], lower[tied], upper[tied], slope[:, tied], limit[rows], equal, active[rows]
        )
        part = _snapped(part, spread[tied], lower[tied], upper[tied])
        _nudge(part, spread[tied], lower[tied], upper[tied], slope[:, tied], limit[rows], active[rows] & ~equal)
        y[np.ix_(rows, tied)] = part
    return y


def _snapped(y: Floats, spread: Floats, lower: Floats, upper: Floats) -> Floats:
    """Set values within rounding of a bound to the bound, so that zero is released as zero."""
    y = np.where(np.abs(y - lower) <= SNAP * spread, lower, y)
    return np.where(np.abs(y - upper) <= SNAP * spread, upper, y)


def _nudge(y: Floats, spread: Floats, lower: Floats, upper: Floats, slope: Floats, limit: Floats, asked: Bools) -> None:
    """Correct rows that break an inequality only by rounding, by moving one of its columns."""
    for _ in range(3):
        for i in np.flatnonzero((slope != 0).any(axis=1)):
            over = product(y, slope[i]) - limit[:, i]
            weight = np.abs(slope[i]) * spread
            rows = np.flatnonzero(asked[:, i] & (over > 0) & (over <= 100 * SNAP * total(weight)))
            free = np.where(slope[i] > 0, y[rows] > lower, y[rows] < upper)
            column = np.where(free, weight, -1.0).argmax(axis=1)
            step = (over[rows] * (1 + SNAP) + SAFE / 10 * weight[column]) / slope[i, column]
            y[rows, column] = np.clip(y[rows, column] - step, lower[column], upper[column])


def _nearest(
    x: Floats, spread: Floats, lower: Floats, upper: Floats, slope: Floats, limit: Floats, equal: Bools, active: Bools
) -> Floats:
    """The same for rows that break a line within their bounds, over the columns that occur in lines."""
    m, unit = len(slope), np.eye(x.shape[1])
    low, high = np.isfinite(lower), np.isfinite(upper)
    lines = np.vstack([slope, -slope[equal], -unit[low], unit[high]])
    limits = np.hstack([limit, -limit[:, equal], np.tile(np.hstack([-lower[low], upper[high]]), (len(x), 1))])
    asked = np.hstack([active, active[:, equal], np.ones((len(x), low.sum() + high.sum()), dtype=bool)])
    margin = np.where(np.arange(len(lines)) < m, np.hstack([np.where(equal, 0.0, SAFE), np.zeros(len(lines) - m)]), 0.0)
    asked &= (lines != 0).any(axis=1)
    y, going = np.clip(x, lower, upper), np.arange(len(x))

    def settle(near: Floats, binding: Bools, sure: bool = False) -> Bools:
        """Accept the rows whose point obeys and, unless sure, whose binding lines are verified."""
        size = margin * (product(np.abs(near), np.abs(lines).T) + np.abs(limits[going]))
        found, right = _solved(x[going], lines, lines * spread**2, limits[going] - size, binding & asked[going])
        right = (right | sure) & ~_off(found, spread, lines, limits[going], asked[going])
        y[going[right]] = np.clip(found[right], lower, upper)
        return right

    for near, binding in _swept(x, lines * spread**2, lines, limits, asked):
        going = going[~settle(near[going], binding[going])]
        if len(going) == 0:
            return y
    near, binding, there = _programmed(x[going], spread, lines, limits[going], asked[going])
    y[going[there]] = np.clip(near[there], lower, upper)
    rest = ~settle(near, binding, sure=True)
    going, margin = going[rest], np.zeros(len(lines))
    settle(near[rest], binding[rest], sure=True)
    return y


def _swept(x: Floats, ways: Floats, lines: Floats, limits: Floats, asked: Bools):  # type: ignore[no-untyped-def]
    """Hildreth's method: the rows and the multipliers of the lines after a few sweeps over all lines."""
    near, pull = x.copy(), np.zeros_like(limits)
    gain = total(lines * ways, axis=1)
    for sweep in range(_SWEEPS):
        for i in np.flatnonzero(gain > 0):
            step = np.maximum((product(near, lines[i]) - limits[:, i]) / gain[i], -pull[:, i])
            step[~asked[:, i]] = 0.0
            pull[:, i] += step
            near -= step[:, None] * ways[i]
        if sweep in LOOKS:
            yield near, pull > 0


def _programmed(x: Floats, spread: Floats, lines: Floats, limits: Floats, asked: Bools) -> tuple[Floats, Bools, Bools]:
    """Lawson and Hanson's least-distance programming, row by row: the point, the binding lines, and whether it exists."""
    from larvatus.stats.linear.non_negative import non_negative_solution

    y, binding, there = x.copy(), np.zeros(asked.shape, dtype=bool), np.zeros(len(x), dtype=bool)
    scaled = -lines * spread
    norm = np.sqrt(total(scaled**2, axis=1))
    for i in range(len(x)):
        used = np.flatnonzero(asked[i] & (norm > 0))
        short = (product(lines[used], x[i]) - limits[i, used]) / norm[used]
        system = np.vstack([scaled[used].T / norm[used], short])
        target = np.zeros(len(system))
        target[-1] = 1.0
        force = non_negative_solution(system, target)
        if force is None:
            continue
        left = product(system, force) - target
        if -left[-1] > 1e-10:
            y[i] = x[i] - spread * left[:-1] / left[-1]
            binding[i, used] = force > 0
            there[i] = True
    return y, binding, there


def _solved(x: Floats, lines: Floats, ways: Floats, limit: Floats, binding: Bools) -> tuple[Floats, Bools]:
    """Rows moved so that the binding lines hold with equality, and whether all multipliers have the right sign."""
    y, right = x.copy(), np.ones(len(x), dtype=bool)
    if len(x) == 0:
        return y, right
    patterns, which = np.unique(binding, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        rows, bind = np.flatnonzero(which.ravel() == k), np.flatnonzero(pattern)
        if len(bind) == 0:
            continue
        over = product(x[rows], lines[bind].T) - limit[np.ix_(rows, bind)]
        square = product(lines[bind], ways[bind].T)
        inverse = pseudo_inverse(square, 1e-15).T
        force = product(over, inverse)
        force += product(over - product(force, square.T), inverse)
        y[rows] = x[rows] - product(force, ways[bind])
        right[rows] = force.min(axis=1) >= -1e-9 * np.abs(force).max(axis=1)
    return y, right


def _off(y: Floats, spread: Floats, lines: Floats, limit: Floats, asked: Bools) -> Bools:
    """Rows that break a line by more than rounding."""
    slack = 2 * SAFE * (product(np.abs(y) + spread, np.abs(lines).T) + np.abs(limit))
    return np.asarray((asked & (product(y, lines.T) - limit > slack)).any(axis=1))
