"""Calibrate weights to known totals (Deville and Särndal 1992): w = d g(xᵀλ) with Σ w x = t, as near to d as possible.

    linear    g(u) = 1 + u,  cut to [L, U] if bounds are given         (generalised regression)
    raking    g(u) = exp(u)                                            (iterative proportional fitting)
              with bounds: g(u) = [L (U − 1) + U (1 − L) e^{Au}] / [U − 1 + (1 − L) e^{Au}],   A = (U − L) / ((1 − L)(U − 1))

    λ solves Σ d g(xᵀλ) x = t by Newton's method, with half steps while the error grows:
        λ ← λ + (Σ d g′ x xᵀ)⁺ (t − Σ d g x)

Totals that follow from others (every margin adds up to the population) are redundant, and the pseudo-inverse handles them.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.core.errors import LarvatusError
from larvatus.core.portable.portable_functions import exp
from larvatus.stats.linear.portable_algebra import least_squares_solution, product, total

CalibrationDistance = Literal["raking", "linear"]
_CLOSE = 1e-11
_MOST_STEPS, _MOST_HALVES = 200, 30
_LARGEST_EXPONENT = 700.0


class CalibrationError(LarvatusError):
    """The totals cannot be reached; `worst` is the place of the total with the largest relative error."""

    def __init__(self, text: str, worst: int, error: float) -> None:
        super().__init__(text)
        self.worst, self.error = worst, error


def calibrate(
    x: Floats, weight: Floats, totals: Floats, distance: CalibrationDistance = "raking",
    bounds: tuple[float, float] | None = None,
) -> Floats:
    """Factors g of the units: rows of x are units, columns are calibration variables, `weight` the design weights d."""
    scale = np.maximum(np.abs(totals), np.maximum(product(weight, np.abs(x)), 1e-300))
    x, totals = x / scale, totals / scale
    step = np.zeros(x.shape[1])
    g, slope = _factors(product(x, step), distance, bounds)
    off = totals - product(weight * g, x)
    for _ in range(_MOST_STEPS):
        if np.abs(off).max(initial=0.0) <= _CLOSE:
            return g
        matrix = product((x * (weight * slope)[:, None]).T, x)
        towards = least_squares_solution(matrix, off, 1e-12)
        for half in range(_MOST_HALVES):
            tried = step + towards / 2**half
            g_tried, slope_tried = _factors(product(x, tried), distance, bounds)
            off_tried = totals - product(weight * g_tried, x)
            if total(off_tried**2) < total(off**2):
                break
        else:
            break
        step, g, slope, off = tried, g_tried, slope_tried, off_tried
    if np.abs(off).max(initial=0.0) <= 100 * _CLOSE:
        return g
    worst = int(np.argmax(np.abs(off)))
    raise CalibrationError("the totals cannot be reached", worst, float(off[worst]))


def _factors(u: Floats, distance: CalibrationDistance, bounds: tuple[float, float] | None) -> tuple[Floats, Floats]:
    """g(u) and its derivative."""
    if distance == "linear":
        if bounds is None:
            return 1 + u, np.ones(len(u))
        low, high = bounds
        inside = (1 + u > low) & (1 + u < high)
        return np.clip(1 + u, low, high), inside.astype(np.float64)
    if bounds is None:
        g = exp(np.clip(u, -_LARGEST_EXPONENT, _LARGEST_EXPONENT))
        return g, g
    low, high = bounds
    a = (high - low) / ((1 - low) * (high - 1))
    e = exp(np.clip(a * u, -_LARGEST_EXPONENT / 2, _LARGEST_EXPONENT / 2))
    base = high - 1 + (1 - low) * e
    return (low * (high - 1) + high * (1 - low) * e) / base, (high - low) * (high - 1) * (1 - low) * a * e / base**2


def design_effect(weight: Floats) -> float:
    """Kish's design effect of unequal weights, 1 + cv²(w) = n Σ w² / (Σ w)²; 1 for equal weights."""
    total = float(weight.sum())
    return float(len(weight) * (weight**2).sum() / total**2) if total > 0 else float("nan")
