"""The point nearest to each row that obeys linear rules: Hildreth's method, all rows at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
MOST_SWEEPS, PATIENT = 500, 60
SAFE = 1e-12


def nearest_obeying(
    x: Floats, spread: Floats, lower: Floats, upper: Floats, slope: Floats, limit: Floats, equal: Flags, held: Flags,
    active: Flags,
) -> Floats:
    """Rows moved as little as possible, in units of `spread`, so that `slope` · row ≤ (or =) `limit`, within the bounds.

    `slope` and `held` are lines × columns: a line does not move the columns that it holds. `limit` and `active` are
    rows × lines: a line asks nothing of a row where it is not active. Inequalities are met with a margin of a few units
    in the twelfth digit where there is room for it. Rows for which no such point exists come back as the search left them.
    """
    y = x.copy()
    way = np.where(held, 0.0, slope) * spread**2
    gain = (slope * way).sum(axis=1)
    pull = np.zeros((len(x), len(slope)))
    low, high = np.zeros_like(x), np.zeros_like(x)
    going = np.arange(len(x))
    for sweep in range(MOST_SWEEPS):
        part = y[going]
        for i in np.flatnonzero(gain > 0):
            over = part @ slope[i] - limit[going, i]
            margin = 0.0 if equal[i] else SAFE * (np.abs(part) @ np.abs(slope[i]) + np.abs(limit[going, i]))
            step = (over + margin) / gain[i]
            if not equal[i]:
                step = np.maximum(step, -pull[going, i])
            step = np.where(active[going, i], step, 0.0)
            pull[going, i] += step
            part -= step[:, None] * way[i]
        for passed, bound, sign in ((low, lower, -1.0), (high, upper, 1.0)):
            step = np.maximum(sign * (part - bound), -passed[going])
            passed[going] += step
            part -= sign * step
        y[going] = part
        clipped = np.clip(part, lower, upper)
        over = clipped @ slope.T - limit[going]
        slack = 2 * SAFE * (np.abs(clipped) @ np.abs(slope).T + np.abs(limit[going]))
        off = np.where(equal, np.abs(over) > slack / 8, over > (0.0 if sweep < PATIENT else slack))
        going = going[(off & active[going]).any(axis=1)]
        if len(going) == 0:
            break
    return np.clip(y, lower, upper)
