"""Parquet files that are written batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def parquet_writer(target: Path | str, schema: Any, **settings: Any) -> Iterator[Any]:
    """A writer that is closed at the end."""
    from pyarrow import parquet

    writer = parquet.ParquetWriter(target, schema, **settings)
    try:
        yield writer
    finally:
        close_writer(writer)


def close_writer(writer: Any) -> None:
    """Close a writer of Arrow. If the disk is full, its finaliser would try again, and print an error and a path."""
    try:
        writer.close()
    except BaseException:
        writer.is_open = False
        raise
