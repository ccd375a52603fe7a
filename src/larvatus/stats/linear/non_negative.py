"""Least squares with coefficients of at least zero: arg min |A x − b| subject to x ≥ 0 (Lawson and Hanson 1974, chapter 23)."""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.stats.linear.portable_algebra import least_squares_solution, product

_SMALL, _THIN = 1e-15, 1e-13


def non_negative_solution(a: Floats, b: Floats) -> Floats | None:
    """The solution; None if it is not reached within three steps per coefficient."""
    n = a.shape[1]
    x, used = np.zeros(n), np.zeros(n, dtype=bool)
    limit = _SMALL * max(float(np.abs(a).max(initial=0.0)) * float(np.abs(b).max(initial=0.0)) * len(a), 1e-300)
    for _ in range(3 * n + 3):
        gain = np.where(used, -np.inf, product(a.T, b - product(a, x)))
        if used.all() or gain.max() <= limit:
            return x
        used[int(np.argmax(gain))] = True
        while True:
            tried = np.zeros(n)
            tried[used] = least_squares_solution(a[:, used], b, _THIN)
            low = used & (tried <= 0)
            if not low.any():
                break
            step = float((x[low] / np.maximum(x[low] - tried[low], 1e-300)).min())
            x = np.where(used, x + step * (tried - x), 0.0)
            used &= x > _THIN * max(float(x.max()), 1e-300)
            x[~used] = 0.0
            if not used.any():
                break
        x = tried if used.any() else np.zeros(n)
    return None
