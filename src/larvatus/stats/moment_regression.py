"""Least squares from counts, means and scatter alone, with the coefficients that the data do not determine left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.stats.gaussian import Moments

Floats = NDArray[np.float64]
COLLINEAR = 1e-10  # of an eigenvalue on the correlation scale
EXACT = 1e-12  # of the outcome's sum of squares
ROUNDING = 1e-6  # of the unit of a coefficient


@dataclass(frozen=True, slots=True)
class Fit:
    """Coefficients, the intercept first where there is one; NaN where they are not determined by the data.

    `unit` is how large a coefficient could be: the spread of the outcome over that of the column. Where the columns give
    the outcome without error, what is less than rounding of it is zero.
    """

    estimate: Floats
    error: Floats
    freedom: int
    unit: Floats

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Low and high ends, by Student's t."""
        from scipy.special import stdtrit

        half = float(stdtrit(max(self.freedom, 1), (1 + level) / 2)) * self.error
        return self.estimate - half, self.estimate + half


def fitted(moments: Moments, outcome: int, on: Sequence[int], intercept: bool = True) -> Fit:
    """Regress one column on others by least squares, with the usual standard errors; complete records only.

    A coefficient that some other combination of columns could take the place of is not determined, whatever the order of
    the columns; the others are unique and stay.
    """
    n, k = float(moments.count[outcome, outcome]), len(on)
    mean, place = np.diag(moments.mean_pair)[[outcome, *on]], [outcome, *on]
    scatter = moments.scatter[np.ix_(place, place)]
    still = moments.constant[list(on)]
    if not intercept:
        scatter = scatter + n * np.outer(mean, mean)
        still = np.diag(scatter)[1:] <= 0
    lacking = np.full(k + intercept, np.nan)
    nothing = Fit(lacking, lacking, 0, np.zeros(k + intercept))
    if n < 2 or not scatter[0, 0] > 0 or (intercept and moments.constant[outcome]):
        return nothing
    scale = np.where(still, 1.0, np.sqrt(np.maximum(np.diag(scatter)[1:], 0.0)))
    gram = np.where(np.outer(~still, ~still), scatter[1:, 1:] / np.outer(scale, scale), 0.0)
    roots, axes = np.linalg.eigh(gram) if k else (np.zeros(0), np.zeros((0, 0)))
    free = roots > COLLINEAR
    inverse = (axes[:, free] / roots[free]) @ axes[:, free].T
    lost = axes[:, ~free]
    slopes = inverse @ (scatter[1:, 0] / scale)
    rest = float(scatter[0, 0] - slopes @ gram @ slopes)
    freedom = int(n) - int(free.sum()) - intercept
    if freedom < 1:
        return nothing
    variance = rest / freedom if rest > EXACT * float(scatter[0, 0]) else 0.0
    estimate, spread = slopes / scale, np.maximum(np.diag(inverse), 0.0) / scale**2
    known = (np.abs(lost) < 1e-6).all(axis=1) if k else np.ones(0, dtype=bool)
    if intercept:
        centre = mean[1:] / scale
        level = float(mean[0] - centre @ slopes)
        known = np.r_[bool((np.abs(centre @ lost) < 1e-6 * (1 + np.abs(centre).max(initial=0.0))).all()), known]
        estimate, spread = np.r_[level, estimate], np.r_[1 / n + centre @ inverse @ centre, spread]
    unit = float(np.sqrt(scatter[0, 0])) / scale
    unit = np.r_[abs(mean[0]) + float(np.sqrt(scatter[0, 0] / n)), unit] if intercept else unit
    if variance == 0:
        estimate = np.where(np.abs(estimate) < ROUNDING * unit, 0.0, estimate)
    return Fit(np.where(known, estimate, np.nan), np.where(known, np.sqrt(variance * spread), np.nan), freedom, unit)
