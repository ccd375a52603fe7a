"""Variance of a figure from its values without one part of the records each, and intervals that use it.

    V = (K − 1)/K · Σ_k (v₍₋ₖ₎ − v̄)²,   K = 10 random parts

Leaving out a fixed share of the records also works for figures that are not smooth, such as a maximum (Shao and Wu 1989).
On average V is larger than the variance (Efron and Stein 1981).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.stats.estimates.intervals import wilson

PARTS = 10
_NORMAL = 1.959963984540054
_ROUNDING = 1e-12


def jackknife_variance(values: Sequence[float] | Floats) -> float:
    """The variance, from one value for each part; 0 if there are none, or if they differ by rounding alone."""
    found = np.asarray(values, dtype=np.float64)
    if not len(found) or np.ptp(found) <= _ROUNDING:
        return 0.0
    return float((PARTS - 1) / PARTS * ((found - found.mean()) ** 2).sum())


def widen_interval(share: float, interval: tuple[float, float], shared: float) -> tuple[float, float]:
    """Wilson's interval of a share with a variance added that all targets share; never narrower than before.

    Student's distribution takes the place of the normal one, because the added variance is estimated from ten parts; its
    degrees of freedom are Satterthwaite's.
    """
    from scipy.special import stdtrit

    spread = share * (1 - share)
    if shared <= 0 or spread <= 0:
        return interval
    total = ((interval[1] - interval[0]) / 2 / _NORMAL) ** 2 + shared
    quantile = float(stdtrit((PARTS - 1) * (total / shared) ** 2, 0.975))
    low, high = wilson(share, max(spread / total, 1.0), quantile)
    return min(low, interval[0]), max(high, interval[1])
