"""Read a source into columns in the shared folder: each task reads its part; categories are coded once all are known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from larvatus.core.arrays import Ints
from larvatus.core.errors import EngineError, ReadError, RecordIdError
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Column
from larvatus.data.dates.date_numbers import is_date
from larvatus.data.roles import Roles, SubGroups, changeable_columns, check_roles, columns_read
from larvatus.data.sub_groups import Groups
from larvatus.engines._disk.reading import LARGEST_CROSSING, MOST_GROUPS
from larvatus.engines._files import columns as conversion
from larvatus.engines._files.csv import Uses
from larvatus.engines._files.record_ids import record_ids
from larvatus.engines._memory.table import decode_labels
from larvatus.engines._spark.exchange import Outgoing, sort
from larvatus.engines._spark.jobs import SparkCluster
from larvatus.engines._spark.layout import GroupAssignment, RowCodes, SparkColumn, SparkLayout, SparkRowPlaces, spans
from larvatus.engines._spark.sources import RECORD, Source, SourcePart, open_source
from larvatus.engines._spark.store import Piece, Place, SpreadColumn, new_folder, write_piece
from larvatus.engines._spark.table import SparkTable
from larvatus.engines._spark.tasks import sort_key

_RECORD = scratch("record")


@dataclass(frozen=True, slots=True)
class _Read:
    """What a task found in its part."""

    rows: int
    pieces: Mapping[str, Piece]
    levels: Mapping[str, Sequence[Any]]
    missing: Mapping[str, bool]
    rounded: Mapping[str, bool]


def read_to_cluster(
    cluster: SparkCluster, source: Any, names: Sequence[str], roles: Roles, sub_groups: SubGroups, pairing: Path | None
) -> SparkTable:
    """A table of the columns with a role, sorted by sub-group and record id."""
    check_roles(roles, sub_groups, names)
    uses = replace(Uses.of(roles, sub_groups, names), dates=False)
    wanted = list(columns_read(roles, sub_groups))
    extra = [roles.record_id] if roles.record_id and roles.record_id not in wanted else []
    found_in, origin, given_ids = open_source(
        cluster, source, [*wanted, *extra], roles.record_id, uses
    )
    dated = [n for n in roles.confidential if is_date(_plain(found_in.schema.field(n).type))]
    if dated:
        found_in.close()
        raise EngineError(f"engine spark: {dated[0]!r} contains dates, which it cannot mask. Use engine memory or duckdb.")
    ids = roles.record_id or (RECORD if given_ids else None)
    place, folder = cluster.place, new_folder()
    named = {n: conversion.is_named(n, _plain(found_in.schema.field(n).type), roles, sub_groups) for n in wanted}
    whole = frozenset(changeable_columns(roles, sub_groups))
    work = partial(_taken, found_in, folder, named, whole, frozenset(roles.confidential), ids)
    try:
        found: list[_Read] = cluster.run(work, list(enumerate(found_in.parts)))
    finally:
        found_in.close()
    rows = sum(f.rows for f in found)
    if rows == 0:
        raise ReadError("the source has a header but no records.")
    columns, maps = _described(found_in.schema, wanted, named, found, roles)
    local = {scratch("local", n) for n in named}
    exact = {scratch("exact", n): conversion.exact_type(_plain(found_in.schema.field(n).type)) for n in wanted}
    held = {n: _spread(place, folder, n, found, exact.get(n)) for n in found[0].pieces if n not in local}
    given = held.pop(_RECORD, None)
    crossed = [columns[n] for n in sub_groups.columns]
    named_ids = given if pairing is None and roles.record_id else None
    named_columns, seen, once = _second_look(cluster, folder, maps, found, crossed, named_ids)
    if not once or (named_ids is not None and rows > cluster.rows and not _each_once(cluster, named_ids)):
        named_by = repr(roles.record_id)
        raise RecordIdError(f"{named_by} is missing or repeated in some records; each record needs a unique value.",
                            subject="record_id")
    held |= named_columns
    record = _paired(cluster, pairing, rows) if pairing is not None else given or SpreadColumn.numbers(place, rows)
    codes = partial(_code, record, [held[n] for n in sub_groups.columns], _widths(crossed), seen)
    assigned = GroupAssignment.made(cluster, record, codes, spans(rows, cluster), len(seen))
    layout = SparkLayout(SparkRowPlaces(record), SparkRowPlaces(SpreadColumn.numbers(place, rows)), rows)
    there: dict[str, SparkColumn] = {n: SparkRowPlaces(c) for n, c in held.items()}
    start = SparkTable(columns, Groups((), ((),), (rows,)), layout, there, np.array([0, rows]), cluster,
                       replace(origin, given=frozenset(wanted) - whole, columns=columns))
    labels = _labels(crossed, seen)
    return start.laid_out(assigned, sub_groups.columns, labels, [(label,) for label in labels], whole=True)


def _plain(kind: Any) -> Any:
    return kind.value_type if conversion.is_dictionary(kind) else kind


def _taken(
    source: Source, folder: str, named: Mapping[str, bool], confidential: frozenset[str], one_zero: frozenset[str],
    ids: str | None, job: tuple[int, SourcePart],
) -> _Read:
    """Every column of a part: numbers as stored, categories as codes of the levels in this part."""
    at, part = job
    parts: dict[str, list[Array]] = {}
    levels: dict[str, dict[Any, int]] = {n: {} for n in named if named[n]}
    missing, rounded, rows = dict.fromkeys(named, False), dict.fromkeys(named, False), 0
    for batch in source.batches(part):
        rows += batch.num_rows
        for name, is_named in named.items():
            column = batch.column(batch.schema.get_field_index(name))
            if is_named:
                there, codes = conversion.encode_levels(name, column)
                place = np.array([*(levels[name].setdefault(v, len(levels[name])) for v in there), -1], dtype=np.int32)
                parts.setdefault(scratch("local", name), []).append(place[codes])
                missing[name] |= bool((codes < 0).any())
                continue
            kind = _plain(column.type)
            described, values = conversion.as_number(name, column, kind, name in confidential, name in one_zero)
            parts.setdefault(name, []).append(values)
            missing[name] |= described.missing
            rounded[name] |= described.rounded
            if conversion.needs_exact(kind) and name not in confidential:
                parts.setdefault(scratch("exact", name), []).append(conversion.exact(name, column, kind))
        if ids is not None:
            parts.setdefault(_RECORD, []).append(record_ids(ids, batch.column(batch.schema.get_field_index(ids))))
    pieces = {}
    for n, p in parts.items():
        values = np.concatenate(p)
        pieces[n] = write_piece(source.place, f"{folder}-{sort_key(n)}", "read", at, values, values.dtype)
    return _Read(rows, pieces, {n: list(v) for n, v in levels.items()}, missing, rounded)


def _spread(place: Place, folder: str, name: str, found: Sequence[_Read], exact: Any = None) -> SpreadColumn:
    dtype = exact or (np.int64 if name == _RECORD else np.float64)
    return SpreadColumn.of(place, dtype, [f.pieces[name] for f in found if f.rows], f"{folder}-{sort_key(name)}")


def _described(
    schema: Any, wanted: Sequence[str], named: Mapping[str, bool], found: Sequence[_Read], roles: Roles
) -> tuple[dict[str, Column], dict[str, list[Array]]]:
    """The description of each column and, for categorical ones, how each part's codes map to the common codes."""
    import pyarrow as pa

    columns, maps = {}, {}
    for name in wanted:
        missing = any(f.missing[name] for f in found)
        if not named[name]:
            integer = pa.types.is_integer(_plain(schema.field(name).type))
            rounded = any(f.rounded[name] for f in found)
            columns[name] = Column(name, "number", integer=integer, missing=missing, rounded=rounded)
            continue
        levels = list(dict.fromkeys(v for f in found for v in f.levels[name]))
        order = conversion.level_order(name, levels, roles)
        spot = {levels[i]: k for k, i in enumerate(order)}
        maps[name] = [np.array([*(spot[v] for v in f.levels[name]), -1], dtype=np.int32) for f in found]
        columns[name] = Column(name, "nominal", missing=missing, levels=tuple(conversion.plain_value(levels[i]) for i in order))
    return columns, maps


