"""The default engine, for data that fit in memory: contiguous arrays, computation on all cores."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from larvatus.core.arrays import Ints
from larvatus.core.errors import RecordIdError
from larvatus.data.contracts import Array, Column, RecordTable, Words
from larvatus.data.csv_files.dialect import CsvDialect
from larvatus.data.dates.date_forms import form_of_field
from larvatus.data.labelling.labels import FileLabels, code_column
from larvatus.data.roles import Roles, SubGroups, changeable_columns, check_roles, columns_read
from larvatus.engines._files.columns import as_array, as_released, to_arrow, used_levels, with_date_form, with_marks
from larvatus.engines._files.csv import Uses
from larvatus.engines._files.frames import as_frame, as_read, frame_dtypes, frame_kind, plain_index
from larvatus.engines._files.labelled_files import open_as_parquet
from larvatus.engines._files.missing_codes import split_table, with_codes
from larvatus.engines._files.record_ids import paired_records, record_ids
from larvatus.engines._files.sources import arrow_table, column_names, dialect_of, keyed_order_of
from larvatus.engines._files.targets import check_target, write_batches
from larvatus.engines._memory.table import MemoryTable, as_memory, decode_labels, lay_out_rows

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class _Source:
    """The source of a table: columns that are released unmasked, Arrow types, and the kind of data frame to return."""

    kept: pa.Table
    types: Mapping[str, pa.DataType]
    kind: str
    dtypes: Mapping[str, Any]
    index: Any = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    dialect: CsvDialect | None = None


class Memory:
    """Reads all columns with a role into arrays."""

    name, can_be_sent = "memory", True

    def names(self, source: Any) -> list[str]:
        """The columns of the source."""
        return column_names(source)

    def has_random_order(self, source: Any) -> bool:
        """Whether the source states that its rows are in keyed random order."""
        return keyed_order_of(source)

    def read(
        self, source: Any, roles: Roles, sub_groups: SubGroups, pairing: Path | None = None
    ) -> MemoryTable:
        """A table of the columns with a role, sorted by sub-group and record id."""
        with open_as_parquet(source) as opened:
            return self._read(opened.source, roles, sub_groups, pairing)

    def _read(self, source: Any, roles: Roles, sub_groups: SubGroups, pairing: Path | None) -> MemoryTable:
        names = column_names(source)
        check_roles(roles, sub_groups, names)
        wanted = columns_read(roles, sub_groups)
        extra = [roles.record_id] if roles.record_id and roles.record_id not in wanted else []
        table = arrow_table(source, [*wanted, *extra], Uses.of(roles, sub_groups, names))
        forms = {n: form_of_field(table.schema.field(n)) for n in wanted}
        table, codes, held_codes = split_table(table, {n: v for n, v in roles.missing.items() if n in wanted})
        arrays = {n: as_array(n, table.column(n), roles, sub_groups) for n in wanted}
        columns = {n: with_date_form(c, forms[n]) for n, (c, _) in arrays.items()} | codes
        values = {n: v for n, (_, v) in arrays.items()} | held_codes
        record = self._records(table, roles.record_id, pairing)
        changeable = changeable_columns(roles, sub_groups)
        kept = table.select([n for n in wanted if n not in changeable])
        for i, name in enumerate(kept.column_names):
            kept = kept.set_column(i, kept.schema.field(name), as_released(name, kept.column(name), roles, sub_groups))
        kept = kept if isinstance(source, str | os.PathLike) else _copied(kept)
        types = {n: table.schema.field(n).type for n in wanted}
        index = plain_index(source) if frame_kind(source) == "pandas" else None
        held = _Source(kept, types, frame_kind(source), frame_dtypes(source, wanted), index, columns,
                       dialect=dialect_of(source))
        code, labels = _cross(values, columns, sub_groups.columns, table.num_rows)
        declared = [(label,) for label in labels]
        position = np.arange(table.num_rows, dtype=np.int64)
        return lay_out_rows(columns, record, position, values, code, sub_groups.columns, labels, declared, held)

    def _records(self, table: pa.Table, name: str | None, pairing: Path | None) -> Ints:
        if pairing is not None:
            return paired_records(pairing, table.num_rows)
        if name is None:
            return np.arange(table.num_rows, dtype=np.int64)
        return _record_ids(name, table.column(name))

    def frame(self, table: RecordTable, names: Sequence[str], like: RecordTable) -> Any:
        """The named columns in the row order of the source, as its kind of data frame."""
        held = as_memory(table)
        order = np.argsort(held.position, kind="stable")
        out = self._arrow(held, names, order)
        source: _Source = as_memory(like).source
        index = None if source.index is None else source.index[held.position[order]]
        fitting = {n: d for n, d in source.dtypes.items() if n in names and as_read(held.columns[n], source.columns)}
        return as_frame(out, source.kind, source.types, fitting, index)

    def write(
        self, table: RecordTable, names: Sequence[str], path: Path, order: Words | None, pairing: Path | None, overwrite: bool,
        labels: FileLabels | None = None,
    ) -> None:
        """Write the named columns, in the order of the random words if `order` is given, and record ids to a pairing file."""
        check_target(path, overwrite)
        if pairing is not None:
            check_target(pairing, overwrite, folder=False)
        held = as_memory(table)
        by_position = np.argsort(held.position, kind="stable")
        rows = by_position if order is None else np.lexsort((held.record, order(held.record)))
        out, row_order = self._arrow(held, names, rows), "keep" if order is None else "keyed"
        write_batches(_with_records(out, held.record[rows]), path, row_order, pairing, held.source.dialect, labels)

    def _arrow(self, table: MemoryTable, names: Sequence[str], rows: Ints) -> pa.Table:
        import pyarrow as pa

        source: _Source = table.source
        out, kept, places = {}, frozenset(source.kept.column_names), pa.array(table.position[rows])
        for name in names:
            if name in kept and not table.columns[name].replaced:
                out[name] = used_levels(source.kept.column(name).take(places))
            else:
                like = source.types.get(name) if as_read(table.columns[name], source.columns) else None
                out[name] = to_arrow(table.columns[name], table.values[name][rows], like)
            if code_column(name) in table.columns:
                codes = table.columns[code_column(name)].levels
                out[name] = with_codes(out[name], table.values[code_column(name)][rows], codes)
        made = pa.table(out)
        return pa.Table.from_arrays(made.columns, schema=with_marks(made.schema, table.columns))


def _with_records(table: pa.Table, record: Ints) -> Iterator[tuple[pa.RecordBatch, Ints]]:
    done = 0
    for batch in table.to_batches():
        yield batch, record[done : done + batch.num_rows]
        done += batch.num_rows


def _copied(table: pa.Table) -> pa.Table:
    """A copy that later changes of the caller's frame, or of the arrays behind it, do not affect."""
    import pyarrow as pa

    return pa.table({
        name: pa.chunked_array([chunk.take(pa.array(np.arange(len(chunk)))) for chunk in column.chunks], type=column.type)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }) if table.num_columns else table


def _cross(
    values: Mapping[str, Array], columns: Mapping[str, Column], names: Sequence[str], rows: int
) -> tuple[Ints, list[tuple[Any, ...]]]:
    """The code of each row's sub-group and the labels of the sub-groups, missing levels last."""
    if not names:
        return np.zeros(rows, dtype=np.int64), [()]
    code = np.zeros(rows, dtype=np.int64)
    for name in names:
        width = len(columns[name].levels)
        level = np.where(values[name] < 0, width, values[name]).astype(np.int64)
        _, code = np.unique(code * (width + 1) + level, return_inverse=True)
    first = np.unique(code, return_index=True)[1]
    levels = [columns[n].levels for n in names]
    return code, [decode_labels([int(values[n][i]) for n in names], levels) for i in first]


def _record_ids(name: str, column: pa.ChunkedArray) -> Ints:
    """Record ids from a column of whole numbers or text; each must be unique."""
    ids = record_ids(name, column)
    if len(np.unique(ids)) != len(ids):
        raise RecordIdError(f"{name!r} is missing or repeated in some records; each record needs a unique value.",
                            subject="record_id")
    return ids


