"""Gini index and ratio of percentiles, from sorted values in pieces.

    Gini = 1 − Σᵢ wᵢ (Tᵢ₋₁ + Tᵢ) / (W T),   Tᵢ = Σ_{j ≤ i} wⱼ xⱼ,   W = Σ w,   T = Σ w x
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from larvatus.core.arrays import Floats

_LOW, _HIGH = 0.1, 0.9
_SLACK = 1e-9


class Lorenz(NamedTuple):
    """The state after some ascending values: weight and total so far, area under the curve, and the two percentiles."""

    weight: float = 0.0
    total: float = 0.0
    area: float = 0.0
    low: float = np.nan
    high: float = np.nan

    def after(self, values: Floats, weight: Floats, whole: float) -> Lorenz:
        """The state after further values, none smaller than the earlier ones; `whole` is the total weight of the file."""
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
        """Half the mean difference between two records, divided by the mean; NaN if the total is not positive."""
        return 1 - self.area / (self.weight * self.total) if self.total > 0 else float("nan")

    @property
    def ratio(self) -> float:
        """The 90th percentile divided by the 10th; NaN if the latter is not positive."""
        return self.high / self.low if self.low > 0 else float("nan")


def _first(values: Floats, reached: Floats, limit: float) -> float:
    at = int(np.searchsorted(reached, limit, side="left"))
    return float(values[at]) if at < len(values) else float("nan")
