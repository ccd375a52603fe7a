"""A release as a labelled file: its rows are held in memory until all of them are there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from larvatus.core.errors import WriteError
from larvatus.core.memory_size import usable_memory
from larvatus.data.labelling.labels import FileLabels
from larvatus.engines._files.sheet_targets import SHEET_WRITERS
from larvatus.engines._files.statistical_targets import write_statistical

if TYPE_CHECKING:
    import pyarrow as pa

_TIMES, _COMFORTABLE = 8, 0.6  # memory that a writer needs, as a multiple of the values; share of the free memory to use


class LabelledFile:
    """A file that is written when all of its batches are there."""

    def __init__(self, path: Path, target: Path, labels: FileLabels) -> None:
        self._path, self._target, self._labels = path, target, labels
        self._batches: list[pa.RecordBatch] = []
        self._bytes, self._allowed = 0, int(usable_memory() * _COMFORTABLE)

    def write(self, batch: pa.RecordBatch) -> None:
        """Hold a batch. A release that is too large for memory is refused."""
        self._batches.append(batch)
        self._bytes += batch.nbytes
        if self._bytes * _TIMES > self._allowed:
            raise WriteError(
                f"{self._target.name}: to write it would need more than {self._bytes * _TIMES / 1e9:.1f} GB of memory, and "
                f"{self._allowed / 1e9:.1f} GB may be used. Write a .parquet file; its codebook has the labels."
            )

    def __enter__(self) -> LabelledFile:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        import pyarrow as pa

        if not self._batches:
            raise WriteError(f"{self._target.name}: the release has no records. Write a .parquet file.")
        table = pa.Table.from_batches(self._batches)
        self._batches.clear()
        suffix = self._target.suffix.lower()
        if suffix in SHEET_WRITERS:
            SHEET_WRITERS[suffix](table, self._path, self._target.name)
        else:
            write_statistical(table, self._path, self._target, self._labels)
