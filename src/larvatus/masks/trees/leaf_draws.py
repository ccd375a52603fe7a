"""Draws from the leaves of a tree: an observed value of the leaf, or one near it.

    plain       y = x_d,                                  d drawn from the records of the leaf
    density     y = m + (x_d − m + h ε) / √(1 + h²/s²),   ε ~ N(0, 1),  h = 0.9 min(s, IQR / 1.34) n^(−1/5)

m and s are the mean and the standard deviation in the leaf. The shrunken form keeps both (Silverman 1986).
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.core.portable.portable_functions import power
from larvatus.stats.trees.tree import Leaves


def draw_donors(leaves: Leaves, leaf: Ints, draws: Floats) -> Ints:
    """For each record in a leaf, the row of a record of that leaf, each with the same probability."""
    size = leaves.sizes[leaf]
    return np.asarray(leaves.rows[leaves.starts[leaf] + np.minimum((draws * size).astype(np.int64), size - 1)])


def one_valued(leaves: Leaves, values: Floats) -> Bools:
    """The leaves whose records all have the same value."""
    held, first = values[leaves.rows], leaves.starts[:-1]
    return np.asarray(np.minimum.reduceat(held, first) == np.maximum.reduceat(held, first))


def smoothed(values: Floats, leaves: Leaves, leaf: Ints, donors: Ints, noise: Floats) -> Floats:
    """Values near those of the donors, with the mean and the variance of the leaf, within the range of all its records."""
    number = np.repeat(np.arange(len(leaves.sizes)), leaves.sizes)
    ranked = leaves.rows[np.lexsort((values[leaves.rows], number))]
    mean, spread, quarter = _spreads(values[ranked], leaves.starts)
    narrow = np.where(quarter > 0, np.minimum(spread, quarter / 1.34), spread)
    width = 0.9 * narrow * power(leaves.sizes.astype(np.float64), -0.2)
    shrink = np.divide(width, spread, out=np.zeros(len(width)), where=spread > 0)
    shrink = 1 / np.sqrt(1 + shrink * shrink)
    drawn = values[donors]
    y = mean[leaf] + (drawn - mean[leaf] + width[leaf] * noise) * shrink[leaf]
    y = np.where(width[leaf] > 0, y, drawn)
    low, high = float(values[ranked].min()), float(values[ranked].max())
    y = np.where(y < low, low + (low - y), y)
    return np.asarray(np.clip(np.where(y > high, high - (y - high), y), low, high))


@kernel()
def _spreads(values: Floats, starts: Ints) -> tuple[Floats, Floats, Floats]:
    """Mean, standard deviation and distance of the quartiles of each run of sorted values."""
    runs = len(starts) - 1
    mean, spread, quarter = np.zeros(runs), np.zeros(runs), np.zeros(runs)
    for i in range(runs):
        a, n = starts[i], starts[i + 1] - starts[i]
        for q in range(a, a + n):
            mean[i] += values[q] / n
        for q in range(a, a + n):
            spread[i] += (values[q] - mean[i]) * (values[q] - mean[i]) / n
        spread[i] = np.sqrt(spread[i]) if values[a + n - 1] > values[a] else 0.0
        quarter[i] = values[a + 3 * (n - 1) // 4] - values[a + (n - 1) // 4]
    return mean, spread, quarter
