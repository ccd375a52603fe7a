"""Samples in which records have different chances to be drawn, and means weighted by these chances.

    probabilities   π_i = max(f, r_i) with Σ_i π_i = n, for stated least probabilities r_i
    sample          the n records with the smallest ξ_i = (u_i / (1 − u_i)) / (π_i / (1 − π_i)), u_i uniform (Pareto sampling,
                    Rosén 1997): the size is fixed, and the inclusion probabilities are π_i up to terms of order 1/n
    mean            Σ w_i c_i / Σ w_i with w_i = 1 / π_i (Hájek 1971)
    effective size  Σ w_i / max w_i

The effective size m makes an interval for a simple random sample safe: for values c_i in [0, 1] the variance of the mean is
at most Σ w_i² h_i / (Σ w_i)², with h_i = c_i − 2 c_i p + p² and mean p, and that is at most p(1 − p) / m.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints


def inclusion_probabilities(least: Floats, size: int) -> Floats:
    """Probabilities that sum to `size`, each the larger of a common rate and its least value; `size` is at least Σ least."""
    if size >= len(least):
        return np.ones(len(least))
    level, count = np.unique(least, return_counts=True)
    return np.asarray(np.clip(np.maximum(least, common_rate(level, count, size)), 0.0, 1.0))


def common_rate(level: Floats, count: Ints, size: int) -> float:
    """The rate f, for `count` records at each of the ascending `level`s of least probabilities."""
    rate = 0.0
    for k in range(1, len(level) + 1):  # the k lowest levels get the common rate
        rate = float((size - (level[k:] * count[k:]).sum()) / count[:k].sum())
        if k == len(level) or rate <= level[k]:
            break
    return rate


def pareto_sample(uniform: Floats, probability: Floats, size: int) -> Bools:
    """The sample of `size` records; records with probability 1 are always in it."""
    if size >= len(probability):
        return np.ones(len(probability), dtype=bool)
    order = np.argsort(pareto_keys(uniform, probability), kind="stable")
    out = np.zeros(len(probability), dtype=bool)
    out[order[:size]] = True
    return out


def pareto_keys(uniform: Floats, probability: Floats) -> Floats:
    """ξ_i of every record. P(ξ_i ≤ 1) = π_i, so that about `size` of them are at most 1."""
    odds = np.divide(1.0 - probability, probability, out=np.full(len(probability), np.inf), where=probability > 0)
    return np.asarray(uniform / (1.0 - uniform) * odds)


def hajek_mean(values: Floats, weight: Floats | None) -> float:
    """The weighted mean; the plain mean if all records have the same weight (None)."""
    return float(values.mean()) if weight is None else float((weight * values).sum() / weight.sum())


def safe_sample_size(weight: Floats | None, count: int) -> float:
    """The size of a simple random sample whose mean varies at least as much; `count` if all have the same weight (None)."""
    return float(count) if weight is None or not len(weight) else float(weight.sum() / weight.max())
