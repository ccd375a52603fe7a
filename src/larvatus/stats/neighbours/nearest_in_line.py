"""The k nearest points of each target in one column: a walk outwards from the place of the target among the sorted points.

Ties are in order of the row, as in several columns, and distances are computed in the same way. Of equal points only the
first k by row can be among the nearest, so many equal points cost no more than few.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.neighbours.blocked_counts import measure


def nearest_in_line(targets: Floats, points: Floats, k: int) -> Ints:
    """Rows of the k nearest points, targets × k. Both arrays have one column."""
    order = np.argsort(points[:, 0], kind="stable")
    values = points[order, 0]
    begins = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    ends = np.append(begins[1:], len(values))
    place = np.searchsorted(values[begins], targets[:, 0])  # the first group that is not below the target
    return _walk(targets, values[begins][:, None], order, begins, ends, place, k)


@kernel()
def _walk(targets: Floats, groups: Floats, order: Ints, begins: Ints, ends: Ints, place: Ints, k: int) -> Ints:
    """Groups of equal points on either side, until one is farther than the k-th nearest point found on that side."""
    which = np.empty((len(targets), k), dtype=np.int64)
    best = np.empty(k)
    for i in range(len(targets)):
        best[:] = np.inf
        which[i] = len(order)
        for side in range(2):
            g, step = (place[i], 1) if side == 0 else (place[i] - 1, -1)
            while 0 <= g < len(groups):
                away = measure(targets[i], groups[g], 2)
                if away > best[k - 1]:
                    break
                for at in range(begins[g], min(begins[g] + k, ends[g])):
                    row, spot = order[at], k
                    while spot > 0 and (away < best[spot - 1] or (away == best[spot - 1] and row < which[i, spot - 1])):
                        if spot < k:
                            best[spot], which[i, spot] = best[spot - 1], which[i, spot - 1]
                        spot -= 1
                    if spot < k:
                        best[spot], which[i, spot] = away, row
                g += step
    return which
