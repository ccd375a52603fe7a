"""The row order of columns on disk, and how columns are moved to another order when first needed."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Ints
from larvatus.core.safe_files.work_folder import WorkFolder
from larvatus.data.contracts import Array
from larvatus.engines._layout.base_table import most_whole_records
from larvatus.engines._layout.result_memory import ResultMemory
from larvatus.engines._layout.stored_columns import WIDE, StoredColumn, scatter_on_disk

ColumnBlocks = Iterator[dict[str, Array]]


class Sorter(Protocol):
    """What the database does: sort and join rows that do not fit in memory."""

    def ordered(self, rows: ColumnBlocks, dtypes: dict[str, str], by: Sequence[str], wanted: Sequence[str]) -> ColumnBlocks: ...
    def joined(self, mine: ColumnBlocks, theirs: ColumnBlocks,
               dtypes: tuple[dict[str, str], dict[str, str]]) -> ColumnBlocks: ...


@dataclass(frozen=True, slots=True)
class Room:
    """Where temporary files go, how many rows of a column may be held at once, on how many cores, and what sorts the rest."""

    folder: WorkFolder
    memory: int
    rows: int
    bucket: int
    threads: int
    sorter: Sorter

    def held(self, columns: int) -> int:
        """Number of rows of `columns` columns that may be sorted at once on each core."""
        return max(self.rows * 12 // (2 * columns + 2), 1)

    def arranges(self, rows: int, columns: int) -> bool:
        """Whether this many rows may be put in order in memory when written."""
        return rows * columns <= self.rows * 4

    def whole(self, columns: int) -> int:
        """Number of records of `columns` columns that a method may receive at once; it needs several times their size."""
        return most_whole_records(self.memory, self.rows, columns)


class PlacedColumn(Protocol):
    """A column: on disk in its row order, or still to be moved there."""

    @property
    def dtype(self) -> np.dtype[np.generic]: ...
    def stored(self) -> StoredColumn: ...
    def stream(self) -> Iterator[Array]: ...


class RowPlaces:
    """A column on disk in its row order."""

    def __init__(self, column: StoredColumn) -> None:
        self._column = column

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return self._column.dtype

    @property
    def nbytes(self) -> int:
        return self._column.nbytes

    def stored(self) -> StoredColumn:
        return self._column

    def stream(self) -> Iterator[Array]:
        for _, block in self._column.stream():
            yield block


class Above:
    """Two columns, one after the other, that are still to be moved."""

    def __init__(self, one: PlacedColumn, other: PlacedColumn) -> None:
        self._parts = one, other

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return self._parts[0].dtype

    def stored(self) -> StoredColumn:
        raise NotImplementedError("stacked columns are read as a stream")

    def stream(self) -> Iterator[Array]:
        for part in self._parts:
            yield from part.stream()


class MovedColumn:
    """A column that is moved to its row order when first read, and then remembered."""

    def __init__(
        self, source: PlacedColumn, move: DiskMove, dtype: np.dtype[np.generic], results: ResultMemory | None = None
    ) -> None:
        self._source, self._move, self.dtype, self._results = source, move, dtype, results
        self._lock = threading.Lock()
        self._found: StoredColumn | None = None

    @property
    def nbytes(self) -> int:
        return self._move.rows * self.dtype.itemsize

    def stored(self) -> StoredColumn:
        with self._lock:
            if self._found is None:
                known = None if self._results is None else self._results.get("moved", [self._move, self._source])
                self._found = known.stored() if known else self._move.moved(self._source, self.dtype)
                if self._results is not None and not known:
                    self._results.put("moved", [self._move, self._source], self)
                del self._source, self._results
            return self._found

    def stream(self) -> Iterator[Array]:
        for _, block in self.stored().stream():
            yield block

    def in_any_order(self) -> PlacedColumn:
        """The column in its stored order, if all of its rows are kept."""
        with self._lock:
            return self if self._found is not None or self._move.drops else self._source


class DiskLayout:
    """Rows by sub-group and record id: the record ids, the rows' positions in the source, and how the order was made."""

    def __init__(self, record: PlacedColumn, position: PlacedColumn, rows: int, move: DiskMove | None = None) -> None:
        self.record, self.position, self.rows, self.move = record, position, rows, move
        self.moves: dict[tuple[object, ...], DiskLayout] = {}


