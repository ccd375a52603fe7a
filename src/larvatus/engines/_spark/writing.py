"""Write columns from the shared folder to a Spark data frame, a folder of Parquet files, or one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from larvatus.core.errors import DiskError, WriteError
from larvatus.core.files import folder_in_place, replace_file
from larvatus.core.safe_files.removal import remove_if_possible
from larvatus.core.safe_files.staging import target_of
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Words
from larvatus.engines._disk.writing import Way, ways_of
from larvatus.engines._files.targets import PART, ROWS_WRITTEN, _File, write_batches
from larvatus.engines._layout.chunks import pieces_of
from larvatus.engines._spark.exchange import Outgoing, sort
from larvatus.engines._spark.jobs import SparkBlocks
from larvatus.engines._spark.layout import ready, spans
from larvatus.engines._spark.store import Place, SpreadColumn, new_folder
from larvatus.engines._spark.table import SparkTable

_T = TypeVar("_T")
_SIGN = np.uint64(1 << 63)
_UNFINISHED, _TRIES = ".unfinished", 10  # the folder of files that are being written, inside that of the release


def _over(table: SparkTable, name: str, function: Callable[[Array], _T]) -> list[_T]:
    """The result of a function for every piece of a column, computed on the executors."""
    return table.room.run(partial(_asked, table.held[name].stored(), function), spans(table.rows, table.room))


def _asked(column: SpreadColumn, function: Callable[[Array], _T], span: tuple[int, int]) -> _T:
    return function(column.read(*span))


class ArrangedColumns:
    """The released columns in the order of the output, and how each becomes an Arrow array."""

    def __init__(self, table: SparkTable, names: Sequence[str], order: Words | None) -> None:
        self.names, self.rows = list(names), table.rows
        self.ways: dict[str, Way] = ways_of(table, names, _over)
        kept = [*names, *(scratch("exact", n) for n in names if scratch("exact", n) in table.held)]
        ready([table.layout.record, table.layout.position, *(table.held[n] for n in kept)])
        record, columns = table.layout.record.stored(), [table.held[n].stored() for n in kept]
        position = table.layout.position.stored()
        if order is not None or not _ascending(table, position):
            dtypes = {"word": "int64", "record": "int64", **{f"c{i}": c.dtype.name for i, c in enumerate(columns)}}
            rows, keys = (partial(_keyed, record, position, some, order) for some in (columns, []))
            source = Outgoing(rows, spans(table.rows, table.room), dtypes, keys)
            wanted = ["record", *(f"c{i}" for i in range(len(columns)))]
            (record, *columns), _ = sort(table.room, source, ["word", "record"], wanted, table.rows)
        self.record, self.columns = record, dict(zip(kept, columns, strict=True))

    def batches(self, low: int, high: int) -> Iterator[tuple[Any, Array]]:
        """Rows as Arrow batches, with their record ids."""
        import pyarrow as pa

        for a, b in pieces_of(low, high, ROWS_WRITTEN):
            held = {n: c.read(a, b) for n, c in self.columns.items()}
            arrays = [self.ways[n].array(held[n], held.get(scratch("exact", n))) for n in self.names]
            yield pa.record_batch(arrays, names=self.names), self.record.read(a, b)

    def parts(self, parallel: int) -> list[tuple[int, int, int]]:
        """The rows of each file of a folder."""
        size = max(min(PART, -(-self.rows // parallel)), min(ROWS_WRITTEN, self.rows), 1)
        return [(i, a, b) for i, (a, b) in enumerate(pieces_of(0, self.rows, size))]


def _keyed(
    record: SpreadColumn, position: SpreadColumn, columns: Sequence[SpreadColumn], order: Words | None, span: tuple[int, int]
) -> SparkBlocks:
    for low, high in pieces_of(*span):
        ids = record.read(low, high)
        word = position.read(low, high) if order is None else (order(ids) ^ _SIGN).view(np.int64)
        yield {"word": word, "record": ids, **{f"c{i}": c.read(low, high) for i, c in enumerate(columns)}}


def _ascending(table: SparkTable, position: SpreadColumn) -> bool:
    last = -1
    for first, end, rises in table.room.run(partial(_rise, position), spans(table.rows, table.room)):
        if first <= last or not rises:
            return False
        last = end
    return True


def _rise(position: SpreadColumn, span: tuple[int, int]) -> tuple[int, int, bool]:
    at = position.read(*span)
    return int(at[0]), int(at[-1]), bool((np.diff(at) > 0).all())


def spark_frame(table: SparkTable, names: Sequence[str]) -> Any:
    """The named columns as a Spark data frame over files in the shared folder."""
    leaving, folder = ArrangedColumns(table, names, None), new_folder()
    room = table.room
    room.run(partial(_file_in, leaving, room.place, folder), leaving.parts(room.parallel))
    return room.given.read.parquet(f"{_address(room.place)}/{folder}")


def _address(place: Place) -> str:
    return Path(place.root).as_uri() if place.local else place.root


def _file_in(leaving: ArrangedColumns, place: Place, folder: str, part: tuple[int, int, int]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    sink, writer = pa.BufferOutputStream(), None
    for batch, _ in leaving.batches(part[1], part[2]):
        writer = writer or parquet.ParquetWriter(sink, batch.schema)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()
        place.write(f"{folder}/part-{part[0]:05d}.parquet", sink.getvalue())


def write_from_cluster(table: SparkTable, names: Sequence[str], path: Path, order: Words | None, pairing: Path | None) -> None:
    """Write a folder of files (on the executors) or one file (on the driver), and a pairing file if asked for."""
    import pyarrow as pa

    leaving, row_order, room = ArrangedColumns(table, names, order), "keep" if order is None else "keyed", table.room
    if path.suffix:
        write_batches(leaving.batches(0, table.rows), path, row_order, pairing, dialect=table.source.dialect)
        return
    with ExitStack() as stack:
        inside = stack.enter_context(replace_file(pairing, private=True)) if pairing is not None else None
        folder = stack.enter_context(folder_in_place(path.absolute()))
        parts = leaving.parts(room.parallel)
        (folder / _UNFINISHED).mkdir(mode=0o700)
        room.run(partial(_part, leaving, str(folder), row_order), parts)
        _remove_unfinished(folder / _UNFINISHED)
        there = sum(p.suffix == ".parquet" for p in folder.iterdir())
        if there != len(parts):
            raise WriteError(
                f"{target_of(path)} is not shared: {len(parts) - there} of {len(parts)} parts that executors wrote cannot be "
                "seen here. Choose a folder that the driver and all executors share."
            )
        if inside is not None and pairing is not None:
            with _File(inside, pairing.suffix, row_order) as pairs:
                for _, ids in leaving.record.stream():
                    pairs.write(pa.record_batch({"record": pa.array(ids)}))


def _remove_unfinished(folder: Path) -> None:
    """Remove what stopped attempts left; one that still runs cannot add a file once the folder is gone."""
    for _ in range(_TRIES):
        remove_if_possible(folder)
        if not folder.exists():
            return
    raise WriteError("temporary files in the release's folder cannot be removed. Write the release again.")


def _part(leaving: ArrangedColumns, folder: str, row_order: str, part: tuple[int, int, int]) -> None:
    """Write one file of the folder, which appears under its name when complete. A retried task writes it again.

    Two attempts may write at the same time, and one may be stopped or go on when the driver has all parts: each writes a file
    of its own in a folder that the driver removes, and the parts of both have the same bytes.
    """
    target = Path(folder) / f"part-{part[0]:05d}.parquet"
    beside = Path(folder) / _UNFINISHED / f"{target.name}.{new_folder()}"
    try:
        with _File(beside, ".parquet", row_order) as file:
            for batch, _ in leaving.batches(part[1], part[2]):
                file.write(batch)
        os.replace(beside, target)
    except OSError as error:
        raise DiskError(
            f"an executor cannot write the release: {error.strerror or 'unknown error'}. Choose a folder that the driver "
            "and all executors share."
        ) from None
