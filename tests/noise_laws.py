"""Limits that the laws of noise masks are held to, and the table that they are tried on."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

import larvatus as lv
from sample import SECRET

FALSE_ALARM = 1e-6
X = ["x", "y", "w"]
N = 30_000


def table() -> pd.DataFrame:
    """Correlated columns on three scales, skewed, that depend on a sub-group and on S; the last is the sum of the others."""
    rng = np.random.default_rng(12)
    g, s = rng.integers(0, 3, N), rng.normal(size=N)
    z = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], N) + 0.5 * s[:, None]
    out = pd.DataFrame({"g": g, "s": s, "x": np.exp(0.5 * z[:, 0]) * (1 + g), "y": 100 + 20 * z[:, 1]})
    return out.assign(w=out.x + out.y)


def released(frame: pd.DataFrame, mask: lv.Mask, names: list[str] = X, **roles: object) -> pd.DataFrame:
    data = lv.read(frame, confidential=names, non_confidential=["s"] if "s" in frame else [], sub_groups=["g"], **roles)
    return lv.mask(data, mask, secret=SECRET).frame()


def check_covariance(e: np.ndarray, root: np.ndarray, kurtosis: float = 3.0) -> None:
    """Rows of noise whose covariance is rootᵀ root: turned into independent columns of variance 1, these are such."""
    z = np.linalg.solve(root.T, np.asarray(e, dtype=float).T)
    n, limit = z.shape[1], stats.norm.isf(FALSE_ALARM / 2 / (len(z) * (len(z) + 3) / 2))
    assert np.abs(z.mean(axis=1)).max() < limit / np.sqrt(n)
    assert np.abs((z * z).mean(axis=1) - 1).max() < limit * np.sqrt((kurtosis - 1) / n)
    for i in range(len(z)):
        for j in range(i):
            assert abs((z[i] * z[j]).mean()) < limit / np.sqrt(n)


def check_unrelated(e: np.ndarray, to: np.ndarray) -> None:
    """No rank correlation beyond what n allows between two columns."""
    assert abs(stats.spearmanr(e, to).statistic) < stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(len(e) - 1) * 1.05


def gap(before: pd.DataFrame, after: pd.DataFrame) -> float:
    """Largest difference of means and covariances, in standard deviations of the first, computed in long double."""
    one, other = (np.asarray(v, dtype=np.longdouble) for v in (before, after))
    sd = one.std(axis=0)
    sd = np.where(sd <= 1e-15 * abs(one.mean(axis=0)), 1.0, sd)
    a, b = ((v - v.mean(axis=0)) / sd for v in (one, other))
    shift = abs((other.mean(axis=0) - one.mean(axis=0)) / sd).max()
    return float(max(shift, abs(a.T @ a - b.T @ b).max() / len(one)))
