"""Limits that hold with a stated false alarm: of a mean that was sampled, and of a number of links in one release.

    sampled mean     x̄ of N independent values in [0, 1]:  the mean μ satisfies KL(x̄ ‖ μ) ≤ log(1/α) / N   (Hoeffding 1963)
    sum of blocks    H = Σ H_b, independent, 0 ≤ H_b ≤ K, Σ E H_b ≤ M over B blocks:
                     P(H ≥ h) ≤ exp(−λh + B log(1 + M (e^(λK) − 1) / (BK)))   for every λ > 0,
                     which is exp(−B KL(h/BK ‖ M/BK)) at the best λ
    random pairings  within each of G sets the pairing is uniform: E e^(λH) ≤ exp(G (e^λ − 1)), as if H were Poisson
"""

from __future__ import annotations

import numpy as np

_STEPS = 100


def upper_mean(mean: float, values: int, false_alarm: float) -> float:
    """The largest mean that N independent values in [0, 1] with this average are consistent with."""
    low, high = mean, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if values * _divergence(mean, middle) < -np.log(false_alarm) else (low, middle)
    return min(high, 1.0)


def _divergence(x: float, mu: float) -> float:
    """Kullback–Leibler divergence of Bernoulli(x) from Bernoulli(mu)."""
    if mu <= 0 or mu >= 1:
        return 0.0 if x == mu else float("inf")
    first = x * np.log(x / mu) if x > 0 else 0.0
    return float(first + ((1 - x) * np.log((1 - x) / (1 - mu)) if x < 1 else 0.0))


def upper_share(mean: float, values: int, false_alarm: float) -> float:
    """The average that N independent values in [0, 1] with this mean exceed with the false alarm at most.

    The arguments of the divergence are in the other order than for a mean that was sampled. If all may be 1, the limit is 1.
    """
    low, high = mean, 1.0
    if values * _divergence(high, mean) <= -np.log(false_alarm):
        return 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if values * _divergence(middle, mean) < -np.log(false_alarm) else (low, middle)
    return high


def upper_sum_of_blocks(mean: float, blocks: int, largest: int, false_alarm: float) -> float:
    """The number that a sum of independent block counts, each at most `largest`, exceeds with the false alarm at most."""
    if not blocks:
        return 0.0
    return upper_share(min(mean / (blocks * largest), 1.0), blocks, false_alarm) * blocks * largest


def chance_of_sum(total: float, mean: float, blocks: int, largest: int) -> float:
    """The probability, at most, that a sum of independent block counts, each at most `largest`, reaches the total."""
    room = blocks * largest
    share, expected = min(total / room, 1.0), min(mean / room, 1.0)
    return float(np.exp(-blocks * _divergence(share, expected))) if share > expected else 1.0


def upper_random_pairing(sets: int, records: int, false_alarm: float) -> float:
    """The same for the links in `sets` sets of records that nothing distinguishes; each contributes one on average."""
    if not sets:
        return 0.0
    low, high = float(sets), float(records)
    if _poisson_exponent(high, sets) < -np.log(false_alarm):
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _poisson_exponent(middle, sets) < -np.log(false_alarm) else (low, middle)
    return high


def _poisson_exponent(h: float, mean: float) -> float:
    return float(h * np.log(h / mean) - h + mean)
