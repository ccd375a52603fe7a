"""The original and the release as two labelled files: their common columns, on one scale and with one list of levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.errors import UtilityError, nearest_names
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import as_one_group, moments_by_group, reduce_groups
from larvatus.stats.linear.moments import SampleMoments
from larvatus.stats.models.design_terms import Atom, knots_of, spline_terms

_MOST_LEVELS, MOST_GROUPED = 50, 12
KNOTS = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)


@dataclass(frozen=True, slots=True)
class Variable:
    """A column in both files; `masked` and `grouped` (a sub-group column) are its roles, `levels` those of either file."""

    name: str
    masked: bool
    grouped: bool
    number: bool
    missing: bool = False
    mean: float = 0.0
    sd: float = 1.0
    knots: Floats = field(default_factory=lambda: np.zeros(0), repr=False)
    levels: tuple[str, ...] = ()
    recode: tuple[Array, ...] = field(default=(), repr=False)

    def atoms(self) -> list[Atom]:
        """Its atoms in a design: a number, or an indicator for each level but the most frequent; and one for missing."""
        bent = [Atom(f"{self.name} bend {i + 1}", self.name, self.masked, "bend", self.grouped)
                for i in range(max(len(self.knots) - 2, 0))]
        absent = [Atom(f"{self.name} missing", self.name, self.masked, "missing", self.grouped)] if self.missing else []
        if self.number:
            return [Atom(self.name, self.name, self.masked, "number", self.grouped), *bent, *absent]
        own = [Atom(f"{self.name}={v}", self.name, self.masked, "level", self.grouped) for v in self.levels[1:]]
        return [*own, *absent]

    def fill(self, values: Array, side: int, design: Floats, rows: Sequence[int]) -> None:
        """Write its atoms into rows of a design."""
        if not self.number:
            code = self.recode[side][values]
            for i in range(len(self.levels) - 1):
                np.equal(code, i + 1, out=design[rows[i]], casting="unsafe")
            if self.missing:
                np.less(values, 0, out=design[rows[-1]], casting="unsafe")
            return
        x = design[rows[0]]
        np.subtract(values, self.mean, out=x)
        np.divide(x, self.sd, out=x)
        if self.missing:
            absent = np.isnan(x)
            design[rows[-1]] = absent
            x[absent] = 0.0
        if len(self.knots) > 2:
            for row, bend in zip(rows[1:], spline_terms(x, self.knots), strict=False):
                design[row] = bend


@dataclass(frozen=True, slots=True)
class TwoFiles:
    """Both files, the columns they are compared by, and notes on these."""

    sides: tuple[Microdata, Microdata]
    variables: tuple[Variable, ...]
    notes: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        return [v.name for v in self.variables]

    @property
    def rows(self) -> tuple[int, int]:
        return self.sides[0].rows, self.sides[1].rows

    @property
    def share(self) -> float:
        """The share of released records, c."""
        return self.rows[1] / sum(self.rows)


def two_files(original: Microdata, released: Microdata, columns: Sequence[str] | None, spline: bool) -> TwoFiles:
    """Both files with their common columns (or those named); an error if no masked column can be compared."""
    if not original.rows or not released.rows:
        raise UtilityError("one of the files has no records, so there is nothing to compare.", subject="propensity")
    mine, theirs = original.table.columns, released.table.columns
    given = [*original.sub_groups.columns, *original.non_confidential]
    every = [n for n in dict.fromkeys([*original.confidential, *given]) if n in mine]
    for name in columns or ():
        if name not in every:
            raise UtilityError(f"{name!r} is not a column to compare; {nearest_names(name, every)}",
                               subject="propensity.columns")
    asked = sorted(n for n in every if columns is None or n in columns)
    gone = [n for n in asked if n not in theirs]
    changed = [n for n in asked if n in theirs and mine[n].kind != theirs[n].kind]
    grouped = set(original.sub_groups.columns)
    many = [n for n in asked if n in grouped and n in theirs and len(mine[n].levels) > MOST_GROUPED]
    names = [n for n in asked if n not in (*gone, *changed, *many)]
    masked = set(original.confidential)
    if not masked & set(names):
        raise UtilityError("no confidential column of the original is in the release with the same type, so there "
                           "is nothing to compare. Use other columns, or omit the measure.", subject="propensity")
    sides = original, released
    numbers = [n for n in names if mine[n].kind == "number"]
    nominal = [n for n in names if mine[n].kind == "nominal"]
    variables = [*_numbers(sides, numbers, masked, spline), *_nominal(sides, nominal, masked)]
    notes = [f"{n} is not in the release and is left out" for n in gone]
    notes += [f"{n} has a different type in the release and is left out" for n in changed]
    notes += [f"{n} has more than {MOST_GROUPED} levels and enters only as sub-groups" for n in many]
    notes += [f"{n} does not have the same levels in both files" for n in nominal if _other_levels(sides, n)]
    notes += [f"{n} has more than {_MOST_LEVELS} levels; the rarest are combined" for n in nominal
              if len(_union(mine[n], theirs[n])) > _MOST_LEVELS]
    whole = (replace(v, grouped=v.name in grouped) for v in variables)
    return TwoFiles(sides, tuple(sorted(whole, key=lambda v: v.name)), tuple(notes))


def _numbers(sides: tuple[Microdata, Microdata], names: Sequence[str], masked: set[str], spline: bool) -> list[Variable]:
    if not names:
        return []
    files = [SampleMoments.total(moments_by_group(data, names)) for data in sides]
    total = SampleMoments.merge(*files)
    out = []
    for j, name in enumerate(names):
        present = total.present[j]
        missing = present < sum(d.rows for d in sides)
        varies = present > 1 and not total.constant[j] and total.variance[j] > 0
        mean, sd = (float(total.mean[j]), float(np.sqrt(total.variance[j]))) if varies else (float(total.mean[j]), 1.0)
        knots = np.zeros(0)
        if spline and varies and name in masked:
            knots = knots_of((as_one_group(sides[0]).table.quantiles(name, KNOTS)[0] - mean) / sd)
        out.append(Variable(name, name in masked, False, True, missing, mean if present else 0.0, sd, knots))
    return out


def _union(one: Column, other: Column) -> list[object]:
    return list(dict.fromkeys([*one.levels, *other.levels]))


def _other_levels(sides: tuple[Microdata, Microdata], name: str) -> bool:
    """Whether one file has a level that the other does not."""
    used = []
    for data in sides:
        levels = data.table.columns[name].levels
        used.append({levels[i] for i in np.flatnonzero(_level_counts(data, name, len(levels))[:-1])})
    return used[0] != used[1]


def _level_counts(data: Microdata, name: str, levels: int) -> NDArray[np.int64]:
    """The number of records with each level; the last is the number of missing values."""
    parts = reduce_groups(data, [name], lambda g, b: np.bincount(b[name] % (levels + 1), minlength=levels + 1), np.add)
    return np.asarray(np.sum(parts, axis=0), dtype=np.int64)


def _nominal(sides: tuple[Microdata, Microdata], names: Sequence[str], masked: set[str]) -> list[Variable]:
    out = []
    for name in names:
        both = [data.table.columns[name] for data in sides]
        union = _union(*both)
        place = {v: i for i, v in enumerate(union)}
        into = [np.array([place[v] for v in column.levels], dtype=np.int64) for column in both]
        count, absent = np.zeros(len(union), dtype=np.int64), 0
        for data, column, to in zip(sides, both, into, strict=True):
            found = _level_counts(data, name, len(column.levels))
            np.add.at(count, to, found[:-1])
            absent += int(found[-1])
        order = sorted((i for i in range(len(union)) if count[i]), key=lambda i: (-count[i], str(union[i])))
        kept = order[:_MOST_LEVELS]
        code = np.full(len(union) + 1, -1, dtype=np.int64)
        code[:-1][order] = np.minimum(np.arange(len(order)), len(kept) - 1 if len(order) > len(kept) else len(order))
        recode = tuple(np.append(code[to], -1) for to in into)
        labels = tuple(str(union[i]) for i in kept) if len(order) <= len(kept) else (
            *(str(union[i]) for i in kept[:-1]), "other")
        out.append(Variable(name, name in masked, False, False, absent > 0, levels=labels, recode=recode))
    return out


def fill_design(variables: Sequence[Variable], rows: Mapping[str, Sequence[int]], side: int, block: Block, low: int, high: int,
           design: Floats) -> None:
    """Write the atoms of some records of a block into a design, rows × records."""
    for v in variables:
        v.fill(block[v.name][low:high], side, design, rows.get(v.name, ()))
