"""Canonical correlations of X and Y = B X + noise: the square roots of the eigenvalues of Σ_yy⁻¹ B Σ_xx Bᵀ."""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Matrix

_THIN = 1e-12


def canonical_correlations(covariance: Matrix, on_x: Matrix, noise: Matrix) -> Floats:
    """Canonical correlations, largest first, given Cov(X), the coefficients B of Y on X, and the covariance of the noise.

    Directions of Y that do not vary are left out. A direction with signal and no noise has correlation 1.
    """
    signal = on_x @ covariance @ on_x.T
    whole = signal + noise
    sd = np.sqrt(np.maximum(np.diag(whole), 0.0))
    sd = np.where(sd > 0, sd, 1.0)
    values, vectors = np.linalg.eigh(whole / np.outer(sd, sd))
    kept = values > _THIN * max(float(values.max(initial=0.0)), _THIN)
    root = vectors[:, kept] / np.sqrt(values[kept])
    inner = root.T @ (signal / np.outer(sd, sd)) @ root
    squares = np.linalg.eigvalsh((inner + inner.T) / 2)[::-1]
    return np.asarray(np.sqrt(np.clip(squares, 0.0, 1.0)))
