"""Convert between frames of pandas, Polars, Arrow, DuckDB and Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, TypeAlias

from larvatus.core.errors import ReadError


class FrameLike(Protocol):
    """A data frame of pandas, Polars, Arrow, DuckDB or Spark."""

    @property
    def columns(self) -> Any: ...


class ConnectionLike(Protocol):
    """A connection to a database, as drivers of Python open it (DB-API)."""

    def cursor(self) -> Any: ...

    def close(self) -> Any: ...


SourceLike: TypeAlias = str | Path | FrameLike | ConnectionLike


def _library(frame: Any) -> str:
    return type(frame).__module__.partition(".")[0].lstrip("_")


def first_rows(frame: Any, n: int) -> Any:
    """The first rows of a frame, as a frame of the same kind."""
    if n < 0:
        raise ReadError(f"n: {n} rows cannot be shown. Give 0 or more.")
    if _library(frame) == "pyarrow":
        return frame.slice(0, n)
    return frame.limit(n) if _library(frame) in ("duckdb", "pyspark") else frame.head(n)


def as_arrow(frame: Any) -> Any:
    """A frame as a pyarrow table."""
    kind = _library(frame)
    if kind == "pyarrow":
        return frame
    if kind == "pandas":
        import pyarrow as pa

        return pa.Table.from_pandas(frame, preserve_index=False)
    if kind == "duckdb":
        return frame.to_arrow_table()
    return frame.toArrow() if kind == "pyspark" else frame.to_arrow()


def as_pandas(frame: Any) -> Any:
    """A frame as a pandas data frame."""
    kind = _library(frame)
    return frame if kind == "pandas" else as_arrow(frame).to_pandas()


def as_polars(frame: Any) -> Any:
    """A frame as a Polars data frame."""
    if _library(frame) == "polars":
        return frame
    import polars as pl

    return pl.from_arrow(as_arrow(frame))
