"""The rows of a source as a private Parquet file in small groups, so that any window of them is read at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from larvatus.core.progress import Progress

GROUP = 20_000  # rows
_MOST_ROWS = 20_000_000


def write_preview(source: Any, target: Path, progress: Progress) -> int:
    """Write the rows of a source as they are read, all columns; the number of rows."""
    from larvatus.engines._files.csv import Uses
    from larvatus.engines._files.sources import batches_of, column_names
    from larvatus.engines._layout.parquet_writer import parquet_writer

    names = column_names(source)
    schema, batches = batches_of(source, names, Uses(unclear_dates=True))
    rows = 0
    os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    with parquet_writer(target, schema, compression="zstd") as writer:
        for batch in batches():
            writer.write_batch(batch, row_group_size=GROUP)
            rows += batch.num_rows
            progress(f"preparing the preview: {rows}", 1, 2)
            if rows >= _MOST_ROWS:
                break
    return rows


class PreviewRows:
    """Windows of the rows in a preview file."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(path)
        meta = self._file.metadata
        self.rows: int = meta.num_rows
        self.columns: list[str] = list(self._file.schema_arrow.names)
        self._starts = [0]
        for group in range(meta.num_row_groups):
            self._starts.append(self._starts[-1] + meta.row_group(group).num_rows)
        self._last: tuple[int, Any] | None = None

    def window(self, first: int, count: int) -> list[list[str | None]]:
        """The rows from `first` on as texts; None where a cell is missing."""
        first, last = max(first, 0), min(first + count, self.rows)
        out: list[list[str | None]] = []
        for group, start in enumerate(self._starts[:-1]):
            if self._starts[group + 1] <= first or start >= last:
                continue
            if self._last is None or self._last[0] != group:
                self._last = (group, self._file.read_row_group(group))
            low, high = max(first - start, 0), min(last - start, self._starts[group + 1] - start)
            part = self._last[1].slice(low, high - low).to_pydict()
            out += [[value_text(part[name][i]) for name in self.columns] for i in range(high - low)]
        return out


def value_text(value: Any) -> str | None:
    """A value as pages show it: whole numbers without a decimal mark, long texts cut."""
    if value is None:
        return None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.12g}"
    return str(value)[:500]
