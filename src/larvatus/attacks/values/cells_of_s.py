"""Cells of S in which records are alike: by one column, two or three of them, and all. Numbers are cut into classes.

Cells are chosen on a sample of at most 10,000 records, so that the work does not grow with the file. The same records are
drawn on every engine. The sub-group is one more column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block
from larvatus.data.microdata import Microdata, collect
from larvatus.stats.estimates.predictive_cells import LEAST_CELL

_SAMPLE, _MOST_COLUMNS, _MOST_IN_THREES, _MOST_CELLS = 10_000, 12, 6, 50_000
_MOST_CLASSES, _FEW_VALUES = 50, 20
_GROUP = None  # stands for the sub-group among the columns of a cell
_Part: TypeAlias = tuple[str | None, Floats | None, int]


@dataclass(frozen=True, slots=True)
class CellCode:
    """Cells by some columns: for each of them its name, the limits of its classes (none for categories), and its codes."""

    parts: tuple[_Part, ...]

    @property
    def size(self) -> int:
        """Number of cells."""
        return int(np.prod([size for _, _, size in self.parts], dtype=np.float64))

    def of(self, group: Ints | int, values: Mapping[str, Array], n: int) -> Ints:
        """The number of the cell of each record."""
        out = np.zeros(n, dtype=np.int64)
        for name, limits, size in self.parts:
            out = out * size + (group if name is None else _code(values[name], limits, size))
        return out


@dataclass(frozen=True, slots=True)
class SampleOfS:
    """A sample of the records, by record id, with two halves, and the cells in which they may lie."""

    block: Block
    group: Ints
    fold: Bools
    codes: tuple[CellCode, ...]

    @classmethod
    def of(cls, data: Microdata, names: Sequence[str], random: RecordRandom) -> SampleOfS:
        """The sample with the named columns and S."""
        s = list(data.known)[:_MOST_COLUMNS]
        share = _SAMPLE / max(data.rows, 1)
        record, group, values = collect(data, list(dict.fromkeys([*names, *s])), None if share >= 1 else (
            lambda block: random.uniform(block.record, purpose="sample of S")[0] < share))
        fold = random.words(record, purpose="half of S")[0] % np.uint64(2) == 1
        columns: list[str | None] = [*s, *([_GROUP] if len(data.groups) > 1 else [])]
        return cls(Block(record, values), group, fold, tuple(_codes(data, columns, values)) if s else ())

    def cells(self, code: CellCode) -> Ints:
        """The cells of the sampled records, numbered without gaps."""
        return np.unique(code.of(self.group, self.block.values, len(self.group)), return_inverse=True)[1].ravel()

    def means_of_others(self, x: Floats) -> Floats:
        """The mean of the other records of the sub-group, for each column; 0 if there are none."""
        size, out = int(self.group.max(initial=0)) + 1, np.empty_like(x)
        for j, column in enumerate(x.T):
            there = ~np.isnan(column)
            count = np.bincount(self.group[there], minlength=size)[self.group] - there
            total = np.bincount(self.group[there], weights=column[there], minlength=size)[self.group]
            out[:, j] = (total - np.nan_to_num(column)) / np.maximum(count, 1)
        return out


def _codes(data: Microdata, columns: Sequence[str | None], values: Mapping[str, Array]) -> Iterator[CellCode]:
    """Cells by one, two and three columns, and by all of them; not those that could be too many."""
    sets = [c for k in (1, 2, 3) if k < 3 or len(columns) <= _MOST_IN_THREES for c in combinations(columns, k)]
    for names in dict.fromkeys([*sets, tuple(columns)]):
        code = CellCode(tuple(_part(data, n, values, min(len(names), 3)) for n in names))
        if 1 < code.size <= _MOST_CELLS and names != (_GROUP,):
            yield code


def _part(data: Microdata, name: str | None, values: Mapping[str, Array], together: int) -> _Part:
    if name is None:
        return name, None, len(data.groups)
    column = data.table.columns[name]
    if column.kind == "nominal":
        return name, None, len(column.levels) + 1
    there = values[name][~np.isnan(values[name])]
    classes = min(_MOST_CLASSES, int((len(there) / LEAST_CELL) ** (1 / together)))
    different = np.unique(there)
    if len(different) <= _FEW_VALUES:
        limits = (different[1:] + different[:-1]) / 2
    else:
        limits = np.unique(np.quantile(there, np.arange(1, classes) / classes)) if classes > 1 else np.zeros(0)
    return name, limits, len(limits) + 2


def _code(values: Array, limits: Floats | None, size: int) -> Ints:
    """The class of each value; the last one is for missing values."""
    if limits is None:
        return np.where(values < 0, size - 1, values).astype(np.int64)
    return np.where(np.isnan(values), size - 1, np.searchsorted(limits, values, side="right")).astype(np.int64)
