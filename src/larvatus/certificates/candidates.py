"""Cells of records that S does not tell apart: the candidates of each target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.data.contracts import Column
from larvatus.data.labelling.labels import code_column
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release

_MISSING = -np.inf


@dataclass(frozen=True, slots=True)
class CandidateCells:
    """The cell of each record, in record order, and the sub-group of each record."""

    code: Ints
    group: Ints

    @property
    def sizes(self) -> Ints:
        return np.asarray(np.bincount(self.code), dtype=np.int64)

    @property
    def chance(self) -> float:
        """The expected share of links of random guesses within cells: one per cell."""
        return float((self.sizes > 0).sum() / max(len(self.code), 1))

    def rows(self) -> list[Ints]:
        """The records of each cell."""
        order = np.argsort(self.code, kind="stable")
        return np.split(order, np.cumsum(self.sizes)[:-1])


@dataclass(frozen=True, slots=True)
class ChosenRecords:
    """The records that a step masks, as 1 in record order, and the columns that it releases as they are for the others."""

    marks: Floats
    columns: tuple[str, ...]


def candidate_cells(
    release: Release, original: Microdata | None = None, zeros_kept: Sequence[str] = (), chosen: Sequence[ChosenRecords] = (),
    hidden: Sequence[str] = (),
) -> CandidateCells:
    """Cells of equal S: sub-groups, columns released as they are, and the patterns of cells that the steps keep.

    A missing value stays missing, so its place is known, and so is the code that says why it is missing. So is the place of a
    zero in the columns of steps that keep zeros. Places are those in the original, if it is given: a later step, such as
    rounding, may make more zeros. If steps mask `chosen` records, the intruder is told which ones, and the values of the others
    are known like S. If S has more digits in the source than its numbers have, every record counts as a cell of its own.
    `hidden` are columns of S in the original that the file does not have, or has coarser: released values may tell them.
    """
    data = release.data
    columns = data.table.columns
    given = [n for n in (*data.sub_groups.columns, *data.known, *release.unmasked) if n in columns]
    masked = [n for n in data.confidential if n not in release.unmasked]
    names = list(dict.fromkeys([*given, *masked]))
    _, group, values = collect(data, names)
    kinds = {n: columns[n].kind for n in names}
    if original is not None:
        there = [n for n in masked if n in original.table.columns]
        values |= collect(original, there)[2]
        kinds |= {n: original.table.columns[n].kind for n in there}
    keys: list[Floats] = [group.astype(np.float64)]
    keys += [key for n in dict.fromkeys(given) for key in _as_released(values[n], columns[n])]
    keys += _of_original(original, hidden) if original is not None else []
    keys += [_missing(values[n], kinds[n]).astype(np.float64) for n in masked]
    keys += _reasons(data, {n: _missing(values[n], kinds[n]) for n in names})
    keys += [(values[n] == 0).astype(np.float64) for n in masked if n in zeros_kept]
    for some in chosen:
        keys += [some.marks, *(np.where(some.marks == 1, 0.0, _number(values[n])) for n in some.columns)]
    return CandidateCells(codes_of(keys), group)


def released_rows(release: Release) -> Ints:
    """A code of each record's whole released row, over all copies; equal rows have equal codes."""
    keys: list[Floats] = []
    for copy in release.copies:
        names = [n for n in copy.released if n in copy.table.columns]
        _, group, values = collect(copy, names)
        keys += [group.astype(np.float64), *(key for n in names for key in _as_released(values[n], copy.table.columns[n]))]
        keys += _reasons(copy, {n: _missing(values[n], copy.table.columns[n].kind) for n in names})
    return codes_of(keys)


def columns_with_more_digits(release: Release) -> list[str]:
    """Unmasked columns that are released with more digits than the numbers that are compared here."""
    columns = release.data.table.columns
    return [n for n in (*release.data.sub_groups.columns, *release.data.known) if n in columns and columns[n].rounded]


def absent_columns(release: Release, original: Microdata) -> tuple[str, ...]:
    """Columns of S that masks could use and that the release does not have: someone removed them from a file."""
    given = dict.fromkeys((*original.sub_groups.columns, *original.known))
    return tuple(n for n in given if n not in release.data.table.columns)


def hidden_columns(release: Release, original: Microdata) -> tuple[str, ...]:
    """Columns of S that masks could use and that the release does not have, or has coarser than the masks saw them.

    Keys that steps of the release changed are in the original as released.
    """
    there = [n for n in original.keys if n in release.data.table.columns]
    shown = collect(release.data, there)[2]
    coarser = []
    for n in there if release.data.rows == original.rows else ():
        mine = _as_released(shown[n], release.data.table.columns[n])
        if codes_of([*mine, *_of_original(original, [n])]).max(initial=0) > codes_of(mine).max(initial=0):
            coarser.append(n)
    return (*absent_columns(release, original), *coarser)


def original_values(original: Microdata, names: Sequence[str]) -> tuple[Ints, dict[str, Floats]]:
    """Record ids, and the columns: missing numbers as NaN, levels as codes, missing levels as −1."""
    record, _, values = collect(original, list(names))
    return record, {n: np.asarray(values[n]) for n in names}


def codes_of(keys: Sequence[Floats]) -> Ints:
    """One code per distinct combination of keys."""
    code = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        part = np.unique(key, return_inverse=True)[1].reshape(-1)
        code = np.unique(code * (int(part.max(initial=0)) + 1) + part, return_inverse=True)[1].reshape(-1)
    return code


def _reasons(data: Microdata, gone: Mapping[str, Bools]) -> list[Floats]:
    """For each column with codes of missing values, which one each missing cell has: they are released as they are."""
    marks = {n: code_column(n) for n in gone if code_column(n) in data.table.columns}
    if not marks:
        return []
    found = collect(data, list(marks.values()))[2]
    return [np.where(gone[n], found[mark].astype(np.float64), _MISSING) for n, mark in marks.items()]


def _of_original(original: Microdata, names: Sequence[str]) -> list[Floats]:
    values = original_values(original, names)[1]
    return [key for n in names for key in _as_released(values[n], original.table.columns[n])]


def _missing(values: Floats, kind: str) -> Bools:
    """Which values are missing: a category without a value has a code below zero."""
    return np.asarray(values < 0 if kind == "nominal" else np.isnan(np.asarray(values, dtype=np.float64)))


def _as_released(values: Floats, column: Column) -> list[Floats]:
    """Keys that are equal only if the released cells are: -0.0 is not 0.0, and digits that no float has may differ."""
    plain = _number(values)
    if column.rounded:
        return [np.arange(len(plain), dtype=np.float64)]
    return [plain, np.signbit(plain).astype(np.float64)] if column.kind == "number" else [plain]


def _number(values: Floats) -> Floats:
    plain = np.asarray(values, dtype=np.float64)
    return np.where(np.isnan(plain), _MISSING, plain)
