"""A bound on every intruder who scores the candidates one by one, in this very file, with nothing assumed about X.

The intruder of target t picks the candidate with the largest score r(x_t, y_j), for any function r that does not depend on the
release. Released rows are independent given the c records, so

    P(link) = E Π_{j≠t} (1 − p_j) ≤ E (1 − p̄)^(c−1),      p_j = P(r(Y_j) > r(Y_t) | Y_t),  p̄ their mean

by the inequality of the means. The right side depends on r only through its power β(α) to tell f(· | x_t) from the mean density
m_t of the c − 1 others: it is ∫ (c−1)(1−α)^(c−2) β(α) dα. By the lemma of Neyman and Pearson, for any τ ≥ 0

    β(α) ≤ τ α + E (1 − τ m_t(Y_t) / f(Y_t | x_t))₊

so that every choice of τ(α) gives an upper bound, as the mean of a function of Y_t alone. It is tight if τ(α) is the likelihood
ratio with false-positive rate α. The rates are estimated from other draws than those that enter the mean.

In one release links depend on each other, because targets share competitors. Fix for each target the score u_t that a
competitor exceeds with the probability α on average. A link needs r(Y_t) ≥ u_t, or that no competitor exceeds u_t:

    links ≤ Σ 1{r(Y_t) ≥ u_t} + Σ 1{no competitor of t exceeds u_t},      α = 1 − e^(−a/(c−1))

The first sum has independent terms, with means β(α) at most. The second has the mean e^(−a) per target at most.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints

_CELLS = 48


def level_means(candidates: int) -> Floats:
    """E[α in cell] for cells of equal probability of α ~ Beta(1, c − 1)."""
    m = max(candidates - 1, 1)
    edge = np.linspace(0.0, 1.0, _CELLS + 1)
    upper = (1 - edge) ** ((m + 1) / m)
    return np.asarray(1.0 + _CELLS * m / (m + 1) * np.diff(upper))


def level_without_rivals(rivals: float, candidates: int) -> Floats:
    """The level α at which a row with the mean density of the others exceeds u_t, for `rivals` = a: (1 − α)^(c−1) = e^(−a)."""
    return np.asarray([-np.expm1(-rivals / max(candidates - 1, 1))])


def thresholds(log_ratio: Floats, levels: Floats) -> Floats:
    """1/τ for each level α, from draws of log f(Y_t | x_t) / m_t(Y_t): P_m(ratio > τ) = E_f[1{ratio > τ} / ratio]."""
    inverse = np.sort(np.exp(-log_ratio))
    rate = np.cumsum(inverse) / len(inverse)
    place = np.minimum(np.searchsorted(rate, levels), len(inverse) - 1)
    return np.asarray(inverse[place])


def constant_part(inverse_threshold: Floats, levels: Floats) -> float:
    """The mean of τ(α) α over equally probable levels; where τα > 1, β ≤ 1 is better and taken."""
    return float((levels * _usable(inverse_threshold, levels)).mean())


def part_of_draws(log_ratio: Floats, inverse_threshold: Floats, levels: Floats) -> Floats:
    """The mean of (1 − τ(α) / ratio)₊ over equally probable levels, for each draw: values between 0 and 1."""
    tau = _usable(inverse_threshold, levels)
    return np.asarray(np.maximum(1 - tau * np.exp(-log_ratio)[:, None], 0.0).mean(axis=1))


def _usable(inverse_threshold: Floats, levels: Floats) -> Floats:
    """τ, or 0 where it would exceed 1/α: no test has a larger false-positive rate than that at its threshold."""
    with np.errstate(divide="ignore"):
        tau = 1 / inverse_threshold
    return np.asarray(np.where(tau * levels > 1, 0.0, tau))


def log_ratios(log_density: Floats, own: Ints) -> Floats:
    """log f(y | x_t) − log of the mean over the other candidates, for rows y and columns x; `own` is the column of t."""
    rows = np.arange(len(log_density))
    mine = log_density[rows, own]
    others = log_density.copy()
    others[rows, own] = -np.inf
    top = others.max(axis=1)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        mean = np.log(np.exp(others - safe[:, None]).sum(axis=1) / (log_density.shape[1] - 1)) + safe
    return np.asarray(mine - mean)
