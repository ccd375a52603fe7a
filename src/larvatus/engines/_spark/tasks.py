"""What executors do with rows of a table: blocks, whole sub-groups, and rows in the order of a column."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from larvatus.core.kernels import one_blas_thread
from larvatus.data.contracts import Array, Block, Column, RowFunction, Words
from larvatus.engines._layout.base_table import Slice
from larvatus.engines._layout.chunks import CHUNK, pieces_of
from larvatus.engines._layout.sorted_groups import ONE_IN, sorted_present
from larvatus.engines._memory.table import dtype_of, fold_block, scan_block, ties
from larvatus.engines._spark.jobs import SparkBlocks
from larvatus.engines._spark.store import Piece, Place, Reader, SpreadColumn, write_piece
from larvatus.stats.ranks.quantiles import quantiles
from larvatus.stats.ranks.ranks import average_ranks, by_rank, keyed_order, keyed_ranks

_T = TypeVar("_T")
_SIGN = np.uint64(1 << 63)


def sort_key(name: str) -> str:
    """A column name encoded for use in a file name."""
    return hashlib.blake2b(name.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Target:
    """Where tasks write the columns that they create."""

    place: Place
    folder: str

    def write(self, name: str, first: int, values: Array, dtype: Any) -> Piece:
        return write_piece(self.place, self.of(name), "made", first, values, dtype)

    def of(self, name: str) -> str:
        """The folder of one column."""
        return f"{self.folder}-{sort_key(name)}"


def map_blocks(
    reader: Reader, target: Target, function: RowFunction, names: Sequence[str], columns: Mapping[str, Column],
    slices: Sequence[Slice],
) -> dict[str, Piece]:
    """New columns of consecutive rows, from a function of blocks."""
    parts: dict[str, list[Array]] = {}
    with one_blas_thread():
        for group, low, high in slices:
            for name, part in function(group, reader.block(low, high, names)).items():
                whole: Array = np.broadcast_to(np.asarray(part, dtype=dtype_of(columns[name])), (high - low,))
                parts.setdefault(name, []).append(whole)
    first = slices[0][1]
    return {n: target.write(n, first, np.concatenate(p), dtype_of(columns[n])) for n, p in parts.items()}


def each(reader: Reader, function: Callable[[int, Block], _T], names: Sequence[str], slices: Sequence[Slice]) -> list[_T]:
    """The result of a function for every block."""
    with one_blas_thread():
        return [function(group, reader.block(low, high, names)) for group, low, high in slices]


def combination_counts(reader: Reader, names: Sequence[str], slices: Sequence[Slice]) -> dict[tuple[int, ...], int]:
    """Number of rows for every combination of codes."""
    out: dict[tuple[int, ...], int] = {}
    for _, low, high in slices:
        block = reader.block(low, high, names)
        codes = np.stack([block[n].astype(np.int64) for n in names], axis=1) if names else np.zeros((len(block), 0), np.int64)
        for row, times in zip(*np.unique(codes, axis=0, return_counts=True), strict=True):
            key = tuple(int(c) for c in row)
            out[key] = out.get(key, 0) + int(times)
    return out


def group_quantiles(column: SpreadColumn, probabilities: Sequence[float], slices: Sequence[Slice]) -> list[NDArray[np.float64]]:
    """Quantiles of whole sub-groups."""
    return [quantiles(column.read(low, high), probabilities) for _, low, high in slices]


def sort_groups(
    reader: Reader, target: Target, name: str, slices: Sequence[Slice]
) -> tuple[Piece, list[tuple[int, Array]]]:
    """The sorted values of whole sub-groups; of each, how many are present, and a sample of them."""
    found = [sorted_present(reader.columns[name].read(low, high)) for _, low, high in slices]
    piece = target.write(name, slices[0][1], np.concatenate([x for x, _ in found]), np.float64)
    return piece, [(present, x[:present:ONE_IN].copy()) for x, present in found]


def rank_groups(
    reader: Reader, target: Target, names: Mapping[str, str], random: Any, job: tuple[str, Sequence[Slice]]
) -> dict[str, Piece]:
    """Ranks of a column within whole sub-groups."""
    new, slices = job
    parts = []
    for _, low, high in slices:
        block = reader.block(low, high, [names[new]])
        x = block[names[new]]
        parts.append(average_ranks(x) if random is None else keyed_ranks(x, block.record, ties(random, names[new])))
    return {new: target.write(new, slices[0][1], np.concatenate(parts), np.float64)}


def place_values(
    reader: Reader, target: Target, how: Mapping[str, tuple[str, str]], random: Any, given: Mapping[str, SpreadColumn],
    starts: Any,
    job: tuple[str, Sequence[Slice]],
) -> dict[str, Piece]:
    """Values of another table, assigned by the rank of a column within whole sub-groups."""
    into, slices = job
    order, values = how[into]
    parts = []
    for group, low, high in slices:
        ordered = np.sort(given[values].read(int(starts[group]), int(starts[group + 1])))
        ordered = ordered[: len(ordered) - np.count_nonzero(np.isnan(ordered))]
        block = reader.block(low, high, [order])
        rows = keyed_order(block[order], block.record, ties(random, order))
        out = np.full(high - low, np.nan)
        if len(ordered):
            out[rows] = by_rank(ordered, len(rows))
        parts.append(out)
    return {into: target.write(into, slices[0][1], np.concatenate(parts), np.float64)}


def scan_groups(
    reader: Reader, target: Target, order: str, names: Sequence[str], start: Any, function: Any, random: Any,
    made: Sequence[Column], slices: Sequence[Slice],
) -> dict[str, Piece]:
    """New columns from a pass in the order of a column, within whole sub-groups."""
    wanted = list(dict.fromkeys([order, *names]))
    parts = [
        scan_block(reader.block(low, high, wanted), order, names, start, function, random, made) for _, low, high in slices
    ]
    return {
        c.name: target.write(c.name, slices[0][1], np.concatenate([p[c.name] for p in parts]), dtype_of(c)) for c in made
    }


def carry_along(
    reader: Reader, order: str, names: Sequence[str], start: _T, function: Callable[[int, _T, Block], _T], random: Any,
    slices: Sequence[Slice],
) -> list[_T]:
    """The final state of a pass in the order of a column, for whole sub-groups."""
    wanted = list(dict.fromkeys([order, *names]))
    return [
        fold_block(reader.block(low, high, wanted), order, names, start, partial(function, group), random)
        for group, low, high in slices
    ]


# --- sub-groups too large for a task: sorted by Spark, all at once, then read piece by piece --------------------------------


@dataclass(frozen=True, slots=True)
class SortedRows:
    """Rows of one sub-group in the order of a column: their positions among the large sub-groups, and other columns.

    `column` is the index of the column among those sorted together.
    """

    column: int
    group: int
    columns: dict[str, SpreadColumn]

    @property
    def row(self) -> SpreadColumn:
        return self.columns["row"]

    def blocks(self, names: Sequence[str], with_record: bool) -> Iterator[tuple[int, Block]]:
        for low, high in pieces_of(0, self.row.rows, CHUNK):
            record = self.columns["record"].read(low, high) if with_record else np.zeros(high - low, dtype=np.int64)
            yield low, Block(record, {n: self.columns[f"c{i}"].read(low, high) for i, n in enumerate(names)})


GroupJob = tuple[SortedRows, int, int]


def present(
    reader: Reader, words: Mapping[str, Words | None], names: Sequence[str], wanted: Sequence[str],
    job: tuple[str, int, int, int, int],
) -> SparkBlocks:
    """Rows with a value: sub-group, value, the word and record id that break ties, the row, and other columns."""
    order, group, start, low_, high_ = job
    word = words[order]
    for low, high in pieces_of(low_, high_):
        block = reader.block(low, high, list(dict.fromkeys([order, *names])))
        at = np.flatnonzero(~np.isnan(block[order]))
        ids = block.record[at]
        out: dict[str, Array] = {"value": block[order][at] + 0.0, "record": ids, "row": at + (low + start)}
        out["sub_group"] = np.full(len(at), group)
        if word is not None:
            out["word"] = (word(ids) ^ _SIGN).view(np.int64)
        out |= {f"c{i}": block[n][at] for i, n in enumerate(names)}
        yield {n: out[n] for n in wanted}


def number_rows(job: GroupJob) -> SparkBlocks:
    """Each row and its rank."""
    rows, low_, high_ = job
    for low, high in pieces_of(low_, high_):
        yield {"row": rows.row.read(low, high), "c0": np.arange(low + 1, high + 1, dtype=np.float64)}


def runs(job: GroupJob) -> tuple[float, int, float, int]:
    """The first value of some sorted rows and the end of its run, the last value and the start of its run."""
    rows, low, high = job
    x = rows.columns["value"].read(low, high)
    return float(x[0]), low + int(np.searchsorted(x, x[0], side="right")), float(x[-1]), low + int(np.searchsorted(x, x[-1]))


def share_ranks(job: tuple[GroupJob, int, int]) -> SparkBlocks:
    """Each row and the mean rank of its run; the start of the first run and the end of the last one are given."""
    (rows, low, high), begins, ends = job
    x = rows.columns["value"].read(low, high)
    new = np.flatnonzero(np.diff(x) != 0) + 1
    starts, stops = np.concatenate(([0], new)) + low, np.concatenate((new, [len(x)])) + low
    sizes = stops - starts
    starts[0], stops[-1] = begins, ends
    yield {"row": rows.row.read(low, high), "c0": np.repeat((starts + stops + 1) / 2, sizes)}


def receive_values(ordered: Mapping[tuple[int, int], SpreadColumn], job: GroupJob) -> SparkBlocks:
    """Each row and the value assigned to its rank."""
    rows, low_, high_ = job
    given = ordered[rows.column, rows.group]
    m, n = rows.row.rows, given.rows
    for low, high in pieces_of(low_, high_):
        index = -(-np.arange(low + 1, high + 1) * n // m) - 1
        yield {"row": rows.row.read(low, high), "c0": given.read(int(index[0]), int(index[-1]) + 1)[index - index[0]]}


def fold_chunks(
    names: Sequence[str], start: _T, function: Callable[[int, _T, Block], _T], with_record: bool, rows: SortedRows
) -> _T:
    """The final state of a pass over all rows of a large sub-group, by one task that holds one chunk at a time."""
    for _, block in rows.blocks(names, with_record):
        start = function(rows.group, start, block)
    return start


def scan_chunks(
    target: Target, names: Sequence[str], start: _T, function: Callable[[_T, Block], tuple[_T, Mapping[str, Array]]],
    made: Sequence[Column], rows: SortedRows,
) -> dict[str, list[Piece]]:
    """New columns of a large sub-group in sorted order."""
    out: dict[str, list[Piece]] = {c.name: [] for c in made}
    for low, block in rows.blocks(names, True):
        start, result = function(start, block)
        for c in made:
            out[c.name].append(target.write(f"{c.name} {rows.group}", low, result[c.name], dtype_of(c)))
    return out


def return_rows(made: Mapping[int, Sequence[SpreadColumn]], job: GroupJob) -> SparkBlocks:
    """Each row and the value computed for it in sorted order."""
    rows, low_, high_ = job
    for low, high in pieces_of(low_, high_):
        columns = {f"c{i}": c.read(low, high) for i, c in enumerate(made[rows.group])}
        yield {"row": rows.row.read(low, high), **columns}
