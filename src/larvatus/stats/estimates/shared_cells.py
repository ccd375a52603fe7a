"""Cells of records that share one value: which they are, and whether there are more of them than chance explains.

    A cell of m records shares a value x if max − min ≤ w, w a tenth of a standard deviation.
    By chance that happens with probability at most c(x)^(m − 1), c(x) the share of the other records within w of x.
    Only cells with c(x)^(m − 1) ≤ 0.1 count: C of K cells, where chance gives at most μ = Σ E[c^(m − 1); c^(m − 1) ≤ 0.1].
    P(C or more) ≤ exp(−K · KL(C/K ‖ μ/K))   (Hoeffding 1963)

    All cells nearly share their values if 1 − s²_within / s² ≥ 0.9, beyond chance (F test); at most 100 records each.
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
_NEARLY = 0.75  # share of the variance between cells from which they nearly share their values
_FEWEST, _LARGEST = 5, 100  # cells, and records of a cell on average: a mean of more is a statistic


@dataclass(frozen=True, slots=True)
class Cells:
    """Records in cells: the cell of each record, the records in order of their cells, and where each cell starts in it."""

    of_record: Ints
    order: Ints
    start: Ints

    @classmethod
    def of(cls, key: Floats) -> Cells:
        """Cells of records with equal keys, in the order of the keys."""
        order = np.argsort(key, kind="stable")
        new = np.flatnonzero(np.concatenate([[True], np.diff(key[order]) != 0]))
        of_record = np.empty(len(key), dtype=np.int64)
        of_record[order] = np.repeat(np.arange(len(new)), np.diff(np.append(new, len(key))))
        return cls(of_record, order, new)

    def __len__(self) -> int:
        return len(self.start)

    def sums(self, values: Floats) -> Floats:
        """The sum over each cell."""
        return np.asarray(np.bincount(self.of_record, weights=values, minlength=len(self)))


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Values of a column, a tenth of their standard deviation, and the share of the other values within it of each."""

    x: Floats
    tolerance: float
    share: Floats
    grid: Floats

    @classmethod
    def of(cls, x: Floats) -> Neighbours:
        order = np.argsort(x)[: int((~np.isnan(x)).sum())]
        ordered = x[order]
        w, share = _tolerance(ordered), np.zeros(len(x))
        if w <= 0:
            return cls(x, 0.0, share, np.zeros(0))
        inside = np.searchsorted(ordered, ordered + w, side="right") - np.searchsorted(ordered, ordered - w, side="left")
        share[order] = (inside - 1) / (len(order) - 1)
        return cls(x, w, share, np.quantile(share[order], np.linspace(0, 1, _STEPS)))

    def nearly_sharing_cells(self, cells: Cells) -> Bools:
        """All cells of two or more if their records differ little, compared with the cells; otherwise none."""
        from scipy.stats import f

        there = ~np.isnan(self.x)
        count = cells.sums(there.astype(np.float64))
        several = count >= 2
        k, n = int(several.sum()), float(count[several].sum())
        none = np.zeros(len(cells), dtype=bool)
        if k < _FEWEST or n > _LARGEST * k or n <= k:
            return none
        centred = np.where(there, self.x - np.nanmean(self.x), 0.0)
        sums, squares = cells.sums(centred)[several], float(cells.sums(centred**2)[several].sum())
        between = float((sums**2 / count[several]).sum() - sums.sum() ** 2 / n)
        within = max(squares - float((sums**2 / count[several]).sum()), 0.0) / (n - k)
        total = (squares - sums.sum() ** 2 / n) / (n - 1)
        if total <= 0 or within > (1 - _NEARLY) * total:
            return none
        sure = within == 0 or f.sf(between / (k - 1) / within, k - 1, n - k) <= _FALSE_ALARM
        return several if sure else none

    def sharing_cells(self, cells: Cells) -> Bools:
        """The cells whose records share a value; none if chance would give as many."""
        none = np.zeros(len(cells), dtype=bool)
        count = cells.sums((~np.isnan(self.x)).astype(np.float64))
        several = count >= 2
        if self.tolerance <= 0 or not several.any():
            return none
        ordered = self.x[cells.order]
        low = np.minimum.reduceat(np.where(np.isnan(ordered), np.inf, ordered), cells.start)
        high = np.maximum.reduceat(np.where(np.isnan(ordered), -np.inf, ordered), cells.start)
        spread = np.subtract(high, low, out=np.full(len(cells), np.inf), where=several)
        alike = (cells.sums(self.share) / np.maximum(count, 1)) ** np.maximum(count - 1, 1)
        found = several & (spread <= self.tolerance * (1 + 1e-9)) & (alike <= _TELLING)
        number, expected = int(found.sum()), self._expected(count[several])
        most = number >= _TIMES * expected
        return found if most and is_beyond_chance(number, int(several.sum()), expected) else none

    def _expected(self, sizes: Floats) -> float:
        """The number of cells of these sizes that agree by chance, at most, and would count."""
        size, number = np.unique(sizes, return_counts=True)
        total = 0.0
        for m, k in zip(size.tolist(), number.tolist(), strict=True):
            alike = self.grid ** (m - 1)
            total += k * float(np.where(alike <= _TELLING, alike, 0.0).mean())
        return total


def _tolerance(ordered: Floats) -> float:
    """A tenth of a standard deviation; of the one that the quartiles of a normal law would give, if that is smaller."""
    if len(ordered) < 2 or ordered[0] == ordered[-1]:
        return 0.0
    low, high = np.quantile(ordered, [0.25, 0.75])
    sd, middle = float(ordered.std(ddof=1)), float(high - low) / 1.349
    return NEAR * (min(sd, middle) if middle > 0 else sd)


def is_beyond_chance(count: int, cells: int, expected: float) -> bool:
    """Whether chance, which gives the expected number of cells that agree, hardly ever gives this number."""
    if not count or count <= expected:
        return False
    p, q = count / cells, max(expected / cells, 1e-300)
    rest = (1 - p) * np.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return bool(cells * (p * np.log(p / q) + rest) >= -np.log(_FALSE_ALARM))
