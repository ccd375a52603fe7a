"""Windows: limits within which an original counts as disclosed, and windows of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from larvatus.core.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class RankScale:
    """The ranks of original and released values of one column, each sorted once; missing values have no rank."""

    x: Floats
    y: Floats
    originals: Floats
    released: Floats

    @classmethod
    def of(cls, x: Floats, y: Floats) -> RankScale:
        return cls(x, y, np.sort(x[~np.isnan(x)]), np.sort(y[~np.isnan(y)]))

    def moves(self, own: Ints | None = None) -> Floats:
        """Change in rank of records (default: all) beyond the ranks of their tied value, as a share of the released values.

        It is NaN if a value is missing.
        """
        values, shown = (self.x, self.y) if own is None else (self.x[own], self.y[own])
        out, there, n = np.full(len(values), np.nan), ~np.isnan(values), len(self.released)
        if not there.any() or not n:
            return out
        first, last = _held_of(self.originals, values[there], n)
        from_, to = _held(self.released, shown[there])
        moved = np.maximum(np.maximum(from_ - last, first - to), 0.0)
        out[there] = np.where(np.isnan(shown[there]), np.nan, moved / n)
        return out

    def limits(self, windows: Sequence[float | Floats], own: Ints | None = None) -> list[tuple[Floats, Floats]]:
        """The smallest and the largest released value within each window of ranks around each original (default: of all).

        Tied values have all the ranks of their run. A window is a share of the released values, one for all or one for each.
        If the original is missing the limit is NaN, which excludes nothing.
        """
        values = self.x if own is None else self.x[own]
        there, n = ~np.isnan(values), len(self.released)
        if not there.any() or not n:
            return [(np.full(len(values), np.nan), np.full(len(values), np.nan)) for _ in windows]
        first, last = _held_of(self.originals, values[there], n)
        out = []
        for window in windows:
            low, high = np.full(len(values), np.nan), np.full(len(values), np.nan)
            steps = np.floor(np.broadcast_to(window, len(values))[there] * n + 1e-9)
            low[there] = self.released[np.clip(first - steps, 1, n).astype(np.int64) - 1]
            high[there] = self.released[np.clip(last + steps, 1, n).astype(np.int64) - 1]
            out.append((low, high))
        return out


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
