"""Quantiles on straight lines between neighbouring values, to the same last bit wherever the values are stored.

    Q(p) = x_(i) + t (x_(i+1) − x_(i)),   i = ⌊p (n − 1)⌋,   t = p (n − 1) − i,   counted from x_(0)

From t = 1/2 on, the line is followed from its upper end. Q(1) is then the largest value, and the bits are those of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from larvatus.core.arrays import Floats, Ints


def quantiles(values: Floats, probabilities: Sequence[float]) -> Floats:
    """Quantiles of the present values; missing if there are none."""
    ordered = np.sort(values)
    n = len(ordered) - int(np.count_nonzero(np.isnan(ordered)))
    return _on_lines(n, lambda below: (ordered[below], ordered[np.minimum(below + 1, n - 1)]), probabilities)


def quantiles_in_order(n: int, read: Callable[[int, int], Floats], probabilities: Sequence[float]) -> Floats:
    """Quantiles of n values in ascending order, none missing; `read` returns those from one place up to another."""

    def ends(below: Ints) -> tuple[Floats, Floats]:
        pairs = [read(i, min(i + 2, n)) for i in below.tolist()]
        return np.array([p[0] for p in pairs]), np.array([p[-1] for p in pairs])

    return _on_lines(n, ends, probabilities)


def _on_lines(n: int, ends: Callable[[Ints], tuple[Floats, Floats]], probabilities: Sequence[float]) -> Floats:
    if n == 0:
        return np.full(len(probabilities), np.nan)
    place = np.asarray(probabilities, dtype=np.float64) * (n - 1)
    below = np.clip(np.floor(place), 0, n - 1).astype(np.int64)
    (low, high), way = ends(below), place - below
    rise = high - low
    return np.asarray(np.where(way < 0.5, low + rise * way, high - rise * (1 - way)) + 0.0)  # + 0.0: -0.0 sorts like 0.0
