"""What all released columns of a record together say about one original category (naive Bayes).

    L(k) = Σ_l log P(y_l | k),   P(c | k) = (n_kc + 1/m_l) / (n_k + 1),   n_kc records of original category k with y_l = c

y_l are the released confidential columns, numbers as tenths, and telling marks of their values.
m_l is the number of categories of y_l. All counts are without the
target. Columns that say the same of a record, each masked on its own, vote: together they tell what a single one hides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from larvatus.attacks.scoring.outlying_records import MOST_HELD
from larvatus.attacks.values.telling_marks import (
    MARKS,
    MISSING_MARK,
    are_multiples,
    marks_of,
    odd_units,
    repeated_values,
    telling_table,
)
from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block
from larvatus.data.design import MOST_LEVELS
from larvatus.data.microdata import Microdata, collect
from larvatus.data.verbs import as_one_group, reduce_groups

_PARTS = 10
_MOST = 40  # other columns that are used


@dataclass(frozen=True, slots=True)
class JointEvidence:
    """Counts of the categories of one original column by those of every released column."""

    was: str
    codes: Ints
    witnesses: Sequence[Witness]
    tables: Sequence[Floats]

    @classmethod
    def of(cls, joined: Microdata, name: str, codes: Ints, k: int, witnesses: Sequence[Witness]) -> JointEvidence:
        was = scratch("original", name)

        def count(group: int, block: Block) -> Floats:
            x = codes[block[was]]
            parts = []
            for w in witnesses:
                y = w.codes_of(block)
                both = (x >= 0) & (y >= 0)
                parts.append(np.bincount(x[both] * w.size + y[both], minlength=k * w.size).astype(np.float64))
            return np.concatenate(parts)

        read = list(dict.fromkeys([was, *(w.name for w in witnesses)]))
        whole = np.sum(reduce_groups(joined, read, count, np.add), axis=0)
        ends = np.cumsum([0, *(k * w.size for w in witnesses)])
        tables = [whole[a:b].reshape(k, w.size) for a, b, w in zip(ends[:-1], ends[1:], witnesses, strict=True)]
        used = [(w, table) for w, table in zip(witnesses, tables, strict=True) if not w.marks or telling_table(table)]
        return cls(was, codes, [w for w, _ in used], [table for _, table in used])

    @property
    def marks(self) -> Iterator[tuple[Witness, Floats]]:
        """The marks that tell something, with their tables."""
        return ((w, table) for w, table in zip(self.witnesses, self.tables, strict=True) if w.marks)

    def log_likelihood(self, block: Block, x: Ints) -> Floats:
        """L(k) of every record and category, without the record itself."""
        k = len(self.tables[0])
        own = (x[:, None] == np.arange(k)).astype(np.float64)
        out = np.zeros((len(x), k))
        for w, table in zip(self.witnesses, self.tables, strict=True):
            y = w.codes_of(block)
            there = y >= 0
            count = table.T[np.where(there, y, 0)] - own
            of = table.sum(axis=1) - own
            likely = (np.maximum(count, 0.0) + 1.0 / w.size) / (np.maximum(of, 0.0) + 1.0)
            out += np.where(there[:, None], np.log(likely), 0.0)
        return out

    def votes(self, block: Block, levels: Sequence[str], k: int) -> Floats:
        """The number of released columns of each record that show each category; columns are compared by their texts."""
        out = np.zeros((len(block), k))
        place = {level: i for i, level in enumerate(levels)}
        for w in self.witnesses:
            to = np.array([*(place.get(text, -1) for text in w.texts), -1], dtype=np.int64)
            shown = to[w.codes_of(block)] if w.texts else np.full(len(block), -1)
            out += shown[:, None] == np.arange(k)
        return out


@dataclass(frozen=True, slots=True)
class Witness:
    """A released column as categories: its own, tenths of its numbers, or the marks of its values."""

    name: str
    size: int
    levels: Ints | None
    cuts: Floats | None
    texts: tuple[str, ...] = ()
    marks: bool = False
    of: str = ""  # the column whose codes of missing values these are
    has: Callable[[Floats], Bools] | None = None  # tells apart the values with a mark

    def codes_of(self, block: Mapping[str, Array] | Block) -> Ints:
        values = block[self.name]
        if self.has is not None:
            return np.asarray(self.has(values), dtype=np.int64)
        if self.levels is not None:
            return np.asarray(self.levels[values], dtype=np.int64)
        if self.marks:
            return marks_of(values) if values.dtype.kind == "f" else np.where(values < 0, MISSING_MARK, 0)
        assert self.cuts is not None
        there = ~np.isnan(values)
        return np.where(there, np.searchsorted(self.cuts, values, side="right"), -1).astype(np.int64)


def witnesses_of(joined: Microdata, names: Sequence[str], coded: Mapping[str, str]) -> list[Witness]:
    """The released columns that can be used, and their marks; of a column with many categories only the marks can.

    `coded` has the columns with the codes of missing values that columns show. Which code it is, is a mark too.
    """
    out: list[Witness] = []
    for n in names[:_MOST]:
        column = joined.table.columns[n]
        if column.kind == "nominal":
            if len(column.levels) <= MOST_LEVELS:
                codes = np.array([*range(len(column.levels)), -1], dtype=np.int64)
                out.append(Witness(n, len(column.levels), codes, None, tuple(map(str, column.levels))))
        else:
            table = as_one_group(joined).table
            cuts = np.unique(np.asarray(table.quantiles(n, [i / _PARTS for i in range(1, _PARTS)])[0], dtype=np.float64))
            cuts = cuts[~np.isnan(cuts)]
            if len(cuts):
                out.append(Witness(n, len(cuts) + 1, None, cuts))
            if joined.rows <= MOST_HELD:
                values = collect(joined, [n])[2][n]
                odd: list[Callable[[Floats], Bools]] = [partial(are_multiples, unit=unit) for unit in odd_units(values)]
                odd += [partial(np.isin, test_elements=those) for those in repeated_values(values)]
                out += [Witness(n, 2, None, None, marks=True, has=has) for has in odd]
        out.append(Witness(n, MARKS, None, None, marks=True))
        if n in coded:
            codes = np.arange(len(joined.table.columns[coded[n]].levels) + 1)  # the last is no code
            out.append(Witness(coded[n], len(codes), codes, None, marks=True, of=n))
    return out
