"""The training records, the holdout and the released rows in common columns, as points of one space.

A number is measured in standard deviations of the training records. Two different categories are at distance 1, and so are a
missing and a present value. Rows are in an order that depends on their values alone, so that the order of a file changes
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from larvatus.attacks.scoring.credits import outlying_tenth
from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.data.contracts import Array, Column
from larvatus.data.holdout import NO_HOLDOUT
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.sub_groups import Groups

_NEEDED = f"it compares records that the generator saw with others, and there is no holdout: {NO_HOLDOUT}"
_ONE_HOT = 24  # levels up to which every level has a coordinate of its own
_UNUSED = ("file", "error", "presence", "guesses", "published")


@dataclass(frozen=True)
class FileRecords:
    """Records of one file: ids, sub-group (−1 if the original has none like it), and values (common codes for categories)."""

    record: Ints
    group: Ints
    values: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.group)

    def take(self, rows: Ints) -> FileRecords:
        return FileRecords(self.record[rows], self.group[rows], {n: v[rows] for n, v in self.values.items()})


@dataclass(frozen=True)
class ComparedFiles:
    """The files in the columns that the intruder knows; `secrets` are those of them that are confidential."""

    columns: Mapping[str, Column]
    secrets: tuple[str, ...]
    training: FileRecords
    released: FileRecords
    held_out: FileRecords | None
    groups: Groups
    notes: tuple[str, ...]

    @classmethod
    def of(cls, original: Microdata, released: Microdata, intruder: Intruder, needs_holdout: bool = True) -> ComparedFiles:
        """Read the three files. Without a holdout, an attack that needs one is refused."""
        if needs_holdout and original.holdout is None:
            raise RiskError(_NEEDED)
        names, left_out = _common_columns(original, released, intruder)
        every = [original, released, *([original.holdout] if original.holdout is not None else [])]
        columns = {n: original.table.columns[n] for n in names}
        maps = _common_levels(every, names)
        parts = [_part(d, names, m) for d, m in zip(every, maps, strict=True)]
        where = {tuple(map(_as_text, label)): g for g, label in enumerate(original.groups.labels)}
        for k, data in enumerate(every[1:], start=1):
            here = np.array([where.get(tuple(map(_as_text, label)), -1) for label in data.groups.labels], dtype=np.int64)
            parts[k] = replace(parts[k], group=here[parts[k].group])
        made = cls(columns, tuple(n for n in names if n in original.confidential), parts[0], parts[1],
                   parts[2] if len(parts) == 3 else None, original.groups,
                   (*left_out, *intruder.fields_without_effect(*_UNUSED)))
        return made._in_order()

    def _in_order(self) -> ComparedFiles:
        """The same files, each in an order that depends on its values alone, and that has no pattern."""

        def ordered(part: FileRecords) -> FileRecords:
            return part.take(_order_of(self.points(part)))

        held = None if self.held_out is None else ordered(self.held_out)
        return replace(self, training=ordered(self.training), released=ordered(self.released), held_out=held)

    @property
    def holdout(self) -> FileRecords:
        """The records held out."""
        if self.held_out is None:
            raise RiskError(_NEEDED)
        return self.held_out

    def points(self, part: FileRecords, names: Sequence[str] | None = None) -> Floats:
        """The records as points, in some of the columns (default: all)."""
        blocks = [self._coordinates(n, part.values[n]) for n in (self.columns if names is None else names)]
        return np.ascontiguousarray(np.concatenate(blocks, axis=1)) if blocks else np.zeros((len(part), 1))

    def _coordinates(self, name: str, value: Array) -> Floats:
        if self.columns[name].kind == "number":
            centre, scale, incomplete = self._scales[name]
            gone = np.isnan(value)
            out = np.where(gone, 0.0, (value - centre) / scale)[:, None]
            return np.column_stack([out, gone]) if incomplete else np.asarray(out)
        return np.asarray(_level_points(self._level_counts[name])[value + 1])

    @cached_property
    def _level_counts(self) -> Mapping[str, int]:
        parts = [p for p in (self.training, self.released, self.held_out) if p is not None]
        return {n: 1 + max(int(p.values[n].max(initial=-1)) for p in parts) for n, c in self.columns.items()
                if c.kind != "number"}

    @cached_property
    def _scales(self) -> Mapping[str, tuple[float, float, bool]]:
        parts = [p for p in (self.training, self.released, self.held_out) if p is not None]
        out = {}
        for n, c in self.columns.items():
            if c.kind == "number":
                value = self.training.values[n]
                there = value[~np.isnan(value)]
                sd = float(there.std()) if len(there) else 0.0
                centre = float(np.median(there)) if len(there) else 0.0
                flat = sd <= 1e-12 * max(abs(centre), 1e-300)
                out[n] = (centre, 1.0 if flat else sd, any(bool(np.isnan(p.values[n]).any()) for p in parts))
        return out

    def outlying(self, part: FileRecords) -> Bools:
        """The records as far from the centre as the outlying tenth of the training records."""
        centre = np.median(self.points(self.training), axis=0)
        far = [np.sqrt(((self.points(p) - centre) ** 2).sum(axis=1)) for p in (self.training, part)]
        tenth = outlying_tenth(far[0])
        return np.asarray(far[1] >= far[0][tenth].min()) if tenth.any() else np.zeros(len(part), dtype=bool)


def _common_columns(original: Microdata, released: Microdata, intruder: Intruder) -> tuple[list[str], list[str]]:
    """Columns that the intruder knows and all files have with the same kind, and notes on the others."""
    apart = [n for n in original.sub_groups.columns if not intruder.known or n in intruder.known]
    masked, given = intruder.columns(original.confidential, original.non_confidential)
    names, notes = [], []
    for n in (*masked, *given, *apart):
        mine, theirs = original.table.columns.get(n), released.table.columns.get(n)
        if mine is None or theirs is None:
            continue
        if mine.kind == theirs.kind:
            names.append(n)
        else:
            notes.append(f"{n} is left out, because it is not of the same type in the released file")
    if not any(n in original.confidential for n in names):
        raise RiskError("the intruder knows no confidential column that both files have with the same type. Add one to "
                        "intruder.known.")
    return list(dict.fromkeys(names)), notes


def _common_levels(every: Sequence[Microdata], names: Sequence[str]) -> list[dict[str, Ints]]:
    """For each file and categorical column, the common code of each code; levels are matched as they are written."""
    out: list[dict[str, Ints]] = [{} for _ in every]
    for n in names:
        if every[0].table.columns[n].kind == "number":
            continue
        texts = [[_as_text(v) for v in d.table.columns[n].levels] for d in every]
        place = {t: i for i, t in enumerate(sorted({t for listed in texts for t in listed}))}
        for maps, listed in zip(out, texts, strict=True):
            maps[n] = np.array([*(place[t] for t in listed), -1], dtype=np.int64)
    return out


def _as_text(level: object) -> str:
    """A level as a CSV file shows it: there, text codes may be read back as numbers."""
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    return str(level).lower() if isinstance(level, bool) else str(level)


def _part(data: Microdata, names: Sequence[str], maps: Mapping[str, Ints]) -> FileRecords:
    record, group, values = collect(data, list(names))
    coded = {n: maps[n][v] if n in maps else np.asarray(v, dtype=np.float64) for n, v in values.items()}
    return FileRecords(record, group, coded)


def _level_points(levels: int) -> Floats:
    """A point for each level, the missing one first: at distance 1 from each other, nearly so if there are many levels."""
    if levels + 1 <= _ONE_HOT:
        return np.asarray(np.eye(levels + 1) / np.sqrt(2))
    drawn = np.random.Generator(np.random.Philox(levels)).normal(size=(levels + 1, _ONE_HOT))
    return np.asarray(drawn / np.sqrt(2 * (drawn**2).sum(axis=1, keepdims=True)))


def _order_of(points: Floats) -> Ints:
    """Rows by value, then shuffled in a way that depends on their number alone."""
    return np.lexsort(points.T)[np.random.Generator(np.random.Philox(len(points))).permutation(len(points))]
