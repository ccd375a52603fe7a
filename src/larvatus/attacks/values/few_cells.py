"""Guesses of values that are shared in fewer than five cells, only if the released values of a cell show what it shares.

    x̂_c = the released value that is clearly more frequent in the cell than elsewhere in the file, else
          the median of the released values of c, if IQR(y in c) ≤ IQR(y) / 5 and c has at least ten of them, else
          the mean of x outside the cell

With so few cells, a mean that happens to be near says nothing. Values exchanged over the file are seldom narrow or frequent.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Bools, Floats
from larvatus.stats.estimates.cell_predictions import CellValues
from larvatus.stats.estimates.shared_cells import Cells

_NARROW, _LEAST, _EVIDENCE = 0.2, 10, 3.0


def clear_guesses(y: Floats, cells: Cells, shared: Bools, outside: Floats) -> Floats:
    """One guess for each cell that shares a value."""
    released = CellValues.of(y, cells, shared)
    whole, ordered = _between_quartiles(y), y[cells.order]
    ends = np.append(cells.start[1:], len(y))
    narrow = np.array([released.count[i] >= _LEAST and _between_quartiles(ordered[cells.start[c]:ends[c]]) <= _NARROW * whole
                       for i, c in enumerate(np.flatnonzero(shared))], dtype=bool)
    guess = np.where(narrow, released.median, outside)
    return np.asarray(np.where(released.evidence > _EVIDENCE, released.frequent, guess))


def _between_quartiles(values: Floats) -> float:
    there = values[~np.isnan(values)]
    return float(np.subtract(*np.quantile(there, [0.75, 0.25]))) if len(there) else 0.0
