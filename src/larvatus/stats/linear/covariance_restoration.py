"""Noise that restores a covariance: Z = Y + E W, WᵀW = Σ_X − Σ_Y, with E of unit covariance and uncorrelated with Y."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Matrix
from larvatus.stats.linear.moments import SampleMoments
from larvatus.stats.linear.portable_algebra import product, symmetric_eigen
from larvatus.stats.linear.sufficiency import THIN, extend_basis, independent, standardise

_LEAST, _APART = 1e-12, 1e-9


@dataclass(frozen=True, slots=True)
class Loss:
    """The covariance lost by a step, Σ_X − Σ_Y, on the correlation scale of the original.

    `weights` (rank × columns, in the columns' own units) is a factor of its positive part; row i uses draw number `lanes[i]`.
    `smallest` is its smallest eigenvalue (0 if none is negative), and `direction` the combination of standardised columns
    it belongs to.
    """

    weights: Matrix
    lanes: NDArray[np.int64]
    smallest: float
    direction: Matrix
    patchy: bool

    @property
    def nothing(self) -> bool:
        return len(self.weights) == 0


def covariance_loss(m: SampleMoments) -> Loss:
    """The loss from moments of [original, current] columns, over pairs of present values."""
    p = len(m.count) // 2
    covariance = np.where(np.logical_or.outer(m.constant, m.constant), 0.0, np.nan_to_num(m.covariance))
    sd = np.sqrt(np.diag(covariance))
    scale = np.where(sd[:p] > 0, sd[:p], np.where(sd[p:] > 0, sd[p:], 1.0))
    lost = (covariance[:p, :p] - covariance[p:, p:]) / np.outer(scale, scale)
    values, vectors = symmetric_eigen((lost + lost.T) / 2)
    half = np.ascontiguousarray(product(vectors * np.sqrt(np.where(values > _LEAST, values, 0.0)), vectors.T))
    directions, chosen, rank = independent(half, _APART)
    patchy = bool((m.count != m.count.max(initial=0.0)).any())
    return Loss(product(directions[:rank], half) * scale, chosen[:rank], float(values.min(initial=0.0)), vectors[:, 0], patchy)


def orthonormal_noise(given: Matrix, draws: Matrix) -> Matrix | None:
    """Draws made orthonormal, and orthogonal to a constant and the given columns (columns × rows); None if impossible."""
    n = given.shape[1]
    columns, _ = standardise(np.vstack([np.ones((1, n)), given]))
    columns[0] = 1.0
    basis = np.empty((min(len(columns) + len(draws), n), n))
    filled = extend_basis(basis, 0, columns, THIN * np.sqrt(max(n - 1, 1)))
    if n - filled < len(draws):
        return None
    return basis[filled : extend_basis(basis, filled, draws, 0.0)]