def _widths(crossed: Sequence[Column]) -> list[int]:
    """Number of levels of each sub-group column, including a missing level."""
    widths = [len(c.levels) + 1 for c in crossed]
    if math.prod(widths) >= LARGEST_CROSSING:
        raise ReadError("sub_groups: the columns have too many combinations of levels. Use fewer or coarser columns.")
    return widths


def _second_look(
    cluster: SparkCluster, folder: str, maps: Mapping[str, list[Array]], found: Sequence[_Read], crossed: Sequence[Column],
    ids: SpreadColumn | None,
) -> tuple[dict[str, SpreadColumn], Ints, bool]:
    """A second pass, once all levels are known: replace each part's codes by the common codes, find the combinations of
    sub-group columns, and check that ids are unique if one task can hold them.
    """
    place, widths = cluster.place, _widths(crossed)
    parts: list[Any] = [
        (i, f.rows, {n: (f.pieces[scratch("local", n)][2], maps[n][i]) for n in maps})
        for i, f in enumerate(found) if f.rows and maps
    ]
    asked = [ids] if ids is not None and ids.rows <= cluster.rows else []
    work = partial(_looked_again, place, folder, [c.name for c in crossed], widths)
    answers = cluster.run(work, [*parts, *asked])
    once = all(answers[len(parts) :])
    pieces, cells = [a for a, _ in answers[: len(parts)]], [c for _, c in answers[: len(parts)]]
    for name in maps:
        place.remove(f"{folder}-{sort_key(scratch('local', name))}")
    seen = np.unique(np.concatenate(cells)) if crossed else np.zeros(1, dtype=np.int64)
    if len(seen) > MOST_GROUPS:
        raise ReadError(f"sub_groups: there are more than {MOST_GROUPS:,}. Use fewer or coarser columns.")
    return {n: SpreadColumn.of(place, np.int32, [p[n] for p in pieces], f"{folder}-{sort_key(n)}") for n in maps}, seen, once


