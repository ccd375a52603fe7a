"""S as a design matrix: numbers as they are, categories as indicators, ordered levels as ranks, missing values indicated."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import RolesError
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.labelling.labels import code_column
from larvatus.data.microdata import Microdata
from larvatus.data.text_columns import texts
from larvatus.data.verbs import map_rows, reduce_groups, remember, remember_columns, with_table

MOST_LEVELS = 50


@dataclass(frozen=True, slots=True)
class Term:
    """One column of the design matrix: a number, a rank, an indicator of a level, or an indicator of missing values.

    `name` is for people. Another column may be called the same, such as `age missing`; `made` is unique. `pooled` lists, by
    sub-group, the levels that an indicator stands for if rare levels were joined; an empty list means an indicator of nothing.
    """

    name: str
    column: str
    level: int | None = None
    missing: bool = False
    fill: tuple[float, ...] = ()
    pooled: tuple[tuple[int, ...], ...] = ()

    @property
    def new_column(self) -> str:
        """The column that holds the term once it is made one."""
        if self.level is None and not self.missing:
            return scratch("term", self.column)
        return scratch("term", scratch("missing" if self.missing else f"level {self.level}", self.column))

    @property
    def is_column(self) -> bool:
        """Whether the term is the column as it stands, if that is numeric."""
        return self.level is None and not self.missing and not self.fill and not self.pooled

    def of(self, group: int, block: Block) -> NDArray[np.float64]:
        values = block[self.column]
        if self.pooled and not self.pooled[group]:
            return np.zeros(len(values))
        if self.pooled and self.level is not None:
            return np.asarray(np.isin(values, self.pooled[group]), dtype=np.float64)
        if self.level is not None:
            return np.asarray(values == self.level, dtype=np.float64)
        if not self.missing and not self.fill and values.dtype.kind == "f":
            return values
        absent = np.isnan(values) if values.dtype.kind == "f" else values < 0
        if self.missing:
            return np.asarray(absent, dtype=np.float64)
        filled = self.fill[group] if self.fill else np.nan
        return np.asarray(np.where(absent, filled, values), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Design:
    """The terms for a list of non-confidential columns."""

    terms: tuple[Term, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(t.name for t in self.terms)

    @property
    def new_columns(self) -> tuple[str, ...]:
        """The columns that hold the terms once they are made."""
        return tuple(t.new_column for t in self.terms)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(t.column for t in self.terms))

    def matrix(self, group: int, block: Block) -> NDArray[np.float64]:
        """The design matrix of a block, rows × terms."""
        out = np.empty((len(self.terms), len(block)))
        for j, term in enumerate(self.terms):
            out[j] = term.of(group, block)
        return out.T


def design_of(data: Microdata, columns: Sequence[str], drop_first: bool = True, frequent: bool = False) -> Design:
    """The terms for the columns. A categorical column with more than fifty levels is refused.

    If `frequent`, such a column has indicators for its most frequent levels, as in attacks, which must run on any file. So
    has a sub-group column, which varies only inside pools of small sub-groups. Codes of missing values have indicators then.
    """
    held, ordered = data.table.columns, tuple(n for n in columns if n in data.roles.ordered)
    what = "design", tuple(held[n] for n in columns), ordered, data.sub_groups.columns, drop_first, frequent
    return remember(data, what, columns, lambda: _design_of(data, columns, drop_first, frequent))


def _design_of(data: Microdata, columns: Sequence[str], drop_first: bool, frequent: bool) -> Design:
    terms: list[Term] = []
    codes = {code_column(n) for n in columns} if frequent else set()  # they are terms of the columns they belong to
    for name in (n for n in columns if n not in codes):
        column = data.table.columns[name]
        terms += _codes_of_missing(data, name) if frequent else []
        if column.kind == "number" or name in data.roles.ordered:
            terms += _numeric(data, name)
            continue
        if len(column.levels) > MOST_LEVELS and not frequent and name not in data.sub_groups.columns:
            spoilt = "".join(
                f" It was read as categorical because {t.stray + t.dressed:,} of {t.cells:,} cells are not plain numbers. If "
                "it should be numeric, correct or empty these cells." for t in texts(data, [name]) if t.spoilt
            )
            raise RolesError(
                f"{name!r} is categorical with {len(column.levels)} levels, and at most {MOST_LEVELS} can be used as "
                f"indicators. Make it a sub-group column, recode it, or do not release it.{spoilt}"
            )
        first = 1 if drop_first else 0
        chosen = _frequent_levels(data, name) if len(column.levels) > MOST_LEVELS else range(first, len(column.levels))
        terms += [Term(f"{name}={column.levels[i]}", name, level=i) for i in chosen]
        if _some_absent(data, name):
            terms.append(Term(f"{name} missing", name, level=-1))
    return Design(tuple(terms))


def _codes_of_missing(data: Microdata, name: str) -> list[Term]:
    """An indicator for each code of missing values but the first: that a cell is missing has an indicator of its own."""
    codes = code_column(name)
    if codes not in data.table.columns:
        return []
    levels = data.table.columns[codes].levels[:MOST_LEVELS]
    return [Term(f"{name} missing, {level}", codes, level=i) for i, level in enumerate(levels) if i]


def _frequent_levels(data: Microdata, name: str) -> list[int]:
    """The most frequent levels of a column with too many of them, in their order; the other levels share the value 0."""
    counted: dict[object, int] = {level: times for (level,), times in data.table.counts([name]).items()}
    levels = data.table.columns[name].levels
    return sorted(sorted(range(len(levels)), key=lambda i: (-counted.get(levels[i], 0), i))[:MOST_LEVELS])


def _some_absent(data: Microdata, name: str) -> bool:
    column = data.table.columns[name]
    if not column.missing:
        return False
    numeric = column.kind == "number"
    return any(reduce_groups(data, [name], lambda g, b: bool((np.isnan(b[name]) if numeric else b[name] < 0).any()),
                             operator.or_))


def _numeric(data: Microdata, name: str) -> list[Term]:
    if not _some_absent(data, name):
        return [Term(name, name)]

    def total(group: int, block: Block) -> NDArray[np.float64]:
        values = block[name].astype(np.float64)
        there = values[~np.isnan(values)] if data.table.columns[name].kind == "number" else values[values >= 0]
        return np.array([len(there), there.sum()])

    sums = reduce_groups(data, [name], total, np.add)
    fill = tuple(float(s[1] / s[0]) if s[0] else 0.0 for s in sums)
    return [Term(name, name, fill=fill), Term(f"{name} missing", name, missing=True)]


def with_terms(data: Microdata, design: Design) -> Microdata:
    """The data with every term of the design as an additional column. A term that is a column as it stands is not copied."""
    same = {t.new_column: t.column for t in design.terms if t.is_column and data.table.columns[t.column].kind == "number"}
    if same:
        data = with_table(data, data.table.pair(data.table, same))
    rest = Design(tuple(t for t in design.terms if t.new_column not in same))
    if not rest.terms:
        return data
    terms = rest.new_columns

    def expand(group: int, block: Block) -> Mapping[str, Array]:
        return dict(zip(terms, rest.matrix(group, block).T, strict=True))

    return remember_columns(data, ("terms", rest), rest.columns, terms,
                            lambda: map_rows(data, expand, rest.columns, [Column(t, "number") for t in terms]))
