"""Between which released values an original counts as disclosed, and how many values of a file lie there."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Scale = Literal["rank", "relative", "standard_deviation"]
ROOM = 1e-12


def close_limits(values: Floats, window: float, scale: Scale, sd: float) -> tuple[Floats, Floats]:
    """The smallest and the largest released value in whose interval each original lies.

    On the rank scale values are shares of ranks and the interval reaches `window` of them to both sides; in standard
    deviations it reaches so many; a relative interval reaches from (1 - window) to (1 + window) times the released value.
    """
    if scale == "relative":
        size = np.abs(values)
        near = size / (1 + window) * (1 - ROOM)
        far = size / (1 - window) * (1 + ROOM) if window < 1 else np.where(size > 0, np.inf, 0.0)
        return np.where(values < 0, -far, near), np.where(values < 0, -near, far)
    half = (window if scale == "rank" else window * sd) + ROOM * (1.0 if scale == "rank" else sd)
    return values - half, values + half


def share_between(low: Floats, high: Floats, grid: Floats) -> Floats:
    """The share of a file, given by its quantiles at even steps, between limits."""
    if np.isnan(grid).any():
        return np.zeros(len(low))
    first, last = np.searchsorted(grid, low, "left"), np.searchsorted(grid, high, "right")
    return np.asarray(np.where(np.isnan(low), np.nan, (last - first) / len(grid)))
