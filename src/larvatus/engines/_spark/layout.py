"""Rows by sub-group and record id on a cluster: how they are put in order, and columns that are moved when needed."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from larvatus.core.arrays import Ints
from larvatus.data.contracts import Array
from larvatus.engines._layout.chunks import CHUNK, pieces_of
from larvatus.engines._layout.stored_columns import blank_value
from larvatus.engines._spark.exchange import Outgoing, row_type, scatter_on_cluster, sort
from larvatus.engines._spark.jobs import SMALL_TABLE, SparkBlocks, SparkCluster
from larvatus.engines._spark.store import Piece, Place, SpreadColumn, new_folder, write_piece

RowCodes = tuple[int, Array, Ints]  # first row, new sub-groups, record ids


class SparkColumn(Protocol):
    """A column in its row order, or still to be moved there."""

    def stored(self) -> SpreadColumn: ...
    def stream(self) -> Iterator[Array]: ...


class SparkRowPlaces:
    """A column stored in its row order."""

    def __init__(self, column: SpreadColumn) -> None:
        self._column = column

    def stored(self) -> SpreadColumn:
        return self._column

    def stream(self) -> Iterator[Array]:
        for _, block in self._column.stream():
            yield block


class SparkMovedColumn:
    """A column that is moved to its row order when first read."""

    def __init__(self, source: SparkColumn, move: SparkMove) -> None:
        self.source: SparkColumn | None = source
        self.move = move
        self.found: SpreadColumn | None = None
        move.waiting.add(self)

    def stored(self) -> SpreadColumn:
        ready([self])
        assert self.found is not None
        return self.found

    def stream(self) -> Iterator[Array]:
        for _, block in self.stored().stream():
            yield block


def ready(columns: Sequence[SparkColumn]) -> None:
    """Move columns to their row order, those with the same move together; in a small table, or if the move is of all columns
    of a source, all that wait for that move.
    """
    waiting = {id(c): c for c in columns if isinstance(c, SparkMovedColumn) and c.found is None}
    while waiting:
        move = next(iter(waiting.values())).move
        with move.lock:
            asked = [c for c in waiting.values() if c.move is move]
            together = list(move.waiting) if move.whole or move.rows <= SMALL_TABLE else asked
            move.waiting.difference_update(together)
            left = [c for c in {id(c): c for c in (*asked, *together)}.values() if c.found is None]
            ready([c.source for c in left if c.source is not None])
            sources = [c.source.stored() for c in left if c.source is not None]
            for column, found in zip(left, move.moved(sources), strict=True):
                column.found, column.source = found, None
        waiting = {k: c for k, c in waiting.items() if c.found is None}


class SparkLayout:
    """Rows by sub-group and record id: the record ids, the rows' positions in the source, and how the order was made."""

    def __init__(self, record: SparkColumn, position: SparkColumn, rows: int, move: SparkMove | None = None) -> None:
        self.record, self.position, self.rows, self.move = record, position, rows, move
        self.moves: dict[tuple[object, ...], SparkLayout] = {}
        self.known: dict[tuple[object, ...], tuple[tuple[weakref.ref[SpreadColumn], ...], list[bytes]]] = {}


@dataclass(frozen=True, slots=True)
class RowsSeen:
    """What a task found in its rows: the count, first and last record of each new sub-group, and whether records ascend."""

    low: int
    high: int
    group: Ints
    size: Ints
    first: Ints
    last: Ints
    ascending: bool
    in_place: bool
    digest: bytes


