"""Re-pair scores M of columns to a target correlation T (Iman and Conover 1982):

    corr(M W) = T   with   W = L⁻ᵀ T^½,   corr(M) = L Lᵀ
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Matrix
from larvatus.stats.linear.portable_algebra import cholesky, product, solve, symmetric_eigen

_THIN = 1e-6


def re_pairing(found: Matrix, target: Matrix) -> Matrix:
    """Weights W such that scores M with sample correlation `found` have, as M·W, exactly the sample correlation `target`.

    If there are so few scores that some are linearly dependent, they are treated as uncorrelated.
    """
    lower = cholesky(found) if symmetric_eigen(found)[0].min(initial=1.0) > _THIN else np.eye(len(found))
    values, vectors = symmetric_eigen((target + target.T) / 2)
    root = product(vectors * np.sqrt(np.maximum(values, 0.0)), vectors.T)
    return solve(lower.T, root.T)


def as_correlation(covariance: Matrix) -> Matrix:
    """A covariance matrix on the correlation scale; columns without variance have correlation 0 with all others."""
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    out = covariance / np.outer(scale, scale)
    np.fill_diagonal(out, 1.0)
    return np.asarray(out)
