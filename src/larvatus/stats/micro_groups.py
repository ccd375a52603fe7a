"""Microaggregates as the release shows them: columns tied in the same records, and the aggregate nearest to a target."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def tied_together(y: Floats) -> list[list[int]]:
    """Columns that part the records in the same way, as lists; columns without two different values are left out."""
    found: dict[bytes, list[int]] = {}
    for j in range(y.shape[1]):
        there = y[~np.isnan(y[:, j]), j]
        if not len(there) or there.min() == there.max():
            continue
        _, first, code = np.unique(y[:, j], return_index=True, return_inverse=True)
        found.setdefault(np.asarray(first[code], dtype=np.int64).tobytes(), []).append(j)
    return list(found.values())


def nearest_of(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The code of the distinct row of y nearest to each row of x, and the code of each row of y; NaN where it is not whole.

    A missing value of x is taken as the mean, as nothing is known of it.
    """
    from scipy.spatial import cKDTree

    whole = ~np.isnan(y).any(axis=1)
    mine, theirs = np.full(len(x), np.nan), np.full(len(y), np.nan)
    if not whole.any():
        return mine, theirs
    kept = y[whole]
    centre, sd = kept.mean(axis=0), kept.std(axis=0)
    scale = np.where(sd > 0, sd, 1.0)
    rows, code = np.unique((kept - centre) / scale, axis=0, return_inverse=True)
    theirs[whole] = code.reshape(-1)
    mine[:] = cKDTree(rows, balanced_tree=False).query(np.nan_to_num((x - centre) / scale))[1]
    mine[np.isnan(x).all(axis=1)] = np.nan
    return mine, theirs
