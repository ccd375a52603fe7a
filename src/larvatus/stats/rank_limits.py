"""Between which released values a record must lie when its rank moved no further than a window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def rank_limits(x: Floats, y: Floats, window: float | None) -> tuple[Floats, Floats]:
    """For every original value the smallest and the largest released value within the window of ranks around it.

    Ranks are among the values present; tied values hold all the ranks of their run. Without a window, the smallest one is
    taken under which no record lies outside its own limits. NaN, which limits nothing, where the original is missing.
    """
    low, high = np.full(len(x), np.nan), np.full(len(x), np.nan)
    there, ordered = ~np.isnan(x), np.sort(y[~np.isnan(y)])
    if not there.any() or not len(ordered):
        return low, high
    first, last = _held(np.sort(x[there]), x[there])
    scale = len(ordered) / int(there.sum())
    first, last = np.floor((first - 1) * scale) + 1, np.ceil(last * scale)
    if window is None:
        from_, to = _held(ordered, y[there])
        moved = np.maximum(from_ - last, first - to)
        steps = float(np.maximum(moved[~np.isnan(y[there])], 0).max(initial=0))
    else:
        steps = float(np.floor(window * len(ordered) + 1e-9))
    n = len(ordered)
    low[there] = ordered[np.clip(first - steps, 1, n).astype(np.int64) - 1]
    high[there] = ordered[np.clip(last + steps, 1, n).astype(np.int64) - 1]
    return low, high


def _held(ordered: Floats, values: Floats) -> tuple[Floats, Floats]:
    """First and last rank that each value holds among the ordered ones."""
    first, last = (np.searchsorted(ordered, values, side).astype(np.float64) for side in ("left", "right"))
    return first + 1, np.maximum(last, first + 1)
