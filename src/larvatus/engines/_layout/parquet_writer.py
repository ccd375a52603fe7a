"""Parquet files that are written batch by batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FileIdentity = tuple[str, int, int, int, int]
_written_here: deque[FileIdentity] = deque(maxlen=1024)


@contextmanager
def parquet_writer(target: Path | str, schema: Any, **settings: Any) -> Iterator[Any]:
    """A writer that is closed at the end. The file is then known to be written here."""
    from pyarrow import parquet

    writer = parquet.ParquetWriter(target, schema, **settings)
    try:
        yield writer
    finally:
        close_writer(writer)
    _written_here.append(file_identity(Path(target)))


def file_identity(path: Path) -> FileIdentity:
    """What changes if a file changes, or if another one takes its place."""
    about = path.stat()
    return str(path), about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def is_written_here(identity: FileIdentity) -> bool:
    """Whether this process wrote the file, among the latest ones, and nobody has changed it since."""
    return identity in _written_here


def close_writer(writer: Any) -> None:
    """Close a writer of Arrow. If the disk is full, its finaliser would try again, and print an error and a path."""
    try:
        writer.close()
    except BaseException:
        writer.is_open = False
        raise
