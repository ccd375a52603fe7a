"""Noise that restores a covariance: its factor from what was lost, and draws made orthogonal to what is there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Matrix
from larvatus.stats.linear.moments import SampleMoments
from larvatus.stats.linear.sufficiency import THIN, extend_basis, independent, standardise

_LEAST, _APART = 1e-12, 1e-9


@dataclass(frozen=True, slots=True)
class Loss:
    """What a step took from a covariance, seen on the correlation scale of the original.

    `weights` (rank × columns, in the columns' own units) is a factor of it without its negative part, whose row i takes the
    draw of number `lanes[i]`; `smallest` is its smallest eigenvalue, 0 where none is negative, which belongs to the
    combination `direction` of standardised columns.
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
    """From moments of [original, current] columns, as many of each, over the pairs that are present."""
    p = len(m.count) // 2
    covariance = np.where(np.logical_or.outer(m.constant, m.constant), 0.0, np.nan_to_num(m.covariance))
    sd = np.sqrt(np.diag(covariance))
    scale = np.where(sd[:p] > 0, sd[:p], np.where(sd[p:] > 0, sd[p:], 1.0))
    lost = (covariance[:p, :p] - covariance[p:, p:]) / np.outer(scale, scale)
    values, vectors = np.linalg.eigh((lost + lost.T) / 2)
    half = np.ascontiguousarray((vectors * np.sqrt(np.where(values > _LEAST, values, 0.0))) @ vectors.T)
    directions, chosen, rank = independent(half, _APART)
    patchy = bool((m.count != m.count.max(initial=0.0)).any())
    return Loss(directions[:rank] @ half * scale, chosen[:rank], float(values.min(initial=0.0)), vectors[:, 0], patchy)


def orthonormal_noise(given: Matrix, draws: Matrix) -> Matrix | None:
    """Draws made orthonormal, and orthogonal to a constant and to the given columns (columns × rows); None without room."""
    n = given.shape[1]
    columns, _ = standardise(np.vstack([np.ones((1, n)), given]))
    columns[0] = 1.0
    basis = np.empty((min(len(columns) + len(draws), n), n))
    filled = extend_basis(basis, 0, columns, THIN * np.sqrt(max(n - 1, 1)))
    if n - filled < len(draws):
        return None
    return basis[filled : extend_basis(basis, filled, draws, 0.0)]
