"""Two simple models, fitted to released records, that predict a value of a target: ridge regression and nearest neighbours.

    ridge: ŷ = ȳ + b (AᵀA + λnI)⁻¹ Aᵀ(y − ȳ)   with standardised features A (released) and b (target)
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats

MODELS = ("ridge", "nearest 1", "nearest 5")
PENALTY = 1e-3  # ridge penalty, per record


def predictions(train: Floats, values: Floats, test: Floats) -> Floats:
    """Predictions from released features and values, models × rows of test; features may be missing.

    Features are in standard deviations of the released ones; missing ones become the mean and an indicator. If no feature
    varies, every model predicts the mean.
    """
    there = ~np.isnan(values)
    if not there.any():
        return np.full((len(MODELS), len(test)), np.nan)
    train, values = train[there], values[there]
    mean = float(values.mean())
    a, b = _prepared(train, test)
    if a.shape[1] == 0:
        return np.full((len(MODELS), len(test)), mean)
    gram = a.T @ a + PENALTY * len(a) * np.eye(a.shape[1])
    ridge = mean + b @ np.linalg.solve(gram, a.T @ (values - mean))
    return np.array([ridge, *_neighbours(a, values, b)])


def _prepared(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    left: list[Floats] = []
    right: list[Floats] = []
    for a, b in zip(train.T, test.T, strict=True):
        for u, v in ((a, b), (np.isnan(a).astype(np.float64), np.isnan(b).astype(np.float64))):
            known = u[~np.isnan(u)]
            if len(known) and float(known.max()) > float(known.min()):
                centre, sd = float(known.mean()), float(known.std())
                left.append(np.nan_to_num((u - centre) / sd))
                right.append(np.nan_to_num((v - centre) / sd))
    return np.array(left).reshape(len(left), len(train)).T, np.array(right).reshape(len(right), len(test)).T


def _neighbours(a: Floats, values: Floats, b: Floats) -> list[Floats]:
    """Means over the nearest and the five nearest distinct feature rows, weighted by their frequency."""
    from scipy.spatial import cKDTree

    rows, code, times = np.unique(a, axis=0, return_inverse=True, return_counts=True)
    total = np.bincount(code.reshape(-1), weights=values)
    tree = cKDTree(rows, balanced_tree=False)
    out = []
    for k in (1, 5):
        _, near = tree.query(b, k=min(k, len(rows)))
        near = np.asarray(near).reshape(len(b), -1)
        out.append(total[near].sum(axis=1) / times[near].sum(axis=1))
    return out
