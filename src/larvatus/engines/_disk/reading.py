"""Read batches of a source into columns on disk, by sub-group and record id."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from larvatus.core.arrays import Ints
from larvatus.core.errors import LarvatusError, ReadError, RecordIdError
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Column
from larvatus.data.csv_files.dialect import CsvDialect
from larvatus.data.dates.date_forms import form_of_field
from larvatus.data.dates.date_numbers import DateKind
from larvatus.data.labelling.labels import code_column
from larvatus.data.roles import Roles, SubGroups, changeable_columns, check_roles, columns_read
from larvatus.engines._disk.layout import DiskLayout, PlacedColumn, Room, RowPlaces
from larvatus.engines._disk.table import DiskTable
from larvatus.engines._files import columns as conversion
from larvatus.engines._files.csv import Uses
from larvatus.engines._files.missing_codes import MissingCodeReader
from larvatus.engines._files.record_ids import record_ids
from larvatus.engines._files.sources import arrow_table, batches_of, dialect_of, without_views
from larvatus.engines._files.texts_in_numbers import has_texts
from larvatus.engines._layout.stored_columns import WIDE, StoredColumn
from larvatus.engines._memory.table import decode_labels

MOST_GROUPS, LARGEST_CROSSING = 1 << 20, 1 << 62
Batches = Callable[[], Iterator[Any]]


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a table: Arrow types, the kind of data frame to return, and which columns are released unmasked."""

    types: Mapping[str, Any]
    kind: str
    dtypes: Mapping[str, Any] = field(default_factory=dict)
    index: Any = None
    rows: int = 0
    relation: Any = None
    given: frozenset[str] = frozenset()
    columns: Mapping[str, Column] = field(default_factory=dict)
    dialect: CsvDialect | None = None


class _Numbers:
    """A numeric column while it is read."""

    def __init__(
        self, name: str, kind: Any, confidential: bool, room: Room, tagged: bool = False, one_zero: bool = False,
    ) -> None:
        self.name, self.kind, self.confidential, self._whole = name, kind, confidential, tagged
        self._one_zero = one_zero
        self.stored = StoredColumn(room.folder, np.float64)
        self.missing = self._rounded = False
        self._dates: DateKind | None = None
        stored = conversion.needs_exact(kind) and not confidential
        self.exact = StoredColumn(room.folder, conversion.exact_type(kind)) if stored else None

    def take(self, column: Any) -> None:
        described, values = conversion.as_number(self.name, column, self.kind, self.confidential, self._one_zero)
        self.missing |= described.missing
        self._rounded |= described.rounded
        if described.dates is not None:
            self._dates = described.dates if self._dates is None else self._dates | described.dates
        self._whole = self._whole and bool(np.all(np.isnan(values) | (values == np.rint(values))))
        self.stored.append(values)
        if self.exact is not None:
            self.exact.append(conversion.exact(self.name, column, self.kind))

    def column(self) -> Column:
        import pyarrow as pa

        whole = pa.types.is_integer(self.kind) or self._whole if self._dates is None else self._dates.unit == "day"
        return Column(self.name, "number", integer=whole, missing=self.missing, dates=self._dates, rounded=self._rounded)


