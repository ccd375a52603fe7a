"""Pairs that cannot belong together, by the last binary digits of a sum: y = fl(x + e) for no float e.

    y is a multiple of min(last digit of x, last digit of e),  e = y − x

If |e| is far larger than |y|, y may have finer digits than that, and x is impossible, whatever the law of the noise. Our masks
round their values (masks/noise/last_digits.py); files that were masked elsewhere are often written in full precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    from larvatus.stats.linkage.assignment import Costs

_FEWEST = 20.0  # true pairs that would be impossible by chance, at least, if none is: the chance is e⁻²⁰
_DIGITS = 53
_BARRED = 1e3  # cost of an impossible pair


def impossible(x: Floats, y: Floats) -> Bools:
    """Whether y cannot be a rounded sum of x and a float; false for missing values."""
    e = y - x
    sum_of_floats = np.isfinite(e) & (e != 0) & (y != 0)
    unit = np.minimum(_last_digit(np.where(sum_of_floats, e, 1.0)), _lowest_digit(x))
    return np.asarray(sum_of_floats & (np.mod(np.where(sum_of_floats, y, 0.0) / unit, 1) != 0))


def columns_that_exclude(x: Floats, y: Floats, known: Ints) -> list[int]:
    """The columns in which many wrong pairs of known records are impossible and no true pair is."""
    found = []
    for j in range(y.shape[1]):
        given, shown = x[known, j], y[known, j]
        wrong = impossible(given, np.roll(shown, 1))
        if wrong.sum() >= _FEWEST and not impossible(given, shown).any():
            found.append(j)
    return found


def barring(costs: Costs, x: Floats, y: Floats, columns: list[int]) -> Costs:
    """The costs, with a large one added to pairs that are impossible in one of the columns."""

    def barred(a: Ints, b: Ints) -> Floats:
        out = np.zeros((len(a), len(b)), dtype=bool)
        for j in columns:
            out |= impossible(x[a, j][:, None], y[b, j][None, :])
        return np.asarray(costs(a, b) + _BARRED * out)

    return barred if columns else costs


def _last_digit(v: Floats) -> Floats:
    """The value of the last of the 53 binary digits."""
    return np.asarray(np.ldexp(1.0, np.frexp(v)[1] - _DIGITS))


def _lowest_digit(v: Floats) -> Floats:
    """The value of the lowest binary digit that is 1: 1 or more for a whole number, infinite for 0."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(v), v, 0.0))
    digits = np.ldexp(mantissa, _DIGITS).astype(np.int64)
    return np.where(digits == 0, np.inf, np.ldexp((digits & -digits).astype(np.float64), exponent - _DIGITS))
