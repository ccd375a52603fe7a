"""Rounding to multiples of a base in decimal arithmetic: sign(x) · base · ⌊|x| / base + ½⌋."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from larvatus.core.arrays import Floats

_EXACT = 2**53
MOST_DECIMALS = 22
MOST_SLACK = 1e-3


def round_to_base(values: Floats, base: float) -> Floats:
    """The nearest multiple of the base, with halves rounded away from zero; missing stays missing.

    A base with decimals is read as a decimal fraction, so that 0.15 to base 0.1 is 0.2 although neither is a binary number,
    and 3 times 0.1 is 0.3 to the last bit. Values too large to distinguish multiples of the base stay unchanged.
    """
    whole, scale = _fraction(base)
    size = np.abs(values)
    with np.errstate(over="ignore", invalid="ignore"):
        if scale == 1.0:
            over = np.fmod(size, whole)
            near = np.rint((size - over) / whole) + (over >= whole / 2)
        else:
            steps = size * scale / whole
            near = np.floor(steps + 0.5 + np.minimum(2 * np.finfo(float).eps * steps, MOST_SLACK))
        out = np.where(near < 2.0**52, near * whole / scale, size)
    return np.asarray(np.copysign(out, values) + 0.0)


def _fraction(base: float) -> tuple[float, float]:
    """The base as (whole number, power of ten) if both are exact, else as (base, 1)."""
    digits = Decimal(repr(float(base))).normalize()
    decimals = max(0, -int(digits.as_tuple().exponent))
    whole = digits.scaleb(decimals)
    if decimals > MOST_DECIMALS or whole > _EXACT:
        return float(base), 1.0
    return float(whole), float(10**decimals)


def half_step(values: Floats, base: float | None = None, decimals: int = 6) -> float:
    """Half the base, or half the largest step of which all values are multiples; 0 if there is no such step.

    Steps are searched for among whole numbers, tenths, and so on, up to the stated number of decimals.
    """
    if base is not None:
        return base / 2
    distinct = np.unique(np.abs(values))
    distinct = distinct[distinct > 0]
    if not len(distinct):
        return 0.0
    for d in range(decimals + 1):
        scaled = distinct * 10.0**d
        whole = np.rint(scaled)
        if float(whole.max()) < _EXACT and np.all(np.abs(scaled - whole) <= 1e-9 * np.maximum(1.0, scaled)):
            return float(np.gcd.reduce(whole.astype(np.int64))) / 10.0**d / 2
    return 0.0
