"""How many values two columns have in common, row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from larvatus.core.kernels import kernel


@kernel()
def alike(now: NDArray[np.float64], was: NDArray[np.float64], tolerance: float) -> tuple[int, int]:
    """Rows in which both agree to a relative tolerance, and rows in which the second is present."""
    same = there = 0
    for i in range(len(was)):
        if not np.isnan(was[i]):
            there += 1
            if abs(now[i] - was[i]) <= tolerance * abs(was[i]):
                same += 1
    return same, there
