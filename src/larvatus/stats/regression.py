"""How much of some variables others explain, from moments alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
THIN = 1e-10


def unexplained(covariance: Matrix, targets: list[int], given: list[int]) -> Matrix:
    """Variance of each target that a linear fit on the given columns leaves, by a pivotless sweep on the correlation scale.

    Columns that depend on those before them are left out; a target that is itself given keeps nothing.
    """
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    r = np.nan_to_num(covariance) / np.outer(scale, scale)
    left = r[np.ix_(given, given)].copy()
    cross = r[np.ix_(targets, given)].copy()
    rest = np.diag(r)[targets].copy()
    for _ in range(len(given)):
        j = int(np.argmax(np.diag(left)))
        if left[j, j] <= THIN:
            break
        column, pivot = left[:, j].copy(), left[j, j]
        rest -= cross[:, j] ** 2 / pivot
        cross -= np.outer(cross[:, j], column) / pivot
        left -= np.outer(column, column) / pivot
    return np.asarray(np.maximum(rest, 0.0) * scale[targets] ** 2)


def share_interval(r2: float, n: float, k: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """An interval for a share of variance explained by k columns in n records (Olkin and Finn 1995), inside [0, 1]."""
    if n <= k + 3:
        return 0.0, 1.0
    spread = np.sqrt(4 * r2 * (1 - r2) ** 2 * (n - k - 1) ** 2 / ((n * n - 1) * (n + 3)) + (k / n) ** 2 / max(k, 1))
    return max(0.0, r2 - z * float(spread)), min(1.0, r2 + z * float(spread))


def slopes(covariance: Matrix, targets: list[int], given: list[int]) -> Matrix:
    """Coefficients, given × targets, of the linear fit of smallest size; directions that hardly vary are left out."""
    sd = np.sqrt(np.maximum(np.nan_to_num(np.diag(covariance)), 0.0))
    scale = np.where(sd > 0, sd, 1.0)
    r = np.nan_to_num(covariance) / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(r[np.ix_(given, given)]) if given else (np.zeros(0), np.zeros((0, 0)))
    good = values > THIN * values.max(initial=0.0)
    turned = vectors[:, good] / values[good] @ vectors[:, good].T
    fitted = turned @ r[np.ix_(given, targets)]
    return np.asarray(fitted * scale[targets] / scale[given][:, None])
