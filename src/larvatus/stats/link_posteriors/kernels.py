"""How well a released value z = xθ + ε fits an original x: in closed form for normal laws, otherwise by integration over θ.

Two kernels for each pair, as logarithms. With θ ~ N(1, φ²), ε ~ N(0, σ²) and s = σ² + φ²x²:

    likelihood   f(z | x) = N(z; x, s)
    paper        N(z; x, s) · E|T|,   T ~ N((σ² + φ²xz) / s, φ²σ² / s)

The second is the density of x given z and θ, averaged over θ, which brings in |θ| (002, eq. 4).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel

BIAS = {"normal": 0, "lognormal": 1, "gamma": 2}
NOISE_CODES = {"normal": 0, "uniform": 1, "laplace": 2, "mixture": 3}
LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
REACH, APART = 9.0, 4.5  # range of integration in standard deviations; log odds against a value missing on one side only
_IMPOSSIBLE = -1e6
_NARROW = 1.0 / math.sqrt(2.5)  # SD of the narrow part of the mixture, as in stats.noise
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


@kernel(inline="always", error_model="numpy")
def absolute_mean(a: float, v: float) -> float:
    """E|T| of a normal T with mean a and variance v."""
    a = abs(a)
    if a * a > 81.0 * v:
        return a
    return a * math.erf(a / math.sqrt(2.0 * v)) + math.sqrt(2.0 * v / math.pi) * math.exp(-a * a / (2.0 * v))


@kernel(inline="always", error_model="numpy")
def closed_pair(x: float, z: float, bias2: float, noise2: float) -> Any:
    """Both logarithms if bias and noise are normal with these variances."""
    s = noise2 + bias2 * x * x
    d = z - x
    like = -0.5 * math.log(s) - LOG_ROOT_TWO_PI - 0.5 * d * d / s
    mean = absolute_mean((noise2 + bias2 * x * z) / s, bias2 * noise2 / s)
    return like, like + math.log(max(mean, 1e-300))


@kernel(error_model="numpy")
def log_bias(t: float, sd: float, law: int) -> float:
    """Log density of the factor at t."""
    if law == 0:
        u = (t - 1.0) / sd
        return -0.5 * u * u - math.log(sd) - LOG_ROOT_TWO_PI
    if t <= 0:
        return _IMPOSSIBLE
    if law == 1:
        v = math.log1p(sd * sd)
        u = math.log(t) + 0.5 * v
        return -0.5 * u * u / v - math.log(t) - 0.5 * math.log(v) - LOG_ROOT_TWO_PI
    k = 1.0 / (sd * sd)
    return (k - 1.0) * math.log(t) - k * t + k * math.log(k) - math.lgamma(k)


@kernel(error_model="numpy")
def log_noise(e: float, sd: float, law: int) -> float:
    """Log density of the noise at e."""
    u = e / sd
    if law == 0:
        return -0.5 * u * u - math.log(sd) - LOG_ROOT_TWO_PI
    if law == 1:
        inside = abs(u) <= math.sqrt(3.0)
        return -math.log(2.0 * math.sqrt(3.0) * sd) if inside else _IMPOSSIBLE * (1.0 + min(abs(u), 1e6) * 1e-6)
    if law == 2:
        return -math.sqrt(2.0) * abs(u) - math.log(math.sqrt(2.0) * sd)
    u /= _NARROW
    narrow, wide = math.log(0.9) - 0.5 * u * u, math.log(0.1 / 4.0) - u * u / 32.0
    top = max(narrow, wide)
    return top + math.log(math.exp(narrow - top) + math.exp(wide - top)) - math.log(_NARROW * sd) - LOG_ROOT_TWO_PI


@kernel(error_model="numpy")
def _bias_window(sd: float, law: int) -> Any:
    """An interval with nearly all of the mass of the factor."""
    if law == 0:
        return 1.0 - REACH * sd, 1.0 + REACH * sd
    if law == 1:
        v = math.log1p(sd * sd)
        return math.exp(-0.5 * v - REACH * math.sqrt(v)), math.exp(-0.5 * v + REACH * math.sqrt(v))
    centre = 1.0 - sd * sd / 9.0
    return math.exp(-max(40.0 * sd * sd, REACH * sd)), (centre + REACH * sd / 3.0) ** 3


@kernel(error_model="numpy")
def law_pair(x: float, z: float, bias_sd: float, noise_sd: float, bias: int, noise: int) -> Any:
    """Both logarithms for any of the laws, by Gauss-Legendre panels that end where either density has its peak.

    Positive factors are integrated over their logarithm, because a gamma density may behave like a root at 0. Compared with
    a finer rule, the error of the logarithms is 1e-13 for normal and lognormal factors and 1e-9 for gamma ones (3e-7 if z and
    x differ in sign).
    """
    if bias == 0 and noise == 0:
        return closed_pair(x, z, bias_sd * bias_sd, noise_sd * noise_sd)
    if bias_sd * abs(x) <= 1e-7 * noise_sd:
        like = log_noise(z - x, noise_sd, noise)
        return like, like
    wide = (REACH, math.sqrt(3.0), 28.0, 4.0 * REACH * _NARROW)[noise] * noise_sd
    at, half, core = z / x, wide / abs(x), (3.0 if noise < 3 else 3.0 * _NARROW) * noise_sd / abs(x)
    first, last = _bias_window(bias_sd, bias)
    low, high = max(first, at - half), min(last, at + half)
    if low >= high:  # far apart: the little mass there is lies between the two
        if noise == 1:
            like = _IMPOSSIBLE * (1.0 + min(abs(z - x) / noise_sd, 1e6) * 1e-6)
            return like, like
        low, high = (last, at - half) if at > last else (at + half, first)
        if bias > 0:
            low = max(low, 1e-3 * first)
        if high <= low:
            high = low * (1.0 + 1e-12) + 1e-12
    less, more = 1.0 - 3.0 * bias_sd, 1.0 + 3.0 * bias_sd
    if bias > 0:
        more = math.exp(3.0 * math.sqrt(math.log1p(bias_sd * bias_sd)))
        less = 1.0 / more
    cuts = np.array([low, high, at, 1.0, 0.0, at - core, at + core, at - 3.0 * core, at + 3.0 * core, less, more])
    for i in range(len(cuts)):  # clip, and sort by insertion
        cut, j = min(max(cuts[i], low), high), i
        while j > 0 and cuts[j - 1] > cut:
            cuts[j] = cuts[j - 1]
            j -= 1
        cuts[j] = cut
    if bias > 0:
        for i in range(len(cuts)):
            cuts[i] = math.log(cuts[i])
    top = -np.inf
    plain, carried = 0.0, 0.0
    for c in range(len(cuts) - 1):
        radius = 0.5 * (cuts[c + 1] - cuts[c])
        if radius <= 0:
            continue
        for k in range(len(_NODES)):
            t = cuts[c] + radius * (1.0 + _NODES[k])
            size = radius
            if bias > 0:
                t = math.exp(t)
                size = radius * t
            g = log_bias(t, bias_sd, bias) + log_noise(z - x * t, noise_sd, noise)
            if g > top:
                shrink = math.exp(top - g)
                plain, carried, top = plain * shrink, carried * shrink, g
            w = size * _WEIGHTS[k] * math.exp(g - top)
            plain += w
            carried += w * abs(t)
    return top + math.log(max(plain, 1e-300)), top + math.log(max(carried, 1e-300))


@kernel(error_model="numpy")
def add_column(one: Floats, x: float, z: Floats, out: Floats) -> None:
    """Add a column's logarithms for one target; a value missing on one side counts as the average, with a penalty."""
    if np.isnan(x):
        for i in range(len(z)):
            out[i] -= 0.0 if np.isnan(z[i]) else APART
        return
    lacking = 0
    top = -np.inf
    for i in range(len(z)):
        if np.isnan(z[i]):
            lacking += 1
        else:
            out[i] += one[i]
            top = max(top, one[i])
    if lacking == 0 or lacking == len(z):
        return
    total = 0.0
    for i in range(len(z)):
        if not np.isnan(z[i]):
            total += math.exp(one[i] - top)
    usual = top + math.log(total / (len(z) - lacking)) - APART
    for i in range(len(z)):
        if np.isnan(z[i]):
            out[i] += usual


