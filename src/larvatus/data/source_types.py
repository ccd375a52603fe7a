"""Types of a source: a file, a folder or pattern of files, or a data frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, TypeAlias


class FrameLike(Protocol):
    """A data frame of pandas, Polars, Arrow, DuckDB or Spark."""

    @property
    def columns(self) -> Any: ...


SourceLike: TypeAlias = str | Path | FrameLike
