"""Files of DuckDB as sources: opened for reading only. Nothing is downloaded, and a query sees no other file."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from larvatus.core.errors import EngineError
from larvatus.core.memory_size import usable_memory
from larvatus.engines._databases.staging import BATCH, ResultStream, stream_of_reader

_TABLES = "SELECT table_schema, table_name FROM information_schema.tables ORDER BY 1, 2"


class _DuckDbFile:
    """A file of DuckDB that is open."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def tables(self) -> list[tuple[str, ...]]:
        """Its tables and views, with their schema unless it is the usual one."""
        return [row[1:] if row[0] == "main" else tuple(row) for row in self._connection.execute(_TABLES).fetchall()]

    def stream(self, query: str, wanted: Collection[str] | None = None) -> ResultStream:
        """The result of a query, in its order."""
        return stream_of_reader(self._connection.sql(query).to_arrow_reader(BATCH))


@contextmanager
def open_duckdb_file(file: Path, spill: Path) -> Iterator[_DuckDbFile]:
    """A file of DuckDB. What does not fit in memory is written to the folder `spill`, not beside the file."""
    try:
        import duckdb
    except ImportError:
        raise EngineError("duckdb: the package duckdb is not installed. Install it with: "
                          "pip install 'larvatus[duckdb]'.") from None
    config: dict[str, Any] = {
        "autoinstall_known_extensions": False, "autoload_known_extensions": False, "enable_external_access": False,
        "temp_directory": str(spill), "memory_limit": f"{max(usable_memory() // 2**21, 64)}MiB",
    }
    with closing(duckdb.connect(str(file), read_only=True, config=config)) as connection:
        yield _DuckDbFile(connection)
