"""Released records that agree with the values that a rerun of the mask gives for a target.

    C(i) = {k : lowᵢⱼ ≤ y_kj ≤ highᵢⱼ for every column j},      credit 1 / |C(i)| if i is in C(i)

Records with equal original values cannot be told apart. The intruder takes for all of them the box g that most of them fall in
for its size: arg max m_g / n_g, with m_g of the equal records and n_g of all records in box g.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.linkage.boxes import counts_inside
from larvatus.stats.linkage.coordinates import link_nearest, number_keys, same_rows, stack_coordinates

ROUNDING = 1e-12


def rerun_credit(low: Floats, high: Floats, y: Floats, equal: Ints, same: Ints, own: Ints) -> Floats:
    """The credit of each target; `low` and `high` hold the box of every record, `equal` a code of its original values.

    A value is missing in the same cells on both sides. If no released record with the same S is in the box, the records nearest
    to its middle share the credit.
    """
    low, high, y = _with_missing(low, high, y)
    place = best_boxes(low, high, equal, same)[own]
    low, high = low[place], high[place]
    code = same.astype(np.float64)[:, None]
    least, most = low - ROUNDING * np.abs(low), high + ROUNDING * np.abs(high)
    count = counts_inside(np.hstack([least, code[own]]), np.hstack([most, code[own]]), np.hstack([y, code]))
    inside = ~((y[own] < least) | (y[own] > most)).any(axis=1)
    credit = np.where(inside, 1.0 / np.maximum(count, 1), 0.0)
    none = np.flatnonzero(count == 0)
    if len(none):
        credit[none] = _nearest(((low + high) / 2)[none], y, same, own[none])
    return np.asarray(credit)


def best_boxes(low: Floats, high: Floats, equal: Ints, same: Ints) -> Ints:
    """For each record the number of a record with equal values and the same S whose box is the best guess for all of them."""
    n = len(low)
    who = same_rows([equal, same], n)
    if n == 0 or int(who.max()) == n - 1:
        return np.arange(n)
    box = same_rows([*low.T, *high.T, same], n)
    pair, first, count = np.unique(who * (int(box.max()) + 1) + box, return_index=True, return_counts=True)
    share = count / np.bincount(box)[box[first]]
    order = np.lexsort((pair, -share, who[first]))
    best = order[np.unique(who[first][order], return_index=True)[1]]
    return np.asarray(first[best][who])


def _with_missing(low: Floats, high: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """The same with an indicator for each column in which values are missing: cells must be missing on both sides."""
    gone, blank = np.isnan(low), np.isnan(y)
    some = gone.any(axis=0) | blank.any(axis=0)
    mine = gone[:, some].astype(np.float64)
    return np.hstack([low, mine]), np.hstack([high, mine]), np.hstack([y, blank[:, some].astype(np.float64)])


def _nearest(x: Floats, y: Floats, same: Ints, own: Ints) -> Floats:
    """Credits for the released records nearest in standard deviations."""
    every = np.full_like(y, np.nan)
    every[own] = x
    keys = [number_keys(every[:, j], y[:, j]) for j in range(y.shape[1])]
    left, right = ([c for pair in keys for c in pair[side]] for side in (0, 1))
    return np.asarray(link_nearest(stack_coordinates(left, len(y))[own], stack_coordinates(right, len(y)), own, same, (1,))[0])
