"""The engine for data larger than memory, on one machine: columns in a private folder, sorts and joins by DuckDB."""

from __future__ import annotations

import atexit
import os
import re
import weakref
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from larvatus.core.errors import EngineError, LarvatusError, MachineError, ReadError
from larvatus.core.memory_size import bytes_of, usable_memory
from larvatus.core.safe_files.work_folder import WorkFolder
from larvatus.data.contracts import Array, RecordTable, Words
from larvatus.data.labelling.labels import FileLabels
from larvatus.data.roles import Roles, SubGroups
from larvatus.engines._disk import reading, writing
from larvatus.engines._disk.layout import ColumnBlocks, Room
from larvatus.engines._disk.partition_sort import sort_in_parts
from larvatus.engines._disk.table import DiskTable, as_disk
from larvatus.engines._files.labelled_files import open_as_parquet
from larvatus.engines._files.sources import column_names, distinct_names, keyed_order_of
from larvatus.engines._layout.stored_columns import WIDE

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

LARGEST_BUCKET = 1 << 21
RESERVE = 160 * 10**6  # bytes for blocks being read and written
SORTING, _HOLDING, _PER_ROW = 0.6, 0.85, 96  # shares of the rest: DuckDB while sorting, arrays while held; bytes per row

CLOSED = {"autoinstall_known_extensions": False, "autoload_known_extensions": False, "allow_community_extensions": False}


