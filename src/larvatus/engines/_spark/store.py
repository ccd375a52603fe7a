"""Columns in pieces, in a folder that the driver and all executors share: tasks write them, any process reads them."""

from __future__ import annotations

import os
import secrets
import shutil
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from larvatus.core.errors import MachineError
from larvatus.core.safe_files.work_folder import PREFIX, WorkFolder
from larvatus.data.contracts import Array, Block
from larvatus.engines._layout.chunks import pieces_of
from larvatus.engines._layout.stored_columns import WIDE, no_room
from larvatus.engines._spark.leases import Lease, remove_ended

Piece = tuple[int, int, str]  # first row, rows, file
_COUNTED = ""  # instead of a file: each row holds its own row number


@dataclass(frozen=True, slots=True)
class Place:
    """A shared folder: a path mounted on all machines, or an address that Arrow opens (hdfs://, s3://, gs://, abfs://)."""

    root: str

    @property
    def local(self) -> bool:
        return "://" not in self.root

    def write(self, name: str, content: Any) -> None:
        """Write a file, which appears under its name when complete. Two tasks may write the same file, with the same bytes."""
        if not self.local:
            files, path = self._elsewhere(name)
            with files.open_output_stream(path) as stream:
                stream.write(content)
            return
        path = f"{self.root}/{name}"
        beside = f"{path}.{secrets.token_hex(4)}"
        try:
            with suppress(FileExistsError):  # a task that goes on after the end must not create the work folder again
                os.mkdir(os.path.dirname(path), mode=0o700)
            with open(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(content)
            os.replace(beside, path)
        except OSError as error:
            from pathlib import Path

            with suppress(OSError):
                os.unlink(beside)
            raise no_room(error, Path(self.root)) from None

    def read(self, name: str, at: int = 0, size: int = -1) -> bytes:
        """Bytes of a file from a position on; all of them if no size is given."""
        try:
            if not self.local:
                files, path = self._elsewhere(name)
                with files.open_input_file(path) as stream:
                    stream.seek(at)
                    return bytes(stream.read(None if size < 0 else size))
            with open(f"{self.root}/{name}", "rb", buffering=0 if size >= 0 else -1) as file:
                file.seek(at)
                return file.read() if size < 0 else _exactly(file, size)
        except OSError:
            raise MachineError(
                "a file in the work folder cannot be read by every executor. Set LARVATUS_TEMP, or Spark(folder=…), to a "
                "folder that all of them share, and make sure that no other program cleans it."
            ) from None

    def remove(self, name: str) -> None:
        """Remove a folder of pieces."""
        with suppress(Exception):
            if self.local:
                shutil.rmtree(f"{self.root}/{name}", ignore_errors=True)
            else:
                files, path = self._elsewhere(name)
                files.delete_dir(path)

    def _elsewhere(self, name: str) -> tuple[Any, str]:
        from pyarrow.fs import FileSystem

        files, path = FileSystem.from_uri(self.root)
        return files, f"{path}/{name}"


def _exactly(file: Any, size: int) -> bytes:
    parts = []
    while size:
        part = file.read(size)
        if not part:
            raise OSError("cut short")
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


class SharedFolder:
    """A shared folder of one engine, emptied when the engine is released. What a killed process left is removed by the next."""

    def __init__(self, folder: str | None) -> None:
        if folder is not None and "://" in folder:
            base, own = folder.rstrip("/"), f"{PREFIX}{secrets.token_hex(8)}"
            self.place = Place(f"{base}/{own}")
            weakref.finalize(self, self.place.remove, "")
            self._lease = Lease(self.place.root)
            remove_ended(base, own)
            return
        from pathlib import Path

        self._folder = WorkFolder(None if folder is None else Path(folder))
        self.place = Place(str(self._folder.path))


class SpreadColumn:
    """One column: rows stored in files of plain numbers, one after the other.

    Files are deleted when no column on the driver refers to them; `keep` holds the columns that own the files.
    """

    def __init__(self, place: Place, dtype: Any, files: Sequence[str], ends: Any, skips: Any = None, keep: Any = ()) -> None:
        self.place, self.dtype, self.files, self.keep = place, np.dtype(dtype), tuple(files), keep
        self.ends = np.asarray(ends, dtype=np.int64)
        self.skips = np.zeros(len(self.files), dtype=np.int64) if skips is None else skips
        self.rows = int(self.ends[-1]) if len(self.ends) else 0

    def __reduce__(self) -> Any:
        return SpreadColumn, (self.place, self.dtype, self.files, self.ends, self.skips)

    @classmethod
    def of(cls, place: Place, dtype: Any, pieces: Sequence[Piece], folder: str) -> SpreadColumn:
        """A column of pieces that tasks wrote into a folder; the folder is deleted with the column."""
        ordered = sorted(p for p in pieces if p[1])
        out = cls(place, dtype, [file for _, _, file in ordered], np.cumsum([n for _, n, _ in ordered], dtype=np.int64))
        weakref.finalize(out, place.remove, folder)
        return out

    @classmethod
    def numbers(cls, place: Place, rows: int) -> SpreadColumn:
        """A column of row numbers, which needs no file."""
        return cls(place, np.int64, [_COUNTED], [rows])

    @classmethod
    def joined(cls, place: Place, dtype: Any, columns: Sequence[SpreadColumn]) -> SpreadColumn:
        """The rows of several columns, one after the other."""
        sizes = np.concatenate([np.zeros(0, np.int64), *(np.diff(c.ends, prepend=0) for c in columns)])
        skips = np.concatenate([np.zeros(0, np.int64), *(c.skips for c in columns)])
        return cls(place, dtype, [f for c in columns for f in c.files], np.cumsum(sizes), skips, tuple(columns))

    def part(self, low: int, high: int) -> SpreadColumn:
        """Rows from low to high as a column."""
        first = np.concatenate(([0], self.ends[:-1])) if len(self.ends) else self.ends
        a, b = np.maximum(first, low), np.minimum(self.ends, high)
        there = np.flatnonzero(a < b)
        sizes, skips = (b - a)[there], (self.skips + a - first)[there]
        return SpreadColumn(self.place, self.dtype, [self.files[i] for i in there], np.cumsum(sizes), skips, (self,))

    def read(self, low: int = 0, high: int | None = None) -> Array:
        """Rows from low to high."""
        stop = self.rows if high is None else min(high, self.rows)
        parts, width = [], self.dtype.itemsize
        i = int(np.searchsorted(self.ends, low, side="right"))
        while low < stop:
            first, end = (int(self.ends[i - 1]) if i else 0), int(self.ends[i])
            until = min(end, stop)
            at, n = low - first + int(self.skips[i]), until - low
            if self.files[i] == _COUNTED:
                parts.append(np.arange(at, at + n, dtype=np.int64))
            else:
                parts.append(np.frombuffer(self.place.read(self.files[i], at * width, n * width), dtype=self.dtype))
            low, i = until, i + 1
        if len(parts) == 1:
            return parts[0].copy()
        return np.concatenate(parts) if parts else np.zeros(0, dtype=self.dtype)

    def stream(self, size: int = WIDE) -> Iterator[tuple[int, Array]]:
        """All rows, block by block, each with the index of its first row."""
        for low, high in pieces_of(0, self.rows, size):
            yield low, self.read(low, high)


@dataclass(frozen=True, slots=True)
class Reader:
    """What a task uses to read blocks."""

    record: SpreadColumn
    columns: dict[str, SpreadColumn]

    def block(self, low: int, high: int, names: Sequence[str]) -> Block:
        return Block(self.record.read(low, high), {n: self.columns[n].read(low, high) for n in names})


def write_piece(place: Place, folder: str, key: str, first: int, values: Array, dtype: Any) -> Piece:
    """Write one piece of a column, starting at a given row."""
    name = f"{folder}/{key}-{first:015d}"
    content = np.ascontiguousarray(values, dtype=dtype)
    place.write(name, memoryview(content.view(np.uint8)) if len(content) else b"")  # type: ignore[arg-type]
    return first, len(content), name


def new_folder() -> str:
    return secrets.token_hex(8)
