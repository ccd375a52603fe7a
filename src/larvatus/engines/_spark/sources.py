"""Sources on a cluster: the parts of files, data frames and addresses, and batches of rows of each part."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from larvatus.core.errors import ReadError
from larvatus.core.scratch_names import scratch
from larvatus.data.csv_files.dialect import USUAL_DIALECT, CsvDialect
from larvatus.data.csv_files.number_notation import Notation
from larvatus.engines._disk.reading import Origin
from larvatus.engines._files.csv import Uses, csv_looks, csv_texts
from larvatus.engines._files.looks import Looks
from larvatus.engines._files.sources import (
    BUFFER,
    ROWS_READ,
    Parts,
    _key,
    arrow_table,
    batches_of,
    dialect_of,
    parts_of,
    without_views,
)
from larvatus.engines._spark.jobs import SparkCluster, in_arrow
from larvatus.engines._spark.session import is_spark
from larvatus.engines._spark.store import Place, new_folder

RECORD = scratch("record id")


@dataclass(frozen=True, slots=True)
class SourcePart:
    """What one task reads: row groups of a Parquet file, a CSV file, or batches in the shared folder."""

    kind: str
    path: str
    file: int = 0
    groups: tuple[int, ...] = ()
    dialect: CsvDialect = USUAL_DIALECT


@dataclass(frozen=True, slots=True)
class Source:
    """The parts of a source, the types of its columns, and values from folder names and types inferred from CSV cells."""

    place: Place
    parts: Sequence[SourcePart]
    schema: Any
    keys: Mapping[str, Any] = field(default_factory=dict)
    looks: Mapping[str, Looks] = field(default_factory=dict)
    folder: str = ""

    def close(self) -> None:
        """Remove batches that were written to the shared folder for reading."""
        if self.folder:
            self.place.remove(self.folder)

    def batches(self, part: SourcePart) -> Iterator[Any]:
        """The rows of a part, with the column types that all parts share."""
        import pyarrow as pa

        names = self.schema.names
        for batch in self._own(part, [n for n in names if n not in self.keys]):
            size = batch.num_rows
            yield pa.record_batch([
                pa.repeat(self.keys[n][part.file], size) if n in self.keys
                else without_views(batch).column(batch.schema.get_field_index(n)).cast(self.schema.field(n).type) for n in names
            ], schema=self.schema)

    def _own(self, part: SourcePart, names: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import parquet

        if part.kind == "arrow":
            yield from pa.ipc.open_stream(self.place.read(part.path))
        elif part.kind == "csv":
            notation = Notation(part.dialect.decimal, part.dialect.thousands)
            for batch in csv_texts(Path(part.path), names, part.dialect):
                yield pa.record_batch([self.looks[n].typed(batch.column(n), notation) for n in names], names=list(names))
        else:
            try:
                with parquet.ParquetFile(part.path, pre_buffer=False, buffer_size=BUFFER) as file:
                    yield from file.iter_batches(ROWS_READ, row_groups=list(part.groups), columns=list(names))
            except MemoryError:
                raise
            except (pa.ArrowException, OSError):
                raise ReadError(
                    f"{Path(part.path).name} is not a readable Parquet file, or not every executor reaches its folder."
                ) from None


def open_source(
    cluster: SparkCluster, source: Any, names: Sequence[str], record_id: str | None, uses: Uses
) -> tuple[Source, Origin, bool]:
    if is_spark(source):
        if record_id is None:
            raise ReadError(
                "the rows of a Spark data frame have no defined order, so records could not be identified again. Declare a "
                "column of whole numbers or text that is unique in every record: record_id = …."
            )
        return (*_of_frame(cluster, select_columns(source, names), names, "spark"), False)
    if isinstance(source, str) and "://" in source:
        return (*_of_address(cluster, source, names, record_id), record_id is None)
    if isinstance(source, str | os.PathLike):
        files = _of_files(cluster, source, names, uses)
        return files, Origin({n: files.schema.field(n).type for n in names}, "file", dialect=dialect_of(source)), False
    from larvatus.engines._files.frames import frame_dtypes, frame_kind, plain_index

    table = arrow_table(source, names)
    kind = frame_kind(source)
    origin = Origin({n: table.schema.field(n).type for n in names}, kind, frame_dtypes(source, names),
                    plain_index(source) if kind == "pandas" else None, table.num_rows)
    folder, parts = new_folder(), []
    for i, low in enumerate(range(0, table.num_rows, cluster.piece)):
        cluster.place.write(f"{folder}/{i}", _packed(table.slice(low, cluster.piece).to_batches(), table.schema))
        parts.append(SourcePart("arrow", f"{folder}/{i}"))
    return Source(cluster.place, parts, table.schema, folder=folder), origin, False


def _packed(batches: Sequence[Any], schema: Any) -> Any:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def _of_files(cluster: SparkCluster, source: str | os.PathLike[str], names: Sequence[str], uses: Uses) -> Source:
    from pyarrow import parquet

    parts = parts_of(source)
    if parts.text:
        return _of_texts(cluster, parts, names, uses)
    schema, _ = batches_of(source, names, uses)
    own = parts.own_names(parts.paths[0])
    keys = {n: _key(values, n in uses.codes) for n, values in parts.keys.items() if n in names and n not in own}
    jobs = []
    for i, path in enumerate(parts.paths):
        about = parquet.read_metadata(path)
        groups: list[int] = []
        held = 0
        for g in range(about.num_row_groups):
            size = about.row_group(g).num_rows
            if groups and held + size > cluster.piece:
                jobs.append(SourcePart("parquet", str(path.absolute()), i, tuple(groups)))
                groups, held = [], 0
            groups.append(g)
            held += size
        jobs += [SourcePart("parquet", str(path.absolute()), i, tuple(groups))] if groups else []
    if not jobs:
        raise ReadError("the source has a header but no records.")
    return Source(cluster.place, jobs, without_views(schema.empty_table()).schema, keys)


def _of_texts(cluster: SparkCluster, parts: Parts, names: Sequence[str], uses: Uses) -> Source:
    import pyarrow as pa

    for path in parts.paths[1:]:
        lacking = [n for n in names if n not in parts.keys and n not in parts.own_names(path)]
        if lacking:
            raise ReadError(f"{path.name} has no column {lacking[0]!r}, which the first part has.")
    own = [n for n in names if n in parts.own_names(parts.paths[0])]
    keys = {n: _key(values, n in uses.codes) for n, values in parts.keys.items() if n in names and n not in own}
    jobs = [SourcePart("csv", str(path.absolute()), i, dialect=parts.dialect(path)) for i, path in enumerate(parts.paths)]
    looks = {n: Looks() for n in own}
    for found in cluster.run(partial(_looked, own, uses), jobs):
        looks = {n: looks[n] | found[n] for n in own}
    empty = pa.array([], type=pa.string())
    fields = [pa.field(n, keys[n].type if n in keys else looks[n].typed(empty).type) for n in names]
    return Source(cluster.place, jobs, pa.schema(fields), keys, looks)


def _looked(names: Sequence[str], uses: Uses, part: SourcePart) -> dict[str, Looks]:
    return csv_looks(Path(part.path), names, uses, part.dialect)


def _of_frame(
    cluster: SparkCluster, frame: Any, names: Sequence[str], kind: str, offsets: Mapping[str, int] | None = None
) -> tuple[Source, Origin]:
    """The rows of a data frame as batches in the shared folder, so that its plan runs only once.

    Columns are numbered on the way: Sail does not find a column again whose name is in backticks.
    """
    import pyarrow as pa

    place, folder, columns = cluster.place, new_folder(), list(frame.columns)

    def dump(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        at = context.partitionId() if context is not None else 0
        for i, batch in enumerate(b for b in batches if b.num_rows):
            named = _with_records(batch.rename_columns(columns), offsets)
            name = f"{folder}/{at}-{i}-{secrets.token_hex(4)}"
            place.write(name, _packed([named], named.schema))
            yield pa.record_batch({"at": pa.array([at]), "i": pa.array([i]), "name": pa.array([name])})

    dumped = in_arrow(frame.toDF(*map(str, range(len(columns)))), dump, "at long, i long, name string")
    found = sorted((int(r[0]), int(r[1]), str(r[2])) for r in cluster.asked(dumped))
    if not found:
        raise ReadError("the source has a header but no records.")
    schema = without_views(pa.ipc.open_stream(place.read(found[0][2])).schema.empty_table()).schema
    schema = pa.schema([schema.field(n) for n in (*names, *([RECORD] if offsets is not None else []))])
    parts = [SourcePart("arrow", f) for _, _, f in found]
    return Source(place, parts, schema, folder=folder), Origin({n: schema.field(n).type for n in names}, kind)


def _with_records(batch: Any, offsets: Mapping[str, int] | None) -> Any:
    """The batch, with record ids computed from the file and row of each record."""
    import pyarrow as pa

    if offsets is None:
        return batch
    file, row = batch.column(batch.num_columns - 2).to_pylist(), batch.column(batch.num_columns - 1).to_numpy()
    ids = row + np.array([offsets[f] for f in file], dtype=np.int64)
    names = batch.schema.names[:-2]
    return pa.record_batch([*batch.columns[:-2], pa.array(ids)], names=[*names, RECORD])


def select_columns(frame: Any, names: Sequence[str]) -> Any:
    """The named columns of a Spark data frame, whatever characters their names contain."""
    return frame.select(*(frame["`" + n.replace("`", "``") + "`"] for n in names))


def _of_address(cluster: SparkCluster, address: str, names: Sequence[str], record_id: str | None) -> tuple[Source, Origin]:
    """Parquet files that Spark opens; records are numbered by (file, row) unless a record id column is given."""
    frame = cluster.session.read.parquet(address)
    if record_id is not None:
        return _of_frame(cluster, select_columns(frame, names), names, "file")
    by_file = frame.selectExpr("_metadata.file_path as file", "_metadata.row_index as row").groupBy("file").count()
    sizes = sorted((str(r[0]), int(r[1])) for r in cluster.asked(by_file))
    starts = np.cumsum([0, *(n for _, n in sizes)])
    offsets = {name: int(start) for (name, _), start in zip(sizes, starts, strict=False)}
    quoted = ["`" + n.replace("`", "``") + "`" for n in names]
    rows = frame.selectExpr(
        *quoted, f"_metadata.file_path as `{scratch('file')}`", f"_metadata.row_index as `{scratch('row')}`"
    )
    return _of_frame(cluster, rows, names, "file", offsets)
