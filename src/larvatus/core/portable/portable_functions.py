"""Elementary functions from + - * / and square roots alone, so that every processor and every library gives the same bits.

The exp and log of a C library, of NumPy and of SciPy differ in the last bit between processors and versions. A released value
must not. The approximations are those of fdlibm (Sun Microsystems 1993) and Wichura (1988, AS 241):

    exp x = 2ᵏ eʳ,   k = round(x / ln 2),   eʳ = 1 + r + r c / (2 − c),   c = r − r² P(r²)
    log x = e ln 2 + log(1 + f),   x = 2ᵉ (1 + f),   √½ ≤ 1 + f < √2

`exp_of` and `log_of` take one number and can be compiled; the others take arrays. Both give the same bits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from larvatus.core.arrays import Floats

_LN2_HIGH, _LN2_LOW, _PER_LN2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10, 1.44269504088896338700e00
_P1, _P2, _P3, _P4, _P5 = (
    1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05, -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
_L1, _L2, _L3, _L4, _L5, _L6, _L7 = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)
_ROOT_HALF = 0.7071067811865476
_SINE = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
    -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)
_BLOCK = 4096
_LEAST_EXPONENT, _LARGEST_EXPONENT = -746.0, 709.782712893384


def exp_of(x: float) -> float:
    """e to the power of one number."""
    if x > _LARGEST_EXPONENT:
        return math.inf
    if x < _LEAST_EXPONENT:
        return 0.0
    if x != x:
        return x
    k = math.floor(x * _PER_LN2 + 0.5)
    high, low = x - k * _LN2_HIGH, k * _LN2_LOW
    r = high - low
    t = r * r
    c = r - t * (_P1 + t * (_P2 + t * (_P3 + t * (_P4 + t * _P5))))
    return math.ldexp(1.0 - ((low - r * c / (2.0 - c)) - high), int(k))


def log_of(x: float) -> float:
    """Natural logarithm of one positive, finite number."""
    m, e = math.frexp(x)
    if m < _ROOT_HALF:
        m, e = m * 2.0, e - 1
    f, k = m - 1.0, float(e)
    s = f / (2.0 + f)
    z = s * s
    r = z * (_L1 + z * (_L2 + z * (_L3 + z * (_L4 + z * (_L5 + z * (_L6 + z * _L7))))))
    half = 0.5 * f * f
    return k * _LN2_HIGH - ((half - (s * (half + r) + k * _LN2_LOW)) - f)


def by_blocks(function: Callable[[Floats], Floats]) -> Callable[[Any], Floats]:
    """The function applied to a long array in blocks that stay in the processor's cache."""

    @functools.wraps(function)
    def applied(x: Any) -> Floats:
        x = np.asarray(x, dtype=np.float64)
        if x.size <= _BLOCK:
            return function(x)
        flat, out = x.ravel(), np.empty(x.size)
        for low in range(0, x.size, _BLOCK):
            out[low : low + _BLOCK] = function(flat[low : low + _BLOCK])
        return out.reshape(x.shape)

    return applied


@by_blocks
def exp(x: Floats) -> Floats:
    """e to the power of each number."""
    held = np.clip(np.where(np.isnan(x), 0.0, x), _LEAST_EXPONENT, _LARGEST_EXPONENT)
    k = np.floor(held * _PER_LN2 + 0.5)
    high, low = held - k * _LN2_HIGH, k * _LN2_LOW
    r = high - low
    t = r * r
    c = r - t * (_P1 + t * (_P2 + t * (_P3 + t * (_P4 + t * _P5))))
    with np.errstate(under="ignore"):
        out = np.ldexp(1.0 - ((low - r * c / (2.0 - c)) - high), k.astype(np.int32))
    out = np.where(x > _LARGEST_EXPONENT, np.inf, np.where(x < _LEAST_EXPONENT, 0.0, out))
    return np.asarray(np.where(np.isnan(x), np.nan, out))


@by_blocks
def log(x: Floats) -> Floats:
    """Natural logarithm of each number: −∞ at zero, missing below it."""
    good = (x > 0) & (x < np.inf)
    m, e = np.frexp(np.where(good, x, 1.0))
    low = m < _ROOT_HALF
    m, k = np.where(low, m * 2.0, m), (e - low).astype(np.float64)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    r = z * (_L1 + z * (_L2 + z * (_L3 + z * (_L4 + z * (_L5 + z * (_L6 + z * _L7))))))
    half = 0.5 * f * f
    out = k * _LN2_HIGH - ((half - (s * (half + r) + k * _LN2_LOW)) - f)
    return np.asarray(np.where(good, out, np.where(x == 0, -np.inf, np.where(x == np.inf, np.inf, np.nan))))


@by_blocks
def log1p(x: Floats) -> Floats:
    """log(1 + x) of each number above −1, accurate near zero too."""
    u = 1.0 + x
    good = (u > 0) & (u < np.inf)
    lost = np.where(good, x - (np.where(good, u, 1.0) - 1.0), 0.0) / np.where(good, u, 1.0)
    return np.asarray(log(u) + lost)


@by_blocks
def expm1(x: Floats) -> Floats:
    """eˣ − 1 of each number, accurate near zero too (Kahan)."""
    u = exp(x)
    moved = (u != 1.0) & (u > 0.0) & (u < np.inf)
    rest = np.where(np.isinf(u), u, u - 1.0)
    return np.asarray(np.where(u == 1.0, x, np.where(moved, rest * (x / np.where(moved, log(u), 1.0)), rest)))


def power(x: Any, exponent: Any) -> Floats:
    """Non-negative numbers to positive powers, to some rounding errors times the logarithm."""
    return np.asarray(exp(np.asarray(exponent) * log(x)))


def small_sine(x: Any) -> Floats:
    """Sine of angles between −π/4 and π/4."""
    x = np.asarray(x, dtype=np.float64)
    z = x * x
    return np.asarray(x + x * z * polynomial(z, *_SINE))


def interpolate(x: Floats, places: Floats, values: Floats) -> Floats:
    """Values between knots on straight lines, as np.interp; places ascend."""
    after = np.clip(np.searchsorted(places, x, side="right"), 1, len(places) - 1)
    low, high = places[after - 1], places[after]
    width = high - low
    way = np.clip((x - low) / np.where(width > 0, width, 1.0), 0.0, 1.0)
    return np.asarray(values[after - 1] + (values[after] - values[after - 1]) * way)


def power_of_ten(exponent: int) -> float:
    """The floating-point number nearest to a power of ten."""
    return float(f"1e{exponent}")


def polynomial(x: Floats, *coefficients: float) -> Floats:
    """c₀ + c₁ x + c₂ x² + …, from the inside out."""
    if len(coefficients) == 1:
        return np.full_like(x, coefficients[0])
    out = np.asarray(x * coefficients[-1] + coefficients[-2])
    for c in coefficients[-3::-1]:
        out *= x
        out += c
    return out
