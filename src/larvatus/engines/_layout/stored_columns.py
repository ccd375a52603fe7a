"""Columns stored in files of plain numbers: read and written in blocks, and reordered in bounded memory."""

from __future__ import annotations

import errno
import os
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from larvatus.core.arrays import Ints
from larvatus.core.errors import MachineError
from larvatus.core.memory_size import give_back
from larvatus.core.safe_files.removal import remove_if_possible
from larvatus.core.safe_files.work_folder import WorkFolder
from larvatus.data.contracts import Array
from larvatus.engines._layout.chunks import pieces_of

WIDE = 1 << 19
Scattered = Iterable[tuple[Ints, Sequence[Array]]]


def type_name(dtype: np.dtype[np.generic]) -> str:
    """The name of a type, as NumPy reads it; bytes of a fixed length have a short one."""
    return dtype.str[1:] if dtype.kind == "V" else str(dtype.name)


class StoredColumn:
    """One column on disk, in some row order. Its file is deleted when nothing refers to it."""

    def __init__(self, folder: WorkFolder, dtype: Any, rows: int = 0) -> None:
        self.folder, self.rows = folder, rows
        self.dtype: np.dtype[np.generic] = np.dtype(dtype)
        self.path = folder.file(".column")
        os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        weakref.finalize(self, remove_if_possible, self.path)

    @property
    def nbytes(self) -> int:
        return int(self.rows * self.dtype.itemsize)

    def read(self, low: int = 0, high: int | None = None) -> Array:
        """Rows from low to high."""
        stop = self.rows if high is None else high
        out = np.empty(stop - low, dtype=self.dtype)
        if len(out):
            view, at = _bytes(out), low * self.dtype.itemsize
            file = os.open(self.path, os.O_RDONLY)
            try:
                while len(view):
                    got = os.preadv(file, [view], at)
                    if got == 0:
                        raise MachineError("a temporary file was cut short. Check whether another program cleans its folder.")
                    view, at = view[got:], at + got
            finally:
                os.close(file)
        return out

    def write(self, low: int, values: Array) -> None:
        """Write rows from `low` on."""
        view = _bytes(np.ascontiguousarray(values, dtype=self.dtype))
        at = low * self.dtype.itemsize
        try:
            file = os.open(self.path, os.O_WRONLY)
            try:
                while len(view):
                    done = os.pwrite(file, view, at)
                    view, at = view[done:], at + done
            finally:
                os.close(file)
        except OSError as error:
            raise no_room(error, self.folder.path) from None

    def append(self, values: Array) -> None:
        """Add rows at the end."""
        self.write(self.rows, values)
        self.rows += len(values)

    def stream(self, size: int = WIDE) -> Iterator[tuple[int, Array]]:
        """All rows, block by block, each with the index of its first row."""
        for low, high in pieces_of(0, self.rows, size):
            yield low, self.read(low, high)


def _bytes(values: Array) -> memoryview:
    return memoryview(values.view(np.uint8))  # type: ignore[arg-type]


def no_room(error: OSError, folder: Path) -> MachineError:
    """The error if temporary files cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return MachineError(
            f"there is no space for temporary files in {folder.parent}. Free some, or set LARVATUS_TEMP to another folder."
        )
    return MachineError(f"temporary files cannot be written in {folder.parent}: {error.strerror or 'unknown error'}.")


def blank_value(dtype: Any) -> Any:
    """What stands in rows without a value: NaN, -1, or zero bytes."""
    kind = np.dtype(dtype).kind
    return np.zeros((), dtype=dtype)[()] if kind == "V" else np.nan if kind == "f" else -1


def scatter_on_disk(parts: Scattered, into: Sequence[StoredColumn], low: int, high: int, bucket: int) -> int:
    """Write values to given rows (counted from `low`) of the columns; all other rows become missing. Returns how many.

    This is done in memory if all rows fit in one bucket; otherwise values first go to one file per bucket of rows.
    """
    n, put = high - low, 0
    if n <= bucket:
        held = [np.full(n, blank_value(c.dtype), dtype=c.dtype) for c in into]
        for rows, values in parts:
            put += len(rows)
            for out, v in zip(held, values, strict=True):
                out[rows] = v
        for column, out in zip(into, held, strict=True):
            column.write(low, out)
        return put
    folder = into[0].folder
    dtypes = [np.dtype(np.int64), *(c.dtype for c in into)]
    buckets = [[StoredColumn(folder, d) for d in dtypes] for _ in range(-(-n // bucket))]
    for rows, values in parts:
        put += len(rows)
        which = (rows // bucket).astype(np.int32)
        order = np.argsort(which, kind="stable")
        cuts = np.searchsorted(which[order], np.arange(len(buckets) + 1))
        columns = [np.asarray(v)[order] for v in (rows, *values)]
        for b in np.unique(which):
            for file, part in zip(buckets[b], columns, strict=True):
                file.append(part[cuts[b] : cuts[b + 1]])
    for b, files in enumerate(buckets):
        first = b * bucket
        rows = files[0].read() - first
        for column, file in zip(into, files[1:], strict=True):
            out = np.full(min(bucket, n - first), blank_value(column.dtype), dtype=column.dtype)
            out[rows] = file.read()
            column.write(low + first, out)
        buckets[b] = []
    give_back()
    return put
