"""Predict columns by cells of S, each record from the other records of its cell: interactions and curves are seen.

    x̂_i = (Σ_{k ∈ c(i), k ≠ i} x_k + x̄₍₋ᵢ₎) / m_c     for a cell c(i) of m_c records;  x̄₍₋ᵢ₎ is the mean of the other records

The mean counts as one record. Which cells serve is decided on one half of the records, and judged on the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints

LEAST_CELL = 100  # records: what so many share is a statistic, and may be known without the release
_LEAST_GAIN = 0.05  # of the variance; less changes no verdict
_SURE = 3.0  # standard errors


def predict_by_others(x: Floats, cell: Ints, centre: Floats, least: int = 1) -> Floats:
    """Predictions of the columns of x from other records; `centre` is used in cells of fewer than `least` records."""
    out = np.empty_like(x)
    for j, column in enumerate(x.T):
        there = ~np.isnan(column)
        count = np.bincount(cell[there], minlength=int(cell.max(initial=0)) + 1)[cell]
        total = np.bincount(cell[there], weights=column[there], minlength=int(cell.max(initial=0)) + 1)[cell]
        others = (total - np.nan_to_num(column) + centre[:, j]) / np.maximum(count - there + 1, 1)
        out[:, j] = np.where(count >= least, others, centre[:, j])
    return out


def clear_gain(x: Floats, base: Floats, cells: Sequence[Ints], centre: Floats, fold: Bools) -> int | None:
    """The cells that predict x (one column, or indicators of categories) clearly better than `base` does; None if none do.

    The gain must be a twentieth of what the centre leaves, and three standard errors: by chance once in 700 columns.
    """
    if not cells:
        return None
    there = ~np.isnan(x).any(axis=1)
    errors = np.array([_squares(x, predict_by_others(x, cell, centre, LEAST_CELL))[there] for cell in cells])
    half = fold[there]
    picked = [int(errors[:, half != f].sum(axis=1).argmin()) for f in (False, True)]
    before = _squares(x, base)[there]
    gain = before - np.where(half, errors[picked[1]], errors[picked[0]])
    least = max(_LEAST_GAIN * float(_squares(x, centre)[there].mean()), _SURE * float(gain.std()) / np.sqrt(max(len(gain), 1)))
    return int(errors.sum(axis=1).argmin()) if len(gain) and float(gain.mean()) > least else None


def choose_by_success(right: Floats, fold: Bools) -> tuple[int, int]:
    """For the records of each half, the row of `right` (rules × records) with most success in the other half."""
    first, second = (int(right[:, fold != f].sum(axis=1).argmax()) for f in (False, True))
    return first, second


def _squares(x: Floats, predicted: Floats) -> Floats:
    return np.asarray(((x - predicted) ** 2).sum(axis=1))
