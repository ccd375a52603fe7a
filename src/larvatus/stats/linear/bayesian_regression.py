"""Regression of several columns on terms T, and draws of its coefficients from their posterior under the usual flat prior:

    Σ ~ inverse Wishart(residual scatter, ν),   B | Σ ~ N(B̂, Σ ⊗ (TᵀT)⁻¹)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Matrix
from larvatus.stats.linear.moments import SampleMoments
from larvatus.stats.linear.portable_algebra import product, solve, symmetric_eigen, total

_THIN, DETERMINED = 1e-10, 1e-12


@dataclass(frozen=True, slots=True)
class RegressionRow:
    """Least squares of one column on terms, over the records that have it; it passes through `centre` at the means `at`."""

    centre: float
    at: Matrix
    slope: Matrix
    count: float
    variance: float


@dataclass(frozen=True, slots=True)
class Regression:
    """Regression of columns on terms: lines, residual covariance as factor · factorᵀ, and what a posterior draw needs.

    `basis` · `basis`ᵀ is the generalised inverse of the terms' scatter. `freedom` is the residual degrees of freedom. `fixed`
    marks columns determined by the terms. `repaired` is how far pairwise correlations were from a valid covariance.
    """

    lines: tuple[RegressionRow, ...]
    factor: Matrix
    basis: Matrix
    freedom: float
    fixed: NDArray[np.bool_]
    repaired: float

    @property
    def slope(self) -> Matrix:
        """Terms × columns."""
        return np.array([line.slope for line in self.lines]).reshape(len(self.lines), len(self.basis)).T

    @property
    def intercept(self) -> Matrix:
        return np.array([line.centre - product(line.at, line.slope) for line in self.lines])


@dataclass(frozen=True, slots=True)
class RegressionDraw:
    """One draw of intercepts, slopes (terms × columns) and a root of the covariance (directions × columns)."""

    intercept: Matrix
    slope: Matrix
    root: Matrix


def spread_basis(moments: SampleMoments, first: int = 0) -> Matrix:
    """For the columns from `first` on: B with B·Bᵀ the inverse of their scatter, without thin directions."""
    square = np.diag(moments.square)[first:]
    scale = np.where(moments.constant[first:], 1.0, np.sqrt(np.maximum(square, 1e-300)))
    varies = ~moments.constant[first:]
    r = moments.scatter[first:, first:] / np.outer(scale, scale) * np.outer(varies, varies)
    values, vectors = symmetric_eigen(r) if len(r) else (np.zeros(0), np.zeros((0, 0)))
    kept = values > _THIN
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None])


def line_of(moments: SampleMoments, column: int, first: int) -> RegressionRow:
    """The regression line of one column on the columns from `first` on."""
    count = float(moments.present[column])
    at = np.nan_to_num(moments.mean[first:])
    if count == 0:
        return RegressionRow(0.0, at, np.zeros(len(at)), 0.0, 0.0)
    basis = spread_basis(moments, first)
    slope = product(basis, product(basis.T, moments.scatter[first:, column]))
    if moments.constant[column]:
        slope = np.zeros(len(at))
    return RegressionRow(float(moments.mean[column]), at, slope, count, float(np.nan_to_num(moments.variance[column])))


def regress(lines: tuple[RegressionRow, ...], residuals: SampleMoments, basis: Matrix) -> Regression:
    """The regression from its lines, the moments of its residuals and the basis of its terms."""
    used = 1 + basis.shape[1]
    square = np.diag(residuals.square)
    count = np.array([line.count for line in lines])
    freedom = np.maximum(count - used, 1.0)
    varies = np.array([line.variance for line in lines]) * np.maximum(count - 1, 0.0)
    fixed = square <= DETERMINED * varies
    scale = np.where(fixed, 0.0, np.sqrt(square / freedom))
    r = np.nan_to_num(residuals.correlation) * np.outer(~fixed, ~fixed)
    np.fill_diagonal(r, np.where(fixed, 0.0, 1.0))
    values, vectors = symmetric_eigen(r)
    kept = values > _THIN
    factor = vectors[:, kept] * np.sqrt(values[kept])
    length = np.sqrt(total(factor**2, axis=1))
    factor = factor * np.divide(scale, length, out=np.zeros_like(scale), where=length > 0)[:, None]
    least = float(count[~fixed].min(initial=np.inf)) if not fixed.all() else float(used)
    return Regression(lines, factor, basis, least - used, fixed, max(0.0, float(-values.min(initial=0.0))))


def wishart_root(normals: Matrix, uniforms: Matrix, freedom: float) -> Matrix:
    """Lower triangular A with A·Aᵀ ~ Wishart(I, freedom) (Bartlett 1933), from r(r−1)/2 normals and r uniforms."""
    from larvatus.core.portable.portable_normal import gamma_quantile

    r = len(uniforms)
    out = np.zeros((r, r))
    out[np.tril_indices(r, -1)] = normals
    out[np.diag_indices(r)] = [np.sqrt(2.0 * gamma_quantile((freedom - i) / 2.0, float(u))) for i, u in enumerate(uniforms)]
    return out


def posterior_draw(fit: Regression, normals: Matrix, uniforms: Matrix) -> RegressionDraw:
    """Coefficients and covariance from their joint posterior: inverse Wishart, then normal given the covariance.

    `normals` has the length given by `draws_needed`. Columns with missing values have their own lines, which are more
    uncertain if fewer records have them.
    """
    r, q, p = fit.factor.shape[1], fit.basis.shape[1], len(fit.lines)
    triangle = r * (r - 1) // 2
    a = wishart_root(normals[:triangle], uniforms[:r], fit.freedom)
    root = np.sqrt(fit.freedom) * solve(a, fit.factor.T) if r else np.zeros((0, p))
    shift = product(normals[triangle : triangle + r], root)
    tilt = product(fit.basis, normals[triangle + r : triangle + r + q * r].reshape(q, r), root)
    count = np.array([max(line.count, 1.0) for line in fit.lines])
    slope = fit.slope + tilt * np.sqrt(count.max(initial=1.0) / count)
    at = np.array([line.at for line in fit.lines]).reshape(p, len(fit.basis))
    centre = np.array([line.centre for line in fit.lines]) + shift / np.sqrt(count)
    return RegressionDraw(centre - total(at * slope.T, axis=1), slope, root)


def draws_needed(fit: Regression) -> tuple[int, int]:
    """The number of normals and uniforms that a posterior draw needs."""
    r, q = fit.factor.shape[1], fit.basis.shape[1]
    return r * (r - 1) // 2 + r + q * r, r
