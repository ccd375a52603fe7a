"""From any source to columns in the shared folder: every task reads its part, names get their codes once all are known."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from larvatus.core.errors import ReadError
from larvatus.data.contracts import Array, Column
from larvatus.data.roles import Roles, SubGroups, check_roles, released_columns
from larvatus.engines import _columns as conversion
from larvatus.engines._csv_files import Looks, csv_texts
from larvatus.engines._disk_reading import LARGEST_CROSSING, MOST_GROUPS, Origin
from larvatus.engines._memory_table import decoded
from larvatus.engines._record_ids import record_ids
from larvatus.engines._sources import BUFFER, ROWS, Parts, _key, arrow_table, batches_of, parts_of, without_views
from larvatus.engines._spark_jobs import Cluster, in_arrow
from larvatus.engines._spark_layout import Held, Here, Layout, spans
from larvatus.engines._spark_session import is_spark
from larvatus.engines._spark_store import Piece, Place, Spread, new_folder, written
from larvatus.engines._spark_table import SparkTable

RECORD = "record id of larvatus"


@dataclass(frozen=True, slots=True)
class _Part:
    """What one task reads: row groups of a Parquet file, a CSV file, or batches that lie in the shared folder."""

    kind: str
    path: str
    file: int = 0
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    """The parts of a source, the types of its columns, and what folder names and the look of cells say."""

    place: Place
    parts: Sequence[_Part]
    schema: Any
    keys: Mapping[str, Any] = field(default_factory=dict)
    looks: Mapping[str, Looks] = field(default_factory=dict)
    folder: str = ""

    def close(self) -> None:
        """Remove batches that were put in the shared folder to be read once."""
        if self.folder:
            self.place.remove(self.folder)

    def batches(self, part: _Part) -> Iterator[Any]:
        """The part's rows, its columns of the types that all parts share."""
        import pyarrow as pa

        names = self.schema.names
        for batch in self._own(part, [n for n in names if n not in self.keys]):
            size = batch.num_rows
            yield pa.record_batch([
                pa.repeat(self.keys[n][part.file], size) if n in self.keys
                else without_views(batch).column(batch.schema.get_field_index(n)).cast(self.schema.field(n).type) for n in names
            ], schema=self.schema)

    def _own(self, part: _Part, names: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import parquet

        if part.kind == "arrow":
            yield from pa.ipc.open_stream(self.place.read(part.path))
        elif part.kind == "csv":
            for batch in csv_texts(Path(part.path), names):
                yield pa.record_batch([self.looks[n].typed(batch.column(n)) for n in names], names=list(names))
        else:
            try:
                with parquet.ParquetFile(part.path, pre_buffer=False, buffer_size=BUFFER) as file:
                    yield from file.iter_batches(ROWS, row_groups=list(part.groups), columns=list(names))
            except (pa.ArrowException, OSError):
                raise ReadError(
                    f"{Path(part.path).name} is not a readable Parquet file, or not every executor reaches its folder."
                ) from None


@dataclass(frozen=True, slots=True)
class _Read:
    """What a task found in its part."""

    rows: int
    pieces: Mapping[str, Piece]
    levels: Mapping[str, Sequence[Any]]
    missing: Mapping[str, bool]


def read(
    cluster: Cluster, source: Any, names: Sequence[str], roles: Roles, sub_groups: SubGroups, pairing: Path | None
) -> SparkTable:
    """A table of the columns that have a role, in sub-group and record order."""
    check_roles(roles, sub_groups, names)
    wanted = list(released_columns(roles, sub_groups))
    extra = [roles.record_id] if roles.record_id and roles.record_id not in wanted else []
    opened, origin, given_ids = _opened(cluster, source, [*wanted, *extra], roles.record_id)
    ids = roles.record_id or (RECORD if given_ids else None)
    place, folder = cluster.place, new_folder()
    named = {n: conversion.is_named(n, _plain(opened.schema.field(n).type), roles, sub_groups) for n in wanted}
    whole = frozenset(roles.confidential)
    work = partial(_taken, opened, folder, named, whole, ids)
    try:
        found: list[_Read] = cluster.run(work, list(enumerate(opened.parts)))
    finally:
        opened.close()
    rows = sum(f.rows for f in found)
    if rows == 0:
        raise ReadError("the source has a header but no records.")
    columns, maps = _described(opened.schema, wanted, named, found, roles)
    held = {n: _spread(place, folder, n, found) for n in found[0].pieces if not n.startswith(" local ")}
    held |= _coded(cluster, folder, {n: maps[n] for n in wanted if named[n]}, found)
    record = _records(cluster, held.pop(" record", None), rows, roles.record_id, pairing)
    code, labels = _crossed(cluster, [held[n] for n in sub_groups.columns], [columns[n] for n in sub_groups.columns], rows)
    layout = Layout(Here(record), Here(_numbers(cluster, rows)), rows)
    from larvatus.data.groups import Groups

    there: dict[str, Held] = {n: Here(c) for n, c in held.items()}
    given = frozenset(wanted) - whole
    start = SparkTable(columns, Groups((), ((),), (rows,)), layout, there, np.array([0, rows]), cluster,
                       replace(origin, given=given, columns=columns))
    return start.laid_out(code, sub_groups.columns, labels, [(label,) for label in labels])


def _plain(kind: Any) -> Any:
    return kind.value_type if conversion.is_dictionary(kind) else kind


# --- what there is to read -------------------------------------------------------------------------------------------------


def _opened(cluster: Cluster, source: Any, names: Sequence[str], record_id: str | None) -> tuple[_Source, Origin, bool]:
    if is_spark(source):
        if record_id is None:
            raise ReadError(
                "the rows of a Spark data frame come in no stated order, so records could not be told apart again. Name a "
                "column of whole numbers or text that differs in every record: record_id = …."
            )
        return (*_of_frame(cluster, selected(source, names), names, "spark"), False)
    if isinstance(source, str) and "://" in source:
        return (*_of_address(cluster, source, names, record_id), record_id is None)
    if isinstance(source, str | Path):
        opened = _of_files(cluster, source, names)
        return opened, Origin({n: opened.schema.field(n).type for n in names}, "file"), False
    from larvatus.engines.memory import frame_dtypes, frame_kind, plain_index

    table = arrow_table(source, names)
    kind = frame_kind(source)
    origin = Origin({n: table.schema.field(n).type for n in names}, kind, frame_dtypes(source, names),
                    plain_index(source) if kind == "pandas" else None, table.num_rows)
    folder, parts = new_folder(), []
    for i, low in enumerate(range(0, table.num_rows, cluster.piece)):
        cluster.place.write(f"{folder}/{i}", _packed(table.slice(low, cluster.piece).to_batches(), table.schema))
        parts.append(_Part("arrow", f"{folder}/{i}"))
    return _Source(cluster.place, parts, table.schema, folder=folder), origin, False


def _packed(batches: Sequence[Any], schema: Any) -> Any:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def _of_files(cluster: Cluster, source: str | Path, names: Sequence[str]) -> _Source:
    from pyarrow import parquet

    parts = parts_of(source)
    if parts.text:
        return _of_texts(cluster, parts, names)
    schema, _ = batches_of(source, names)
    own = parts.own_names(parts.paths[0])
    keys = {n: _key(values) for n, values in parts.keys.items() if n in names and n not in own}
    jobs = []
    for i, path in enumerate(parts.paths):
        about = parquet.read_metadata(path)
        groups: list[int] = []
        held = 0
        for g in range(about.num_row_groups):
            size = about.row_group(g).num_rows
            if groups and held + size > cluster.piece:
                jobs.append(_Part("parquet", str(path.absolute()), i, tuple(groups)))
                groups, held = [], 0
            groups.append(g)
            held += size
        jobs += [_Part("parquet", str(path.absolute()), i, tuple(groups))] if groups else []
    if not jobs:
        raise ReadError("the source has a header but no records.")
    return _Source(cluster.place, jobs, without_views(schema.empty_table()).schema, keys)


def _of_texts(cluster: Cluster, parts: Parts, names: Sequence[str]) -> _Source:
    import pyarrow as pa

    for path in parts.paths[1:]:
        lacking = [n for n in names if n not in parts.keys and n not in parts.own_names(path)]
        if lacking:
            raise ReadError(f"{path.name} has no column {lacking[0]!r}, which the first part has.")
    own = [n for n in names if n in parts.own_names(parts.paths[0])]
    keys = {n: _key(values) for n, values in parts.keys.items() if n in names and n not in own}
    jobs = [_Part("csv", str(path.absolute()), i) for i, path in enumerate(parts.paths)]
    looks = {n: Looks() for n in own}
    for found in cluster.run(partial(_looked, own), jobs):
        looks = {n: looks[n] | found[n] for n in own}
    empty = pa.array([], type=pa.string())
    fields = [pa.field(n, keys[n].type if n in keys else looks[n].typed(empty).type) for n in names]
    return _Source(cluster.place, jobs, pa.schema(fields), keys, looks)


def _looked(names: Sequence[str], part: _Part) -> dict[str, Looks]:
    looks = {n: Looks() for n in names}
    for batch in csv_texts(Path(part.path), names):
        looks = {n: looks[n] | Looks.of(batch.column(n)) for n in names}
    return looks


def _of_frame(
    cluster: Cluster, frame: Any, names: Sequence[str], kind: str, offsets: Mapping[str, int] | None = None
) -> tuple[_Source, Origin]:
    """A frame's rows as batches in the shared folder: whatever plan it stands for runs once."""
    import pyarrow as pa

    place, folder = cluster.place, new_folder()

    def dump(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        at = context.partitionId() if context is not None else 0
        for i, batch in enumerate(b for b in batches if b.num_rows):
            named = _with_records(batch, offsets)
            name = f"{folder}/{at}-{i}-{secrets.token_hex(4)}"
            place.write(name, _packed([named], named.schema))
            yield pa.record_batch({"at": pa.array([at]), "i": pa.array([i]), "name": pa.array([name])})

    dumped = in_arrow(frame, dump, "at long, i long, name string")
    found = sorted((int(r[0]), int(r[1]), str(r[2])) for r in cluster.asked(dumped))
    if not found:
        raise ReadError("the source has a header but no records.")
    schema = without_views(pa.ipc.open_stream(place.read(found[0][2])).schema.empty_table()).schema
    schema = pa.schema([schema.field(n) for n in (*names, *([RECORD] if offsets is not None else []))])
    parts = [_Part("arrow", f) for _, _, f in found]
    return _Source(place, parts, schema, folder=folder), Origin({n: schema.field(n).type for n in names}, kind)


def _with_records(batch: Any, offsets: Mapping[str, int] | None) -> Any:
    """The batch, with record ids in place of the file and the row in it that each record comes from."""
    import pyarrow as pa

    if offsets is None:
        return batch
    file, row = batch.column(batch.num_columns - 2).to_pylist(), batch.column(batch.num_columns - 1).to_numpy()
    ids = row + np.array([offsets[f] for f in file], dtype=np.int64)
    names = batch.schema.names[:-2]
    return pa.record_batch([*batch.columns[:-2], pa.array(ids)], names=[*names, RECORD])


def selected(frame: Any, names: Sequence[str]) -> Any:
    """The named columns of a Spark frame, whatever characters their names hold."""
    return frame.select(*(frame["`" + n.replace("`", "``") + "`"] for n in names))


def _of_address(cluster: Cluster, address: str, names: Sequence[str], record_id: str | None) -> tuple[_Source, Origin]:
    """Parquet files that Spark opens; records are numbered by (file, row in it) where no column names them."""
    frame = cluster.session.read.parquet(address)
    if record_id is not None:
        return _of_frame(cluster, selected(frame, names), names, "file")
    by_file = frame.selectExpr("_metadata.file_path as file", "_metadata.row_index as row").groupBy("file").count()
    sizes = sorted((str(r[0]), int(r[1])) for r in cluster.asked(by_file))
    starts = np.cumsum([0, *(n for _, n in sizes)])
    offsets = {name: int(start) for (name, _), start in zip(sizes, starts, strict=False)}
    quoted = ["`" + n.replace("`", "``") + "`" for n in names]
    rows = frame.selectExpr(*quoted, "_metadata.file_path as larvatus_file", "_metadata.row_index as larvatus_row")
    return _of_frame(cluster, rows, names, "file", offsets)


# --- what tasks do, and what is made of their answers ----------------------------------------------------------------------


def _taken(
    source: _Source, folder: str, named: Mapping[str, bool], confidential: frozenset[str], ids: str | None,
    job: tuple[int, _Part],
) -> _Read:
    """Every column of a part: numbers as they are kept, names as codes of the levels that this part has."""
    at, part = job
    parts: dict[str, list[Array]] = {}
    levels: dict[str, dict[Any, int]] = {n: {} for n in named if named[n]}
    missing, rows = dict.fromkeys(named, False), 0
    for batch in source.batches(part):
        rows += batch.num_rows
        for name, is_named in named.items():
            column = batch.column(batch.schema.get_field_index(name))
            if is_named:
                there, codes = conversion.coded(name, column)
                place = np.array([*(levels[name].setdefault(v, len(levels[name])) for v in there), -1], dtype=np.int32)
                parts.setdefault(f" local {name}", []).append(place[codes])
                missing[name] |= bool((codes < 0).any())
                continue
            kind = _plain(column.type)
            described, values = conversion.number(name, column, kind, name in confidential)
            parts.setdefault(name, []).append(values)
            missing[name] |= described.missing
            if conversion.needs_exact(kind) and name not in confidential:
                parts.setdefault(f" exact {name}", []).append(conversion.exact(column, kind))
        if ids is not None:
            parts.setdefault(" record", []).append(record_ids(ids, batch.column(batch.schema.get_field_index(ids))))
    pieces = {}
    for n, p in parts.items():
        values = np.concatenate(p)
        pieces[n] = written(source.place, f"{folder}-{_safe(n)}", "read", at, values, values.dtype)
    return _Read(rows, pieces, {n: list(v) for n, v in levels.items()}, missing)


def _safe(name: str) -> str:
    from larvatus.engines._spark_tasks import key_of

    return key_of(name)


def _spread(place: Place, folder: str, name: str, found: Sequence[_Read]) -> Spread:
    dtype = np.int64 if name.startswith((" exact ", " record")) else np.float64
    return Spread.of(place, dtype, [f.pieces[name] for f in found if f.rows], f"{folder}-{_safe(name)}")


def _described(
    schema: Any, wanted: Sequence[str], named: Mapping[str, bool], found: Sequence[_Read], roles: Roles
) -> tuple[dict[str, Column], dict[str, list[Array]]]:
    """What each column holds, and for names how each part's codes become those of all."""
    import pyarrow as pa

    columns, maps = {}, {}
    for name in wanted:
        missing = any(f.missing[name] for f in found)
        if not named[name]:
            integer = pa.types.is_integer(_plain(schema.field(name).type))
            columns[name] = Column(name, "number", integer=integer, missing=missing)
            continue
        levels = list(dict.fromkeys(v for f in found for v in f.levels[name]))
        order = conversion.level_order(name, levels, roles)
        spot = {levels[i]: k for k, i in enumerate(order)}
        maps[name] = [np.array([*(spot[v] for v in f.levels[name]), -1], dtype=np.int32) for f in found]
        columns[name] = Column(name, "nominal", missing=missing, levels=tuple(conversion.plain(levels[i]) for i in order))
    return columns, maps


def _coded(cluster: Cluster, folder: str, maps: Mapping[str, list[Array]], found: Sequence[_Read]) -> dict[str, Spread]:
    """Codes of all levels in place of those of each part."""
    place = cluster.place
    jobs = [(i, n, f.rows, f.pieces[f" local {n}"][2], maps[n][i]) for n in maps for i, f in enumerate(found) if f.rows]
    pieces = cluster.run(partial(_recoded, place, folder), jobs)
    out: dict[str, list[Piece]] = {n: [] for n in maps}
    for (_, name, *_), piece in zip(jobs, pieces, strict=True):
        out[name].append(piece)
    for name in maps:
        place.remove(f"{folder}-{_safe(f' local {name}')}")
    return {n: Spread.of(place, np.int32, p, f"{folder}-{_safe(n)}") for n, p in out.items()}


def _recoded(place: Place, folder: str, job: tuple[int, str, int, str, Array]) -> Piece:
    i, name, rows, file, to = job
    codes = np.frombuffer(place.read(file, 0, rows * 4), dtype=np.int32)
    return written(place, f"{folder}-{_safe(name)}", "read", i, to[codes], np.int32)


def _numbers(cluster: Cluster, rows: int) -> Spread:
    place, folder = cluster.place, new_folder()
    return Spread.of(place, np.int64, cluster.run(partial(_counted, place, folder), spans(rows, cluster)), folder)


def _counted(place: Place, folder: str, span: tuple[int, int]) -> Piece:
    return written(place, folder, "row", span[0], np.arange(*span, dtype=np.int64), np.int64)


def _records(cluster: Cluster, given: Spread | None, rows: int, name: str | None, pairing: Path | None) -> Spread:
    """Record ids: from the pairing file, from the column that names them, or the rows' own numbers."""
    if pairing is not None:
        from larvatus.engines.memory import paired_records

        folder = new_folder()
        piece = written(cluster.place, folder, "paired", 0, paired_records(pairing, rows), np.int64)
        return Spread.of(cluster.place, np.int64, [piece], folder)
    if given is None:
        return _numbers(cluster, rows)
    if name is not None:
        ordered = given
        if rows > cluster.rows:
            frame = cluster.frame(partial(_ids, given), spans(rows, cluster), {"record": "int64"})
            (ordered,) = cluster.sort(frame, {"record": "int64"}, ["record"], ["record"], rows)
        spread = [(0, rows)] if rows <= cluster.rows else spans(rows, cluster)
        if not all(cluster.run(partial(_each_once, ordered), spread)):
            raise ReadError(f"record_id: {name!r} is missing or repeated in some records; it must name each record once.")
    return given


def _ids(record: Spread, span: tuple[int, int]) -> Iterator[dict[str, Array]]:
    yield {"record": record.read(*span)}


def _each_once(record: Spread, span: tuple[int, int]) -> bool:
    """Whether no two ids of some rows, and the one after them, are the same."""
    ids = np.sort(record.read(span[0], span[1] + 1))
    return not (np.diff(ids) == 0).any()


def _crossed(
    cluster: Cluster, columns: Sequence[Spread], described: Sequence[Column], rows: int
) -> tuple[Spread, list[tuple[Any, ...]]]:
    """The code of each row's sub-group and the sub-groups there are, missing levels last."""
    widths = [len(c.levels) + 1 for c in described]
    if math.prod(widths) >= LARGEST_CROSSING:
        raise ReadError("sub_groups: their columns have too many levels to be crossed. Use fewer or coarser columns.")
    parts, folder, seen = spans(rows, cluster), new_folder(), np.zeros(1, dtype=np.int64)
    if columns:
        seen = np.unique(np.concatenate(cluster.run(partial(_seen, list(columns), widths), parts)))
    if len(seen) > MOST_GROUPS:
        raise ReadError(f"sub_groups: there are more than {MOST_GROUPS:,} of them. Use fewer or coarser columns.")
    pieces = cluster.run(partial(_code, cluster.place, folder, list(columns), widths, seen), parts)
    code = Spread.of(cluster.place, np.int32, pieces, folder)
    if not columns:
        return code, [()]
    levels = np.stack(np.unravel_index(seen, widths), axis=1).tolist()
    missing = [[-1 if v == w - 1 else v for v, w in zip(row, widths, strict=True)] for row in levels]
    return code, [decoded(row, [c.levels for c in described]) for row in missing]


def _cells(columns: Sequence[Spread], widths: Sequence[int], span: tuple[int, int]) -> Array:
    """One number for each row's combination of levels, missing ones last."""
    cell = np.zeros(span[1] - span[0], dtype=np.int64)
    for column, width in zip(columns, widths, strict=True):
        codes = column.read(*span)
        cell = cell * width + np.where(codes < 0, width - 1, codes)
    return cell


def _seen(columns: Sequence[Spread], widths: Sequence[int], span: tuple[int, int]) -> Array:
    return np.unique(_cells(columns, widths, span))


def _code(
    place: Place, folder: str, columns: Sequence[Spread], widths: Sequence[int], seen: Array, span: tuple[int, int]
) -> Piece:
    return written(place, folder, "code", span[0], np.searchsorted(seen, _cells(columns, widths, span)), np.int32)