class GroupAssignment:
    """The new sub-group of every row, -1 if the row is dropped, determined by tasks in one pass."""

    def __init__(self, cluster: SparkCluster, record: SpreadColumn, code: SpreadColumn, seen: Sequence[RowsSeen],
                 groups: int) -> None:
        self.cluster, self.record, self.code, self.seen = cluster, record, code, seen
        self.sizes = np.zeros(groups, dtype=np.int64)
        digest = hashlib.blake2b(digest_size=16)
        for part in self.seen:
            self.sizes[part.group] += part.size
            digest.update(part.digest)
        self.fingerprint = digest.hexdigest()
        self.drops = int(self.sizes.sum()) < code.rows

    @classmethod
    def of(cls, cluster: SparkCluster, record: SpreadColumn, code: SpreadColumn, groups: int) -> GroupAssignment:
        """Sub-groups stored in a column."""
        return cls(cluster, record, code, cluster.run(partial(_looked, record, code), spans(code.rows, cluster)), groups)

    @classmethod
    def made(
        cls, cluster: SparkCluster, record: SpreadColumn, codes: Callable[[Any], RowCodes], jobs: Sequence[Any], groups: int
    ) -> GroupAssignment:
        """Sub-groups from a function of the rows of each job: written and summarised in one pass."""
        folder = new_folder()
        found = cluster.run(partial(_written, cluster.place, folder, codes), jobs)
        code = SpreadColumn.of(cluster.place, np.int32, [piece for piece, _ in found], folder)
        return cls(cluster, record, code, [seen for _, seen in found], groups)

    @property
    def in_place(self) -> bool:
        """Whether rows are already in the order (sub-group, record id), with none dropped."""
        last = (0, -(2**62))
        for part in self.seen:
            if not part.in_place or not len(part.group) or (int(part.group[0]), int(part.first[0])) <= last:
                return False
            last = int(part.group[-1]), int(part.last[-1])
        return True

    def place(self) -> SpreadColumn:
        """The new row of every old row, or -1: by counting if records ascend in every new sub-group, else by sorting."""
        starts = np.concatenate(([0], np.cumsum(self.sizes)))[:-1]
        last = np.full(len(self.sizes), -(2**62), dtype=np.int64)
        jobs: list[tuple[int, int, Ints]] = []
        for part in self.seen:
            if not part.ascending or (part.first <= last[part.group]).any():
                return self._sorted()
            jobs.append((part.low, part.high, starts[part.group]))
            starts[part.group] += part.size
            last[part.group] = part.last
        folder = new_folder()
        pieces = self.cluster.run(partial(_counted, self.cluster.place, folder, self.code), jobs)
        return SpreadColumn.of(self.cluster.place, np.int64, pieces, folder)

    def _sorted(self) -> SpreadColumn:
        rows, cluster = int(self.sizes.sum()), self.cluster
        if self.code.rows <= cluster.rows:
            folder = new_folder()
            return SpreadColumn.of(cluster.place, np.int64, cluster.run(
                partial(_sorted_at_once, cluster.place, folder, self.record, self.code), [None]), folder)
        dtypes = {"code": "int64", "record": "int64", "row": "int64"}
        keys = Outgoing(partial(_keys, self.record, self.code), spans(self.code.rows, cluster), dtypes)
        (back,), _ = sort(cluster, keys, ["code", "record"], ["row"], rows)
        numbered = Outgoing(partial(_numbered, back), spans(back.rows, cluster), {"row": "int64", "new": "int64"})
        (place,), _ = scatter_on_cluster(cluster, numbered, self.code.rows)
        return place


class SparkMove:
    """A move from one row order to another; `whole` if all columns will be needed, so that one exchange takes them."""

    def __init__(
        self, cluster: SparkCluster, source: SparkLayout | None, assigned: GroupAssignment, whole: bool = False
    ) -> None:
        self.cluster, self.source, self.assigned, self.whole = cluster, source, assigned, whole
        self.rows, self.drops, self.lock = int(assigned.sizes.sum()), assigned.drops, threading.RLock()
        self.waiting: weakref.WeakSet[SparkMovedColumn] = weakref.WeakSet()
        self._place: SpreadColumn | None = None
        self._back: SpreadColumn | None = None

    @property
    def place(self) -> SpreadColumn:
        """The new row of every old row, or -1."""
        with self.lock:
            if self._place is None:
                self._place = self.assigned.place()
            return self._place

    @property
    def back(self) -> SpreadColumn:
        """The old row of every new row."""
        with self.lock:
            if self._back is None:
                (self._back,) = put_in_place(self.cluster, self.place,
                                             [SpreadColumn.numbers(self.cluster.place, self.place.rows)], self.rows)
            return self._back

    def moved(self, columns: Sequence[SpreadColumn]) -> list[SpreadColumn]:
        """Columns in the new order; in a small table the old row numbers are moved too, for the way back."""
        with self.lock:
            if self._back is not None or self.rows > SMALL_TABLE:
                return put_in_place(self.cluster, self.place, columns, self.rows)
            number = SpreadColumn.numbers(self.cluster.place, self.place.rows)
            *found, self._back = put_in_place(self.cluster, self.place, [*columns, number], self.rows)
            return found

    def returned(self, columns: Sequence[SpreadColumn], rows: int) -> list[SpreadColumn]:
        """Columns of the new order in the old one; missing if the row was dropped."""
        return put_in_place(self.cluster, self.back, columns, rows)


