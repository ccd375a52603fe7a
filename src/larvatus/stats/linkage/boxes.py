"""The number of candidates in each target's box, Πⱼ [lowⱼ, highⱼ]; a missing value is inside any interval."""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel


def counts_inside(low: Floats, high: Floats, y: Floats) -> Ints:
    """For each row of `low` and `high`, the rows of y between them in every column.

    A missing limit or a missing candidate excludes nothing. Only the candidates inside a target's narrowest interval are
    examined, so the work is small if one column is selective.
    """
    n, p = y.shape
    low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    if p == 0:
        return np.full(len(low), n, dtype=np.int64)
    return np.asarray(_count(low, high, np.ascontiguousarray(y), *narrowest_intervals(low, high, y)))


def narrowest_intervals(low: Floats, high: Floats, y: Floats) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """The rows of y in the order of each column, where each interval starts and stops there, and its narrowest column.

    The fourth result is the number of values present in each column; rows without a value come after them in the order.
    """
    n, p = y.shape
    order = np.argsort(y, axis=0, kind="stable")
    present = (~np.isnan(y)).sum(axis=0)
    start, stop = np.empty((p, len(low)), dtype=np.int64), np.empty((p, len(low)), dtype=np.int64)
    for j in range(p):
        there = y[order[: present[j], j], j]
        start[j], stop[j] = np.searchsorted(there, low[:, j], "left"), np.searchsorted(there, high[:, j], "right")
    length = np.maximum(stop - start, 0) + (n - present)[:, None]
    return np.ascontiguousarray(order.T), start, stop, present, np.asarray(np.argmin(length, axis=0))


@kernel()
def _count(
    low: Floats, high: Floats, y: Floats, order: Ints, start: Ints, stop: Ints, present: Ints, narrowest: Ints
) -> Ints:
    n, p = y.shape
    out = np.zeros(len(low), dtype=np.int64)
    for i in range(len(low)):
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
                if inside:
                    out[i] += 1
    return out


def shared_credit(x: Floats, low: Floats, high: Floats, y: Floats, same: Ints, own: Ints) -> Floats:
    """1 / (number of candidates inside the box with the same code) if the own record is among them.

    A target that is missing in x is searched for among those missing in y. The credit is 0 if only others are inside. If no
    candidate is inside, it is that of a random guess among all with the same code.
    """
    code = same.astype(np.float64)[:, None]
    absent = np.isnan(x)
    some = absent.any(axis=0)
    low = np.hstack([low, code[own], np.where(absent[:, some], 1.0, 0.0)])
    high = np.hstack([high, code[own], np.ones((len(own), int(some.sum())))])
    y = np.hstack([y, code, np.isnan(y[:, : x.shape[1]][:, some]).astype(np.float64)])
    count = counts_inside(low, high, y)
    inside = ~((y[own] < low) | (y[own] > high)).any(axis=1)
    share = np.divide(1.0, count, out=np.zeros(len(count)), where=count > 0)
    guess = 1.0 / np.bincount(same)[same[own]]
    return np.asarray(np.where(count == 0, guess, np.where(inside, share, 0.0)))
