"""Write the result of a query to a Parquet file, batch by batch. Only one batch is in memory at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from larvatus.core.errors import ReadError
from larvatus.core.safe_files.work_folder import WorkFolder
from larvatus.engines._databases.value_types import ColumnType, array_of, caster, plain_column
from larvatus.engines._layout.parquet_writer import parquet_writer

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class ResultStream:
    """The result of a query: names of its columns, and its batches. `decimal_texts` are decimal numbers that come as text."""

    names: tuple[str, ...]
    batches: Iterable[pa.RecordBatch]
    decimal_texts: Collection[str] = ()


def stream_of_cursor(cursor: Any, wanted: Collection[str] | None = None) -> ResultStream:
    """The result of a query that a DB-API cursor has executed. Columns that are not wanted are empty."""
    import pyarrow as pa

    names = tuple(str(part[0]) for part in cursor.description or ())

    def batches() -> Iterator[pa.RecordBatch]:
        while rows := cursor.fetchmany(BATCH):
            if isinstance(rows[0], Mapping):  # its items would be taken for names of columns
                raise ReadError("the cursor returns rows as dictionaries. Open the connection with the usual kind of cursor.",
                                subject="query")
            columns = zip(*rows, strict=True)
            arrays = [array_of(n, values) if wanted is None or n in wanted else pa.nulls(len(rows))
                      for n, values in zip(names, columns, strict=True)]
            yield pa.record_batch(arrays, names=list(names))

    return ResultStream(names, batches())


def stream_of_reader(reader: Any, decimal_texts: Collection[str] = ()) -> ResultStream:
    """The result of a query as a reader of Arrow batches."""
    return ResultStream(tuple(reader.schema.names), reader, decimal_texts)


def write_staged(stream: ResultStream, folder: WorkFolder, wanted: Collection[str] | None = None) -> Path:
    """The result as a Parquet file in the folder, each column with the one type that holds all of its values.

    Columns that are not wanted are empty: their values are not copied, and their types do not matter.
    """
    import pyarrow as pa
    from pyarrow import parquet

    types = {n: ColumnType(n, n in stream.decimal_texts and (wanted is None or n in wanted)) for n in stream.names}
    parts = _write_parts(stream, types, folder, types.keys() if wanted is None else wanted)
    if not parts:
        raise ReadError("the result of the query has no records.", subject="query")
    schema = pa.schema([(n, t.result()) for n, t in types.items()])
    if len(parts) == 1 and parquet.read_schema(parts[0]).equals(schema):
        return parts[0]
    target, casters = folder.file(".parquet"), [caster(field.type) for field in schema]
    with parquet_writer(target, schema) as writer:
        for part in parts:
            with parquet.ParquetFile(part) as file:
                for batch in file.iter_batches(BATCH):
                    arrays = [cast(column) for cast, column in zip(casters, batch.columns, strict=True)]
                    writer.write_batch(pa.record_batch(arrays, schema=schema))
            part.unlink()
    return target


def _write_parts(stream: ResultStream, types: dict[str, ColumnType], folder: WorkFolder, wanted: Collection[str]) -> list[Path]:
    """Write the batches as they come. A new file begins if the types of the columns change."""
    import pyarrow as pa

    parts: list[Path] = []
    schema = None
    with ExitStack() as open_file:
        for given in stream.batches:
            if not given.num_rows:
                continue
            columns = [plain_column(c, n in stream.decimal_texts) if n in wanted else pa.nulls(len(c))
                       for n, c in zip(stream.names, given.columns, strict=True)]
            batch = pa.record_batch(columns, names=list(stream.names))
            for name, column in zip(stream.names, columns, strict=True):
                types[name].take(column)
            if batch.schema != schema:
                open_file.close()
                schema = batch.schema
                parts.append(folder.file(".parquet"))
                writer = open_file.enter_context(parquet_writer(parts[-1], schema))
            writer.write_batch(batch)
    return parts