def spans(rows: int, cluster: SparkCluster, among: int = 0) -> list[tuple[int, int]]:
    """The rows of each task: whole chunks, enough tasks for all cores, and at most one piece of rows per task.

    `among` is the total number of rows, if these are a part of them.
    """
    size = min(cluster.piece, -(-max(rows, among) // (2 * cluster.parallel)))
    return list(pieces_of(0, rows, max(size // CHUNK * CHUNK, min(CHUNK, cluster.piece), 1)))


def put_in_place(cluster: SparkCluster, place: SpreadColumn, columns: Sequence[SpreadColumn], rows: int) -> list[SpreadColumn]:
    """Columns with each row at its new place; rows without one are dropped."""
    if not columns:
        return []
    if max(rows, place.rows) <= cluster.rows:
        return _at_once(cluster, partial(_put_at_once, cluster.place, place, rows), columns)
    dtypes = {f"c{i}": c.dtype.name for i, c in enumerate(columns)}
    source = Outgoing(partial(_placed, place, list(columns)), spans(place.rows, cluster), {"row": row_type(rows), **dtypes})
    return scatter_on_cluster(cluster, source, rows)[0]


def _at_once(cluster: SparkCluster, function: Any, columns: Sequence[SpreadColumn]) -> list[SpreadColumn]:
    folders = [new_folder() for _ in columns]
    pieces = cluster.run(function, list(zip(columns, folders, strict=True)))
    return [SpreadColumn.of(cluster.place, c.dtype, [p], f) for c, p, f in zip(columns, pieces, folders, strict=True)]


def _looked(record: SpreadColumn, code: SpreadColumn, span: tuple[int, int]) -> RowsSeen:
    return _seen(*span, code.read(*span).astype(np.int64), record.read(*span))


def _written(place: Place, folder: str, codes: Callable[[Any], RowCodes], job: Any) -> tuple[Piece, RowsSeen]:
    low, given, ids = codes(job)
    return write_piece(place, folder, "code", low, given, np.int32), _seen(low, low + len(ids), given.astype(np.int64), ids)


def _seen(low: int, high: int, codes: Ints, ids: Ints) -> RowsSeen:
    digest = hashlib.blake2b(codes.tobytes(), digest_size=16).digest()
    step = np.diff(codes)
    in_place = bool(len(codes) and codes[0] >= 0 and (step >= 0).all() and (np.diff(ids)[step == 0] > 0).all())
    rows = np.flatnonzero(codes >= 0)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    of, ids = codes[rows], ids[rows]
    first = np.flatnonzero(np.diff(of, prepend=-1))
    size = np.diff(np.append(first, len(of)))
    ascending = bool(((np.diff(ids) > 0) | (np.diff(of) != 0)).all())
    return RowsSeen(low, high, of[first], size, ids[first], ids[first + size - 1], ascending, in_place, digest)


def _counted(place: Place, folder: str, code: SpreadColumn, job: tuple[int, int, Ints]) -> Piece:
    low, high, starts = job
    codes = code.read(low, high).astype(np.int64)
    out = np.full(len(codes), -1, dtype=np.int64)
    rows = np.flatnonzero(codes >= 0)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    first = np.flatnonzero(np.diff(codes[rows], prepend=-1))
    size = np.diff(np.append(first, len(rows)))
    out[rows] = np.repeat(starts - first, size) + np.arange(len(rows))
    return write_piece(place, folder, "place", low, out, np.int64)


def _sorted_at_once(place: Place, folder: str, record: SpreadColumn, code: SpreadColumn, _: None) -> Piece:
    codes, ids = code.read(), record.read()
    kept = np.flatnonzero(codes >= 0)
    out = np.full(len(codes), -1, dtype=np.int64)
    out[kept[np.lexsort((ids[kept], codes[kept]))]] = np.arange(len(kept))
    return write_piece(place, folder, "place", 0, out, np.int64)


def _keys(record: SpreadColumn, code: SpreadColumn, span: tuple[int, int]) -> SparkBlocks:
    for low, high in pieces_of(*span):
        codes, ids = code.read(low, high), record.read(low, high)
        kept = np.flatnonzero(codes >= 0)
        yield {"code": codes[kept], "record": ids[kept], "row": kept + low}


def _numbered(back: SpreadColumn, span: tuple[int, int]) -> SparkBlocks:
    for low, high in pieces_of(*span):
        yield {"row": back.read(low, high), "new": np.arange(low, high)}


def _placed(place: SpreadColumn, columns: list[SpreadColumn], span: tuple[int, int]) -> SparkBlocks:
    for low, high in pieces_of(*span):
        new = place.read(low, high)
        kept = new >= 0
        yield {"row": new[kept], **{f"c{i}": c.read(low, high)[kept] for i, c in enumerate(columns)}}


def _put_at_once(where: Place, place: SpreadColumn, rows: int, job: tuple[SpreadColumn, str]) -> Piece:
    column, folder = job
    new = place.read()
    out = np.full(rows, blank_value(column.dtype), dtype=column.dtype)
    out[new[new >= 0]] = column.read()[new >= 0]
    return write_piece(where, folder, "put", 0, out, column.dtype)
