"""Ranks, orders and matches of more rows than fit in memory: sorted and joined by the database, read back in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Ints
from larvatus.data.contracts import Array, Block, Words
from larvatus.engines._disk.layout import ColumnBlocks, PlacedColumn, Room, rechunk
from larvatus.engines._layout.chunks import CHUNK, pieces_of
from larvatus.engines._layout.sorted_groups import SortedPart
from larvatus.engines._layout.stored_columns import WIDE, StoredColumn, scatter_on_disk
from larvatus.engines._memory.table import positions_among
from larvatus.stats.ranks.quantiles import quantiles_in_order

_KINDS = {"float64": "float64", "int64": "int64", "int32": "int32"}


def _present(column: StoredColumn, record: StoredColumn | None, words: Words | None, low: int, high: int) -> ColumnBlocks:
    """Rows with a value: the value, the word and record id that break ties, and the row counted from `low`."""
    for a, b in pieces_of(low, high, WIDE):
        x = column.read(a, b)
        there = np.flatnonzero(~np.isnan(x))
        out: dict[str, Array] = {"value": x[there], "row": there + (a - low)}
        if words is not None and record is not None:
            ids = record.read(a, b)[there]
            out |= {"word": words(ids), "record": ids}
        yield out


def _sorted_rows(
    room: Room, column: StoredColumn, record: StoredColumn, words: Words | None, low: int, high: int, wanted: Sequence[str]
) -> ColumnBlocks:
    dtypes = {"value": "float64", "row": "int64"}
    if words is not None:
        dtypes |= {"word": "uint64", "record": "int64"}
    by = ["value"] if words is None else ["value", "word", "record"]
    return room.sorter.ordered(_present(column, record, words, low, high), dtypes, by, wanted)


def ordered_values(room: Room, column: StoredColumn, low: int, high: int) -> StoredColumn:
    """The non-missing values, smallest first."""
    out = StoredColumn(room.folder, np.float64)
    rows = ({"value": b["value"]} for b in _present(column, None, None, low, high))
    for block in room.sorter.ordered(rows, {"value": "float64"}, ["value"], ["value"]):
        out.append(block["value"])
    return out


def sorted_quantiles(room: Room, column: StoredColumn, low: int, high: int,
                     probabilities: Sequence[float]) -> NDArray[np.float64]:
    """Quantiles of a sub-group that is too large for memory."""
    ordered = ordered_values(room, column, low, high)
    return quantiles_in_order(ordered.rows, ordered.read, probabilities)


def ranks(
    room: Room, column: StoredColumn, record: StoredColumn, words: Words | None, out: StoredColumn, low: int, high: int
) -> None:
    """Ranks within a sub-group: in keyed order if words are given, else averaged over ties."""
    if words is not None:
        found = _sorted_rows(room, column, record, words, low, high, ["row"])
        scatter_on_disk(_numbered(found), [out], low, high, room.bucket)
        return
    rows, value, first = StoredColumn(room.folder, np.int64), StoredColumn(room.folder, np.float64), StoredColumn(room.folder,
                                                                                                                  np.int64)
    last, start = np.nan, 0
    for block in _sorted_rows(room, column, record, None, low, high, ["row", "value"]):
        x = block["value"]
        new = np.diff(x, prepend=last) != 0
        begins = np.where(new, np.arange(rows.rows, rows.rows + len(x)), start)
        begins = np.maximum.accumulate(begins)
        rows.append(block["row"])
        value.append(x)
        first.append(begins)
        last, start = x[-1], int(begins[-1])
    scatter_on_disk(_shared(rows, value, first), [out], low, high, room.bucket)


def _shared(rows: StoredColumn, value: StoredColumn, first: StoredColumn) -> Iterator[tuple[Ints, list[Array]]]:
    """Mean ranks of ties, computed from the last block to the first, so that the end of a run is known before its start."""
    after, end = np.nan, rows.rows - 1
    for a, b in reversed(list(pieces_of(0, rows.rows, WIDE))):
        x = value.read(a, b)
        stops = np.diff(x, append=after) != 0
        ends = np.where(stops, np.arange(a, b), end)
        ends = np.minimum.accumulate(ends[::-1])[::-1]
        yield rows.read(a, b), [(first.read(a, b) + ends) / 2 + 1]
        after, end = x[0], int(ends[0])


def _numbered(found: ColumnBlocks) -> Iterator[tuple[Ints, list[Array]]]:
    done = 0
    for block in found:
        n = len(block["row"])
        yield block["row"], [np.arange(done + 1, done + n + 1, dtype=np.float64)]
        done += n


def place(
    room: Room, order: StoredColumn, record: StoredColumn, words: Words, ordered: SortedPart, out: StoredColumn, low: int,
    high: int
) -> None:
    """Give the r-th smallest of the ordered values to the row ranked r-th."""
    present = sum(int(np.count_nonzero(~np.isnan(order.read(a, b)))) for a, b in pieces_of(low, high, WIDE))
    found = _sorted_rows(room, order, record, words, low, high, ["row"])
    scatter_on_disk(_given(found, ordered, present), [out], low, high, room.bucket)


def _given(found: ColumnBlocks, ordered: SortedPart, present: int) -> Iterator[tuple[Ints, list[Array]]]:
    done, n = 0, len(ordered)
    for block in found if n else ():
        m = len(block["row"])
        index = -(-np.arange(done + 1, done + m + 1) * n // present) - 1
        yield block["row"], [ordered.read(int(index[0]), int(index[-1]) + 1)[index - index[0]]]
        done += m


def in_order(
    room: Room, columns: Mapping[str, StoredColumn], record: StoredColumn, order: str, words: Words, low: int, high: int
) -> Iterator[tuple[Ints, Block]]:
    """Rows of a sub-group with all columns, in the order of one column."""
    names = {n: f"column_{i}" for i, n in enumerate(columns)}
    dtypes = {"value": "float64", "word": "uint64", "record": "int64", "row": "int64"}
    dtypes |= {names[n]: _KINDS[c.dtype.name] for n, c in columns.items()}

    def rows() -> ColumnBlocks:
        for block in _present(columns[order], record, words, low, high):
            here = block["row"] + low
            a, b = (int(here[0]), int(here[-1]) + 1) if len(here) else (low, low)
            yield block | {names[n]: c.read(a, b)[here - a] for n, c in columns.items()}

    for block in room.sorter.ordered(rows(), dtypes, ["value", "word", "record"], ["row", "record", *names.values()]):
        yield block["row"], Block(block["record"], {n: block[c] for n, c in names.items()})


def sorted_chunks(
    room: Room, parts: Iterator[Block], kinds: Mapping[str, str], order: str, words: Words | None
) -> Iterator[Block]:
    """Rows with a value, in the order of a column, in canonical chunks."""
    names = {n: f"column_{i}" for i, n in enumerate(kinds)}
    dtypes = {names[n]: kind for n, kind in kinds.items()} | ({} if words is None else {"word": "uint64", "record": "int64"})

    def rows() -> ColumnBlocks:
        for block in parts:
            there = ~np.isnan(block[order])
            out = {c: block[n][there] for n, c in names.items()}
            if words is not None:
                ids = block.record[there]
                out |= {"word": words(ids), "record": ids}
            yield out

    by = [names[order]] if words is None else [names[order], "word", "record"]
    wanted = [*names.values(), *(() if words is None else ("record",))]
    for block in _cut(room.sorter.ordered(rows(), dtypes, by, wanted)):
        record = block.get("record")
        size = len(next(iter(block.values())))
        yield Block(np.zeros(size, dtype=np.int64) if record is None else record, {n: block[c] for n, c in names.items()})


def _cut(blocks: ColumnBlocks) -> ColumnBlocks:
    """The same rows in canonical chunks."""
    held: list[dict[str, Array]] = []
    count = 0
    for block in blocks:
        held.append(block)
        count += len(next(iter(block.values())))
        if count < CHUNK:
            continue
        whole = held[0] if len(held) == 1 else {n: np.concatenate([b[n] for b in held]) for n in block}
        full = count - count % CHUNK
        for low in range(0, full, CHUNK):
            yield {n: v[low : low + CHUNK] for n, v in whole.items()}
        held = [{n: v[full:] for n, v in whole.items()}]
        count -= full
    if count:
        yield {n: np.concatenate([b[n] for b in held]) for n in held[0]}


def match_rows(
    room: Room, mine: PlacedColumn, theirs: PlacedColumn, columns: Mapping[str, PlacedColumn],
    dtypes: Mapping[str, np.dtype[np.generic]]
) -> Iterator[tuple[Ints, list[Array]]]:
    """Rows of `mine` that have a counterpart, with its columns."""
    counts = sum(len(b) for b in mine.stream()), sum(len(b) for b in theirs.stream())
    if max(counts) <= room.rows:
        rows, found = positions_among(np.concatenate([np.zeros(0, dtype=np.int64), *mine.stream()]),
                                   np.concatenate([np.zeros(0, dtype=np.int64), *theirs.stream()]))
        yield np.flatnonzero(found), [np.concatenate(list(c.stream()))[rows[found]] for c in columns.values()]
        return
    names = [f"column_{i}" for i in range(len(columns))]

    def my_rows() -> ColumnBlocks:
        done = 0
        for ids in mine.stream():
            yield {"record": ids, "row": np.arange(done, done + len(ids))}
            done += len(ids)

    def their_rows() -> ColumnBlocks:
        for ids, *values in zip(rechunk(theirs.stream()), *(rechunk(c.stream()) for c in columns.values()), strict=True):
            yield {"record": ids, **dict(zip(names, values, strict=True))}

    kinds = {"record": "int64", **{c: _KINDS[d.name] for c, d in zip(names, dtypes.values(), strict=True)}}
    for block in room.sorter.joined(my_rows(), their_rows(), ({"record": "int64", "row": "int64"}, kinds)):
        yield block["row"], [block[c] for c in names]
