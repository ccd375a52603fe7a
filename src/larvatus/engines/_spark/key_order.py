"""Rows in the order of several keys: where each belongs among a few bounds, and all of them sorted.

The first key that differs decides nearly always, so that later keys are looked at only where rows are tied. Keys have no
missing values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from larvatus.core.arrays import Ints
    from larvatus.data.contracts import Array

_NARROW = 1 << 15  # codes below this are sorted by counting


def count_bounds(
    bounds: Sequence[Array], keys: Sequence[Array], to: Ints, rows: Ints | None, low: int, high: int
) -> None:
    """Write into `to`, for some rows (None: all), how many bounds are not above them. Bounds are in ascending order.

    `low` and `high` enclose the bounds that agree with these rows in all earlier keys.
    """
    if low == high:
        to[slice(None) if rows is None else rows] = low
        return
    key, among = keys[0] if rows is None else keys[0][rows], bounds[0][low:high]
    right = np.searchsorted(among, key, side="right")
    to[slice(None) if rows is None else rows] = low + right
    if len(keys) == 1:
        return
    edges = np.flatnonzero(np.concatenate(([True], among[1:] != among[:-1], [True])))
    last = right - 1  # the last bound not above the row: tied if it is equal
    equal = np.flatnonzero((last >= 0) & (among[np.maximum(last, 0)] == key))
    for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        some = equal[right[equal] == b] if len(equal) < len(key) or len(edges) > 2 else None
        if some is None:
            count_bounds(bounds[1:], keys[1:], to, rows, low + a, low + b)
        elif len(some):
            count_bounds(bounds[1:], keys[1:], to, some if rows is None else rows[some], low + a, low + b)


def order_by(keys: Sequence[Array]) -> Ints:
    """Positions of all rows in the order of the keys, the first one first."""
    key = keys[0]
    if len(keys) == 1 or not len(key):
        return np.argsort(key, kind="stable")
    if (key == key[0]).all():
        return order_by(keys[1:])
    if key.dtype.kind in "iu" and key.min() >= 0 and key.max() < _NARROW:
        order = np.argsort(key.astype(np.int16), kind="stable")
        cuts = np.flatnonzero(np.diff(key[order])) + 1
        return np.concatenate([part[order_by([k[part] for k in keys[1:]])] for part in np.split(order, cuts)])
    order = np.argsort(key)
    ordered = key[order]
    same = np.concatenate(([False], ordered[1:] == ordered[:-1], [False]))
    tied = np.flatnonzero(same[:-1] | same[1:])
    if len(tied):
        rows, run = order[tied], np.cumsum(~same[:-1])[tied]
        order[tied] = rows[np.lexsort([*(k[rows] for k in reversed(keys[1:])), run])]
    return order
