"""What masks, attacks and measures do with the rows: each function calls a verb of the engine and keeps the roles.

The verbs are those of `RecordTable` in `data.contracts`, which says what each one requires of the function it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from larvatus.core.randomness import RecordRandom, stream_key

if TYPE_CHECKING:
    from larvatus.data.contracts import Array, Block, Column, ManyGroupsFunction, RecordTable, RowFunction
    from larvatus.data.microdata import Microdata
    from larvatus.data.sub_groups import GroupSettlement
    from larvatus.stats.linear.moments import SampleMoments

_T = TypeVar("_T")


def map_rows(data: Microdata, function: RowFunction, names: Sequence[str], made: Sequence[Column] = ()) -> Microdata:
    """Replace or add columns by a function that treats each row on its own."""
    return with_table(data, data.table.map_rows(function, names, made))


def map_groups(
    data: Microdata, function: RowFunction, names: Sequence[str], made: Sequence[Column] = (),
    together: ManyGroupsFunction | None = None,
) -> Microdata:
    """Replace or add columns by a function of whole sub-groups.

    `together` does the same for many sub-groups in one call; an engine may use it where sub-groups are small.
    """
    if together is None or "together" not in signature(data.table.map_groups).parameters:  # an engine from elsewhere
        return with_table(data, data.table.map_groups(function, names, made))
    return with_table(data, data.table.map_groups(function, names, made, together))


def gather_groups(data: Microdata, function: Callable[[int, Block], Block], names: Sequence[str], made: Sequence[str]) -> Block:
    """Some rows of each sub-group, with new numbers, in record order: a function of whole sub-groups picks and computes them.

    Nothing is written for the other rows, which may be nearly all of a large file.
    """
    from larvatus.data.contracts import Block

    known = getattr(data.table, "gather", None)
    parts = known(names, function) if known is not None else [_picked(data, function, names, made)]
    record = np.concatenate([np.zeros(0, dtype=np.int64), *(p.record for p in parts)])
    order = np.argsort(record, kind="stable")
    return Block(record[order], {n: np.concatenate([np.zeros(0), *(p[n] for p in parts)])[order] for n in made})


def _picked(data: Microdata, function: Callable[[int, Block], Block], names: Sequence[str], made: Sequence[str]) -> Block:
    """The same by columns of the length of the file, for an engine from elsewhere."""
    from larvatus.core.scratch_names import scratch
    from larvatus.data.contracts import Block, Column
    from larvatus.data.microdata import collect

    picked = scratch("picked")

    def spread(group: int, block: Block) -> Mapping[str, Array]:
        some = function(group, block)
        order = np.argsort(block.record, kind="stable")
        rows = order[np.searchsorted(block.record[order], some.record)]
        out = {n: np.full(len(block), np.nan) for n in (picked, *made)}
        for n in made:
            out[n][rows] = some[n]
        out[picked][rows] = 1.0
        return out

    columns = [Column(n, "number") for n in (picked, *made)]
    done = map_groups(data, spread, names, columns)
    record, _, values = collect(done, [picked, *made], lambda block: block[picked] == 1)
    return Block(record, values)


def reduce_groups(
    data: Microdata, names: Sequence[str], function: Callable[[int, Block], _T], combine: Callable[[_T, _T], _T]
) -> list[_T]:
    """One result per sub-group: a function of canonical chunks of rows, combined in record order."""
    return data.table.reduce(names, function, combine)


def remember(data: Microdata, what: Hashable, names: Sequence[str], compute: Callable[[], _T]) -> _T:
    """The result of a function that depends only on `what`, the columns and the sub-groups. It is computed once.

    The result is shared, so nobody may change it. An engine from elsewhere may compute it each time.
    """
    known = getattr(data.table, "remember", None)
    return compute() if known is None else known(what, names, compute)


def remember_columns(
    data: Microdata, what: Hashable, names: Sequence[str], made: Sequence[str], compute: Callable[[], Microdata]
) -> Microdata:
    """The data with the columns `made` of what the function returns. They depend only on `what`, the columns and sub-groups."""
    known = getattr(data.table, "remember_columns", None)
    return compute() if known is None else with_table(data, known(what, names, made, lambda: compute().table))


def moments_by_group(data: Microdata, names: Sequence[str]) -> list[SampleMoments]:
    """Counts, means and covariances per sub-group, over pairs of non-missing values."""
    from larvatus.stats.linear.moments import SampleMoments

    def compute() -> tuple[SampleMoments, ...]:
        found = reduce_groups(data, names, lambda group, block: SampleMoments.of(block.matrix(names)), SampleMoments.merge)
        return tuple(m.read_only() for m in found)

    return list(remember(data, "moments", names, compute))


def add_ranks(data: Microdata, names: Mapping[str, str], random: RecordRandom | None = None) -> Microdata:
    """Add columns (new name → column to rank) of ranks; ties are averaged, or broken by random words if `random` is given."""
    return with_table(data, data.table.ranks(names, random))


def place_by_rank(
    data: Microdata, placed: Mapping[str, tuple[str, str]], random: RecordRandom, source: Microdata | None = None
) -> Microdata:
    """Add columns (new name → (order, values)): the row ranked r-th by `order` gets the r-th smallest of `values`.

    The values come from `source` if it is given, else from the data themselves.
    """
    return with_table(data, data.table.place(placed, random, None if source is None else source.table))


def fold_in_order(
    data: Microdata, order: str, names: Sequence[str], start: _T, function: Callable[[int, _T, Block], _T],
    random: RecordRandom | None = None,
) -> list[_T]:
    """The final state of one pass over each sub-group in the order of a column; rows with no value of it are skipped.

    Without `random`, tied rows come in any order and blocks have no record ids.
    """
    return data.table.fold_in_order(order, names, start, function, random)


def take_rows(data: Microdata, keep: Callable[[int, Block], Array], names: Sequence[str]) -> Microdata:
    """Only the rows for which `keep` is true."""
    return with_table(data, data.table.take(keep, names))


def settle_groups(data: Microdata, outcome: GroupSettlement) -> Microdata:
    """The same data in effective sub-groups."""
    target = np.array(outcome.target, dtype=np.int64)
    table = data.table.regroup(
        lambda group, block: np.full(len(block), target[group]), (), data.groups.columns, outcome.labels, outcome.declared,
    )
    return with_table(data, table)


def as_one_group(data: Microdata) -> Microdata:
    """The same data as one group."""
    return with_table(data, data.table.regroup(lambda group, block: np.zeros(len(block), dtype=np.int64), (), (), [()]))


def with_table(data: Microdata, table: RecordTable) -> Microdata:
    """The same roles with another table."""
    return replace(data, table=table)


def hold_in_memory(data: Microdata) -> Microdata:
    """The same rows as arrays of this process: for work that goes over a file of moderate size many times."""
    held = getattr(data.table, "in_memory", None)  # tables in memory and those of an engine from elsewhere have none
    return data if held is None else with_table(data, held(list(data.table.columns)))


def count_present(data: Microdata) -> NDArray[np.int64]:
    """Number of non-missing values, sub-groups × confidential columns (number of records if no column is confidential)."""
    names, columns = data.confidential, data.table.columns
    if not any(columns[n].missing for n in names):
        return np.repeat(np.array(data.groups.sizes, dtype=np.int64)[:, None], max(len(names), 1), axis=1)

    def count(group: int, block: Block) -> NDArray[np.int64]:
        there = [np.isfinite(block[n]) if columns[n].kind == "number" else block[n] >= 0 for n in names]
        return np.array([int(t.sum()) for t in there], dtype=np.int64)

    return np.array(reduce_groups(data, names, count, np.add))


def take_share(data: Microdata, share: float, random: RecordRandom, purpose: str = "sample") -> Microdata:
    """About this share of the records, drawn by record id; all of them for a share of 1 or more."""
    if share >= 1:
        return data
    return take_rows(data, lambda group, block: random.uniform(block.record, purpose=purpose)[0] < share, ())


def sample_records(data: Microdata, records: int, secret: bytes) -> Microdata:
    """About `records` of the records, with equal expected shares in all sub-groups (all records if 0, or if there are fewer).

    Sub-groups from which no record is drawn are absent.
    """
    if not 0 < records < data.rows:
        return data
    return take_share(data, records / data.rows, RecordRandom(stream_key(secret, "sample")))
