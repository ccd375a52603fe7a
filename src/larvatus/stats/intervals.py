"""Intervals for shares of records."""

from __future__ import annotations

import math


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
