"""How much one record can change the probability of what is released.

    Laplace noise of scale b on [l, u]            ε = (u − l) / b                          (Dwork and others 2006)
    normal noise of SD σ on [l, u]                ρ = (u − l)² / (2 σ²)                    (Bun and Steinke 2016)
    levels drawn by a matrix M                    ε = max over k, k', l of log M_kl / M_k'l  (Warner 1965)
    ε                                             ρ = ε²/2
    ρ                                             ε = ρ + 2 √(ρ log 1/δ)

Values of ε and of ρ add up over columns and releases.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erf, log_ndtr

from larvatus.core.arrays import Floats, Matrix


def laplace_epsilon(width: Floats, sd: Floats) -> Floats:
    """ε of each column: Laplace noise with this standard deviation, which is √2 times its scale."""
    return np.asarray(width * np.sqrt(2.0) / sd)


def normal_rho(width: Floats, sd: Floats) -> Floats:
    """ρ of each column: normal noise with this standard deviation."""
    return np.asarray(width**2 / (2.0 * sd**2))


def chance_of_small_noise(noise: str, sd: float, most: float) -> float:
    """P(|noise| ≤ most) for Laplace or normal noise with this standard deviation."""
    return float(-np.expm1(-np.sqrt(2.0) * most / sd) if noise == "laplace" else erf(most / (np.sqrt(2.0) * sd)))


def level_epsilon(moves: Matrix) -> float:
    """ε of a matrix of transition probabilities; infinite if a released level is possible for some levels only."""
    reached = moves[:, moves.max(axis=0) > 0]
    low, high = reached.min(axis=0), reached.max(axis=0)
    if reached.size == 0 or (low <= 0).any():
        return float("inf")
    return float(np.log(high / low).max())


def epsilon_from_rho(rho: float, delta: float) -> float:
    """The ε of (ε, δ) that follows from ρ."""
    return rho + 2.0 * float(np.sqrt(rho * np.log(1.0 / delta)))


def normal_epsilon(rho: float, delta: float) -> float:
    """The smallest ε of (ε, δ) for normal noise with ρ = μ²/2 (Balle and Wang 2018).

    δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)
    """
    if rho == 0:
        return 0.0
    mu = float(np.sqrt(2 * rho))

    def at(epsilon: float) -> float:
        return float(np.exp(log_ndtr(mu / 2 - epsilon / mu)) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))

    low, high = 0.0, epsilon_from_rho(rho, delta)
    if at(low) <= delta:
        return 0.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if at(middle) <= delta else (middle, high)
    return high
