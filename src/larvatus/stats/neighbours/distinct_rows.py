"""The distinct rows of a matrix."""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.ranks.row_order import row_order


def distinct_rows(values: Floats) -> tuple[Floats, Ints, Ints]:
    """Distinct rows in order, the place of each row among them, and how often each occurs; faster than `np.unique`."""
    order = row_order([*values.T])
    rows = values[order]
    new = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
    code = np.empty(len(values), dtype=np.int64)
    code[order] = np.cumsum(new) - 1
    return rows[new], code, np.bincount(code)
