"""Conditions on columns that single out one released row, and the number of records of a file that meet each.

    univariate      x_j ≤ the smallest released value, x_j ≥ the largest, or x_j = a category that occurs once
    multivariate    for a released row y and some columns: x_j ≤ y_j if y_j is below the median, else x_j ≥ y_j;
                    x_j = y_j for categories (Giomi and others 2023)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from larvatus.attacks.unpaired.compared_files import ComparedFiles, FileRecords
from larvatus.core.arrays import Bools, Floats, Ints


class ColumnCondition(NamedTuple):
    """One comparison with a value; math.nan, always the same object, stands for a missing value: equal conditions are equal."""

    column: str
    sign: Literal["at most", "at least", "equal"]
    value: float


Predicate = tuple[ColumnCondition, ...]


def single_columns(files: ComparedFiles) -> list[Predicate]:
    """Predicates on one column that hold for one released row."""
    out: list[Predicate] = []
    for name, column in files.columns.items():
        value = files.released.values[name]
        if column.kind == "number":
            there = value[~np.isnan(value)]
            if len(there):
                out.append((ColumnCondition(name, "at most", float(there.min())),))
                out.append((ColumnCondition(name, "at least", float(there.max())),))
        else:
            counts = np.bincount(value[value >= 0])
            out += [(ColumnCondition(name, "equal", float(code)),) for code in np.flatnonzero(counts == 1)]
    return out


def several_columns(files: ComparedFiles, rows: Ints, columns: Sequence[Sequence[str]]) -> list[Predicate]:
    """For each of these released rows, a predicate on some columns that the row meets."""
    released = files.released.values
    median = {n: float(np.nanmedian(released[n])) if (~np.isnan(released[n])).any() else 0.0
              for n, c in files.columns.items() if c.kind == "number"}
    return [tuple(_condition(n, float(released[n][row]), median.get(n)) for n in names)
            for row, names in zip(rows.tolist(), columns, strict=True)]


def _condition(name: str, value: float, median: float | None) -> ColumnCondition:
    if median is None or np.isnan(value):
        return ColumnCondition(name, "equal", math.nan if np.isnan(value) else value)
    return ColumnCondition(name, "at most" if value <= median else "at least", value)


def count_meeting(predicates: Sequence[Predicate], part: FileRecords) -> Ints:
    """The number of records that meet each predicate."""
    return np.array([int(_meeting(p, part).sum()) for p in predicates], dtype=np.int64)


def first_meeting(predicates: Sequence[Predicate], part: FileRecords) -> Ints:
    """The first record that meets each predicate, -1 if there is none."""
    found = [np.flatnonzero(_meeting(p, part)) for p in predicates]
    return np.array([f[0] if len(f) else -1 for f in found], dtype=np.int64)


def _meeting(predicate: Predicate, part: FileRecords) -> Bools:
    rows: Ints | None = None
    for column, sign, value in predicate:
        x = part.values[column] if rows is None else part.values[column][rows]
        if np.isnan(value):
            keep = np.isnan(x)
        else:
            keep = x <= value if sign == "at most" else x >= value if sign == "at least" else x == value
        rows = np.flatnonzero(keep) if rows is None else rows[keep]
        if not len(rows):
            break
    out = np.zeros(len(part), dtype=bool)
    out[rows] = True
    return out


def subset_probability(count: Ints, records: int, drawn: int) -> Floats:
    """P(exactly one of `count` records is in a random subset of size `drawn` of all records)."""
    from scipy.special import gammaln

    k = np.asarray(count, dtype=np.float64)

    def log_choose(n: Floats | float, m: Floats | float) -> Floats:
        return np.asarray(gammaln(np.add(n, 1)) - gammaln(np.add(m, 1)) - gammaln(np.subtract(n, m) + 1))

    possible = (k >= 1) & (records - k >= drawn - 1)
    safe = np.where(possible, k, 1.0)
    value = np.exp(np.log(safe) + log_choose(records - safe, drawn - 1.0) - log_choose(float(records), float(drawn)))
    return np.asarray(np.where(possible, value, 0.0))
