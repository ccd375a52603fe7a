"""Means, shares, quantiles and correlations with variances valid under survey weights, and intervals for each.

    Var = n/(n − 1) · Σ (wᵢψᵢ)² / (Σ wᵢ)²,   ψ the influence of a record: x − mean, or ab − r(a² + b²)/2 for a correlation

(a and b standardised). These are linearised variances for sampling with replacement with the given weights, without strata
and clusters. With equal weights they are the usual ones that do not assume normality.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from larvatus.core.arrays import Floats

VarianceScale = Literal["plain", "correlation", "share"]
EstimateEnds = tuple[float, float]


def linearised_variance(influence: Floats, weight: Floats) -> float:
    """Variance of a weighted mean, from the influence of each record."""
    n = len(influence)
    return float(((weight * influence) ** 2).sum() / weight.sum() ** 2 * n / (n - 1)) if n > 1 else np.nan


def effective(weight: Floats) -> float:
    """Effective number of records, (Σw)² / Σw² (Kish)."""
    return float(weight.sum() ** 2 / (weight**2).sum()) if len(weight) else 0.0


def mean(x: Floats, weight: Floats) -> tuple[float, float]:
    """Estimate and variance."""
    m = float(weight @ x / weight.sum())
    return m, linearised_variance(x - m, weight)


def correlation(x: Floats, y: Floats, weight: Floats) -> tuple[float, float]:
    """Pearson's correlation and its variance without assuming normality; NaN if a column does not vary."""
    total = weight.sum()
    a, b = (v - weight @ v / total for v in (x, y))
    sds = [np.sqrt(weight @ v**2 / total) for v in (a, b)]
    if min(sds[0] / (np.abs(x).max() or 1.0), sds[1] / (np.abs(y).max() or 1.0)) < 1e-13:
        return np.nan, np.nan
    a, b = a / sds[0], b / sds[1]
    r = float(np.clip(weight @ (a * b) / total, -1, 1))
    return r, linearised_variance(a * b - r * (a**2 + b**2) / 2, weight)


def quantile(x: Floats, weight: Floats, probability: float, cover: Callable[[float], float]) -> tuple[float, EstimateEnds]:
    """Estimate and Woodruff's interval: the quantiles at both ends of the interval for the share below the estimate.

    `cover` maps a variance to the half width of an interval.
    """
    order = np.argsort(x, kind="stable")
    x, weight = x[order], weight[order]
    reached = np.cumsum(weight) / weight.sum()

    def at(p: float) -> float:
        return float(x[min(int(np.searchsorted(reached, p - 1e-12)), len(x) - 1)])

    value = at(probability)
    half = cover(linearised_variance(np.asarray((x <= value) - probability, dtype=np.float64), weight))
    if not np.isfinite(half):
        return value, (np.nan, np.nan)
    return value, (at(max(probability - half, 0.0)), at(min(probability + half, 1.0)))


def estimate_interval(
    estimate: Floats, variance: Floats, freedom: Floats, level: float, scale: VarianceScale = "plain", size: float = 1.0
) -> tuple[Floats, Floats]:
    """Interval at a level by Student's t; on Fisher's scale for a correlation, by Wilson's rule for a share.

    `size` is the number of records behind a share without variance (0 or 1).
    """
    from scipy.special import ndtri, stdtrit

    tail = (1 + level) / 2
    finite = np.isfinite(freedom)
    t = np.where(finite, stdtrit(np.where(finite, np.maximum(freedom, 1e-6), 1.0), tail), ndtri(tail))
    if scale == "correlation":
        inside = np.clip(estimate, -1 + 1e-15, 1 - 1e-15)
        half = t * np.sqrt(variance) / (1 - inside**2)
        return np.tanh(np.arctanh(inside) - half), np.tanh(np.arctanh(inside) + half)
    if scale == "share":
        own = np.divide(estimate * (1 - estimate), variance, out=np.full(estimate.shape, size), where=variance > 0)
        spread = t**2 / own
        centre = (estimate + spread / 2) / (1 + spread)
        half = np.sqrt(spread * (estimate * (1 - estimate) + spread / 4)) / (1 + spread)
        return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
    return estimate - t * np.sqrt(variance), estimate + t * np.sqrt(variance)
