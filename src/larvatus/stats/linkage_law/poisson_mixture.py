"""The Poisson mixture of the noncentral χ² distribution, each value from its own largest term down and up.

    F = Σ_k Pois(k; h) P(s + k, x),   P(s + k, x) = P(s + k + 1, x) + x^(s+k) e^(−x) / Γ(s + k + 1)

Terms are log-concave in k. The largest is near k = min(h, κ) with κ (s + κ) = h x, and their spread is at most √k. So terms
beyond twelve spreads are left out. Densities come from Loader's saddle-point form, which loses no digits if h or x is large.
"""

from __future__ import annotations

from math import exp, lgamma, log, pi

import numpy as np
from scipy import special

from larvatus.core.arrays import Floats
from larvatus.core.kernels import kernel

_TINY = 1e-300
_SERIES = 15.0  # from here on the error of Stirling's formula has a series


def poisson_mixture(x: Floats, half: Floats, s: float) -> Floats:
    """F for each pair of x > 0 and h ≥ 0, in the same shape as both."""
    peak = np.minimum(half, (np.sqrt(s**2 + 4 * half * x) - s) / 2)
    reach = 12 * np.sqrt(peak) + 40
    last, first = np.ceil(peak + reach), np.maximum(np.floor(peak - reach), 0.0)
    return np.minimum(_sums(x, half, s, first, last, special.gammainc(s + last, x)), 1.0)


@kernel()
def _sums(x: Floats, half: Floats, s: float, first: Floats, last: Floats, gamma: Floats) -> Floats:
    """The sums from term `last` down to term `first`; `gamma` is P(s + last, x)."""
    out = np.empty(len(x))
    for i in range(len(x)):
        k, share = last[i], gamma[i]
        weight, step = exp(_log_poisson(k, half[i])), exp(_log_poisson(s + k, x[i]))
        total = weight * share
        while k > first[i]:
            weight = weight * k / half[i] if weight > _TINY else exp(_log_poisson(k - 1, half[i]))
            step = step * (s + k) / x[i] if step > _TINY else exp(_log_poisson(s + k - 1, x[i]))
            share += step
            total += weight * share
            k -= 1
        out[i] = total
    return out


@kernel()
def _log_poisson(k: float, mean: float) -> float:
    """log(mean^k e^(−mean) / Γ(k + 1)), for any k ≥ 0."""
    if mean <= 0:
        return 0.0 if k == 0 else -np.inf
    if k < _SERIES:
        return k * log(mean) - mean - lgamma(k + 1)
    error = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / k**2) / k**2) / k**2) / k**2) / k
    return -_deviance(k, mean) - error - 0.5 * log(2 * pi * k)


@kernel()
def _deviance(k: float, mean: float) -> float:
    """k log(k / mean) + mean − k, by its series if k is near the mean."""
    apart = k - mean
    if abs(apart) >= 0.1 * (k + mean):
        return k * log(k / mean) + mean - k
    v = apart / (k + mean)
    total, term = apart * v, 2 * k * v
    for j in range(1, 1000):
        term *= v * v
        before = total
        total += term / (2 * j + 1)
        if total == before:
            break
    return total
