"""Distance between two empirical distribution functions, by one pass over two sorted samples.

    gap   max_t |F_x(t) − F_y(t)|          area   ∫ |F_x(t) − F_y(t)| dt

Samples that are too large to be held come as sorted runs. The pass then goes from cut to cut: the values between two cuts are
read from all runs and sorted, and values equal to a cut are only counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.core.kernels import kernel

MOST_AT_ONCE = 1 << 22  # values held between two cuts, about


class SortedRun(Protocol):
    """Sorted values that are stored somewhere."""

    def __len__(self) -> int: ...
    def read(self, low: int, high: int) -> Floats: ...
    def every(self, step: int) -> Floats: ...
    def find(self, value: float, side: Literal["left", "right"]) -> int: ...


def distribution_gap(x: Floats, y: Floats) -> tuple[float, float]:
    """Gap and area for sorted samples without missing values; both must have a value."""
    found = _pass(x, y, 0, 0, len(x), len(y), min(x[0], y[0]), 0.0, 0.0)
    return float(found[3]), float(found[4])


def distribution_gap_of_runs(x: Sequence[SortedRun], y: Sequence[SortedRun], most: int = MOST_AT_ONCE) -> tuple[float, float]:
    """The same for samples that consist of sorted runs; both must have a value."""
    runs = [*x, *y]
    total, n, m = (sum(map(len, some)) for some in (runs, x, y))
    if total <= most:
        return distribution_gap(*(np.sort(np.concatenate([r.read(0, len(r)) for r in some])) for some in (x, y)))
    step = max(most // (2 * len(runs)), 1)
    sample = np.sort(np.concatenate([r.every(step) for r in runs]))
    cuts = [*np.unique(sample[:: len(runs)]), None]
    at = [0] * len(runs)
    first = min(float(r.read(0, 1)[0]) for r in runs if len(r))
    state = (0, 0, first, 0.0, 0.0)
    for cut in cuts:
        to = [len(r) if cut is None else r.find(float(cut), "left") for r in runs]
        between = [np.zeros(0), *(r.read(a, b) for r, a, b in zip(runs, at, to, strict=True))]
        state = _step(state, between[: len(x) + 1], [between[0], *between[len(x) + 1 :]], n, m)
        if cut is not None:
            at = [r.find(float(cut), "right") for r in runs]
            equal = [b - a for a, b in zip(to, at, strict=True)]
            here, there = sum(equal[: len(x)]), sum(equal[len(x) :])
            one = np.full(1, cut)
            after = _step(state, [one[:here]], [one[:there]], n, m)
            state = (state[0] + here, state[1] + there, *after[2:])
    return state[3], state[4]


_State = tuple[int, int, float, float, float]


def _step(state: _State, x: Sequence[Floats], y: Sequence[Floats], n: int, m: int) -> _State:
    """The state after more values, which are in any order and not below the last one."""
    i, j, last, gap, area = _pass(np.sort(np.concatenate(x)), np.sort(np.concatenate(y)), state[0], state[1], n, m, *state[2:])
    return int(i), int(j), float(last), float(gap), float(area)


@kernel()
def _pass(
    x: Floats, y: Floats, x_before: int, y_before: int, n: int, m: int, last: float, gap: float, area: float
) -> _State:
    i, j = 0, 0
    while i < len(x) or j < len(y):
        value = x[i] if j == len(y) or (i < len(x) and x[i] <= y[j]) else y[j]
        if value > last:
            apart = abs((x_before + i) / n - (y_before + j) / m)
            gap = max(gap, apart)
            area += apart * (value - last)
            last = value
        while i < len(x) and x[i] == value:
            i += 1
        while j < len(y) and y[j] == value:
            j += 1
    return x_before + i, y_before + j, last, gap, area
