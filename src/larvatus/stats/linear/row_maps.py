"""Row-by-row linear maps whose rounding does not depend on the position of a row in a block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Matrix
from larvatus.core.kernels import kernel

TILE = 256


@kernel()
def _mapped(columns: Matrix, weights: Matrix, out: Matrix) -> None:
    k, n = columns.shape
    for low in range(0, n, TILE):
        high = min(low + TILE, n)
        for j in range(weights.shape[1]):
            into, source, w = out[j, low:high], columns[0, low:high], weights[0, j]
            for i in range(high - low):
                into[i] = source[i] * w
            for c in range(1, k):
                w = weights[c, j]
                if w != 0.0:
                    source = columns[c, low:high]
                    for i in range(high - low):
                        into[i] += source[i] * w


def rows_times_weights(columns: Matrix, weights: Matrix) -> Matrix:
    """For columns given as k × n, the r × n columns of (rows times weights), weights k × r."""
    if len(columns) == 0:
        return np.zeros((weights.shape[1], columns.shape[1]))
    out = np.empty((weights.shape[1], columns.shape[1]))
    if out.size:
        _mapped(np.ascontiguousarray(columns), np.ascontiguousarray(weights), out)
    return out


@kernel()
def _solved(columns: Matrix, chosen: NDArray[np.int64], triangle: Matrix, out: Matrix) -> None:
    n = columns.shape[1]
    for low in range(0, n, TILE):
        high = min(low + TILE, n)
        for j in range(len(chosen)):
            into, source = out[j, low:high], columns[chosen[j], low:high]
            for i in range(high - low):
                into[i] = source[i]
            for c in range(j):
                w = triangle[c, j]
                if w != 0.0:
                    source = out[c, low:high]
                    for i in range(high - low):
                        into[i] -= source[i] * w
            scale = 1.0 / triangle[j, j]
            for i in range(high - low):
                into[i] *= scale


def solve_rows(columns: Matrix, chosen: NDArray[np.int64], triangle: Matrix) -> Matrix:
    """The rows Q with Q times triangle = the chosen columns, to rounding even if the triangle has thin directions.

    Solved row by row: multiplying by the inverse would leave the span of the columns by rounding divided by the thinnest
    direction.
    """
    out = np.zeros((len(chosen), columns.shape[1]))
    if out.size:
        _solved(np.ascontiguousarray(columns), chosen, np.ascontiguousarray(triangle), out)
    return out
