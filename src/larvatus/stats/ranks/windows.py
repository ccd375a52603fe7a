"""Windows: limits within which an original counts as disclosed, and windows of ranks."""

from __future__ import annotations

from typing import Literal

import numpy as np

from larvatus.core.arrays import Floats, Ints


def rank_moves(x: Floats, y: Floats, own: Ints | None = None) -> Floats:
    """Change in rank of records (default: all) beyond the ranks of their tied value, as a share of the released values.

    It is NaN if a value is missing.
    """
    values, shown = (x, y) if own is None else (x[own], y[own])
    out = np.full(len(values), np.nan)
    there, ordered = ~np.isnan(values), np.sort(y[~np.isnan(y)])
    if not there.any() or not len(ordered):
        return out
    first, last = _held_of(np.sort(x[~np.isnan(x)]), values[there], len(ordered))
    from_, to = _held(ordered, shown[there])
    moved = np.maximum(np.maximum(from_ - last, first - to), 0.0)
    out[there] = np.where(np.isnan(shown[there]), np.nan, moved / len(ordered))
    return out


def rank_limits(x: Floats, y: Floats, window: float | Floats, own: Ints | None = None) -> tuple[Floats, Floats]:
    """The smallest and the largest released value within the window of ranks around each original value (default: of all).

    Ranks are among the present values; tied values have all the ranks of their run. The window is a share of the released
    values, one for all or one for each. If the original is missing the limit is NaN, which excludes nothing.
    """
    values = x if own is None else x[own]
    low, high = np.full(len(values), np.nan), np.full(len(values), np.nan)
    there, ordered = ~np.isnan(values), np.sort(y[~np.isnan(y)])
    if not there.any() or not len(ordered):
        return low, high
    n = len(ordered)
    first, last = _held_of(np.sort(x[~np.isnan(x)]), values[there], n)
    steps = np.floor(np.broadcast_to(window, len(values))[there] * n + 1e-9)
    low[there] = ordered[np.clip(first - steps, 1, n).astype(np.int64) - 1]
    high[there] = ordered[np.clip(last + steps, 1, n).astype(np.int64) - 1]
    return low, high


def _held_of(ordered: Floats, values: Floats, released: int) -> tuple[Floats, Floats]:
    """First and last rank of original values among the ordered ones, on the scale of the released ones."""
    first, last = _held(ordered, values)
    scale = released / len(ordered)
    return np.floor((first - 1) * scale) + 1, np.ceil(last * scale)


def _held(ordered: Floats, values: Floats) -> tuple[Floats, Floats]:
    """First and last rank of each value among the ordered ones."""
    order = np.argsort(values)  # in order, a search finds its way in the cache
    first, last = np.empty(len(values)), np.empty(len(values))
    first[order], last[order] = (np.searchsorted(ordered, values[order], side) for side in ("left", "right"))
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


def share_between(low: Floats, high: Floats, grid: Floats, order: Ints) -> Floats:
    """The share of a file between limits, from its quantiles at even steps; `order` sorts the limits, which is faster."""
    if np.isnan(grid).any():
        return np.zeros(len(low))
    share = np.empty(len(low))
    share[order] = (np.searchsorted(grid, high[order], "right") - np.searchsorted(grid, low[order], "left")) / len(grid)
    return np.where(np.isnan(low), np.nan, share)
