"""The exact posterior of the pairing of a few records with their released rows.

    P(σ | X, Y) ∝ Π_t f(y_σ(t) | x_t),   π_tj = P(σ(t) = j) = a_tj per(A without row t and column j) / per(A)

All permanents are sums over subsets of columns: forward sums for the rows above, backward sums for those below. Terms are
positive, so no digits are lost. k records take k² 2^k steps.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints

MOST_MATCHED = 12


def pairing_posteriors(log_density: Floats) -> Floats:
    """π for each block of blocks × records × rows; NaN where every pairing has probability zero."""
    count, k, _ = log_density.shape
    if k > MOST_MATCHED:
        raise ValueError(f"at most {MOST_MATCHED} records can be matched exactly")
    top = np.max(log_density, axis=2, keepdims=True)
    a = np.exp(log_density - np.where(np.isfinite(top), top, 0.0))
    subsets = [_subsets_of_size(k, t) for t in range(k + 1)]
    before, after = np.zeros((1 << k, count)), np.zeros((1 << k, count))
    before[0], after[-1] = 1.0, 1.0
    for t in range(k):
        for j in range(k):
            without = subsets[t][(subsets[t] >> j) & 1 == 0]
            before[without | (1 << j)] += before[without] * a[:, t, j]
    out = np.zeros_like(a)
    for t in range(k - 1, -1, -1):
        for j in range(k):
            without = subsets[t][(subsets[t] >> j) & 1 == 0]
            below = after[without | (1 << j)] * a[:, t, j]
            after[without] += below
            out[:, t, j] = (before[without] * below).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(out / after[0][:, None, None])


def expected_links(log_density: Floats) -> Floats:
    """For each block, Σ_t max_j π_tj: the most links that anyone who knows the records of the block expects.

    A block whose probabilities underflow counts in full.
    """
    best = pairing_posteriors(log_density).max(axis=2).sum(axis=1)
    return np.where(np.isfinite(best), np.minimum(best, log_density.shape[1]), float(log_density.shape[1]))


def _subsets_of_size(k: int, size: int) -> Ints:
    every = np.arange(1 << k, dtype=np.int64)
    return np.asarray(every[np.bitwise_count(every) == size], dtype=np.int64)
