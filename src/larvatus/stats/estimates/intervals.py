"""Intervals for shares of records, for paired differences, and the overlap of intervals.

    Wilson:   (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats


def wilson(share: float, n: float, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's interval (1927) for a mean of n values in [0, 1].

    For simple hits it is the usual interval. For credits shared among ties it is conservative, because values in the unit
    interval vary no more than hits with the same mean.
    """
    if n <= 0:
        return 0.0, 1.0
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(max(share * (1 - share), 0.0) / n + z * z / (4 * n * n))
    low = 0.0 if share <= 0 else max(0.0, centre - half)
    high = 1.0 if share >= 1 else min(1.0, centre + half)
    return low, high


def wilson_size(share: float, half_width: float) -> int:
    """The smallest n for which Wilson's interval around a share is at most this wide to either side, on average."""
    few, many = 0, 1
    while _half_width(share, many) > half_width:
        few, many = many, 2 * many
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (middle, many) if _half_width(share, middle) > half_width else (few, middle)
    return many


def _half_width(share: float, n: int) -> float:
    low, high = wilson(share, n)
    return (high - low) / 2


def paired_interval(differences: NDArray[np.float64], z: float = 2.5758293035489004) -> tuple[float, float]:
    """An interval for the mean of n differences in [-1, 1] between two credits of the same target; 99 % by default.

    Agresti and Min (2005) for matched pairs: two pseudo-pairs are added, half of them agreeing and half differing in either
    direction, so that pairs that all agree do not give an interval of zero width.
    """
    n = len(differences) + 2.0
    mean = float(np.sum(differences)) / n
    square = (float(np.sum(np.square(differences))) + 1.0) / n
    half = z * math.sqrt(max(square - mean * mean, 0.0) / n)
    return max(mean - half, -1.0), min(mean + half, 1.0)


LEAST_OVERLAP = -1.0  # overlap of intervals separated by at least their width
_SAME = 1e-6


def overlaps(one: tuple[Floats, Floats], other: tuple[Floats, Floats], scale: Floats | float = 0.0) -> Floats:
    """J = ½[(U − L)/(width of one) + (U − L)/(width of the other)], U the smaller upper end, L the larger lower end.

    J is 1 for equal intervals, 0 for touching ones and negative for a gap. It is limited to −1, because a large gap would
    otherwise dominate a mean. An interval of zero width (a quantity without error) counts as inside (at least ½) or outside
    (−1) the other. Two of zero width agree if they differ by less than 1e-6 of themselves or of `scale`.
    """
    low, high, other_low, other_high = (np.asarray(v, dtype=np.float64) for v in (*one, *other))
    size = np.maximum.reduce([np.abs(low), np.abs(high), np.abs(other_low), np.abs(other_high), np.full(low.shape, scale)])
    shared = np.minimum(high, other_high) - np.maximum(low, other_low)
    parts = []
    for width in (high - low, other_high - other_low):
        inside = np.where(shared >= -_SAME * size, 1.0, LEAST_OVERLAP)
        parts.append(np.divide(shared, width, out=inside, where=width > 1e-12 * size))
    return np.asarray(np.maximum((parts[0] + parts[1]) / 2, LEAST_OVERLAP))
