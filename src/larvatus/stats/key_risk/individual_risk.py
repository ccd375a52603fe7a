"""Risk of each record given the size of its class in the sample (Benedetti and Franconi 1998; Franconi and Polettini 2004).

    A class has f records in the sample and F in the population. Given f, F is negative binomial:
        P(F = h | f) = C(h − 1, f − 1) p^f (1 − p)^(h − f),   h ≥ f,        p = f / Σ w   (w: survey weights of the f records)

    risk      r(f, p) = E(1 / F | f) = ∫₀¹ v^(f − 1) / (1 + a v) dv,         a = (1 − p) / p
    variance  Var(1 / F | f) = E(1 / F² | f) − r²

    f = 1:    r = p / (1 − p) · log(1 / p)
    next f:   r(f + 1, p) = (1 / f − r(f, p)) / a                            stable for a ≥ 1 and small f
    else:     r = (p / f) Σ_k q^k / C(f + k, k),   q = 1 − p                 positive terms, at most 60 are needed

The mean over records, R = Σ f r / n, is the global risk of sdcMicro. Given the sample, the share of right matches is
Σ f / F / n. Its variance is Σ f² Var(1 / F) / n². The interval is that of a beta distribution with this mean and variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats

_FORWARD = 20  # largest class for which the recurrence is used
_TERMS = 64
_NODES = 160
_CHUNK = 20_000
_TAIL = 45.0  # exp(−45) is nothing beside 1


@dataclass(frozen=True, slots=True)
class GlobalRisk:
    """Mean individual risk with its interval, and the expected number of records re-identified."""

    value: float
    low: float
    high: float
    expected: float


@dataclass(frozen=True, slots=True)
class SharedDoubt:
    """What all classes share in the error of a mean risk: a standard error and an expected bias, as shares of the mean.

    The standard error allows for a bias of this size in either direction.
    """

    error: float = 0.0
    bias: float = 0.0

    def interval(self, value: float, variance: float) -> tuple[float, float]:
        """The interval of a mean risk with this variance of its own; it contains the value."""
        low, high = beta_interval(min(value * (1 - self.bias), 1.0), variance + (self.error * value) ** 2)
        return min(low, value), max(high, value)


NO_DOUBT = SharedDoubt()


def sampled_share(count: NDArray[np.int64], weight: Floats | None, fraction: float = 1.0) -> Floats:
    """p of each class: f / Σ w with survey weights, else the sampling fraction; at most 1.

    If the weights of a class add up to less than its size, as weights of zero do, the class counts as the population's.
    """
    if weight is None:
        return np.full(len(count), min(fraction, 1.0))
    return np.minimum(np.divide(count, weight, out=np.ones(len(count)), where=weight > 0), 1.0)


def individual_risk(count: NDArray[np.int64], p: Floats) -> Floats:
    """E(1 / F | f) of each class."""
    f, p = np.asarray(count, dtype=np.float64), np.asarray(p, dtype=np.float64)
    recur = (p <= 0.5) & (f <= _FORWARD)
    out = np.empty(len(f))
    out[recur] = _by_recurrence(f[recur], p[recur])
    out[~recur] = _by_series(f[~recur], p[~recur])
    return out


def _by_recurrence(f: Floats, p: Floats) -> Floats:
    a = (1 - p) / p
    risk, left, out = np.log1p(a) / a, np.arange(len(f)), np.empty(len(f))
    for size in range(1, int(f.max(initial=1.0)) + 1):  # classes of this size are done, larger ones go on
        done = f[left] == size
        out[left[done]] = risk[done]
        left = left[~done]
        risk = (1 / size - risk[~done]) / a[left]
    return out


def _by_series(f: Floats, p: Floats) -> Floats:
    term, total = np.ones(len(f)), np.ones(len(f))
    for k in range(1, _TERMS):
        term = term * (1 - p) * k / (f + k)
        total += term
    return np.asarray(p / f * total)


def inverse_variance(count: NDArray[np.int64], p: Floats) -> Floats:
    """Var(1 / F | f) of each class.

    With v = exp(−x),   E(1 / F² | f) = ∫₀^∞ exp(−f x) / (1 + a e^−x) · [log((1 + a e^−x) / (1 + a)) + x] dx,   by quadrature.
    """
    f, p = np.asarray(count, dtype=np.float64), np.asarray(p, dtype=np.float64)
    if len(f) > 1 and (p == p[0]).all():  # one fraction for all: few different classes
        sizes, place = np.unique(count, return_inverse=True)
        if len(sizes) < len(f):
            return inverse_variance(sizes, np.full(len(sizes), p[0]))[place.reshape(-1)]
    node, weight = _quadrature()
    square = np.empty(len(f))
    for start in range(0, len(f), _CHUNK):
        part = slice(start, start + _CHUNK)
        a, size = ((1 - p[part]) / p[part])[:, None], f[part, None]
        end = np.where(size > 1, np.minimum(_TAIL / np.maximum(size - 1, 0.5), np.log1p(a) + _TAIL), np.log1p(a) + _TAIL)
        x = end / 2 * (node + 1)
        grown = a * np.exp(-x)
        value = np.exp(-size * x) / (1 + grown) * (np.log1p(grown) - np.log1p(a) + x)
        square[part] = (end[:, 0] / 2) * (value @ weight)
    return np.where(p < 1, np.maximum(square - individual_risk(count, p) ** 2, 0.0), 0.0)


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss and Legendre on [−1, 1], computed once."""
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    return node, weight


def global_risk(count: NDArray[np.int64], p: Floats, risk: Floats | None = None, level: float = 0.95) -> GlobalRisk:
    """Mean individual risk of all records, and the interval for the share of records that a right match exists for."""
    n = float(count.sum())
    if n == 0:
        return GlobalRisk(0.0, 0.0, 0.0, 0.0)
    risk = individual_risk(count, p) if risk is None else risk
    value = float((count * risk).sum() / n)
    variance = float((count.astype(np.float64) ** 2 * inverse_variance(count, p)).sum() / n**2)
    return GlobalRisk(value, *beta_interval(value, variance, level), value * n)


def beta_interval(mean: float, variance: float, level: float = 0.95) -> tuple[float, float]:
    """Central interval of the beta distribution with this mean and variance; zero width without variance."""
    from scipy.special import betaincinv

    if not 0 < mean < 1 or variance <= 0:
        return mean, mean
    precision = max(mean * (1 - mean) / variance - 1, 1e-6)
    ends = betaincinv(mean * precision, (1 - mean) * precision, [(1 - level) / 2, (1 + level) / 2])
    return float(ends[0]), float(ends[1])
