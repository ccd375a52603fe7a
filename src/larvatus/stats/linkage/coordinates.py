"""Coordinates by which two files are linked: numbers, categories, and the pools that limit the search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints

_THINNEST = 1e-9
_CODES = 1000  # whole numbers up to this multiple of the number of rows need not be numbered anew
MOST_INDICATORS = 50


def number_keys(x: Floats, y: Floats, by_range: bool = False) -> tuple[list[Floats], list[Floats]]:
    """Both sides in standard deviations (or ranges) of the released values; missing as zero and an indicator."""
    left: list[Floats] = []
    right: list[Floats] = []
    there = y[~np.isnan(y)]
    centre, unit = (float(there.mean()), float(np.ptp(there) if by_range else there.std())) if len(there) else (0.0, 0.0)
    if unit > 0 and float(there.max()) > float(there.min()):
        left.append(np.nan_to_num((x - centre) / unit))
        right.append(np.nan_to_num((y - centre) / unit))
    if np.isnan(x).any() or np.isnan(y).any():
        left.append(np.isnan(x).astype(np.float64))
        right.append(np.isnan(y).astype(np.float64))
    return left, right


def name_keys(x: Ints, y: Ints, power: int) -> tuple[list[Floats], list[Floats]]:
    """Indicators of categories such that two different categories are one unit apart; missing is a category.

    With more than fifty categories they are placed on one line, one unit apart, so different ones are at least that far apart.
    """
    levels = np.unique(np.concatenate([x, y]))
    if len(levels) < 2:
        return [], []
    if len(levels) > MOST_INDICATORS:
        return [x.astype(np.float64)], [y.astype(np.float64)]
    height = 0.5 if power == 1 else np.sqrt(0.5)
    return [height * (x == v) for v in levels], [height * (y == v) for v in levels]


def stack_coordinates(columns: Sequence[Floats], n: int) -> Floats:
    """Rows × coordinates."""
    return np.array(columns, dtype=np.float64).reshape(len(columns), n).T


def whiten(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Both sides in the principal directions of the released values, each in units of its standard deviation."""
    if len(y) < 2 or y.shape[1] == 0:
        return x, y
    centre = y.mean(axis=0)
    turn = whitening((y - centre).T @ (y - centre) / len(y))
    return (x - centre) @ turn, (y - centre) @ turn


def whitening(covariance: Floats) -> Floats:
    """The principal directions of a covariance matrix, each divided by its standard deviation; thin ones are left out."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > _THINNEST * values.max(initial=0.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def same_rows(columns: Iterable[NDArray[Any]], n: int) -> Ints:
    """One code for each combination of values, in the order of the columns; missing is a value."""
    code = np.zeros(n, dtype=np.int64)
    codes = 1
    for column in columns:
        if codes == n:  # all rows differ
            break
        level, levels = _levels(column, n)
        _, code = np.unique(code * levels + level if codes > 1 else level, return_inverse=True)
        codes = int(code.max(initial=0)) + 1
    return code


def _levels(column: NDArray[Any], n: int) -> tuple[Ints, int]:
    """Whole numbers in the order of the values, and a number above all of them; codes are taken as they are."""
    if column.dtype.kind == "i" and n:
        low, high = int(column.min()), int(column.max())
        if high - low <= _CODES * n:
            return column.astype(np.int64) - low, high - low + 1
    level = np.unique(column, return_inverse=True)[1]
    return level, int(level.max(initial=0)) + 1


def link_nearest(x: Floats, y: Floats, own: Ints, same: Ints, guesses: Sequence[int], power: int = 2) -> Floats:
    """The credit of each target, guesses × targets; only records with the same code are candidates."""
    from larvatus.stats.linkage.nearest_counts import credit_within, nearer_and_tied

    if len(x) == 0:
        return np.zeros((len(guesses), 0))
    nearer, tied = nearer_and_tied(x, y, max(guesses), own, power, same)
    return np.array([credit_within(nearer, tied, k) for k in guesses])
