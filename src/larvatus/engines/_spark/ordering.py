"""Sub-groups too large for one task, in the order of a column: sorted by Spark, with results returned to their rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from larvatus.core.randomness import RecordRandom
from larvatus.engines._layout.base_table import Slice
from larvatus.engines._layout.chunks import pieces_of
from larvatus.engines._memory.table import dtype_of, offsets, ties
from larvatus.engines._spark import tasks
from larvatus.engines._spark.exchange import Outgoing, code_type, row_type, scatter_on_cluster, sort
from larvatus.engines._spark.jobs import SparkCluster
from larvatus.engines._spark.layout import spans
from larvatus.engines._spark.store import SpreadColumn
from larvatus.engines._spark.tasks import SortedRows

if TYPE_CHECKING:
    from larvatus.engines._spark.table import SparkTable

ROWS_IN_A_PASS = 1 << 25  # rows sorted in one pass: each pass has tasks of its own, and a task costs more than its rows


def shared_runs(room: SparkCluster, rows: Sequence[SortedRows]) -> list[tuple[Any, int, int]]:
    """Jobs with the start and the end of runs of equal values that continue from one job to the next."""
    jobs = jobs_of(room, rows)
    ends = room.run(tasks.runs, jobs)
    begins, stops = [low for _, low, _ in jobs], [high for _, _, high in jobs]
    for i in range(1, len(jobs)):
        if jobs[i][0] is jobs[i - 1][0] and ends[i][0] == ends[i - 1][2]:
            begins[i] = begins[i - 1] if ends[i - 1][3] == jobs[i - 1][1] else ends[i - 1][3]
    for i in range(len(jobs) - 2, -1, -1):
        if jobs[i][0] is jobs[i + 1][0] and ends[i][2] == ends[i + 1][0]:
            stops[i] = stops[i + 1] if ends[i + 1][1] == jobs[i + 1][2] else ends[i + 1][1]
    return list(zip(jobs, begins, stops, strict=True))


def together(names: Sequence[str], large: Sequence[Slice]) -> Iterator[Sequence[str]]:
    """Columns to sort in one pass: as many as stay below its limit."""
    size = sum(high - low for _, low, high in large)
    for low, high in pieces_of(0, len(names) if large else 0, max(ROWS_IN_A_PASS // max(size, 1), 1)):
        yield names[low:high]


def sort_large_groups(
    table: SparkTable, orders: Sequence[str], large: Sequence[Slice], random: RecordRandom | None, wanted: Sequence[str],
    names: Sequence[str] = (),
) -> list[list[SortedRows]]:
    """Sub-groups too large for one task, in the order of each column: one sort by (sub-group, value, keyed word, record id).

    Columns are sorted together. Each has its own codes for the sub-groups, and its rows are numbered after those of the others.
    Rows of a sub-group lie in the order of record ids, so that row numbers, which are shorter, stand for them.
    """
    if not large:
        return [[] for _ in orders]
    by = ["sub_group", "value", *(() if random is None else ("word",)), "row"]
    starts = offsets([high - low for _, low, high in large])
    size = int(starts[-1])
    dtypes = {
        "sub_group": code_type(len(orders) * len(large)), "value": "float64", "record": "int64", "word": "int64",
        "row": row_type(size * len(orders)),
    }
    dtypes |= {f"c{i}": np.dtype(dtype_of(table.columns[n])).name for i, n in enumerate(names)}
    kept = [*wanted, *(f"c{i}" for i in range(len(names)))]
    used = {n: dtypes[n] for n in dict.fromkeys([*by, *kept])}
    jobs = [
        (name, i * len(large) + k, i * size + int(starts[k]) - low, low + a, low + b)
        for i, name in enumerate(orders) for k, (_, low, high) in enumerate(large)
        for a, b in spans(high - low, table.room, size * len(orders))
    ]
    reader = table.reader(list(dict.fromkeys([*orders, *names])))
    words = {n: None if random is None else ties(random, n) for n in orders}
    rows, keys = (partial(tasks.present, reader, words, n, list(u)) for n, u in ((list(names), used), ([], by)))
    source = Outgoing(rows, jobs, used, keys)
    columns, counts = sort(table.room, source, by, kept, size * len(orders))
    found = dict(zip(kept, columns, strict=True))
    ends = offsets([counts.get(k, 0) for k in range(len(orders) * len(large))])
    return [
        [
            SortedRows(i, g, {n: c.part(int(ends[k]), int(ends[k + 1])) for n, c in found.items()})
            for k, (g, _, _) in enumerate(large, i * len(large))
        ]
        for i in range(len(orders))
    ]


def jobs_of(room: SparkCluster, rows: Iterable[SortedRows]) -> list[tasks.GroupJob]:
    rows = list(rows)
    every = sum(r.row.rows for r in rows)
    return [(r, a, b) for r in rows for a, b in spans(r.row.rows, room, every)]


def put_large_groups(
    room: SparkCluster, rows: Any, jobs: Sequence[Any], large: Sequence[Slice], dtypes: Sequence[Any], times: int = 1
) -> list[SpreadColumn]:
    """Columns of the large sub-groups, one after the other, from rows in another order; `times` is the number of columns."""
    named = {f"c{i}": np.dtype(d).name for i, d in enumerate(dtypes)}
    size = sum(high - low for _, low, high in large)
    source = Outgoing(rows, jobs, {"row": row_type(size * times), **named})
    found = scatter_on_cluster(room, source, size * times)[0]
    return found if times == 1 else [found[0].part(i * size, (i + 1) * size) for i in range(times)]
