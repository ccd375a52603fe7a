"""Exchange of rows between tasks. Rows with the same destination are packed into one Spark value.

Spark then moves a few large values instead of moving, comparing and converting every row. The receiving task holds all rows
of one destination, and sorts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from larvatus.core.arrays import Ints
from larvatus.data.contracts import Array
from larvatus.engines._layout.stored_columns import blank_value
from larvatus.engines._memory.table import positions_among
from larvatus.engines._spark.jobs import (
    SparkBlocks,
    SparkCluster,
    dump_function,
    in_arrow,
    in_arrow_by,
    in_turn,
    load_function,
)
from larvatus.engines._spark.key_order import count_bounds, order_by
from larvatus.engines._spark.rows_aside import RowsAside, rows_aside
from larvatus.engines._spark.store import SpreadColumn, new_folder, write_piece

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Columns = Mapping[str, Array]
Sent = Iterator[tuple[int, Columns]]  # destination, and the rows
LARGEST, BATCH_BYTES = 1 << 22, 1 << 24  # largest number of bytes in one value, and in one batch
SAMPLED = 100  # rows sampled for each range of keys
GOLDEN, SILVER, ODD = 0.6180339887498949, 0.4142135623730951, np.uint64(0x9E3779B97F4A7C15)
_CODES = ("sub_group", "code")
SCHEMA = "bucket long, side int, packed binary"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Rows that a function reads for each job, and the types of their columns; `keys` reads the columns to sort by."""

    rows: Callable[[Any], SparkBlocks]
    jobs: Sequence[Any]
    dtypes: Mapping[str, str]
    keys: Callable[[Any], SparkBlocks] | None = None

    @property
    def width(self) -> int:
        return width_of(self.dtypes)

    def blocks(self, job: Any) -> Iterator[Columns]:
        """The rows of a job, in blocks of limited size."""
        held: list[Columns] = []
        size = 0
        for block in self.rows(job):
            held.append(block)
            size += len(next(iter(block.values()))) * self.width
            if size >= BATCH_BYTES:
                yield _joined(held, self.dtypes)
                held, size = [], 0
        if held:
            yield _joined(held, self.dtypes)


def width_of(dtypes: Mapping[str, str]) -> int:
    """Bytes of one row."""
    return sum(np.dtype(d).itemsize for d in dtypes.values())


def row_type(rows: int) -> str:
    """The shortest type for row numbers below this."""
    return "uint32" if rows <= 1 << 32 else "int64"


def code_type(codes: int) -> str:
    """The shortest type for codes below this."""
    return "int16" if codes <= 1 << 15 else "int64"


def _joined(blocks: Sequence[Columns], dtypes: Mapping[str, str]) -> Columns:
    return {n: np.concatenate([np.empty(0, d), *(np.asarray(b[n], d) for b in blocks)]) for n, d in dtypes.items()}


def sort(
    cluster: SparkCluster, source: Outgoing, by: Sequence[str], wanted: Sequence[str], rows: int
) -> tuple[list[SpreadColumn], dict[int, int]]:
    """The wanted columns of all rows in the order of `by`, in ranges of keys that a task can hold.

    Also returns the number of rows for each value of the first key, if it is a code.
    """
    place, dtypes, folders = cluster.place, dict(source.dtypes), {n: new_folder() for n in wanted}
    ranges = _ranges(cluster, source, by, rows)

    def arrived(at: int, sides: Sequence[Columns]) -> tuple[int, dict[int, int]]:
        columns = sides[0]
        order = order_by([columns[n] for n in by])
        for name, folder in folders.items():
            write_piece(place, folder, "sorted", at, columns[name][order], dtypes[name])
        codes = columns[by[0]] if by[0] in _CODES else np.zeros(len(order), dtype=np.int64)
        there, times = np.unique(codes, return_counts=True)
        return len(order), dict(zip(there.tolist(), times.tolist(), strict=True))

    with rows_aside(cluster) as aside:
        frame = _sent(cluster, source, partial(by_range, list(by), ranges), aside)
        found = _received(cluster, frame, [dtypes], arrived, rows, aside)
    counts: dict[int, int] = {}
    for _, of in found.values():
        for code, n in of.items():
            counts[code] = counts.get(code, 0) + n
    return [
        SpreadColumn.of(place, dtypes[n], [(at, found[at][0], f"{folder}/sorted-{at:015d}") for at in sorted(found)], folder)
        for n, folder in folders.items()
    ], counts


def scatter_on_cluster(cluster: SparkCluster, source: Outgoing, rows: int) -> tuple[list[SpreadColumn], int]:
    """Columns of `rows` rows with values at the rows given in `row`, missing elsewhere; and the number of values written."""
    piece = cluster.piece_of(source.width)
    with rows_aside(cluster) as aside:
        return _put(cluster, _sent(cluster, source, partial(by_row, piece), aside), dict(source.dtypes), rows, piece, aside)


