"""Distance between two empirical distribution functions, by one pass over two sorted samples.

    gap   max_t |F_x(t) − F_y(t)|          area   ∫ |F_x(t) − F_y(t)| dt
"""

from __future__ import annotations

from larvatus.core.arrays import Floats
from larvatus.core.kernels import kernel


def distribution_gap(x: Floats, y: Floats) -> tuple[float, float]:
    """Gap and area for sorted samples without missing values; both must have a value."""
    gap, area = _pass(x, y)
    return float(gap), float(area)


@kernel()
def _pass(x: Floats, y: Floats) -> tuple[float, float]:
    n, m = len(x), len(y)
    i, j, gap, area = 0, 0, 0.0, 0.0
    last = min(x[0], y[0])
    while i < n or j < m:
        value = x[i] if j == m or (i < n and x[i] <= y[j]) else y[j]
        if value > last:
            apart = abs(i / n - j / m)
            gap = max(gap, apart)
            area += apart * (value - last)
            last = value
        while i < n and x[i] == value:
            i += 1
        while j < m and y[j] == value:
            j += 1
    return gap, area