class _Names:
    """A categorical column while it is read: codes in order of appearance, put in the order of levels at the end."""

    def __init__(self, name: str, roles: Roles, room: Room) -> None:
        self.name, self.roles, self._room = name, roles, room
        self.stored = StoredColumn(room.folder, np.int32)
        self._codes: dict[Any, int] = {}
        self.missing = False

    def take(self, column: Any) -> None:
        levels, codes = conversion.encode_levels(self.name, column)
        place = np.array([*(self._codes.setdefault(v, len(self._codes)) for v in levels), -1], dtype=np.int32)
        self.missing |= bool((codes < 0).any())
        self.stored.append(place[codes])

    def column(self) -> Column:
        levels = list(self._codes)
        order = conversion.level_order(self.name, levels, self.roles)
        place = np.full(len(levels) + 1, -1, dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        final = StoredColumn(self._room.folder, np.int32)
        for _, block in self.stored.stream():
            final.append(place[block])
        self.stored = final
        return Column(self.name, "nominal", missing=self.missing,
                      levels=tuple(conversion.plain_value(levels[i]) for i in order))


def read_to_disk(
    room: Room, source: Any, relation: bool, names: Sequence[str], roles: Roles, sub_groups: SubGroups,
    pairing: Path | None,
) -> DiskTable:
    """A table of the columns with a role, sorted by sub-group and record id."""
    check_roles(roles, sub_groups, names)
    wanted, changeable = list(columns_read(roles, sub_groups)), frozenset(changeable_columns(roles, sub_groups))
    extra = [roles.record_id] if roles.record_id and roles.record_id not in wanted else []
    uses = Uses.of(roles, sub_groups, names)
    schema, batches, origin = _opened(source, relation, [*wanted, *extra], uses)
    taken: dict[str, _Numbers | _Names] = {}
    readers = {n: MissingCodeReader(n, roles.missing[n], has_texts(schema.field(n))) for n in wanted if roles.missing.get(n)}
    codes = {n: StoredColumn(room.folder, np.int32) for n in readers}
    for name in wanted:
        kind = schema.field(name).type
        value = kind.value_type if conversion.is_dictionary(kind) else kind
        value = readers[name].type(value) if name in readers else value
        conversion.check_type(name, value)
        if conversion.is_named(name, value, roles, sub_groups):
            taken[name] = _Names(name, roles, room)
        else:
            tagged = name in readers and readers[name].tagged
            taken[name] = _Numbers(name, value, name in changeable, room, tagged, one_zero=name in roles.confidential)
    record = StoredColumn(room.folder, np.int64)
    for batch in batches():
        for name, column in taken.items():
            cells = batch.column(batch.schema.get_field_index(name))
            if name in readers:
                cells, numbers = readers[name].split(cells)
                codes[name].append(numbers)
            column.take(cells)
        if roles.record_id is not None:
            record.append(record_ids(roles.record_id, batch.column(batch.schema.get_field_index(roles.record_id))))
    release_unused()
    rows = next(iter(taken.values())).stored.rows
    if rows == 0:
        raise ReadError("the source has a header but no records.")
    columns = {n: conversion.with_date_form(c.column(), form_of_field(schema.field(n))) for n, c in taken.items()}
    coded = {n: r for n, r in readers.items() if r.levels}
    columns |= {c: Column(c, "nominal", levels=tuple(r.levels)) for n, r in coded.items() for c in [code_column(n)]}
    record = _records(room, record, rows, roles.record_id, pairing)
    held: dict[str, PlacedColumn] = {n: RowPlaces(c.stored) for n, c in taken.items()}
    exact = {n: c.exact for n, c in taken.items() if isinstance(c, _Numbers) and c.exact is not None}
    held |= {scratch("exact", n): RowPlaces(c) for n, c in exact.items()}
    held |= {code_column(n): RowPlaces(codes[n]) for n in coded}
    origin = replace(origin, types={n: _type(t, columns.get(n), readers.get(n)) for n, t in origin.types.items()})
    code, labels = _crossed(room, {n: taken[n].stored for n in sub_groups.columns}, columns, rows)
    layout = DiskLayout(RowPlaces(record), RowPlaces(_counted(room, rows)), rows)
    start = DiskTable(columns, _no_groups(), layout, held, np.array([0, rows]), room,
                      replace(origin, given=frozenset(wanted) - changeable, columns=columns))
    return start.laid_out(code, sub_groups.columns, labels, [(label,) for label in labels])


def _type(stored: Any, column: Column | None, reader: MissingCodeReader | None) -> Any:
    """The type of a column in a release: whole numbers that were stored as floats, for extended missing values, are whole."""
    import pyarrow as pa

    if column is None or reader is None or not reader.tagged or pa.types.is_integer(stored):
        return stored
    whole = all(isinstance(v, int) for v in column.levels) if column.kind == "nominal" else column.integer
    return pa.int64() if whole else pa.float64()


def release_unused() -> None:
    """Return memory that Arrow no longer uses to the system."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def _opened(source: Any, relation: bool, names: Sequence[str], uses: Uses) -> tuple[Any, Batches, Origin]:
    if relation:
        with _of_their_own():
            selected = source.select(*(f'"{n.replace(chr(34), chr(34) * 2)}"' for n in names))
        return _of_relation(selected, source, names)
    if isinstance(source, str | os.PathLike):
        schema, batches = batches_of(source, names, uses)
        return schema, batches, Origin({n: schema.field(n).type for n in names}, "file", dialect=dialect_of(source))
    from larvatus.engines._files.frames import frame_dtypes, frame_kind, plain_index

    table = arrow_table(source, names)
    kind = frame_kind(source)
    origin = Origin({n: table.schema.field(n).type for n in names}, kind, frame_dtypes(source, names),
                    plain_index(source) if kind == "pandas" else None, table.num_rows)
    return table.schema, lambda: iter(table.to_batches(WIDE)), origin


def _of_relation(selected: Any, relation: Any, names: Sequence[str]) -> tuple[Any, Batches, Origin]:
    with _of_their_own():
        reader = selected.to_arrow_reader(WIDE) if hasattr(selected, "to_arrow_reader") else selected.fetch_record_batch(WIDE)
        schema = without_views(reader.schema.empty_table()).schema

    def batches() -> Iterator[Any]:
        with _of_their_own():
            for batch in reader:
                yield without_views(batch)

    return schema, batches, Origin({n: schema.field(n).type for n in names}, "relation", relation=relation)


@contextmanager
def _of_their_own() -> Iterator[None]:
    """Replace errors of a query passed in by the user: their messages may quote values."""
    try:
        yield
    except (LarvatusError, MemoryError):
        raise
    except Exception as error:
        raise ReadError(f"the relation could not be read ({type(error).__name__}). Run its query alone to see why.") from None


def _records(room: Room, given: StoredColumn, rows: int, name: str | None, pairing: Path | None) -> StoredColumn:
    """Record ids: from the pairing file, from the record id column, or the row numbers."""
    if pairing is not None:
        from larvatus.engines._files.record_ids import paired_records

        given = StoredColumn(room.folder, np.int64)
        given.append(paired_records(pairing, rows))
        return given
    if name is None:
        return _counted(room, rows)
    _check_each_once(room, given, name)
    return given


def _counted(room: Room, rows: int) -> StoredColumn:
    out = StoredColumn(room.folder, np.int64)
    for low in range(0, rows, WIDE):
        out.append(np.arange(low, min(low + WIDE, rows)))
    return out


def _check_each_once(room: Room, record: StoredColumn, name: str) -> None:
    """Raise an error if two record ids are equal."""
    repeated = RecordIdError(f"{name!r} is missing or repeated in some records; each record needs a unique value.",
                             subject="record_id")
    if record.rows <= room.rows:
        if len(np.unique(record.read())) != record.rows:
            raise repeated
        return
    last = np.zeros(0, dtype=np.int64)
    rows = ({"record": block} for _, block in record.stream())
    for found in room.sorter.ordered(rows, {"record": "int64"}, ["record"], ["record"]):
        ids = np.concatenate([last, found["record"]])
        if (np.diff(ids) == 0).any():
            raise repeated
        last = ids[-1:]


def _crossed(
    room: Room, columns: Mapping[str, StoredColumn], described: Mapping[str, Column], rows: int
) -> tuple[StoredColumn, list[tuple[Any, ...]]]:
    """The code of each row's sub-group and the labels of the sub-groups, missing levels last."""
    out = StoredColumn(room.folder, np.int32)
    if not columns:
        for low in range(0, rows, WIDE):
            out.append(np.zeros(min(WIDE, rows - low), dtype=np.int32))
        return out, [()]
    widths = [len(described[n].levels) + 1 for n in columns]
    if math.prod(widths) >= LARGEST_CROSSING:
        raise ReadError("sub_groups: the columns have too many combinations of levels. Use fewer or coarser columns.")
    seen = np.zeros(0, dtype=np.int64)
    for cell in _cells(columns, widths):
        seen = np.union1d(seen, np.unique(cell))
        if len(seen) > MOST_GROUPS:
            raise ReadError(f"sub_groups: there are more than {MOST_GROUPS:,}. Use fewer or coarser columns.")
    for cell in _cells(columns, widths):
        out.append(np.searchsorted(seen, cell))
    levels = np.stack(np.unravel_index(seen, widths), axis=1).tolist()
    names = [described[n].levels for n in columns]
    missing = [[-1 if v == w - 1 else v for v, w in zip(row, widths, strict=True)] for row in levels]
    return out, [decode_labels(row, names) for row in missing]


def _cells(columns: Mapping[str, StoredColumn], widths: Sequence[int]) -> Iterator[Ints]:
    """One number for each row's combination of levels, missing ones last."""
    for parts in zip(*(c.stream() for c in columns.values()), strict=True):
        cell = np.zeros(len(parts[0][1]), dtype=np.int64)
        for (_, codes), width in zip(parts, widths, strict=True):
            cell = cell * width + np.where(codes < 0, width - 1, codes)
        yield cell


def _no_groups() -> Any:
    from larvatus.data.sub_groups import Groups

    return Groups((), ((),), (0,))