def join(cluster: SparkCluster, left: Outgoing, right: Outgoing, rows: int, others: int) -> tuple[list[SpreadColumn], int]:
    """The columns of `right`, matched by `record`, at the rows given in `left`; missing if there is no match."""
    most, piece = max(rows, others), cluster.piece_of(left.width + right.width)
    buckets = max(-(-most // piece), 1)
    dtypes = [dict(left.dtypes), dict(right.dtypes)]
    named = {"row": "int64", **{n: d for n, d in right.dtypes.items() if n != "record"}}
    def met(_: int, sides: Sequence[Columns]) -> Sent:
        at, found = positions_among(sides[0]["record"], sides[1]["record"])
        there = {n: sides[1][n][at[found]] for n in named if n != "row"}
        return by_row(piece, {"row": sides[0]["row"][found], **there})

    with rows_aside(cluster) as aside:
        sent = [_sent(cluster, o, partial(by_record, buckets), aside, side) for side, o in enumerate((left, right))]
        passed = _passed_on(cluster, sent[0].union(sent[1]), dtypes, met, named, most, aside)
        return _put(cluster, passed, named, rows, piece, aside)


# --- where rows go -------------------------------------------------------------------------------------------------------


def by_row(piece: int, columns: Columns) -> Sent:
    """Rows by the piece of the target column that they belong to."""
    yield from _parted(columns["row"] // piece, columns)


def by_record(buckets: int, columns: Columns) -> Sent:
    """Rows by record id, for both tables alike."""
    mixed = (columns["record"].astype(np.uint64) * ODD) >> np.uint64(32)
    yield from _parted((mixed % np.uint64(buckets)).astype(np.int64), columns)


def by_range(by: Sequence[str], ranges: Columns, columns: Columns) -> Sent:
    """Rows by the range of their keys: from one bound (included) to the next."""
    to = np.zeros(len(columns[by[0]]), dtype=np.int64)
    count_bounds([ranges[n] for n in by], [columns[n] for n in by], to, None, 0, len(ranges[by[0]]))
    yield from _parted(to, columns)


def _parted(to: Ints, columns: Columns) -> Sent:
    if not len(to):
        return
    if (to[0] == to).all():
        yield int(to[0]), columns
        return
    order = np.argsort(to.astype(np.uint16) if to.max() < 1 << 16 else to, kind="stable")
    there, starts = np.unique(to[order], return_index=True)
    for bucket, rows in zip(there, np.split(order, starts[1:]), strict=True):
        yield int(bucket), {n: c[rows] for n, c in columns.items()}


def _ranges(cluster: SparkCluster, source: Outgoing, by: Sequence[str], rows: int) -> Columns:
    """Keys that divide all rows into ranges of about one piece, from a sample."""
    wanted = max(-(-rows // cluster.piece_of(source.width)), 1)
    step = max(rows // (SAMPLED * wanted), 1)
    jobs = list(enumerate(source.jobs, 1)) if wanted > 1 else []
    dtypes = {n: source.dtypes[n] for n in by}
    keys = _joined(cluster.run(partial(_sampled, source.keys or source.rows, dtypes, step), jobs), dtypes)
    order = order_by([keys[n] for n in by])
    cuts = order[np.unique(np.arange(1, wanted) * len(order) // wanted)] if len(order) else order
    return {n: key[cuts] for n, key in keys.items()}


def _sampled(rows: Callable[[Any], SparkBlocks], dtypes: Mapping[str, str], step: int, job: tuple[int, Any]) -> Columns:
    """The keys of one row in every `step` rows. Its position varies, because rows may repeat periodically, and differs
    between jobs, because a job may have fewer than `step` rows.
    """
    number, given = job
    keys = _joined(list(rows(given)), dtypes)
    count = len(next(iter(keys.values())))
    starts = np.arange(0, count, step)
    shift = np.modf(number * SILVER + np.arange(1, len(starts) + 1) * GOLDEN)[0]
    chosen = starts + (shift * step).astype(np.int64)
    return {n: key[chosen[chosen < count]] for n, key in keys.items()}


# --- how they travel -----------------------------------------------------------------------------------------------------


def _sent(
    cluster: SparkCluster, source: Outgoing, to: Callable[[Columns], Sent], aside: RowsAside | None, side: int = 0
) -> DataFrame:
    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for at in batch.column(0).to_pylist():
                given = source.blocks(source.jobs[at])
                sent = (batch for block in given for batch in _batches(to(block), source.dtypes, side, aside))
                if aside is None:
                    yield from sent
                    continue
                with in_turn():  # only addresses are held, until the next task has its turn
                    addresses = list(sent)
                yield from addresses

    return in_arrow(cluster.numbers(len(source.jobs)), work, SCHEMA)


def _batches(sent: Sent, dtypes: Mapping[str, str], side: int, aside: RowsAside | None = None) -> Iterator[Any]:
    """Packed rows, or their addresses, as batches for Spark: in each value, its columns one after the other."""
    import pyarrow as pa

    step = max(LARGEST // width_of(dtypes), 1)
    to: list[int] = []
    values: list[bytes] = []
    size = 0

    def batch() -> Any:
        sides = pa.array(np.full(len(to), side, dtype=np.int32))
        packed = pa.array(values if aside is None else aside.put(values), pa.binary())
        return pa.record_batch({"bucket": pa.array(to, pa.int64()), "side": sides, "packed": packed})

    for bucket, columns in sent:
        for low in range(0, len(next(iter(columns.values()))), step):
            to.append(bucket)
            values.append(b"".join(np.ascontiguousarray(columns[n][low:low + step], d).tobytes() for n, d in dtypes.items()))
            size += len(values[-1])
            if size >= BATCH_BYTES:
                yield batch()
                to, values, size = [], [], 0
    if to:
        yield batch()


def _unpacked(values: Sequence[Any], dtypes: Mapping[str, str]) -> Columns:
    """All rows of some packed values (any objects that hold bytes)."""
    width = width_of(dtypes)
    parts: dict[str, list[Array]] = {n: [np.empty(0, d)] for n, d in dtypes.items()}
    for value in values:
        rows, at = memoryview(value).nbytes // width, 0
        for name, dtype in dtypes.items():
            parts[name].append(np.frombuffer(value, dtype, rows, at))
            at += rows * np.dtype(dtype).itemsize
    return {n: np.concatenate(p) for n, p in parts.items()}


def _opened(
    table: Any, dtypes: Sequence[Mapping[str, str]], aside: RowsAside | None = None
) -> tuple[int, list[Columns]]:
    """The destination of packed rows, and the rows of each side."""
    sides = table.column("side").to_numpy()
    values = [value.as_buffer() for chunk in table.column("packed").chunks for value in chunk]
    given = values if aside is None else list(map(aside.get, values))
    held = [_unpacked([given[i] for i in np.flatnonzero(sides == k)], d) for k, d in enumerate(dtypes)]
    return int(table.column("bucket")[0].as_py()), held


def _received(
    cluster: SparkCluster, frame: DataFrame, dtypes: Sequence[Mapping[str, str]],
    arrived: Callable[[int, Sequence[Columns]], Any],
    rows: int, aside: RowsAside | None,
) -> dict[int, Any]:
    """The result of a function on all rows sent to the same destination."""

    def work(table: Any) -> Any:
        import pyarrow as pa

        at, sides = _opened(table, dtypes, aside)
        return pa.table({"bucket": pa.array([at], pa.int64()),
                         "out": pa.array([dump_function(arrived(at, sides))], pa.binary())})

    found = cluster.asked(in_arrow_by(cluster.by_key(frame, "bucket", rows), "bucket", work, "bucket long, out binary"))
    return {int(row[0]): load_function(bytes(row[1])) for row in found}


def _passed_on(
    cluster: SparkCluster, frame: DataFrame, dtypes: Sequence[Mapping[str, str]],
    arrived: Callable[[int, Sequence[Columns]], Sent],
    made: Mapping[str, str], rows: int, aside: RowsAside | None,
) -> DataFrame:
    """Rows that are sent on by the tasks that received them."""

    def work(table: Any) -> Any:
        import pyarrow as pa

        found = list(_batches(arrived(*_opened(table, dtypes, aside)), made, 0, aside))
        types = {"bucket": pa.int64(), "side": pa.int32(), "packed": pa.binary()}
        return pa.Table.from_batches(found) if found else pa.table({n: pa.array([], t) for n, t in types.items()})

    return in_arrow_by(cluster.by_key(frame, "bucket", rows), "bucket", work, SCHEMA)


def _put(
    cluster: SparkCluster, frame: DataFrame, dtypes: Mapping[str, str], rows: int, piece: int, aside: RowsAside | None
) -> tuple[list[SpreadColumn], int]:
    place = cluster.place
    folders = {n: new_folder() for n in dtypes if n != "row"}

    def arrived(bucket: int, sides: Sequence[Columns]) -> int:
        first, at = bucket * piece, sides[0]["row"] - bucket * piece
        for name, folder in folders.items():
            out = np.full(min(piece, rows - first), blank_value(dtypes[name]), dtype=dtypes[name])
            out[at] = sides[0][name]
            write_piece(place, folder, "put", first, out, dtypes[name])
        return len(at)

    found = _received(cluster, frame, [dtypes], arrived, rows, aside)
    out = []
    for name, folder in folders.items():
        pieces = []
        for bucket in range(-(-rows // piece)):
            first, size = bucket * piece, min(piece, rows - bucket * piece)
            if bucket not in found:
                write_piece(place, folder, "put", first, np.full(size, blank_value(dtypes[name])), dtypes[name])
            pieces.append((first, size, f"{folder}/put-{first:015d}"))
        out.append(SpreadColumn.of(place, dtypes[name], pieces, folder))
    return out, sum(found.values())