@kernel(error_model="numpy")
def _closed_column(at: float, z: Floats, bias_sd: Floats, noise_sd: Floats, one: Floats, two: Floats) -> None:
    """`closed_pair` for one target, with terms of the spreads alone computed once for all records that share them."""
    b, s, total, flat, twice = -1.0, -1.0, 1.0, 0.0, 0.0
    for i in range(len(z)):
        if bias_sd[i] != b or noise_sd[i] != s:
            b, s = bias_sd[i], noise_sd[i]
            total = s * s + b * b * at * at
            flat = -0.5 * math.log(total) - LOG_ROOT_TWO_PI
            twice = b * b * s * s / total
        d = z[i] - at
        one[i] = flat - 0.5 * d * d / total
        mean = absolute_mean((s * s + b * b * at * z[i]) / total, twice)
        two[i] = one[i] + math.log(max(mean, 1e-300))


def fill_known(
    x: Floats, z: Floats, bias_sd: Floats, noise_sd: Floats, bias: Ints, noise: Ints, like: Floats, paper: Floats
) -> None:
    """Both logarithms, targets × records, summed over columns; data are columns × rows, with spreads per released value."""
    if (bias == 0).all() and (noise == 0).all():
        _fill_closed(x, z, bias_sd, noise_sd, like, paper)
    else:
        _fill_by_law(x, z, bias_sd, noise_sd, bias, noise, like, paper)


@kernel(error_model="numpy")
def _fill_closed(x: Floats, z: Floats, bias_sd: Floats, noise_sd: Floats, like: Floats, paper: Floats) -> None:
    """`fill_known` if all bias and noise is normal. Apart, because the integrals of other laws take seconds to compile."""
    p, n = z.shape
    one, two = np.empty(n), np.empty(n)
    like[:] = 0.0
    paper[:] = 0.0
    for t in range(x.shape[1]):
        for j in range(p):
            _closed_column(x[j, t], z[j], bias_sd[j], noise_sd[j], one, two)
            add_column(one, x[j, t], z[j], like[t])
            add_column(two, x[j, t], z[j], paper[t])


@kernel(error_model="numpy")
def _fill_by_law(
    x: Floats, z: Floats, bias_sd: Floats, noise_sd: Floats, bias: Ints, noise: Ints, like: Floats, paper: Floats
) -> None:
    p, n = z.shape
    one, two = np.empty(n), np.empty(n)
    like[:] = 0.0
    paper[:] = 0.0
    for t in range(x.shape[1]):
        for j in range(p):
            at = x[j, t]
            if bias[j] == 0 and noise[j] == 0:
                _closed_column(at, z[j], bias_sd[j], noise_sd[j], one, two)
            else:
                for i in range(n):
                    if not (np.isnan(at) or np.isnan(z[j, i])):
                        one[i], two[i] = law_pair(at, z[j, i], bias_sd[j, i], noise_sd[j, i], bias[j], noise[j])
            add_column(one, at, z[j], like[t])
            add_column(two, at, z[j], paper[t])
