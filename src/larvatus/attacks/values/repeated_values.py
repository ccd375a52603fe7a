"""The most frequent released value of each unit: a swap or an imputation rarely draws the same value twice.

    arg max_v  n_u(v) · −log f(v),    n_u(v) ≥ 2 the number of rows of unit u with value v, f(v) its share in the file
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints


def repeated_share(unit: Ints, x: Floats) -> float:
    """How often two rows of the same unit have the same value, beyond how often any two rows of the file have."""
    rows, _, count = _runs(unit, x)
    size = np.bincount(unit[rows]) if len(rows) else np.zeros(1)
    same = np.unique(x[rows], return_counts=True)[1]
    inside, all_rows = float((size * (size - 1.0)).sum()), len(rows) * (len(rows) - 1.0)
    if inside <= 0:
        return 0.0
    return float((count * (count - 1.0)).sum()) / inside - float((same * (same - 1.0)).sum()) / all_rows


def most_frequent_values(unit: Ints, y: Floats) -> Floats:
    """For each row, the value that its unit repeats most, rare ones weighing more; the mean of the unit if none is repeated."""
    rows, run, count = _runs(unit, y)
    if not len(rows):
        return np.full(len(y), np.nan)
    _, code = np.unique(y[rows], return_inverse=True)
    rare = -np.log(np.bincount(code.ravel()) / len(rows))
    first = rows[run]
    weight = np.where(count > 1, count * np.maximum(rare[code.ravel()[run]], 1e-9), 0.0)
    size = int(unit.max()) + 1
    best = np.zeros(size)
    np.maximum.at(best, unit[first], weight)
    top = weight == best[unit[first]]
    share = np.where(best[unit[first]] > 0, top, count).astype(np.float64)  # the mean if nothing is repeated
    total, number = (np.bincount(unit[first], weights=w, minlength=size) for w in (share * y[first], share))
    return np.where(number > 0, total / np.maximum(number, 1.0), np.nan)[unit]


def _runs(unit: Ints, values: Floats) -> tuple[Ints, Ints, Ints]:
    """Rows in the order of unit and value; where a new value of a unit starts among them; and how often it occurs."""
    there = np.flatnonzero(np.isfinite(values))
    rows = there[np.lexsort((values[there], unit[there]))]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (unit[rows][1:] != unit[rows][:-1]) | (values[rows][1:] != values[rows][:-1])
    run = np.flatnonzero(new)
    return rows, run, np.diff(np.append(run, len(rows)))
