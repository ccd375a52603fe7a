"""Regression from moments: slopes B = Σ_GG⁻¹ Σ_GT, unexplained variance diag(Σ_TT − Σ_TG B), and least squares with errors.

T are the targets and G the given columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Matrix
from larvatus.stats.linear.moments import SampleMoments

_THIN = 1e-10


def unexplained_variance(covariance: Matrix, targets: list[int], given: list[int]) -> Matrix:
    """Variance of each target not explained by a linear fit on the given columns, by sweeps on the correlation scale.

    Linearly dependent columns are left out. A target that is itself given has unexplained variance 0.
    """
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    r = np.nan_to_num(covariance) / np.outer(scale, scale)
    left = r[np.ix_(given, given)].copy()
    cross = r[np.ix_(targets, given)].copy()
    rest = np.diag(r)[targets].copy()
    for _ in range(len(given)):
        j = int(np.argmax(np.diag(left)))
        if left[j, j] <= _THIN:
            break
        column, pivot = left[:, j].copy(), left[j, j]
        rest -= cross[:, j] ** 2 / pivot
        cross -= np.outer(cross[:, j], column) / pivot
        left -= np.outer(column, column) / pivot
    return np.asarray(np.maximum(rest, 0.0) * scale[targets] ** 2)


def share_interval(
    r2: float, n: float, k: int, variance: float = 0.0, freedom: float = np.inf, level: float = 0.95
) -> tuple[float, float]:
    """An interval for a share of variance explained by k columns in n records, inside [0, 1].

    `variance` is that of the share, if it exceeds the variance under normal data (Olkin and Finn 1995), and `freedom` its
    degrees of freedom. The interval is symmetric in log(1 − R²), so it includes a perfect prediction only if R² is close to 1.
    """
    from scipy.special import stdtrit

    if n <= k + 3:
        return 0.0, 1.0
    normal = 4 * r2 * (1 - r2) ** 2 * (n - k - 1) ** 2 / ((n * n - 1) * (n + 3))
    spread = float(np.sqrt(max(variance, normal) + (k / n) ** 2 / max(k, 1)))
    z = float(stdtrit(min(max(freedom, 1.0), 1e6), (1 + level) / 2))
    left = 1 - r2
    if left <= spread / 20:
        return max(0.0, r2 - z * spread), min(1.0, r2 + z * spread)
    factor = float(np.exp(z * spread / left))
    return max(0.0, 1 - left * factor), min(1.0, 1 - left / factor)


def slopes(covariance: Matrix, targets: list[int], given: list[int]) -> Matrix:
    """Coefficients, given × targets, of the linear fit with the smallest norm; directions that hardly vary are left out."""
    sd = np.sqrt(np.maximum(np.nan_to_num(np.diag(covariance)), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    r = np.nan_to_num(covariance) / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(r[np.ix_(given, given)]) if given else (np.zeros(0), np.zeros((0, 0)))
    good = values > _THIN * values.max(initial=0.0)
    turned = vectors[:, good] / values[good] @ vectors[:, good].T
    fitted = turned @ r[np.ix_(given, targets)]
    return np.asarray(fitted * scale[targets] / scale[given][:, None])


_COLLINEAR = 1e-10  # for an eigenvalue on the correlation scale
_EXACT = 1e-12  # share of the outcome's sum of squares
_ROUNDING = 1e-6  # share of the unit of a coefficient


@dataclass(frozen=True, slots=True)
class LeastSquaresFit:
    """Coefficients, the intercept first if there is one; NaN if the data do not determine them.

    `unit` is the scale of a coefficient: the spread of the outcome divided by that of the column. If the columns give the
    outcome without error, residuals below rounding are zero.
    """

    estimate: Floats
    error: Floats
    freedom: int
    unit: Floats

    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Lower and upper ends, by Student's t."""
        from scipy.special import stdtrit

        half = float(stdtrit(max(self.freedom, 1), (1 + level) / 2)) * self.error
        return self.estimate - half, self.estimate + half


def least_squares(moments: SampleMoments, outcome: int, on: Sequence[int], intercept: bool = True) -> LeastSquaresFit:
    """Regress one column on others by least squares, with the usual standard errors; complete records only.

    A coefficient that another combination of columns could replace is not determined, whatever the order of the columns. The
    others are unique and are returned.
    """
    n, k = float(moments.count[outcome, outcome]), len(on)
    mean, place = np.diag(moments.mean_pair)[[outcome, *on]], [outcome, *on]
    scatter = moments.scatter[np.ix_(place, place)]
    still = moments.constant[list(on)]
    if not intercept:
        scatter = scatter + n * np.outer(mean, mean)
        still = np.diag(scatter)[1:] <= 0
    lacking = np.full(k + intercept, np.nan)
    nothing = LeastSquaresFit(lacking, lacking, 0, np.zeros(k + intercept))
    if n < 2 or not scatter[0, 0] > 0 or (intercept and moments.constant[outcome]):
        return nothing
    scale = np.where(still, 1.0, np.sqrt(np.maximum(np.diag(scatter)[1:], 0.0)))
    gram = np.where(np.outer(~still, ~still), scatter[1:, 1:] / np.outer(scale, scale), 0.0)
    roots, axes = np.linalg.eigh(gram) if k else (np.zeros(0), np.zeros((0, 0)))
    free = roots > _COLLINEAR
    inverse = (axes[:, free] / roots[free]) @ axes[:, free].T
    lost = axes[:, ~free]
    slopes = inverse @ (scatter[1:, 0] / scale)
    rest = float(scatter[0, 0] - slopes @ gram @ slopes)
    freedom = int(n) - int(free.sum()) - intercept
    if freedom < 1:
        return nothing
    variance = rest / freedom if rest > _EXACT * float(scatter[0, 0]) else 0.0
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
        estimate = np.where(np.abs(estimate) < _ROUNDING * unit, 0.0, estimate)
    return LeastSquaresFit(np.where(known, estimate, np.nan), np.where(known, np.sqrt(variance * spread), np.nan), freedom,
                           unit)
