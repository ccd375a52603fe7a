"""How far two intervals for the same quantity overlap (Karr, Kohnen, Oganian, Reiter and Sanil 2006)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LEAST = -1.0  # overlap of intervals that lie as far apart as they are wide, or further
SAME = 1e-6


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
        inside = np.where(shared >= -SAME * size, 1.0, LEAST)
        parts.append(np.divide(shared, width, out=inside, where=width > 1e-12 * size))
    return np.asarray(np.maximum((parts[0] + parts[1]) / 2, LEAST))
