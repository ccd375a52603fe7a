"""Released records that agree with the values that a rerun of the mask gives for a target.

    C(i) = {k : lowᵢⱼ ≤ y_kj ≤ highᵢⱼ for every column j}
    credit 1 / |N(i)| if i is in N(i), the records of C(i) with the smallest distance |nearᵢ − z_k| in columns masked at random

Records with equal original values cannot be told apart. The intruder takes for all of them the box g that most of them fall in
for its size: arg max m_g / n_g, with m_g of the equal records and n_g of all records in box g.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.linkage.boxes import narrowest_intervals
from larvatus.stats.linkage.coordinates import link_nearest, number_keys, same_rows, stack_coordinates

ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Boxes:
    """The box of every record in columns that are known, `low` to `high`, and its point `near` in columns masked at random.

    `y` and `z` are the released values of these columns. `equal` is a code of the original values.
    """

    low: Floats
    high: Floats
    y: Floats
    near: Floats
    z: Floats
    equal: Ints


def rerun_credit(boxes: Boxes, same: Ints, own: Ints) -> Floats:
    """The credit of each target. Cells of the box columns must be missing on both sides.

    If no released record with the same S is in the box, the records nearest to its middle share the credit.
    """
    low, high, y = _with_missing(boxes)
    place = best_boxes(low, high, boxes.equal, same)[own]
    low, high, near = low[place], high[place], boxes.near[own]
    if not y.shape[1]:
        return _nearest(near, boxes.z, same, own)
    point, z = _in_deviations(near, boxes.z, own)
    code = same.astype(np.float64)[:, None]
    least = np.hstack([low - ROUNDING * np.abs(low), code[own]])
    most = np.hstack([high + ROUNDING * np.abs(high), code[own]])
    least, most = np.where(np.isnan(least), -np.inf, least), np.where(np.isnan(most), np.inf, most)
    there = np.ascontiguousarray(np.hstack([y, code]))
    credit = np.asarray(_credit(least, most, there, point, z, own, *narrowest_intervals(least, most, there)))
    none = np.flatnonzero(credit < 0)
    if len(none):
        middle = np.hstack([(low + high) / 2, near])
        credit[none] = _nearest(middle[none], np.hstack([y, boxes.z]), same, own[none])
    return credit


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


def _with_missing(boxes: Boxes) -> tuple[Floats, Floats, Floats]:
    """Boxes and released values with an indicator for each column in which values are missing."""
    gone, blank = np.isnan(boxes.low), np.isnan(boxes.y)
    some = gone.any(axis=0) | blank.any(axis=0)
    mine = gone[:, some].astype(np.float64)
    return (np.hstack([boxes.low, mine]), np.hstack([boxes.high, mine]),
            np.hstack([boxes.y, blank[:, some].astype(np.float64)]))


def _in_deviations(x: Floats, y: Floats, own: Ints) -> tuple[Floats, Floats]:
    """Points of the targets and released values in standard deviations, with indicators of missing values."""
    every = np.zeros_like(y)
    every[own] = x
    keys = [number_keys(every[:, j], y[:, j]) for j in range(y.shape[1])]
    left, right = (stack_coordinates([c for pair in keys for c in pair[side]], len(y)) for side in (0, 1))
    return np.ascontiguousarray(left[own]), np.ascontiguousarray(right)


def _nearest(x: Floats, y: Floats, same: Ints, own: Ints) -> Floats:
    """Credits for the released records nearest in standard deviations."""
    point, z = _in_deviations(x, y, own)
    return np.asarray(link_nearest(point, z, own, same, (1,))[0])


@kernel()
def _credit(
    low: Floats, high: Floats, y: Floats, point: Floats, z: Floats, own: Ints,
    order: Ints, start: Ints, stop: Ints, present: Ints, narrowest: Ints,
) -> Floats:
    """The credit of each target, or -1 if no row of y is in its box."""
    n, p = y.shape
    q = z.shape[1]
    out = np.full(len(low), -1.0)
    for i in range(len(low)):
        mine = 0.0
        for c in range(q):
            mine += (point[i, c] - z[own[i], c]) ** 2
        found, nearer, tied, here = 0, 0, 0, False
        j = narrowest[i]
        for part in range(2):
            a, b = (start[j, i], stop[j, i]) if part == 0 else (present[j], n)
            for k in range(a, b):
                row = order[j, k]
                inside = True
                for c in range(p):
                    if y[row, c] < low[i, c] or y[row, c] > high[i, c]:
                        inside = False
                        break
                if not inside:
                    continue
                found += 1
                here = here or row == own[i]
                far = 0.0
                for c in range(q):
                    far += (point[i, c] - z[row, c]) ** 2
                if far < mine * (1 - 1e-12):
                    nearer += 1
                elif far <= mine * (1 + 1e-12):
                    tied += 1
        if found > 0:
            out[i] = 1.0 / tied if here and nearer == 0 else 0.0
    return out
