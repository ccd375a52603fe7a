"""Groups of neighbours of at least k in the order of a value; equal values are never separated."""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints


def equal_groups(value: Floats, k: int) -> Ints:
    """The number of the group of each value: sorted values are cut after every k-th, or later if the next one is equal."""
    order = np.argsort(value, kind="stable")
    ranked = value[order]
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1]))) if len(value) else np.zeros(0, dtype=np.int64)
    cuts, last = [], 0
    for s in starts[1:].tolist():
        if s - last >= k:
            cuts.append(s)
            last = s
    if cuts and len(value) - cuts[-1] < k:
        cuts.pop()
    group = np.empty(len(value), dtype=np.int64)
    group[order] = np.searchsorted(np.array(cuts, dtype=np.int64), np.arange(len(value)), side="right")
    return group
