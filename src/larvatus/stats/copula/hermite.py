"""Coefficients of a function of a normal variable that rises in jumps, in normalised Hermite polynomials."""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Matrix
from larvatus.core.kernels import kernel


@kernel()
def coefficients(z: Matrix, rise: Matrix, out: Matrix) -> None:
    """Fill rows of `out` with coefficients 1, 2, … of the functions that rise by `rise` at each row of `z`."""
    for row in range(len(z)):
        for i in range(z.shape[1]):
            x = z[row, i]
            weight = rise[i] * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
            if weight == 0.0:
                continue
            before, current = 0.0, 1.0
            for k in range(1, out.shape[1] + 1):
                root = np.sqrt(float(k))
                out[row, k - 1] += weight * current / root
                before, current = current, (x * current - np.sqrt(k - 1.0) * before) / root
