"""The skewed data of paper 003 §3.1 and its four masked files, with their moments made exact where the paper's are."""

from __future__ import annotations

import numpy as np


def skewed(n: int, seed: int, correlation: float = 0.75) -> np.ndarray:
    """One F(10, 10) column and a linear regression on it."""
    rng = np.random.default_rng(seed)
    x = rng.f(10, 10, n)
    noise = rng.normal(size=n) * x.std() * np.sqrt(1 - correlation**2) / abs(correlation)
    return np.column_stack([x, np.sign(correlation) * x + noise])


def masked(x: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """The files, from the worst to the best by the distribution functions: normal, micro-aggregated, with noise, swapped."""
    rng = np.random.default_rng(seed + 1000)
    micro = in_threes(x)
    return {
        "normal": x.mean(axis=0) + exact_noise(rng, len(x), np.cov(x.T)),
        "micro": micro,
        "micro_and_noise": micro + exact_noise(rng, len(x), np.cov(x.T) - np.cov(micro.T)),
        "swapped": np.column_stack([swapped(rng, column, len(x) // 20) for column in x.T]),
    }


def exact_noise(rng: np.random.Generator, n: int, covariance: np.ndarray) -> np.ndarray:
    """Normal noise whose sample mean is zero and whose sample covariance is the one asked for."""
    z = rng.normal(size=(n, len(covariance)))
    z -= z.mean(axis=0)
    z = z @ np.linalg.inv(np.linalg.cholesky(np.cov(z.T)).T)
    value, vector = np.linalg.eigh(covariance)
    return z @ (vector * np.sqrt(np.maximum(value, 0))).T


def in_threes(x: np.ndarray) -> np.ndarray:
    """Means of three neighbours along the sum of z-scores."""
    order = np.argsort(((x - x.mean(axis=0)) / x.std(axis=0)).sum(axis=1))
    group = np.minimum(np.arange(len(x)) // 3, len(x) // 3 - 1)
    out = np.empty_like(x)
    for j in range(x.shape[1]):
        out[order, j] = (np.bincount(group, x[order, j]) / np.bincount(group))[group]
    return out


def swapped(rng: np.random.Generator, column: np.ndarray, window: int) -> np.ndarray:
    """Each value exchanged with one at most a window of ranks away."""
    values, free = np.sort(column), np.ones(len(column), dtype=bool)
    for i in range(len(values)):
        if free[i]:
            near = [k for k in range(i + 1, min(i + window, len(values) - 1) + 1) if free[k]]
            if near:
                k = int(rng.choice(near))
                values[i], values[k], free[k] = values[k], values[i], False
            free[i] = False
    out = np.empty_like(column)
    out[np.argsort(column)] = values
    return out
