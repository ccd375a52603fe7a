"""Rules under which a total may be published: enough contributors, no domination, no close estimate of the largest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def broken_rule(
    count: int, total: float, top: Floats, minimum: int, dominant: int, share: float, percent: float
) -> str:
    """The first rule that a total breaks, in words, or nothing.

    `top` holds the largest contributions, largest first, at least two and at least `dominant` of them.
    """
    if count < minimum:
        return "minimum count"
    if float(top[:dominant].sum()) > share * total:
        return "dominance"
    if total - float(top[0]) - float(top[1]) < percent / 100 * float(top[0]):
        return "p %"
    return ""