class DiskMove:
    """A move from one row order to another: `code` holds the new sub-group of every old row, -1 if the row is dropped."""

    def __init__(
        self, room: Room, source: DiskLayout | None, record: PlacedColumn, code: StoredColumn, starts: Ints
    ) -> None:
        self.room, self.source, self.rows = room, source, int(starts[-1])
        self.drops = self.rows < code.rows
        self._record, self._code, self._starts = record, code, starts
        self._lock = threading.Lock()
        self._place: StoredColumn | None = None
        self._back: StoredColumn | None = None

    @property
    def place(self) -> StoredColumn:
        """The new row of every old row, or -1."""
        with self._lock:
            if self._place is None:
                self._place = self._in_passing() or self._sorted()
            return self._place

    @property
    def back(self) -> StoredColumn:
        """The old row of every new row."""
        place = self.place
        with self._lock:
            if self._back is None:
                self._back = StoredColumn(self.room.folder, np.int64, self.rows)
                parts = ((p[p >= 0], [np.flatnonzero(p >= 0) + low]) for low, p in place.stream())
                scatter_on_disk(parts, [self._back], 0, self.rows, self.room.bucket)
            return self._back

    def column(self, source: PlacedColumn, dtype: np.dtype[np.generic], results: ResultMemory) -> PlacedColumn:
        """A column in the new order, moved when it is first read."""
        known: PlacedColumn | None = results.get("moved", [self, source])
        return MovedColumn(source, self, dtype, results) if known is None else known

    def moved(self, column: PlacedColumn, dtype: np.dtype[np.generic]) -> StoredColumn:
        """A column in the new order, stored."""
        out = StoredColumn(self.room.folder, dtype, self.rows)
        scatter_on_disk(_kept(column.stream(), self.place), [out], 0, self.rows, self.room.bucket)
        return out

    def returned(self, column: PlacedColumn, dtype: np.dtype[np.generic], rows: int) -> StoredColumn:
        """A column of the new order in the old one; missing if the row was dropped."""
        out = StoredColumn(self.room.folder, dtype, rows)
        scatter_on_disk(_kept(column.stream(), self.back), [out], 0, rows, self.room.bucket)
        return out

    def _in_passing(self) -> StoredColumn | None:
        """The new rows without sorting, if records ascend within every new sub-group."""
        used, last = self._starts[:-1].copy(), np.full(len(self._starts) - 1, -(2**62), dtype=np.int64)
        out = StoredColumn(self.room.folder, np.int64)
        for (_, code), record in zip(self._code.stream(), rechunk(self._record.stream()), strict=True):
            place = np.full(len(code), -1, dtype=np.int64)
            rows = np.flatnonzero(code >= 0)
            rows = rows[np.argsort(code[rows], kind="stable")]
            of, ids = code[rows].astype(np.int64), record[rows]
            first = np.flatnonzero(np.diff(of, prepend=-1))
            step = np.diff(ids, prepend=0)
            step[first] = ids[first] - last[of[first]]
            if (step <= 0).any():
                return None
            size = np.diff(np.append(first, len(of)))
            place[rows] = np.repeat(used[of[first]] - first, size) + np.arange(len(of))
            used[of[first]] += size
            last[of[first]] = ids[first + size - 1]
            out.append(place)
        return out

    def _sorted(self) -> StoredColumn:
        """The new rows by sorting on (sub-group, record id)."""
        out = StoredColumn(self.room.folder, np.int64, self._code.rows)
        if self._code.rows <= self.room.rows:
            code, record = self._code.read(), np.concatenate(list(self._record.stream()))
            kept = np.flatnonzero(code >= 0)
            place = np.full(len(code), -1, dtype=np.int64)
            place[kept[np.lexsort((record[kept], code[kept]))]] = np.arange(len(kept))
            out.write(0, place)
            return out
        dtypes = {"code": "int32", "record": "int64", "row": "int64"}
        found = self.room.sorter.ordered(self._keys(), dtypes, ["code", "record"], ["row"])
        scatter_on_disk(_numbered(found), [out], 0, self._code.rows, self.room.bucket)
        return out

    def _keys(self) -> ColumnBlocks:
        for (low, code), record in zip(self._code.stream(), rechunk(self._record.stream()), strict=True):
            kept = np.flatnonzero(code >= 0)
            yield {"code": code[kept], "record": record[kept], "row": kept + low}


def _kept(blocks: Iterator[Array], places: StoredColumn) -> Iterator[tuple[Ints, list[Array]]]:
    for block, (_, place) in zip(rechunk(blocks), places.stream(), strict=True):
        there = place >= 0
        yield (place, [block]) if there.all() else (place[there], [block[there]])


def rechunk(blocks: Iterator[Array], size: int = WIDE) -> Iterator[Array]:
    """The same rows in blocks of equal size."""
    held: list[Array] = []
    count = 0
    for block in blocks:
        while len(block):
            part, block = block[: size - count], block[size - count :]
            held.append(part)
            count += len(part)
            if count == size:
                yield held[0] if len(held) == 1 else np.concatenate(held)
                held, count = [], 0
    if held:
        yield held[0] if len(held) == 1 else np.concatenate(held)


def _numbered(found: ColumnBlocks) -> Iterator[tuple[Ints, list[NDArray[np.int64]]]]:
    done = 0
    for block in found:
        rows = block["row"]
        yield rows, [np.arange(done, done + len(rows))]
        done += len(rows)


def fingerprint(code: StoredColumn) -> str:
    """A text that identifies an assignment of rows to sub-groups."""
    digest = hashlib.blake2b(digest_size=16)
    for _, block in code.stream():
        digest.update(block.tobytes())
    return digest.hexdigest()
