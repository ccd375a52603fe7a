"""From shares to values: a quantile function that is straight between knots some records apart and keeps frequent values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
EVEN, FINER, DEEPEST = 512, 4, 30


def knot_probabilities() -> Matrix:
    """Even steps in the middle, ever smaller ones towards both ends, so that tails are followed in files of any size."""
    even = np.linspace(0.0, 1.0, EVEN + 1)
    tail = 2.0 ** (-np.arange(1, FINER * DEEPEST + 1) / FINER) / EVEN
    return np.unique(np.concatenate([even, tail, 1.0 - tail]))


@dataclass(frozen=True, slots=True)
class QuantileMap:
    """Knots (share of records, value), shares ascending from 0 to 1."""

    share: Matrix
    value: Matrix

    def at(self, u: Matrix) -> Matrix:
        """Values at shares strictly between 0 and 1; missing where the share is."""
        after = np.clip(np.searchsorted(self.share, u, side="right"), 1, len(self.share) - 1)
        low, high = self.share[after - 1], self.share[after]
        way = np.divide(u - low, high - low, out=np.zeros(len(u)), where=high > low)
        before, behind = self.value[after - 1], self.value[after]
        return np.where(np.isnan(u), np.nan, before + (behind - before) * way)


def quantile_map(probability: Matrix, quantile: Matrix, n: float, atoms: Matrix, smooth: int) -> QuantileMap:
    """The map of a column of n values from its quantiles, with knots at least `smooth` records apart.

    `atoms` holds rows (low, high, value): shares of records between which one frequent value lies, kept as it is. The ends
    of the map are the smallest and the largest value, which no share strictly inside reaches.
    """
    share = (probability * (n - 1) + 0.5) / max(n, 1.0)
    share[0], share[-1] = 0.0, 1.0
    chosen = _apart(share, smooth / max(n, 1.0))
    free = np.ones(len(chosen), dtype=bool)
    for low, high, _ in atoms:
        free &= ~((share[chosen] >= low) & (share[chosen] <= high))
    chosen = chosen[free]
    places = np.concatenate([share[chosen], atoms[:, 0], atoms[:, 1]])
    values = np.concatenate([quantile[chosen], atoms[:, 2], atoms[:, 2]])
    order = np.lexsort((values, places))
    return QuantileMap(places[order], values[order])


def _apart(share: Matrix, least: float) -> NDArray[np.int64]:
    """Positions at least so far apart, both ends among them."""
    kept = [0]
    for i in range(1, len(share) - 1):
        if share[i] - share[kept[-1]] >= least and 1.0 - share[i] >= least:
            kept.append(i)
    return np.array([*kept, len(share) - 1], dtype=np.int64)
