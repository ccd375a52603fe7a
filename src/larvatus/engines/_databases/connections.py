"""Open databases for reading: PostgreSQL, SQLite, and connections that the user has opened."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, unquote

from larvatus.core.errors import EngineError, ReadError
from larvatus.core.safe_files.private_files import check_private
from larvatus.engines._databases.staging import ResultStream, stream_of_cursor, stream_of_reader

_READ_ONLY = "-c default_transaction_read_only=on"
_POSTGRESQL_TABLES = """SELECT table_schema, table_name FROM information_schema.tables
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"""
_SQLITE_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"


class OpenDatabase(Protocol):
    """A database from which a query can be read."""

    def tables(self) -> list[tuple[str, ...]]:
        """Its tables and views, each as (schema, name) or (name,)."""

    def stream(self, query: str, wanted: Collection[str] | None = None) -> ResultStream:
        """The result of a query. Columns that are not wanted may be empty."""


class CursorDatabase:
    """A database through a DB-API cursor. `listing` is a query for its tables, if there is one."""

    def __init__(self, cursor: Any, listing: str = "") -> None:
        self._cursor, self._listing = cursor, listing

    def tables(self) -> list[tuple[str, ...]]:
        return [tuple(row) for row in self._cursor.execute(self._listing).fetchall()] if self._listing else []

    def stream(self, query: str, wanted: Collection[str] | None = None) -> ResultStream:
        self._cursor.execute(query)
        return stream_of_cursor(self._cursor, wanted)


class _PostgreSql:
    """A database of PostgreSQL. Numbers of type numeric come as text, with all their digits."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def tables(self) -> list[tuple[str, ...]]:
        self._cursor.execute(_POSTGRESQL_TABLES)
        return [tuple(row) for row in self._cursor.fetchall()]

    def stream(self, query: str, wanted: Collection[str] | None = None) -> ResultStream:
        self._cursor.execute(query)
        reader = self._cursor.fetch_record_batch()
        decimal = {f.name for f in reader.schema if (f.metadata or {}).get(b"POSTGRESQL:type") == b"numeric"
                   or (f.metadata or {}).get(b"ADBC:postgresql:typname") == b"numeric"}
        return stream_of_reader(reader, decimal)


@contextmanager
def open_postgresql(address: str, password: str | None) -> Iterator[OpenDatabase]:
    """A database on a server. Its session can only read."""
    try:
        driver = importlib.import_module("adbc_driver_postgresql.dbapi")
    except ImportError:
        raise EngineError("postgresql: the package adbc_driver_postgresql is not installed. Install it with: "
                          "pip install 'larvatus[databases]'.") from None
    with closing(driver.connect(_session_address(address, password))) as connection, closing(connection.cursor()) as cursor:
        yield _PostgreSql(cursor)


def _session_address(address: str, password: str | None) -> str:
    """The address for the driver alone: with the password, and with a setting that forbids writing."""
    place, _, given = address.partition("?")
    settings = [setting.partition("=")[::2] for setting in given.split("&") if setting]
    options = " ".join([*(unquote(value) for name, value in settings if name == "options"), _READ_ONLY])
    parts = [f"{name}={value}" for name, value in settings if name != "options"]
    parts += ["password=" + quote(password, safe="")] if password is not None else []
    return place + "?" + "&".join([*parts, "options=" + quote(options, safe="")])


@contextmanager
def open_sqlite(file: Path) -> Iterator[OpenDatabase]:
    """A file of SQLite, opened for reading only.

    The module of Python is used, because a column of SQLite may have values of several types: each value comes as it is stored.
    """
    with closing(sqlite3.connect(f"file:{quote(str(file.absolute()))}?mode=ro", uri=True)) as connection:
        yield CursorDatabase(connection.cursor(), _SQLITE_TABLES)


@contextmanager
def use_connection(connection: Any) -> Iterator[OpenDatabase]:
    """A connection of the user. Only the cursor is closed afterwards."""
    with closing(connection.cursor()) as cursor:
        yield CursorDatabase(cursor)


def password_in(file: str | Path) -> str:
    """The password in a file, without a final line break."""
    check_private(Path(file), "password file")
    try:
        content = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ReadError("the file cannot be read. Write the password into it as its only line.",
                        subject="password_file") from None
    password = content.removesuffix("\n").removesuffix("\r")
    if not password or "\n" in password:
        raise ReadError("the file must contain the password as its only line.", subject="password_file")
    return password
