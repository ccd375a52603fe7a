"""Counts, means and covariances over pairs of present values, which merge exactly (Chan, Golub and LeVeque 1979).

    n = n₁ + n₂,   mean = mean₁ + δ n₂/n,   scatter = scatter₁ + scatter₂ + δδᵀ n₁n₂/n,   δ = mean₂ − mean₁
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Matrix
from larvatus.stats.linear.portable_algebra import column_mean as mean_of
from larvatus.stats.linear.portable_algebra import gram_matrix as gram
from larvatus.stats.linear.portable_algebra import product
from larvatus.stats.linear.portable_algebra import total as sum_of


@dataclass(frozen=True, slots=True)
class SampleMoments:
    """Element [i, j] refers to column i over the rows in which columns i and j are both present.

    `scatter` is the sum of products of deviations, `square` the sum of squared deviations of column i. With weights, every
    sum is weighted and `count` is the sum of weights; use `spread` then, not `variance` and `covariance`. Large means cost
    no digits.
    """

    count: Matrix
    mean_pair: Matrix
    square: Matrix
    scatter: Matrix

    @classmethod
    def of(cls, x: Matrix, weight: Matrix | None = None) -> SampleMoments:
        """Moments of a block, rows × columns, with NaN for missing values; weighted if weights are given."""
        n, p = x.shape
        if weight is not None:
            return cls._weighted(x, weight)
        mean = mean_of(x) if n else np.full(p, np.nan)
        if not np.isnan(mean).any():
            d = x - mean
            more = mean_of(d)
            mean = mean + more
            d -= more
            scatter = gram(d)
            square = np.repeat(np.diag(scatter)[:, None], p, axis=1)
            return cls(np.full((p, p), float(n)), np.repeat(mean[:, None], p, axis=1), square, scatter)
        missing = np.isnan(x)
        there = (~missing).astype(np.float64)
        total = sum_of(there)
        centre = np.divide(sum_of(np.where(missing, 0.0, x)), total, out=np.zeros(p), where=total > 0)
        d = np.where(missing, 0.0, x - centre)
        count = gram(there)
        first = _divide(product(d.T, there), count)
        square = product((d * d).T, there) - count * first**2
        scatter = gram(d) - count * first * first.T
        return cls(count, np.where(count > 0, centre[:, None] + first, 0.0), np.maximum(square, 0.0), scatter)

    @classmethod
    def _weighted(cls, x: Matrix, weight: Matrix) -> SampleMoments:
        missing = np.isnan(x)
        there = (~missing).astype(np.float64)
        w = weight[:, None]
        total = sum_of(w * there)
        d = np.where(missing, 0.0, x)
        centre = _divide(sum_of(w * d), total)
        d = np.where(missing, 0.0, x - centre)
        count = product(there.T, w * there)
        first = _divide(product(d.T, w * there), count)
        square = product((d * d).T, w * there) - count * first**2
        scatter = product(d.T, w * d) - count * first * first.T
        return cls(count, np.where(count > 0, centre[:, None] + first, 0.0), np.maximum(square, 0.0), scatter)

    @staticmethod
    def merge(a: SampleMoments, b: SampleMoments) -> SampleMoments:
        """Moments of both sets of rows together."""
        count = a.count + b.count
        step = b.mean_pair - a.mean_pair
        share = _divide(b.count, count)
        weight = a.count * share
        return SampleMoments(
            count,
            a.mean_pair + step * share,
            a.square + b.square + weight * step**2,
            a.scatter + b.scatter + weight * step * step.T,
        )

    @staticmethod
    def total(parts: Sequence[SampleMoments]) -> SampleMoments:
        """All parts together, merged in order."""
        return reduce(SampleMoments.merge, parts)

    @staticmethod
    def stack(parts: Sequence[SampleMoments]) -> SampleMoments:
        """Many moments as one object with a leading axis, so that all can be queried at once."""
        return SampleMoments(*(np.array([getattr(m, f) for m in parts]) for f in ("count", "mean_pair", "square", "scatter")))

    def read_only(self) -> SampleMoments:
        """The same moments, which nobody can change."""
        for figures in (self.count, self.mean_pair, self.square, self.scatter):
            figures.flags.writeable = False
        return self

    @property
    def present(self) -> Matrix:
        """Number of present values per column."""
        return _diagonal(self.count).copy()

    @property
    def mean(self) -> Matrix:
        """Mean of each column over its present values; NaN if there are none."""
        return np.where(self.present > 0, _diagonal(self.mean_pair), np.nan)

    @property
    def variance(self) -> Matrix:
        """Sample variance of each column over its present values; NaN if fewer than two."""
        return _nan_divide(_diagonal(self.square), self.present - 1)

    @property
    def spread(self) -> Matrix:
        """Mean of squared deviations of each column, weighted if the sums are."""
        return _nan_divide(_diagonal(self.square), self.present)

    @property
    def covariance(self) -> Matrix:
        """Pairwise-complete sample covariance; NaN with fewer than two pairs."""
        return _nan_divide(self.scatter, self.count - 1)

    @property
    def correlation(self) -> Matrix:
        """Pairwise-complete correlation; NaN if a column does not vary over the pairs."""
        varying = _varying(self.square, self.count, self.mean_pair)
        spread = varying * varying.swapaxes(-1, -2)
        with np.errstate(invalid="ignore"):
            r = _nan_divide(self.scatter, np.sqrt(spread))
        return np.clip(r, -1.0, 1.0)

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Columns that do not vary (or have at most one value)."""
        return np.asarray(_varying(*map(_diagonal, (self.square, self.count, self.mean_pair))) <= 0)


def _varying(square: Matrix, count: Matrix, mean: Matrix) -> Matrix:
    """Sums of squares, set to zero if they are only rounding of a constant."""
    return np.where(square > count * (64 * np.finfo(float).eps * mean) ** 2, square, 0.0)


def _diagonal(a: Matrix) -> Matrix:
    return np.diagonal(a, axis1=-2, axis2=-1)


def _divide(a: Matrix, b: Matrix) -> Matrix:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def _nan_divide(a: Matrix, b: Matrix) -> Matrix:
    return np.divide(a, b, out=np.full_like(a, np.nan), where=b > 0)
