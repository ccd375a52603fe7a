"""Factors of the covariance of rows, used to make noise of the same covariance.

    centred rows = Q R,   Σ = RᵀR / (n − 1),   noise = E R / √(n − 1)   with E independent of variance 1

R is merged chunk by chunk. A constant combination of columns stays constant to rounding, and one that hardly varies keeps its
small variance. A root of the covariance matrix itself would do neither.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Matrix
from larvatus.stats.linear.moments import SampleMoments
from larvatus.stats.linear.portable_algebra import column_mean as mean
from larvatus.stats.linear.portable_algebra import product, symmetric_eigen, total, triangle_of
from larvatus.stats.linear.sufficiency import THIN, independent

_LEAST, _ROUNDING = 1e-12, 64 * np.finfo(float).eps


@dataclass(frozen=True, slots=True)
class CentredRows:
    """Summary of complete rows: their number, their mean, and the triangle R with RᵀR the sum of products of deviations.

    The mean is stored in two parts, because far from zero its rounding error would look like a direction of the data.
    """

    count: int
    near: Matrix
    offset: Matrix
    triangle: Matrix

    @classmethod
    def of(cls, x: Matrix) -> CentredRows | None:
        """The summary of a block, rows × columns; None if a value is missing."""
        if x.shape[1] == 0:
            return cls(len(x), np.zeros(0), np.zeros(0), np.zeros((0, 0)))
        centre = mean(x)
        if np.isnan(centre).any():
            return None
        d = x - centre
        more = mean(d)
        d -= more
        return cls(len(x), centre, more, triangle_of(d))

    @staticmethod
    def merge(one: CentredRows | None, other: CentredRows | None) -> CentredRows | None:
        """The summary of both sets of rows together; None if either has missing values."""
        if one is None or other is None:
            return None
        count = one.count + other.count
        if len(one.near) == 0:
            return CentredRows(count, one.near, one.offset, one.triangle)
        step = (other.near - one.near) + (other.offset - one.offset)
        between = np.sqrt(one.count * (other.count / count)) * step
        triangle = triangle_of(np.vstack([one.triangle, other.triangle, between]))
        return CentredRows(count, one.near, one.offset + step * (other.count / count), triangle)

    @property
    def mean(self) -> Matrix:
        """Mean of each column."""
        return np.asarray(self.near + self.offset)

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Columns that do not vary except by rounding."""
        square = total(self.triangle**2)
        return np.asarray(square <= self.count * (_ROUNDING * self.mean) ** 2)

    @property
    def scale(self) -> Matrix:
        """Standard deviation of each column; 1 if it does not vary."""
        sd = np.sqrt(total(self.triangle**2) / max(self.count - 1, 1))
        return np.where(self.constant, 1.0, sd)

    @property
    def standardised_rows(self) -> Matrix:
        """The triangle of columns scaled to variance 1, or 0 if they do not vary."""
        return np.where(self.constant, 0.0, self.triangle / self.scale)


@dataclass(frozen=True, slots=True)
class Root:
    """Mean and a square factor of the covariance, which turns independent draws into draws of that covariance.

    The draw of row j first enters column j, so a direction that is only rounding does not shift the draws of the others.
    `repaired` is how far below zero the smallest eigenvalue of the correlations was before repair.
    """

    mean: Matrix
    constant: NDArray[np.bool_]
    weights: Matrix
    repaired: float = 0.0

    @property
    def covariance(self) -> Matrix:
        return np.asarray(product(self.weights.T, self.weights))


def root_of(rows: CentredRows) -> Root:
    """The triangular factor of complete rows; columns that depend on earlier ones add no direction."""
    r = rows.standardised_rows
    freedom = np.sqrt(max(rows.count - 1, 1))
    directions, chosen, rank = independent(np.ascontiguousarray(r), THIN * freedom)
    weights = np.zeros((r.shape[1], r.shape[1]))
    weights[chosen[:rank]] = product(directions[:rank], r) / freedom * rows.scale
    return Root(rows.mean, rows.constant, weights)


def repaired_root(m: SampleMoments) -> Root:
    """The symmetric factor of pairwise-complete correlations, moved to the nearest valid ones, times the SDs."""
    sd = np.sqrt(np.where(m.constant, 0.0, np.nan_to_num(m.variance)))
    r = np.where(np.isnan(m.correlation), 0.0, m.correlation)
    np.fill_diagonal(r, np.where(m.constant, 0.0, 1.0))
    values, vectors = symmetric_eigen(r)
    half = product(vectors * np.sqrt(np.where(values > _LEAST, values, 0.0)), vectors.T)
    length = np.sqrt(total(half**2))
    half = np.divide(half, length, out=np.zeros_like(half), where=length > 0)
    return Root(np.nan_to_num(m.mean), m.constant, half * sd, max(0.0, -float(values.min(initial=0.0))))
