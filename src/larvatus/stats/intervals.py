"""Intervals for shares of records."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def wilson(share: float, n: float, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's interval (1927) for a mean of n values in [0, 1].

    For plain hits it is the usual one; for credits shared among ties it errs to the wide side, because values inside
    the unit interval vary less than hits of the same mean.
    """
    if n <= 0:
        return 0.0, 1.0
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(max(share * (1 - share), 0.0) / n + z * z / (4 * n * n))
    low = 0.0 if share <= 0 else max(0.0, centre - half)
    high = 1.0 if share >= 1 else min(1.0, centre + half)
    return low, high


def paired(differences: NDArray[np.float64], z: float = 2.5758293035489004) -> tuple[float, float]:
    """An interval for the mean of n differences in [-1, 1], of two credits of the same target each; 99 % by default.

    Agresti and Min's (2005) for matched pairs: two pairs more, which half agree and half differ either way, so that pairs that
    all agree do not pass for certainty.
    """
    n = len(differences) + 2.0
    mean = float(np.sum(differences)) / n
    square = (float(np.sum(np.square(differences))) + 1.0) / n
    half = z * math.sqrt(max(square - mean * mean, 0.0) / n)
    return max(mean - half, -1.0), min(mean + half, 1.0)
