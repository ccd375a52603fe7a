"""Windows: limits within which an original counts as disclosed, and windows of ranks."""

from __future__ import annotations

from typing import Literal

import numpy as np

from larvatus.core.arrays import Floats


def rank_moves(x: Floats, y: Floats) -> Floats:
    """Change in rank of each record beyond the ranks of its tied value, as a share of the released values; NaN if unknown."""
    out = np.full(len(x), np.nan)
    there, ordered = ~np.isnan(x), np.sort(y[~np.isnan(y)])
    if not there.any() or not len(ordered):
        return out
    first, last = _held_of(x[there], len(ordered))
    from_, to = _held(ordered, y[there])
    moved = np.maximum(np.maximum(from_ - last, first - to), 0.0)
    out[there] = np.where(np.isnan(y[there]), np.nan, moved / len(ordered))
    return out


def rank_limits(x: Floats, y: Floats, window: float | Floats) -> tuple[Floats, Floats]:
    """For every original value the smallest and the largest released value within the window of ranks around it.

    Ranks are among the present values; tied values have all the ranks of their run. The window is a share of the released
    values, one for all or one for each. If the original is missing the limit is NaN, which excludes nothing.
    """
    low, high = np.full(len(x), np.nan), np.full(len(x), np.nan)
    there, ordered = ~np.isnan(x), np.sort(y[~np.isnan(y)])
    if not there.any() or not len(ordered):
        return low, high
    n = len(ordered)
    first, last = _held_of(x[there], n)
    steps = np.floor(np.broadcast_to(window, len(x))[there] * n + 1e-9)
    low[there] = ordered[np.clip(first - steps, 1, n).astype(np.int64) - 1]
    high[there] = ordered[np.clip(last + steps, 1, n).astype(np.int64) - 1]
    return low, high


def _held_of(x: Floats, released: int) -> tuple[Floats, Floats]:
    """First and last rank of each original value, on the scale of the released ones."""
    first, last = _held(np.sort(x), x)
    scale = released / len(x)
    return np.floor((first - 1) * scale) + 1, np.ceil(last * scale)


def _held(ordered: Floats, values: Floats) -> tuple[Floats, Floats]:
    """First and last rank of each value among the ordered ones."""
    first, last = (np.searchsorted(ordered, values, side).astype(np.float64) for side in ("left", "right"))
    return first + 1, np.maximum(last, first + 1)


WindowScale = Literal["rank", "relative", "standard_deviation"]
_ROOM = 1e-12


def close_limits(values: Floats, window: float, scale: WindowScale, sd: float) -> tuple[Floats, Floats]:
    """The smallest and the largest released value whose interval contains each original.

    On the rank scale the interval is ± `window` in shares of ranks; on the scale of standard deviations ± `window` of them; a
    relative interval is (1 ± window) times the released value.
    """
    if scale == "relative":
        size = np.abs(values)
        near = size / (1 + window) * (1 - _ROOM)
        far = size / (1 - window) * (1 + _ROOM) if window < 1 else np.where(size > 0, np.inf, 0.0)
        return np.where(values < 0, -far, near), np.where(values < 0, -near, far)
    half = (window if scale == "rank" else window * sd) + _ROOM * (1.0 if scale == "rank" else sd)
    return values - half, values + half


def share_between(low: Floats, high: Floats, grid: Floats) -> Floats:
    """The share of a file between limits, from its quantiles at even steps."""
    if np.isnan(grid).any():
        return np.zeros(len(low))
    first, last = np.searchsorted(grid, low, "left"), np.searchsorted(grid, high, "right")
    return np.asarray(np.where(np.isnan(low), np.nan, (last - first) / len(grid)))
