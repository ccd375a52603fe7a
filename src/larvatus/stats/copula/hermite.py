"""Hermite coefficients of a step function g of a normal variable, with jumps rᵢ at zᵢ:

    c_k = E[g(Z) h_k(Z)] = Σᵢ rᵢ φ(zᵢ) h_{k−1}(zᵢ) / √k,   h_k = He_k / √k!
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Matrix
from larvatus.core.kernels import kernel
from larvatus.core.portable.portable_functions import exp_of

_exp = kernel()(exp_of)


@kernel()
def coefficients(z: Matrix, rise: Matrix, out: Matrix) -> None:
    """Add coefficients 1, 2, … of the functions with jumps `rise` at each row of `z` to the rows of `out`."""
    for row in range(len(z)):
        for i in range(z.shape[1]):
            x = z[row, i]
            weight = rise[i] * _exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
            if weight == 0.0:
                continue
            before, current = 0.0, 1.0
            for k in range(1, out.shape[1] + 1):
                root = np.sqrt(float(k))
                out[row, k - 1] += weight * current / root
                before, current = current, (x * current - np.sqrt(k - 1.0) * before) / root
