"""Draws that leave a column unchanged are refused in small files, and drawn again. How likely that is, at most.

A value counts as unchanged if it moves by less than 1e-7 standard deviations of its sub-group
(`data/exposure/value_changes`). One giant makes this standard deviation large: then the other values may change places, and the
column is unchanged if the giant is in its place. So values that lie so near to each other count as equal here.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from larvatus.certificates.candidates import CandidateCells, codes_of, original_values
from larvatus.core.arrays import Floats, Ints
from larvatus.data.exposure.value_changes import limits_of_change
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release

_ROUNDING = 2e-15  # of a value: twice what `alike` allows
_DENSEST = 0.8  # the largest density of a distribution of noise with variance 1, at most


def widths_of_change(original: Microdata, cells: CandidateCells) -> dict[str, Floats]:
    """For each number, by how much it may change at most and still count as unchanged."""
    names = original.numeric(original.confidential)
    limits = limits_of_change(original, names)
    _, values = original_values(original, names)
    return {n: np.array([limit[n] for limit in limits])[cells.group] + _ROUNDING * np.abs(np.nan_to_num(values[n]))
            for n in names}


def values_alike(original: Microdata, cells: CandidateCells) -> dict[str, Ints]:
    """For each confidential column a code of the records of one cell whose values may take each other's place unnoticed.

    Values of two different codes cannot both be an unchanged form of one released value.
    """
    names = list(original.confidential)
    _, values = original_values(original, names)
    widths = widths_of_change(original, cells)
    levels = {n: codes_of([cells.code.astype(np.float64), values[n].astype(np.float64)]) for n in names if n not in widths}
    return {n: levels[n] if n in levels else _linked(np.nan_to_num(values[n]), cells.code, widths[n]) for n in names}


def _linked(x: Floats, cell: Ints, width: Floats) -> Ints:
    """A code for each run of values of a cell that lie within the width of each other, one after the other."""
    order = np.lexsort((x, cell))
    x, cell, width = x[order], cell[order], width[order]
    with np.errstate(over="ignore"):
        apart = np.diff(x) > width[1:] + width[:-1]
    out = np.empty(len(x), dtype=np.int64)
    out[order] = np.concatenate([[0], np.cumsum(apart | (np.diff(cell) != 0))])
    return out


def chance_of_equal_draw(release: Release, original: Microdata, cells: CandidateCells) -> float:
    """A bound on the chance that some column of a copy keeps all its values: all orders within cells are equally likely.

    In a cell of k records with m_v values alike it is at most Π m_v! / k! per column. Columns that do not vary within cells do
    not count: no order of them differs from another.
    """
    from scipy.special import gammaln

    _, values = original_values(original, original.confidential)
    every = gammaln(cells.sizes + 1.0).sum()
    out = 0.0
    for name, alike in values_alike(original, cells).items():
        different = codes_of([cells.code.astype(np.float64), np.nan_to_num(values[name].astype(np.float64))])
        if different.max(initial=0) >= len(cells.sizes):
            out += float(np.exp(gammaln(np.bincount(alike) + 1.0).sum() - every))
    return len(release.copies) * out


def chance_of_small_draws(widths: Mapping[str, Floats], noise: Mapping[str, Floats]) -> float:
    """A bound on the chance that noise moves no value of a column by more than its width, given the SD for each value."""
    out = 0.0
    for name, sd in noise.items():
        moves = sd > 0
        if moves.any():
            out += float(np.prod(np.minimum(2 * _DENSEST * widths[name][moves] / sd[moves], 1.0)))
    return out
