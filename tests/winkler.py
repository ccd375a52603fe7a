"""Four fields with the correlations of 004's first table, and rank swapping by hand, for tests of attacks."""

from __future__ import annotations

import numpy as np
import pandas as pd

PUBLISHED = np.array([
    [1, 0.895, 0.186, -0.102], [0.895, 1, 0.218, -0.065], [0.186, 0.218, 1, 0.329], [-0.102, -0.065, 0.329, 1],
])
FIELDS = ["x1", "x2", "x3", "x4"]
EVEN, DRAWN = [0, 2], [1, 3]


def four_fields(rng: np.random.Generator, n: int = 100) -> pd.DataFrame:
    """x1 and x3 spread evenly on 1…100; x2 and x4 linear in them plus error, on 17…208 and 61…511."""
    spread = np.linspace(1, 100, n)
    while True:
        z = rng.multivariate_normal([0, 0], PUBLISHED[np.ix_(EVEN, EVEN)], n)
        even = np.column_stack([spread[column.argsort().argsort()] for column in z.T])
        if abs(np.corrcoef(even.T)[0, 1] - PUBLISHED[0, 2]) < 0.02:
            break
    a = (even - even.mean(axis=0)) / even.std(axis=0)
    e = rng.normal(size=(n, 2))
    design = np.column_stack([np.ones(n), a])
    e -= design @ np.linalg.lstsq(design, e, rcond=None)[0]
    e = e @ np.linalg.inv(np.linalg.cholesky(e.T @ e / n)).T
    inside = a.T @ a / n
    slope = PUBLISHED[np.ix_(DRAWN, EVEN)] @ np.linalg.inv(inside)
    left = PUBLISHED[np.ix_(DRAWN, DRAWN)] - slope @ inside @ slope.T
    drawn = a @ slope.T + e @ np.linalg.cholesky(left).T
    drawn = (drawn - drawn.min(axis=0)) / np.ptp(drawn, axis=0) * [191, 450] + [17, 61]
    return pd.DataFrame(np.column_stack([even[:, 0], drawn[:, 0], even[:, 1], drawn[:, 1]]).round(), columns=FIELDS)


def rank_swapped(values: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Every value exchanged, once, with one at most share · n ranks above it."""
    n, out = len(values), np.array(values, dtype=float)
    order = np.lexsort((rng.random(n), values))
    free = np.ones(n, dtype=bool)
    for i in range(n):
        partners = [j for j in range(i + 1, min(n, i + 1 + int(share * n))) if free[j]] if free[i] else []
        if partners:
            j = int(rng.choice(partners))
            free[i] = free[j] = False
            out[order[i]], out[order[j]] = values[order[j]], values[order[i]]
    return out


def swapped(frame: pd.DataFrame, share: float, rng: np.random.Generator) -> pd.DataFrame:
    return frame.assign(**{c: rank_swapped(frame[c].to_numpy(), share, rng) for c in frame.columns})
