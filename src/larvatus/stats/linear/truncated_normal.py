"""Truncated normal draws, accurate far into the tails, and conditional normal laws.

    z = Φ⁻¹(Φ(low) + u (Φ(high) − Φ(low)));   W = Σ_wk Σ_kk⁻¹,   Σ_w|k = Σ_ww − W Σ_kw   (w wanted, k known columns)
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Matrix
from larvatus.stats.linear.portable_algebra import product, pseudo_inverse

_FAR, _THIN = 100.0, 1e-12


def truncated_normal(u: Matrix, low: Matrix, high: Matrix) -> Matrix:
    """The u-quantile of the standard normal truncated to [low, high], computed on the log scale."""
    from larvatus.core.portable.portable_functions import expm1, log1p
    from larvatus.core.portable.portable_normal import normal_log_cdf, normal_quantile_of_log

    low, high = np.clip(low, -_FAR, _FAR), np.clip(high, -_FAR, _FAR)
    flip = low + high < 0
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    v = np.where(flip, 1.0 - u, u)
    above, beyond = normal_log_cdf(-a), normal_log_cdf(-b)
    inside = -expm1(np.minimum(beyond - above, 0.0))
    z = -normal_quantile_of_log(np.minimum(above + log1p(-v * inside), -1e-300))
    return np.asarray(np.clip(np.where(flip, -z, z), low, high))


def conditional_law(covariance: Matrix, wanted: list[int], known: list[int]) -> tuple[Matrix, Matrix]:
    """Weights W of the known deviations, and a lower triangular root of the conditional covariance of the wanted columns.

    Thin directions of the known columns are left out. A wanted column determined by earlier ones has no pivot.
    """
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    r = covariance / np.outer(scale, scale)
    inner = pseudo_inverse(r[np.ix_(known, known)], 1e-10) if known else np.zeros((0, 0))
    weights = product(r[np.ix_(wanted, known)], inner)
    rest = r[np.ix_(wanted, wanted)] - product(weights, r[np.ix_(known, wanted)])
    root = _triangle(rest)
    return (
        np.asarray(weights * scale[wanted][:, None] / scale[known][None, :]),
        np.asarray(root * scale[wanted][:, None]),
    )


def _triangle(r: Matrix) -> Matrix:
    """Cholesky factor of a possibly singular matrix; columns without a pivot are zero."""
    k = len(r)
    out = np.zeros((k, k))
    for j in range(k):
        pivot = r[j, j] - product(out[j, :j], out[j, :j])
        if pivot > _THIN:
            out[j, j] = np.sqrt(pivot)
            out[j + 1 :, j] = (r[j + 1 :, j] - product(out[j + 1 :, :j], out[j, :j])) / out[j, j]
    return out
