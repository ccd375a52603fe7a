"""Cells of records that share one value: which they are, and whether there are more of them than chance explains.

    A cell of m records shares a value x if max − min ≤ w, w a tenth of a standard deviation.
    By chance that happens with probability at most c(x)^(m − 1), c(x) the share of the other records within w of x.
    Only cells with c(x)^(m − 1) ≤ 0.1 count: C of K cells, where chance gives at most μ = Σ E[c^(m − 1); c^(m − 1) ≤ 0.1].
    P(C or more) ≤ exp(−K · KL(C/K ‖ μ/K))   (Hoeffding 1963)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints

NEAR = 0.1  # standard deviations
_TELLING = 0.1  # largest probability of a cell to agree by chance
_FALSE_ALARM = 1e-6
_TIMES = 4  # cells that share, relative to those that agree by chance; S that explains much of x gives two or three
_STEPS = 2001


@dataclass(frozen=True, slots=True)
class Cells:
    """Records in cells: the cell of each record, and the records in order of their cells with the place of each cell's first."""

    of_record: Ints
    order: Ints
    start: Ints

    @classmethod
    def of(cls, key: Floats) -> Cells:
        """Cells of records with equal keys, in the order of the keys."""
        order = np.argsort(key, kind="stable")
        new = np.flatnonzero(np.concatenate([[True], np.diff(key[order]) != 0]))
        of_record = np.empty(len(key), dtype=np.int64)
        of_record[order] = np.repeat(np.arange(len(new)), np.diff([*new, len(key)]))
        return cls(of_record, order, new)

    def __len__(self) -> int:
        return len(self.start)

    def sums(self, values: Floats) -> Floats:
        """The sum over each cell."""
        return np.asarray(np.bincount(self.of_record, weights=values, minlength=len(self)))


def tolerance(x: Floats) -> float:
    """A tenth of a standard deviation; of the one that the quartiles of a normal law would give, if that is smaller."""
    there = x[~np.isnan(x)]
    if len(there) < 2 or float(there.max()) == float(there.min()):
        return 0.0
    low, high = np.quantile(there, [0.25, 0.75])
    sd, middle = float(there.std(ddof=1)), float(high - low) / 1.349
    return NEAR * (min(sd, middle) if middle > 0 else sd)


def sharing_cells(x: Floats, cells: Cells) -> Bools:
    """The cells whose records share a value that chance does not explain; none if chance would give as many."""
    w, none = tolerance(x), np.zeros(len(cells), dtype=bool)
    if w <= 0:
        return none
    there = ~np.isnan(x)
    count = cells.sums(there.astype(np.float64))
    ordered = x[cells.order]
    low = np.minimum.reduceat(np.where(np.isnan(ordered), np.inf, ordered), cells.start)
    high = np.maximum.reduceat(np.where(np.isnan(ordered), -np.inf, ordered), cells.start)
    several = count >= 2
    if not several.any():
        return none
    spread = np.subtract(high, low, out=np.full(len(cells), np.inf), where=several)
    near = _share_near(x[there], w)
    nearby = np.zeros(len(x))
    nearby[there] = near
    alike = (cells.sums(nearby) / np.maximum(count, 1)) ** np.maximum(count - 1, 1)
    found = several & (spread <= w * (1 + 1e-9)) & (alike <= _TELLING)
    expected = _expected(near, count[several])
    return found if _beyond_chance(int(found.sum()), int(several.sum()), expected) else none


def _share_near(x: Floats, w: float) -> Floats:
    """For each value, the share of the other values that lie within w of it."""
    ordered = np.sort(x)
    inside = np.searchsorted(ordered, x + w, side="right") - np.searchsorted(ordered, x - w, side="left")
    return np.asarray((inside - 1) / max(len(x) - 1, 1))


def _expected(near: Floats, sizes: Floats) -> float:
    """The number of cells of these sizes that agree by chance, at most, and would count."""
    grid = np.quantile(near, np.linspace(0, 1, _STEPS))
    size, number = np.unique(sizes, return_counts=True)
    total = 0.0
    for m, k in zip(size.tolist(), number.tolist(), strict=True):
        alike = grid ** (m - 1)
        total += k * float(np.where(alike <= _TELLING, alike, 0.0).mean())
    return total


def _beyond_chance(count: int, cells: int, expected: float) -> bool:
    """Whether most of the cells that agree do so beyond chance, which hardly ever gives this number."""
    if not count or count < _TIMES * expected:
        return False
    p, q = count / cells, max(expected / cells, 1e-300)
    rest = (1 - p) * np.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return bool(cells * (p * np.log(p / q) + rest) >= -np.log(_FALSE_ALARM))
