"""Predict the value that the records of a cell share from their released values, by several rules.

    as released     ŷ_c = mean, or median, of the released values of cell c
    shrunk          u_c = ȳ + τ²/(τ² + σ²/m_c) (mean_c − ȳ)
    fitted          x̂_c = a + b u_c,  fitted without cell c, alone or beside S
    most frequent   the released value that occurs more often in the cell than elsewhere in the file; the best rule above if
                    there is none

Every cell counts with its number of records m_c. τ² and σ² are the variances of released values between and within cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.stats.estimates.shared_cells import Cells

FEWEST_CELLS = 5  # cells, to fit a line
S_ONLY = "S alone"
_EVIDENCE = 3.0
_WHOLE = 1e-8
_THIN = 1e-10


@dataclass(frozen=True, slots=True)
class CellValues:
    """Released values of each cell: mean, median, most frequent value with the evidence for it, and number; their variance."""

    mean: Floats
    median: Floats
    frequent: Floats
    evidence: Floats
    count: Floats
    variance: float

    @classmethod
    def of(cls, y: Floats, cells: Cells, chosen: Bools) -> CellValues:
        """The released values of the chosen cells, in order; NaN if a cell has none."""
        number, frequency = np.cumsum(chosen) - 1, _frequencies(y)
        inside = np.flatnonzero(~np.isnan(y) & chosen[cells.of_record])
        cell, value, k = number[cells.of_record[inside]], y[inside], int(chosen.sum())
        order = np.lexsort((value, cell))
        cell, value = cell[order], value[order]
        count = np.bincount(cell, minlength=k).astype(np.float64)
        first = (np.cumsum(count) - count).astype(np.int64)
        mean = np.bincount(cell, weights=value, minlength=k) / np.maximum(count, 1)
        spare = float(np.maximum(count - 1, 0).sum())
        variance = float(((value - mean[cell]) ** 2).sum()) / spare if spare else 0.0
        middle = [np.minimum(first + np.maximum(count.astype(np.int64) - 1 + more, 0) // 2, max(len(value) - 1, 0))
                  for more in (0, 1)]
        median = (value[middle[0]] + value[middle[1]]) / 2 if len(value) else np.zeros(k)
        frequent, evidence = _most_frequent(cell, value, count, frequency[inside][order])
        gone = count == 0
        mean, median, frequent = (np.where(gone, np.nan, v) for v in (mean, median, frequent))
        return cls(mean, median, frequent, np.where(gone, 0.0, evidence), count, variance)

    def first(self, k: int) -> CellValues:
        """The first k cells."""
        return CellValues(self.mean[:k], self.median[:k], self.frequent[:k], self.evidence[:k], self.count[:k], self.variance)

    def shrunk(self) -> Floats:
        """Means drawn towards their overall mean, the more the fewer values they are of; the overall mean if there are none."""
        there = self.count > 0
        if not there.any():
            return np.zeros(len(self.count))
        centre = float(np.average(self.mean[there], weights=self.count[there]))
        noise = self.variance / np.maximum(self.count, 1)
        between = max(float(self.mean[there].var()) - float(noise[there].mean()), 0.0)
        kept = np.divide(between, between + noise, out=np.ones(len(noise)), where=between + noise > 0) if between else 1.0
        return np.asarray(np.where(there, centre + kept * (np.nan_to_num(self.mean) - centre), centre))


def predict_cells(x: Floats, others: Floats, weight: Floats, released: CellValues, terms: Floats) -> Mapping[str, Floats]:
    """Predictions of the shared values x by each rule, and by S alone. `others` are means of x outside each cell."""
    empty, shrunk = released.count == 0, released.shrunk()
    out = {rule: np.where(empty, others, v) for rule, v in (("mean", released.mean), ("median", released.median))}
    if len(x) >= FEWEST_CELLS:
        out |= {"shrunk mean": shrunk, "fitted mean": without_cell(x, weight, shrunk[:, None], others)}
        if terms.shape[1]:
            out["fitted mean and S"] = without_cell(x, weight, np.column_stack([shrunk, terms]), others)
    best = min(out.values(), key=lambda v: float((weight * (x - v) ** 2).sum()))
    for rule, least in (("most frequent value", 0.0), ("most frequent value, if clear", _EVIDENCE)):
        out[rule] = np.where(released.evidence > least, released.frequent, best)
    if len(x) >= FEWEST_CELLS and terms.shape[1]:
        out[S_ONLY] = without_cell(x, weight, terms, others)
    return out


def without_cell(x: Floats, weight: Floats, given: Floats, others: Floats) -> Floats:
    """Predict each cell by a weighted regression on the given columns, fitted without the cell. x may have several columns.

        x̂₍₋c₎ = x_c − e_c / (1 − h_c),   h_c = w_c (1/W + d_cᵀ (Dᵀ W D)⁻¹ d_c)

    Columns that vary through one cell alone say nothing about it, and are left out. `others` replaces a prediction that the
    other cells do not determine.
    """
    share = weight / weight.sum()
    d = given - share @ given
    squares = weight[:, None] * d**2
    total = squares.sum(axis=0)
    d = d[:, (total > 0) & (squares.max(axis=0, initial=0.0) < (1 - _WHOLE) * _one_cell(total, share, squares))]
    d = d / np.sqrt((weight[:, None] * d**2).sum(axis=0))
    values, vectors = np.linalg.eigh((weight[:, None] * d).T @ d) if d.shape[1] else (np.zeros(0), np.zeros((0, 0)))
    good = values > _THIN * values.max(initial=0.0)
    root = d @ (vectors[:, good] / np.sqrt(values[good]))
    away = x - share @ x
    error = away - root @ (root.T @ (weight * away.T).T)
    left = 1 - share - weight * (root**2).sum(axis=1)
    return np.asarray(np.where(left > _WHOLE, x.T - error.T / np.maximum(left, _WHOLE), others.T).T)


def _one_cell(total: Floats, share: Floats, squares: Floats) -> Floats:
    """The sum of squares of each column, reduced to the part of its largest cell if that cell alone made it vary.

    A column that is 1 in a cell of share s and 0 elsewhere has the part 1 − s of its sum of squares there.
    """
    return np.asarray(total * (1 - share[squares.argmax(axis=0)])) if len(share) else total


def _frequencies(y: Floats) -> Floats:
    """For each value, the share of all values that equal it."""
    order = np.argsort(y)
    start = np.flatnonzero(np.concatenate([[True], np.diff(y[order]) != 0]))
    out = np.empty(len(y))
    number = np.diff(np.append(start, len(y)))
    out[order] = np.repeat(number, number) / max(int((~np.isnan(y)).sum()), 1)
    return out


def _most_frequent(cell: Ints, value: Floats, count: Floats, frequency: Floats) -> tuple[Floats, Floats]:
    """For each cell, the recurring value with the most evidence that it is the cell's own, and that evidence.

        k ln(k / (m p)) − k + m p   for k of m values, where a share p of all released values is the same; 0 if k ≤ 1 or k ≤ m p
    """
    cells = len(count)
    frequent, evidence = np.full(cells, np.nan), np.zeros(cells)
    if not len(value):
        return frequent, evidence
    start = np.flatnonzero(np.concatenate([[True], (np.diff(value) != 0) | (np.diff(cell) != 0)]))
    k = np.diff(np.append(start, len(value))).astype(np.float64)
    expected = count[cell[start]] * frequency[start]
    with np.errstate(divide="ignore"):
        found = np.where((k > 1) & (k > expected), k * np.log(k / expected) - k + expected, 0.0)
    order = np.lexsort((found, cell[start]))
    last = np.flatnonzero(np.diff(np.append(cell[start][order], cells)) != 0)
    best = order[last]
    frequent[cell[start][best]], evidence[cell[start][best]] = value[start][best], found[best]
    return frequent, evidence
