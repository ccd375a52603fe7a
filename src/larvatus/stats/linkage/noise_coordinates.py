"""Coordinates in which noise has independent draws: y − E(y | x, s) = rootᵀ u is solved for u.

Directions in which a mask adds no noise become further coordinates, in which a record can move by rounding only.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.stats.linkage.gaussian_match import SURE

_RANK = 1e-10  # smallest singular value of the root, in SDs of the released values, that counts as noise


def root_of_covariance(covariance: Floats) -> Floats:
    """A factor of the covariance, draws × columns, without directions that do not vary."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    kept = values > 1e-14 * values.max(initial=0.0)
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T)


def unmixing(root: Floats, scale: Floats) -> tuple[Floats, Floats] | None:
    """Multipliers of residuals, columns × draws, that give the draws, and columns × directions without noise.

    `scale` is the SD of each released column. None if the draws do not follow from the residuals: more draws than directions.
    """
    unit = np.where(scale > 0, scale, 1.0)
    rows = root / unit
    if not len(rows):
        return np.zeros((root.shape[1], 0)), np.diag(1 / unit) / np.sqrt(SURE)
    _, values, vectors = np.linalg.svd(rows, full_matrices=True)
    if len(values) < len(rows) or values[-1] <= _RANK:
        return None
    still = vectors[len(values) :].T / unit[:, None] / np.sqrt(SURE)
    return np.linalg.pinv(rows, rcond=0.0) / unit[:, None], still
