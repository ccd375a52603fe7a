"""The noncentral χ² distribution, with a lower tail that is exact relative to itself.

    F_{d,λ}(q) = Σ_k Pois(k; λ/2) P(d/2 + k, q/2)        (P: the regularised incomplete gamma function; all terms positive)
    F_{d,λ}(q) = E_W [Φ(√λ + √(q − W)₊) − Φ(√λ − √(q − W)₊)],   W ~ χ²_{d−1}

The sum is used if λ is moderate, the mean over W if λ is large.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from larvatus.core.arrays import Floats
from larvatus.stats.linkage_law.poisson_mixture import poisson_mixture

_LARGE = 3000.0  # noncentrality beyond which the mean over W is used
_SPREADS = 9.0
_NODES = 64
_TINY = 1e-300
_FAR = 1e8  # argument beyond which the Bessel function has its limit e^z / √(2πz)
_MOST_COLUMNS = 300


def lower_tail(r: Floats, d: int, root: Floats) -> Floats:
    """P(|z + m| ≤ r) for z ~ N(0, I_d) and |m| = root, for arrays of the same shape."""
    r, root = np.broadcast_arrays(np.asarray(r, dtype=np.float64), np.asarray(root, dtype=np.float64))
    out = np.zeros(r.shape)
    large = root**2 > max(_LARGE, 4.0 * d)
    out[large] = _by_slices(r[large], d, root[large])
    out[~large] = _by_terms(r[~large], d, root[~large])
    return out


def density(r: Floats, d: int, root: Floats) -> Floats:
    """The density of |z + m| at r > 0: r^(d−1) e^(−(r² + m²)/2) 0F1(; d/2; m²r²/4) / (2^(d/2−1) Γ(d/2))."""
    r, root = np.broadcast_arrays(np.asarray(r, dtype=np.float64), np.asarray(root, dtype=np.float64))
    z, order = r * root, d / 2 - 1
    small = z < min(max(1.0, float(d)), _MOST_COLUMNS)
    safe = np.where(small, 1.0, np.minimum(z, _FAR))
    with np.errstate(divide="ignore"):
        scaled = np.where(z > _FAR, 1 / np.sqrt(2 * np.pi * np.maximum(z, 1.0)), special.ive(order, safe))
        log_bessel = np.log(np.maximum(scaled, _TINY)) - order * np.log(np.maximum(z, _TINY))
        series = special.hyp0f1(d / 2, np.where(small, z, 0.0) ** 2 / 4)
        log_series = np.log(series) - order * np.log(2) - special.gammaln(d / 2)
        away = np.where(small, (r**2 + root**2) / 2, (r - root) ** 2 / 2)
        return np.asarray(np.exp((d - 1) * np.log(r) - away + np.where(small, log_series, log_bessel)))


def _by_terms(r: Floats, d: int, root: Floats) -> Floats:
    """The Poisson mixture; where r = 0 it is 0."""
    out = np.zeros(r.shape)
    inside = r > 0
    out[inside] = poisson_mixture(r[inside] ** 2 / 2, root[inside] ** 2 / 2, d / 2)
    return out


def _by_slices(r: Floats, d: int, root: Floats) -> Floats:
    """The mean over W by Gauss–Legendre quadrature in √W; √λ − √(r² − W) is computed from √λ − r without cancellation."""
    if not r.size:
        return np.zeros(0)
    w, weight = np.zeros(1), np.ones(1)
    if d > 1:
        nodes, legendre = np.polynomial.legendre.leggauss(_NODES)
        low, high = max(0.0, np.sqrt(d - 1) - _SPREADS), np.sqrt(d - 1) + _SPREADS
        side = low + (1 + nodes) / 2 * (high - low)
        weight = legendre * density(side, d - 1, np.zeros(_NODES))
        w, weight = side**2, weight / weight.sum()
    square = r[:, None] ** 2
    inside = w < square
    height = np.sqrt(np.where(inside, square - w, 0.0))
    gap = (root - r)[:, None] + np.where(inside, w / (r[:, None] + height), 0.0)
    share = special.ndtr(-gap) - special.ndtr(-(root[:, None] + height))
    return np.asarray((np.where(inside, np.maximum(share, 0.0), 0.0) * weight).sum(axis=1))
