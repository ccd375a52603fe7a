"""Gini index and ratio of percentiles, from sorted values in pieces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from larvatus.core.arrays import Floats

_LOW, _HIGH = 0.1, 0.9
_SLACK = 1e-9


class Lorenz(NamedTuple):
    """What is carried along ascending values: weight and total so far, area under the curve, and the two percentiles."""

    weight: float = 0.0
    total: float = 0.0
    area: float = 0.0
    low: float = np.nan
    high: float = np.nan

    def after(self, values: Floats, weight: Floats, whole: float) -> Lorenz:
        """With more values, none smaller than those before; `whole` is the weight of all there will be."""
        total = self.total + np.cumsum(weight * values)
        reached = self.weight + np.cumsum(weight)
        before = np.concatenate([[self.total], total[:-1]])
        low, high = (
            found if not np.isnan(found) else _first(values, reached, share * whole * (1 - _SLACK))
            for found, share in ((self.low, _LOW), (self.high, _HIGH))
        )
        return Lorenz(float(reached[-1]), float(total[-1]), self.area + float((weight * (before + total)).sum()), low, high)

    @property
    def gini(self) -> float:
        """Half the mean difference between two records over the mean; NaN unless the total is above zero."""
        return 1 - self.area / (self.weight * self.total) if self.total > 0 else float("nan")

    @property
    def ratio(self) -> float:
        """The 90th over the 10th percentile; NaN unless the latter is above zero."""
        return self.high / self.low if self.low > 0 else float("nan")


def _first(values: Floats, reached: Floats, limit: float) -> float:
    at = int(np.searchsorted(reached, limit, side="left"))
    return float(values[at]) if at < len(values) else float("nan")
