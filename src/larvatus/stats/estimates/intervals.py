"""Intervals for shares of records."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats


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


def paired_interval(differences: NDArray[np.float64], z: float = 2.5758293035489004) -> tuple[float, float]:
    """An interval for the mean of n differences in [-1, 1], of two credits of the same target each; 99 % by default.

    Agresti and Min's (2005) for matched pairs: two pairs more, which half agree and half differ either way, so that pairs that
    all agree do not pass for certainty.
    """
    n = len(differences) + 2.0
    mean = float(np.sum(differences)) / n
    square = (float(np.sum(np.square(differences))) + 1.0) / n
    half = z * math.sqrt(max(square - mean * mean, 0.0) / n)
    return max(mean - half, -1.0), min(mean + half, 1.0)


LEAST_OVERLAP = -1.0  # overlap of intervals that lie as far apart as they are wide, or further
_SAME = 1e-6


def overlaps(one: tuple[Floats, Floats], other: tuple[Floats, Floats], scale: Floats | float = 0.0) -> Floats:
    """J = ½[(U − L)/(width of one) + (U − L)/(width of the other)], U the lesser high end, L the greater low end.

    1 for equal intervals, 0 for touching ones, negative for a gap, and never below −1: how far apart two wide misses lie
    would drown everything else in a mean. An interval of no width (a quantity without error) counts as inside (½ at least) or
    outside (−1) the other; two of no width agree where they differ by less than 1e-6 of themselves or of `scale`.
    """
    low, high, other_low, other_high = (np.asarray(v, dtype=np.float64) for v in (*one, *other))
    size = np.maximum.reduce([np.abs(low), np.abs(high), np.abs(other_low), np.abs(other_high), np.full(low.shape, scale)])
    shared = np.minimum(high, other_high) - np.maximum(low, other_low)
    parts = []
    for width in (high - low, other_high - other_low):
        inside = np.where(shared >= -_SAME * size, 1.0, LEAST_OVERLAP)
        parts.append(np.divide(shared, width, out=inside, where=width > 1e-12 * size))
    return np.asarray(np.maximum((parts[0] + parts[1]) / 2, LEAST_OVERLAP))