class Duckdb:
    """Reads sources of any size into columns on disk; `memory` limits what is held at once, by blocks and DuckDB together."""

    name, can_be_sent = "duckdb", False

    def __init__(self, memory: int | str | None = None, rows: int | None = None, threads: int | None = None) -> None:
        self._memory = usable_memory() // 2 if memory is None else bytes_of(memory)
        self._rows, self._threads = rows, threads or os.cpu_count() or 1
        self._room: Room | None = None

    @property
    def room(self) -> Room:
        """The work folder and its limits, created at the first read."""
        if self._room is None:
            folder = WorkFolder()
            free = max(self._memory - RESERVE, self._memory // 3)
            rows = self._rows or int(free * _HOLDING / (_PER_ROW * self._threads))
            sorter = _Sorter(folder, int(free * SORTING), self._threads)
            self._room = Room(folder, self._memory, rows, self._rows or min(rows, LARGEST_BUCKET), self._threads, sorter)
        return self._room

    def names(self, source: Any) -> list[str]:
        """The columns of the source."""
        return distinct_names([str(c) for c in source.columns]) if is_relation(source) else column_names(source)

    def has_random_order(self, source: Any) -> bool:
        """Whether the source states that its rows are in keyed random order."""
        return False if is_relation(source) else keyed_order_of(source)

    def read(self, source: Any, roles: Roles, sub_groups: SubGroups, pairing: Path | None = None) -> DiskTable:
        """A table of the columns with a role, sorted by sub-group and record id."""
        relation = is_relation(source)
        if relation and roles.record_id is None:
            _check_ordered(source)
        with open_as_parquet(source) as opened:
            names = self.names(opened.source)
            return reading.read_to_disk(self.room, opened.source, relation, names, roles, sub_groups, pairing)

    def frame(self, table: RecordTable, names: Sequence[str], like: RecordTable) -> Any:
        """The named columns in the row order of the source, as its kind of data frame or as a relation over a file."""
        held, source = as_disk(table), as_disk(like).source
        if source.kind in ("pandas", "polars", "pyarrow"):
            return writing.disk_frame(held, names, source)
        target = _frames().file(".parquet")
        writing.write_from_disk(held, names, target, None, None)
        text = f"SELECT * FROM read_parquet('{str(target).replace(chr(39), chr(39) * 2)}')"
        if source.relation is not None:
            return source.relation.query("original", text)
        import duckdb

        connection = duckdb.connect(":memory:", config={"temp_directory": str(_frames().path / "spill"), **CLOSED})
        connection.execute("SET allowed_directories = [?]", [str(_frames().path)])
        _lock(connection)
        relation = connection.sql(text)
        if relation.columns == list(names) and not any("\0" in n for n in names):
            return relation
        from pyarrow import parquet  # DuckDB renames columns that differ in case only, and cuts names at a zero byte

        return parquet.read_table(target)

    def write(
        self, table: RecordTable, names: Sequence[str], path: Path, order: Words | None, pairing: Path | None, overwrite: bool,
        labels: FileLabels | None = None,
    ) -> None:
        """Write the named columns to a file or a folder of files, in the order of the random words if `order` is given."""
        writing.check_targets(path, pairing, overwrite)
        writing.write_from_disk(as_disk(table), names, path, order, pairing, labels)


@cache
def _frames() -> WorkFolder:
    """Folder of relations returned to the caller. It lasts as long as the process, because they may be used at any time."""
    return WorkFolder()


class _Sorter:
    """DuckDB on streams of Arrow batches, with a memory limit and a private folder for spilled data."""

    def __init__(self, folder: WorkFolder, memory: int, threads: int) -> None:
        self._folder, self._memory, self._threads = folder, memory, threads
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._cursors: set[duckdb.DuckDBPyConnection] = set()

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            self._connection = _connect(self._folder, self._memory, self._threads)
            atexit.register(_let_go, weakref.ref(self))
        return self._connection

    def close(self) -> None:
        """Close the connection; a later query opens a new one. Queries of abandoned threads are interrupted."""
        for cursor in list(self._cursors):
            cursor.interrupt()
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def ordered(self, rows: ColumnBlocks, dtypes: dict[str, str], by: Sequence[str], wanted: Sequence[str]) -> ColumnBlocks:
        """Rows in order: divided by the first key into pieces that fit in memory; larger pieces are sorted by DuckDB."""
        return sort_in_parts(rows, dtypes, by, wanted, self._folder, self._memory, self._threads, self._sorted)

    def _sorted(self, rows: ColumnBlocks, dtypes: dict[str, str], by: Sequence[str], wanted: Sequence[str]) -> ColumnBlocks:
        text = f"SELECT {', '.join(wanted)} FROM given ORDER BY {', '.join(by)}"
        return self._asked(text, {"given": (rows, dtypes)}, wanted)

    def joined(self, mine: ColumnBlocks, theirs: ColumnBlocks, dtypes: tuple[dict[str, str], dict[str, str]]) -> ColumnBlocks:
        wanted = ["row", *(n for n in dtypes[1] if n != "record")]
        text = f"SELECT {', '.join(wanted)} FROM mine JOIN theirs USING (record)"
        return self._asked(text, {"mine": (mine, dtypes[0]), "theirs": (theirs, dtypes[1])}, wanted)

    def _asked(self, text: str, given: dict[str, tuple[ColumnBlocks, dict[str, str]]], wanted: Sequence[str]) -> ColumnBlocks:
        import duckdb

        cursor = self.connection.cursor()
        self._cursors.add(cursor)
        try:
            for name, (rows, dtypes) in given.items():
                cursor.register(name, _reader(rows, dtypes))
            for batch in cursor.sql(text).to_arrow_reader(WIDE):
                if batch.num_rows:
                    yield {n: _numpy(batch.column(n)) for n in wanted}
        except duckdb.Error as error:
            raise _explained(error, self._folder) from None
        finally:
            self._cursors.discard(cursor)
            with suppress(duckdb.Error):  # already closed while Python exits
                for name in given:
                    cursor.unregister(name)
                cursor.close()


def _let_go(sorter: weakref.ref[_Sorter]) -> None:
    """Close the connection before Python exits: DuckDB complains about open connections."""
    found = sorter()
    if found is not None:
        found.close()


def _connect(folder: WorkFolder, memory: int, threads: int) -> duckdb.DuckDBPyConnection:
    try:
        import duckdb
    except ImportError:
        raise EngineError("engine duckdb: the package duckdb is not installed. Install larvatus[duckdb].") from None
    spill = folder.path / "spill"
    spill.mkdir(mode=0o700, exist_ok=True)
    connection = duckdb.connect(":memory:", config={
        "memory_limit": f"{max(memory // 2**20, 64)}MiB", "temp_directory": str(spill), "threads": threads,
        "preserve_insertion_order": False, **CLOSED,
    })
    _lock(connection)
    return connection


def _lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Let a connection reach no file or address beyond what it was allowed, and no extension, until it ends."""
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _reader(rows: ColumnBlocks, dtypes: dict[str, str]) -> pa.RecordBatchReader:
    import pyarrow as pa

    wide = {n: np.dtype(d).itemsize for n, d in dtypes.items() if np.dtype(d).kind == "V"}
    schema = pa.schema([(n, pa.binary(wide[n]) if n in wide else getattr(pa, d)()) for n, d in dtypes.items()])
    batches = (pa.record_batch([_arrow(block[n]) for n in dtypes], schema=schema) for block in rows)
    return pa.RecordBatchReader.from_batches(schema, batches)


def _arrow(values: Array) -> pa.Array:
    """Numbers, or the bytes of decimals, for the database."""
    import pyarrow as pa

    if values.dtype.kind != "V":
        return pa.array(values)
    return pa.Array.from_buffers(pa.binary(values.dtype.itemsize), len(values), [None, pa.py_buffer(values.tobytes())])


def _numpy(column: pa.Array) -> Array:
    """The inverse of `_arrow`; the database gives bytes back without their length."""
    import pyarrow as pa

    if not (pa.types.is_binary(column.type) or pa.types.is_fixed_size_binary(column.type)):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    found = column.to_pylist()
    return np.frombuffer(b"".join(found), dtype=f"V{len(found[0])}")


def _explained(error: Exception, folder: WorkFolder) -> LarvatusError:
    """An error that tells the user what to do. DuckDB's own message is not repeated, because it may contain values."""
    kind, said = type(error).__name__, str(error).lower()
    if "no space" in said or "disk" in said or "max_temp_directory_size" in said:
        return MachineError(
            f"there is no space for temporary files in {folder.path.parent}. Free some, or set LARVATUS_TEMP to another folder."
        )
    if kind == "OutOfMemoryException":
        return MachineError("sorting needs more memory than allowed. Allow more (memory = …), or use fewer threads.")
    return MachineError(f"DuckDB could not finish ({kind}). Its message is hidden because it may contain data.")


def is_relation(source: Any) -> bool:
    """Whether a source is a DuckDB relation, without importing DuckDB."""
    return type(source).__name__ == "DuckDBPyRelation"


KEEPS_ORDER = {
    "PROJECTION", "FILTER", "SEQ SCAN", "TABLE SCAN", "READ PARQUET", "READ CSV", "READ CSV AUTO", "PARQUET SCAN", "ARROW SCAN",
    "PANDAS SCAN", "PYTHON ARROW SCAN", "PYTHON PANDAS SCAN", "COLUMN DATA SCAN", "LIMIT", "STREAMING LIMIT", "RANGE",
    "GENERATE SERIES", "DUMMY SCAN", "CSV SCAN", "ORDER BY", "TOP N", "PYTHON NUMPY SCAN", "POLARS SCAN", "PYTHON POLARS SCAN",
}


def _check_ordered(relation: Any) -> None:
    """Refuse a relation whose rows have no defined order, because its records could not be identified again.

    Filters and projections keep the order of the scanned rows; a final ORDER BY gives any relation an order.
    """
    steps = _operators(str(relation.explain()))
    top = next((step for step in steps if step not in ("PROJECTION", "FILTER", "LIMIT", "STREAMING LIMIT")), "")
    if top in ("ORDER BY", "TOP N"):
        return
    kept = relation.query("given", "SELECT current_setting('preserve_insertion_order')").fetchall()[0][0]
    if all(step in KEEPS_ORDER for step in steps) and str(kept).lower() == "true":
        return
    raise ReadError(
        "the rows of the relation have no defined order (they are joined or grouped, or the connection does not preserve it). "
        "Declare a record_id column, or end the query with ORDER BY."
    )


def _operators(plan: str) -> list[str]:
    """The names of a plan's operators, from the top: the first line of each box."""
    found = []
    lines = plan.splitlines()
    for i, line in enumerate(lines):
        headed = re.match(r"\s*╭─ (.+?) ─", line)
        if headed:
            found.append(headed[1])
        elif re.match(r"\s*┌─", line) and i + 1 < len(lines):
            found += [cell.strip() for cell in lines[i + 1].split("│") if cell.strip()]
    return [name.upper().replace("_", " ").strip() for name in found]
