"""Cells of S for one categorical column: predictions from other originals, and the categories that the release shows there.

    P(k | s_i)   share of category k among the other original records of the cell of record i, cells of 100 records or more,
                 if it clearly predicts better than the regression on S
    seen(k | i)  share of released category k among the other records of the cell of record i; cells of any size

Cells are chosen on a sample; those of `seen` on one half of the records for the other. Counts are of all records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.attacks.values.cells_of_s import CellCode, SampleOfS
from larvatus.core.arrays import Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.stats.estimates.predictive_cells import LEAST_CELL, choose_by_success, clear_gain, predict_by_others

_MOST_COUNTS = 2_000_000  # cells × categories
Coded = Callable[[Block], Ints]


@dataclass(frozen=True, slots=True)
class CategoryCells:
    """The chosen cells, and the number of records of each category in them."""

    original: tuple[CellCode, Ints] | None
    released: tuple[tuple[CellCode, Ints], tuple[CellCode, Ints]] | None
    random: RecordRandom
    columns: tuple[str, ...]

    @classmethod
    def of(
        cls, data: Microdata, names: Sequence[str], coded: tuple[Coded, Coded], k: int,
        by_regression: Callable[[int, Block], Floats] | None, random: RecordRandom,
    ) -> CategoryCells:
        """`coded` gives the original and the released categories of a block; `by_regression` the prediction without cells."""
        sample = SampleOfS.of(data, names, random)
        codes = [c for c in sample.codes if c.size * k <= _MOST_COUNTS]
        columns = tuple(dict.fromkeys(n for c in codes for n, _, _ in c.parts if n is not None))
        if not codes:
            return cls(None, None, random, columns)
        cells = [sample.cells(c) for c in codes]
        x, y = (own(sample.block) for own in coded)
        before, after = (np.where(v[:, None] >= 0, v[:, None] == np.arange(k), np.nan) for v in (x, y))
        centre = sample.means_of_others(before)
        base = centre if by_regression is None else _by_group(sample, by_regression, k)
        best = clear_gain(before, base, cells, centre, sample.fold)
        seen = sample.means_of_others(after)
        right = np.array([predict_by_others(after, cell, seen).argmax(axis=1) == x for cell in cells]).astype(np.float64)
        first, second = choose_by_success(right, sample.fold)
        counted = {c: (codes[c], _count(data, names, codes[c], coded[1], k)) for c in {first, second}}
        original = None if best is None else (codes[best], _count(data, names, codes[best], coded[0], k))
        return cls(original, (counted[first], counted[second]), random, columns)

    def given_s(self, group: int, block: Block, own: Floats, frequency: Floats) -> Floats | None:
        """Probabilities of the original categories from the other records of the cell; None if cells are not used."""
        if self.original is None:
            return None
        code, table = self.original
        count = table[code.of(group, block.values, len(block))]
        share = frequency / np.maximum(frequency.sum(axis=1, keepdims=True), 1.0)
        return np.asarray(np.where(count.sum(axis=1, keepdims=True) >= LEAST_CELL, np.maximum(count - own, 0) + share, share))

    def released_counts(self, group: int, block: Block, own: Floats) -> Floats | None:
        """Numbers of the released categories of the other records of the cell; None if there are no cells."""
        if self.released is None:
            return None
        fold = self.random.words(block.record, purpose="half of S")[0] % np.uint64(2) == 1
        each = [table[code.of(group, block.values, len(block))] - own for code, table in self.released]
        return np.asarray(np.where(fold[:, None], each[1], each[0]), dtype=np.float64)


def _count(data: Microdata, names: Sequence[str], code: CellCode, coded: Coded, k: int) -> Ints:
    """Records by cell and category. Whole numbers: the order of the blocks does not matter."""
    out = np.zeros(code.size * k, dtype=np.int64)
    needed = list(dict.fromkeys([*names, *(n for n, _, _ in code.parts if n is not None)]))
    for group, block in data.table.blocks(needed):
        value = coded(block)
        there = value >= 0
        out += np.bincount(code.of(group, block.values, len(block))[there] * k + value[there], minlength=len(out))
    return out.reshape(code.size, k)


def _by_group(sample: SampleOfS, predict: Callable[[int, Block], Floats], k: int) -> Floats:
    """Predictions for the sample, scaled to sum one."""
    out = np.empty((len(sample.group), k))
    for g in np.unique(sample.group):
        here = np.flatnonzero(sample.group == g)
        found = predict(int(g), Block(sample.block.record[here], {n: v[here] for n, v in sample.block.values.items()}))
        out[here] = found / found.sum(axis=1, keepdims=True)
    return out