def _looked_again(place: Place, folder: str, crossed: Sequence[str], widths: Sequence[int], job: Any) -> Any:
    if isinstance(job, SpreadColumn):
        return _differ(job, (0, job.rows))
    i, rows, named = job
    codes = {n: to[np.frombuffer(place.read(file, 0, rows * 4), dtype=np.int32)] for n, (file, to) in named.items()}
    pieces = {n: write_piece(place, f"{folder}-{sort_key(n)}", "read", i, c, np.int32) for n, c in codes.items()}
    return pieces, np.unique(_cells([codes[n] for n in crossed], widths, rows))


def _labels(crossed: Sequence[Column], seen: Ints) -> list[tuple[Any, ...]]:
    """The labels of the sub-groups, missing levels last."""
    if not crossed:
        return [()]
    widths = _widths(crossed)
    levels = np.stack(np.unravel_index(seen, widths), axis=1).tolist()
    missing = [[-1 if v == w - 1 else v for v, w in zip(row, widths, strict=True)] for row in levels]
    return [decode_labels(row, [c.levels for c in crossed]) for row in missing]


def _cells(codes: Sequence[Array], widths: Sequence[int], rows: int) -> Ints:
    """One number for each row's combination of levels, missing ones last."""
    cell = np.zeros(rows, dtype=np.int64)
    for column, width in zip(codes, widths, strict=True):
        cell = cell * width + np.where(column < 0, width - 1, column)
    return cell


def _code(record: SpreadColumn, columns: Sequence[SpreadColumn], widths: Sequence[int], seen: Ints,
          span: tuple[int, int]) -> RowCodes:
    cells = _cells([c.read(*span) for c in columns], widths, span[1] - span[0])
    return span[0], np.searchsorted(seen, cells).astype(np.int32), record.read(*span)


def _paired(cluster: SparkCluster, pairing: Path, rows: int) -> SpreadColumn:
    """Record ids from the pairing file."""
    from larvatus.engines._files.record_ids import paired_records

    folder = new_folder()
    piece = write_piece(cluster.place, folder, "paired", 0, paired_records(pairing, rows), np.int64)
    return SpreadColumn.of(cluster.place, np.int64, [piece], folder)


def _each_once(cluster: SparkCluster, ids: SpreadColumn) -> bool:
    """Whether ids are unique if no task can hold all of them: sorted by Spark, then checked piece by piece."""
    parts = spans(ids.rows, cluster)
    if not all(cluster.run(partial(_differ, ids), [(low, high - 1) for low, high in parts])):
        return False
    (ordered,), _ = sort(cluster, Outgoing(partial(_ids, ids), parts, {"record": "int64"}), ["record"], ["record"], ids.rows)
    return all(cluster.run(partial(_differ, ordered), parts))


def _ids(record: SpreadColumn, span: tuple[int, int]) -> Iterator[dict[str, Array]]:
    yield {"record": record.read(*span)}


def _differ(record: SpreadColumn, span: tuple[int, int]) -> bool:
    """Whether the ids of some rows, and the one after them, all differ."""
    ids = np.sort(record.read(span[0], span[1] + 1))
    return not (np.diff(ids) == 0).any()
