"""A query of a database as a source that every engine can read.

The result is written once to a Parquet file in a private folder, which is removed when reading is over. Errors of drivers may
contain values or the address of the server, so that they are replaced by errors of the package.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from larvatus.core.database_urls import (
    DUCKDB,
    POSTGRESQL,
    check_address,
    database_file,
    database_kind,
    file_of_url,
    is_store,
)
from larvatus.core.errors import LarvatusError, MachineError, ReadError, nearest_names
from larvatus.core.safe_files.work_folder import WorkFolder
from larvatus.engines._databases.connections import (
    OpenDatabase,
    open_postgresql,
    open_sqlite,
    password_in,
    use_connection,
)
from larvatus.engines._databases.query_text import check_reads, query_has_order, sql_name
from larvatus.engines._databases.staging import write_staged
from larvatus.engines._files.labelled_files import OpenedSource, open_as_parquet
from larvatus.engines._files.object_stores import copy_from_store

_R = TypeVar("_R")
_SHOWN = 20
_FAILED = {  # by SQLSTATE
    "42P01": "a table in it does not exist", "42703": "a column in it does not exist", "42601": "its syntax is wrong",
    "42883": "a function in it does not exist, or not for these types", "42501": "the user may not read this table",
    "25006": "it writes, and a source is only read", "57014": "the server stopped it",
}


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """What to read from a database: a query or a table. `password_file` contains the password for a server."""

    query: str | None = None
    table: str | None = None
    password_file: str | Path | None = None

    def stated(self) -> list[str]:
        """The names of what is given."""
        return [n for n in ("query", "table", "password_file") if getattr(self, n) is not None]


NO_QUERY = SourceQuery()


def is_database(source: Any) -> bool:
    """Whether a source is a database: an address, a file, or a DB-API connection."""
    return bool(database_kind(source)) or is_connection(source)


def is_unordered(asked: SourceQuery) -> bool:
    """Whether the rows of what is read from a database have no defined order."""
    return asked.table is not None or (asked.query is not None and not query_has_order(asked.query))


def is_connection(source: Any) -> bool:
    """Whether a source is a DB-API connection."""
    return callable(getattr(source, "cursor", None)) and callable(getattr(source, "close", None))


@contextmanager
def source_as_parquet(
    source: Any, asked: SourceQuery = NO_QUERY, sheet: str | None = None, catalog: str | Path | None = None,
    needs_order: bool = True, wanted: Collection[str] | None = None,
) -> Iterator[OpenedSource]:
    """A source that every engine can read. `needs_order` unless a column identifies its records.

    Only the values of `wanted` columns of a database are copied (default: all).
    """
    check_address(source if isinstance(source, str) else os.fspath(source) if is_store(source) else source)
    if not is_database(source):
        if asked.stated():
            raise ReadError(f"the source is not a database. Leave {asked.stated()[0]} out.", subject=asked.stated()[0])
        with _local(source) as local, open_as_parquet(local, sheet, catalog) as opened:
            yield opened
        return
    if sheet is not None or catalog is not None:
        named = "catalog" if sheet is None else "sheet"
        raise ReadError("a database has no sheets and no catalog. Leave it out.", subject=named)
    folder = WorkFolder()
    try:
        yield OpenedSource(_guarded(source, lambda: _staged(source, asked, needs_order, wanted, folder)))
    finally:
        folder.close()


@contextmanager
def _local(source: Any) -> Iterator[Any]:
    """A file on this machine. Files in an object store are copied to a private folder while they are read."""
    if not is_store(source):
        yield file_of_url(source)
        return
    folder = WorkFolder()
    try:
        yield copy_from_store(source, folder)
    finally:
        folder.close()


def database_names(source: Any, asked: SourceQuery) -> Sequence[str]:
    """The columns of the result, without reading it."""
    def names(folder: WorkFolder) -> list[str]:
        with _opened(source, asked, folder) as database:
            return list(database.stream(_query_for(source, database, asked, needs_order=False)).names)

    check_address(source)
    folder = WorkFolder()
    try:
        return _guarded(source, lambda: names(folder))
    finally:
        folder.close()


def _staged(
    source: Any, asked: SourceQuery, needs_order: bool, wanted: Collection[str] | None, folder: WorkFolder
) -> Path:
    with _opened(source, asked, folder) as database:
        query = _query_for(source, database, asked, needs_order)
        return write_staged(database.stream(query, wanted), folder, wanted)


def _opened(source: Any, asked: SourceQuery, folder: WorkFolder) -> AbstractContextManager[OpenDatabase]:
    kind = database_kind(source)
    if asked.password_file is not None and kind != POSTGRESQL:
        raise ReadError("only a server of PostgreSQL needs it. Leave it out.", subject="password_file")
    if kind == POSTGRESQL:
        return open_postgresql(source, None if asked.password_file is None else password_in(asked.password_file))
    if not kind:
        return use_connection(source)
    file = Path(database_file(source) or "")
    if not file.is_file() or file.stat().st_size == 0:
        raise ReadError(f"no file {file}, or it is empty.")
    if kind == DUCKDB:
        from larvatus.engines._disk.duckdb_files import open_duckdb_file

        return open_duckdb_file(file, folder.path / "spill")
    return open_sqlite(file)


def _query_for(source: Any, database: OpenDatabase, asked: SourceQuery, needs_order: bool) -> str:
    """The query to carry out. Its rows have an order, or a column identifies the records."""
    if (asked.query is None) == (asked.table is None):
        both = "give query or table, not both" if asked.query is not None else (
            "say what to read: give a query (query = …) or a table (table = …)")
        raise ReadError(f"{both}.{_tables_text(database)}", subject="query")
    if asked.query is not None:
        check_reads(asked.query)
        if needs_order and not query_has_order(asked.query):
            raise ReadError("its rows have no defined order, so that records could not be identified again. End the query "
                            "with ORDER BY and columns that identify each record, or declare a record_id column.",
                            subject="query")
        return asked.query.strip().rstrip(";")
    if is_connection(source):
        raise ReadError("a connection is read with a query. Give query = \"SELECT …\".", subject="table")
    if needs_order:
        raise ReadError("the rows of a table have no defined order, so that records could not be identified again. Declare "
                        "a record_id column, or give a query that ends with ORDER BY.", subject="table")
    return f"SELECT * FROM {sql_name(*_table_parts(database, str(asked.table)))}"


def _table_parts(database: OpenDatabase, name: str) -> tuple[str, ...]:
    there = database.tables()
    whole = [t for t in there if ".".join(t) == name]
    found = whole or [t for t in there if t[-1] == name]
    if not found:
        known = [".".join(t) if "." in name else t[-1] for t in there]
        raise ReadError(f"no table {name!r}; {nearest_names(name, known)}", subject="table")
    if len(found) > 1:
        listed = ", ".join(".".join(t) for t in found)
        raise ReadError(f"several tables have this name: {listed}. Give it with its schema.", subject="table")
    return found[0]


def _tables_text(database: OpenDatabase) -> str:
    names = [".".join(t) for t in database.tables()]
    more = f" … ({len(names)} in all)" if len(names) > _SHOWN else ""
    return f" The tables are: {', '.join(names[:_SHOWN])}{more}." if names else ""


def _guarded(source: Any, work: Callable[[], _R]) -> _R:
    """Do the work. An error of a driver is replaced by one without its text, which may contain values or the address."""
    problem: LarvatusError
    try:
        return work()
    except LarvatusError:
        raise
    except MemoryError:
        raise
    except Exception as error:
        problem = _problem(source, error)
    raise problem  # outside of the handler, so that the error of the driver is not attached to it


def _problem(source: Any, error: Exception) -> LarvatusError:
    kind = database_kind(source)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return MachineError("the disk for temporary files is full. Set LARVATUS_TEMP to a folder with more space.")
    state = getattr(error, "sqlstate", None)
    if kind == POSTGRESQL and isinstance(state, str) and state.strip("\0 "):
        why = _FAILED.get(state, "the server reports an error")
        return ReadError(f"the query failed: {why} (SQLSTATE {state}).", subject=kind)
    if kind == POSTGRESQL and isinstance(error, OSError | ValueError):  # while the result is sent
        return ReadError("the query failed: the server reports an error with a value, the query writes, or the connection "
                         "broke. Details are hidden because they may contain data.", subject=kind)
    if kind == POSTGRESQL and type(error).__name__ == "OperationalError":
        return ReadError("cannot connect to the server. Check the host, the port, the name of the database, the user, and "
                         "the password (PGPASSWORD, ~/.pgpass or password_file).", subject=kind)
    named = type(error).__name__
    if kind == DUCKDB and named in ("IOException", "ConnectionException", "SerializationException", "PermissionException"):
        return ReadError("the file cannot be opened. It may be in use by a program that writes to it, or be no file of DuckDB; "
                         "or the query reads another file, which is not allowed.", subject=kind)
    if named == "DatabaseError" and kind:
        return ReadError(f"the file is no database of {kind}, or it is damaged.", subject=kind)
    return ReadError(f"the query failed ({named}). Its syntax may be wrong, or a table or column in it may not exist; details "
                     "are hidden because they may contain data. Try it in a program for this database.",
                     subject=kind or "query")
