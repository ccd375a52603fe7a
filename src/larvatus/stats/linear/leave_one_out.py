"""Predict each record by a regression on S that was fitted without it.

    x̂₍₋ᵢ₎ = x_i − e_i / (1 − h_i),   e_i = x_i − x̂_i,   h_i = 1/n + (s_i − s̄)ᵀ Σ_SS⁻¹ (s_i − s̄) / (n − 1)

A record with leverage h_i = 1, such as the only one with its level of S, has no prediction by S; the mean of the other
records takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.stats.linear.moments import SampleMoments

_THIN = 1e-10
_WHOLE = 1e-8  # a leverage this close to one leaves nothing to predict with


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """The regression of some columns (targets) on others (given), from their moments."""

    count: Floats
    centre: Floats
    given_centre: Floats
    slope: Floats
    root: Floats

    @classmethod
    def of(cls, moments: SampleMoments, targets: list[int], given: list[int]) -> LeaveOneOut:
        covariance, mean = np.nan_to_num(moments.covariance), np.nan_to_num(moments.mean)
        sd = np.sqrt(np.maximum(np.diag(covariance)[given], 0.0))
        scale = np.where(moments.constant[given], 0.0, np.divide(1.0, sd, out=np.zeros(len(given)), where=sd > 0))
        r = covariance[np.ix_(given, given)] * np.outer(scale, scale)
        values, vectors = np.linalg.eigh(r) if given else (np.zeros(0), np.zeros((0, 0)))
        good = values > _THIN * values.max(initial=0.0)
        root = scale[:, None] * vectors[:, good] / np.sqrt(values[good])
        slope = root @ (root.T @ covariance[np.ix_(given, targets)])
        return cls(moments.present[targets], mean[targets], mean[given], slope, root)

    @property
    def rank(self) -> int:
        """Number of independent given columns."""
        return int(self.root.shape[1])

    def predict(self, x: Floats, s: Floats) -> Floats:
        """Predictions of the targets, rows × targets; NaN if the target is missing or is the only value."""
        d = np.nan_to_num(s - self.given_centre)
        spare = np.maximum(self.count - 1, 1.0)
        leverage = 1 / np.maximum(self.count, 1.0) + ((d @ self.root) ** 2).sum(axis=1)[:, None] / spare
        left = 1 - leverage
        error = x - (self.centre + d @ self.slope)
        by_s = x - np.divide(error, left, out=np.zeros_like(error), where=left > _WHOLE)
        return np.asarray(np.where(self.count > 1, np.where(left > _WHOLE, by_s, self.others(x)), np.nan))

    def others(self, x: Floats) -> Floats:
        """Means of the other records."""
        return np.asarray((self.count * self.centre - x) / np.maximum(self.count - 1, 1.0))

    def squares(self, x: Floats, s: Floats) -> Floats:
        """Sums of squared errors of the predictions, and of the means of the others: 2 × targets."""
        errors = np.array([x - self.predict(x, s), x - self.others(x)])
        return np.asarray(np.nansum(errors**2, axis=1))


def unexplained_share(squares: Floats) -> Floats:
    """Share of variance that the predictions leave, PRESS / PRESS of the mean; above 1 if the mean predicts better."""
    return np.asarray(np.divide(squares[0], squares[1], out=np.ones_like(squares[0]), where=squares[1] > 0))
