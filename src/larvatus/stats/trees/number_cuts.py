"""The best cut of a node for a numeric target (Breiman et al. 1984):

    gain = S² N / (n (N − n)),      S = Σ_left (y − ȳ)

which is the fall of the sum of squares. Sums run in the order of the rows, so that a cut does not depend on the machine.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel

CutCodes: TypeAlias = NDArray[np.int32]
SURELY_MORE = 1 + 1e-12  # a later cut must gain more than rounding errors


@kernel(error_model="numpy")
def cut_sorted_number(
    order: CutCodes, codes: CutCodes, y: Floats, low: int, high: int, mean: float, smallest: int
) -> tuple[float, int]:
    """Rows in the order of a column: the gain of the best cut and the largest code on its left; gain 0 if there is none."""
    n, left, best, at = high - low, 0.0, 0.0, -1
    for q in range(low, high - smallest):
        r = order[q]
        left += y[r] - mean
        below = q - low + 1
        if below < smallest:
            continue
        code = codes[r]
        if codes[order[q + 1]] != code:
            gain = left * left * n / (below * float(n - below))
            if gain > best * SURELY_MORE:
                best, at = gain, code
    return best, at


@kernel()
def sums_by_level(
    rows: CutCodes, codes: CutCodes, y: Floats, low: int, high: int, mean: float, place: Ints, levels: Ints,
    count: Ints, total: Floats,
) -> int:
    """Fill the levels of a column that occur in a node, with the count and the sum of y − ȳ of each; return their number.

    `place` is −1 everywhere before and after.
    """
    there = 0
    for q in range(low, high):
        r = rows[q]
        v = codes[r]
        k = place[v]
        if k < 0:
            k = there
            place[v], levels[k], count[k], total[k] = k, v, 0, 0.0
            there += 1
        count[k] += 1
        total[k] += y[r] - mean
    for k in range(there):
        place[levels[k]] = -1
    return there


@kernel(error_model="numpy")
def cut_levels_number(
    there: int, n: int, levels: Ints, count: Ints, total: Floats, nominal: bool, smallest: int, by: Ints
) -> tuple[float, int]:
    """The best cut between levels in the order `by`, which is filled: codes in order, or means if the column is nominal.

    Returns the gain and the number of levels on the left.
    """
    for k in range(there):  # insertion sort: few levels, and ties stay in the order of the codes
        i = k
        while i > 0:
            a, b = by[i - 1], k
            if nominal:
                one, other = total[a] * count[b], total[b] * count[a]
                later = one > other or (one == other and levels[a] > levels[b])
            else:
                later = levels[a] > levels[b]
            if not later:
                break
            by[i] = a
            i -= 1
        by[i] = k
    left, below, best, at = 0.0, 0, 0.0, -1
    for i in range(there - 1):
        left += total[by[i]]
        below += count[by[i]]
        if below < smallest or n - below < smallest:
            continue
        gain = left * left * n / (below * float(n - below))
        if gain > best * SURELY_MORE:
            best, at = gain, i + 1
    return best, at
