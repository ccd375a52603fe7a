"""The verbs on arrays in memory: rows sorted by (sub-group, record id), sub-groups as slices."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Ints
from larvatus.core.errors import PairingError
from larvatus.core.kernels import one_blas_thread, usable_threads
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import stream_text
from larvatus.data.contracts import Array, Block, Column, ManyGroupsFunction, RecordTable, RowFunction, Words
from larvatus.data.sub_groups import GroupLabel, Groups, Level
from larvatus.engines._layout.chunks import CHUNK, pieces_of
from larvatus.engines._layout.result_memory import ResultMemory, digest_of
from larvatus.engines._memory.row_order import MovedColumns, NewOrder, frozen, groups_of, memory_for, with_columns
from larvatus.stats.ranks import grouped_ranks as group_ranks
from larvatus.stats.ranks.quantiles import quantiles
from larvatus.stats.ranks.ranks import average_ranks, keyed_order, keyed_ranks, present_order, values_in_order

_T = TypeVar("_T")
WORTH_THREADS, WORTH_A_JOB, WORTH_A_BATCH = 1 << 18, 1 << 12, 1 << 15


@dataclass(frozen=True, slots=True)
class MemoryTable:
    """Arrays by name, all in the same row order; `starts` holds the first row of each sub-group, and the number of rows."""

    columns: Mapping[str, Column]
    groups: Groups
    record: Ints = field(repr=False)
    position: Ints = field(repr=False)
    values: Mapping[str, Array] = field(repr=False)
    starts: Ints = field(repr=False)
    source: Any = field(default=None, repr=False)
    results: ResultMemory = field(default_factory=partial(memory_for, 0, 0), repr=False, compare=False)

    @property
    def rows(self) -> int:
        return len(self.record)

    def remember(self, what: Hashable, names: Sequence[str], compute: Callable[[], _T]) -> _T:
        return self.results.find(self._here(what), self._of(names), compute)

    def remember_columns(self, what: Hashable, names: Sequence[str], made: Sequence[str],
                         compute: Callable[[], RecordTable]) -> MemoryTable:
        def only_made() -> dict[str, tuple[Column, Array]]:
            done = as_memory(compute())
            return {n: (done.columns[n], done.values[n]) for n in made}

        found = self.remember(("columns", what), names, only_made)
        return replace(self, columns={**self.columns, **{n: c for n, (c, _) in found.items()}},
                       values=with_columns(self.values, {n: v for n, (_, v) in found.items()}))

    def _here(self, what: Hashable) -> Hashable:
        """What is asked for, in these sub-groups."""
        return what, digest_of(self.starts)

    def _of(self, names: Sequence[str]) -> list[object]:
        """The columns, in this row order."""
        return [self.record, *(self.values[n] for n in names)]

    def block(self, low: int, high: int, names: Sequence[str]) -> Block:
        return Block(self.record[low:high], {n: self.values[n][low:high] for n in names})

    def slices(self, size: int | None = None) -> Iterator[tuple[int, int, int]]:
        """(sub-group, from, to) over whole sub-groups, or over pieces of them."""
        for g in range(len(self.groups)):
            low, high = int(self.starts[g]), int(self.starts[g + 1])
            for a, b in pieces_of(low, high, size or max(high - low, 1)):
                yield g, a, b

    def blocks(self, names: Sequence[str]) -> Iterator[tuple[int, Block]]:
        for g, low, high in self.slices(CHUNK):
            yield g, self.block(low, high, names)

    def counts(self, names: Sequence[str]) -> Mapping[GroupLabel, int]:
        levels = [self.columns[n].levels for n in names]
        codes = np.stack([self.values[n].astype(np.int64) for n in names], axis=1) if names else np.zeros((self.rows, 0))
        seen, times = np.unique(codes, axis=0, return_counts=True)
        return {decode_labels(row, levels): int(t) for row, t in zip(seen, times, strict=True)}

    def reduce(
        self, names: Sequence[str], function: Callable[[int, Block], _T], combine: Callable[[_T, _T], _T]
    ) -> list[_T]:
        jobs = list(self.slices(CHUNK))
        parts = self._work(lambda job: function(job[0], self.block(job[1], job[2], names)), jobs)
        return fold_groups([j[0] for j in jobs], parts, combine)

    def quantiles(self, name: str, probabilities: Sequence[float]) -> NDArray[np.float64]:
        def compute() -> NDArray[np.float64]:
            out = np.full((len(self.groups), len(probabilities)), np.nan)
            for g, low, high in self.slices():
                out[g] = quantiles(self.values[name][low:high], probabilities)
            out.flags.writeable = False
            return out

        return self.remember(("quantiles", tuple(probabilities)), [name], compute)

    def ranks(self, names: Mapping[str, str], random: RecordRandom | None = None) -> MemoryTable:
        def ranked(new: str, first: int, last: int) -> Array:
            x, record = self.values[names[new]][self._rows(first, last)], self.record[self._rows(first, last)]
            if len(x) > CHUNK:
                return average_ranks(x) if random is None else keyed_ranks(x, record, ties(random, names[new]))
            starts = self.starts[first : last + 1] - self.starts[first]
            if random is None:
                return group_ranks.grouped_average_ranks(x, starts, self._orders(names[new], first, last))
            return group_ranks.grouped_keyed_ranks(x, starts, record, ties(random, names[new]))

        known = {} if random is not None else {
            n: found for n, old in names.items()
            if (found := self.results.get(self._here("average ranks"), self._of([old]))) is not None
        }
        done = self._by_column({n: Column(n, "number") for n in names}, ranked, known)
        for n in (n for n in names if random is None and n not in known):
            self.results.put(self._here("average ranks"), self._of([names[n]]), done.values[n])
        return done

    def place(
        self, placed: Mapping[str, tuple[str, str]], random: RecordRandom, source: RecordTable | None = None
    ) -> MemoryTable:
        other = self if source is None else as_memory(source)

        def place(into: str, first: int, last: int) -> Array:
            given = other.values[placed[into][1]][other._rows(first, last)]
            order, record = self.values[placed[into][0]][self._rows(first, last)], self.record[self._rows(first, last)]
            words = ties(random, placed[into][0])
            if len(order) > CHUNK:
                return values_in_order(keyed_order(order, record, words), len(order), given)
            starts, theirs = (t.starts[first : last + 1] - t.starts[first] for t in (self, other))
            placed_by = group_ranks.keyed_orders(order, starts, record, words)
            return group_ranks.place_in_groups(placed_by, starts, given, theirs, other._orders(placed[into][1], first, last))

        return self._by_column({n: replace(other.columns[v], name=n, missing=True) for n, (_, v) in placed.items()}, place)

    def _orders(self, name: str, first: int, last: int) -> tuple[Ints, Ints]:
        """The orders of a column in some sub-groups. They are sorted once, for ranks, placements and sorted values."""
        def compute() -> tuple[Ints, Ints]:
            starts = self.starts[first : last + 1] - self.starts[first]
            return group_ranks.orders(self.values[name][self._rows(first, last)], starts)

        return self.results.find(self._here(("orders", first, last)), self._of([name]), compute)

    def sorted_values(self, name: str) -> list[Array]:
        """The present values of a column in each sub-group, in ascending order."""
        out: list[Array] = []
        for first, last in self._batches():
            x, starts = self.values[name][self._rows(first, last)], self.starts[first : last + 1] - self.starts[first]
            if len(x) > CHUNK:
                out.append(np.sort(x[~np.isnan(x)]))
                continue
            order, present = self._orders(name, first, last)
            out += [x[order[a : a + n]] for a, n in zip(starts[:-1], present, strict=True)]
        return out

    def _rows(self, first: int, last: int) -> slice:
        """The rows of the sub-groups `first` to `last` (excluded)."""
        return slice(int(self.starts[first]), int(self.starts[last]))

    def _batches(self) -> list[list[int]]:
        """Ranges of consecutive sub-groups: small ones together, large ones on their own."""
        batches: list[list[int]] = []
        for g in range(len(self.groups)):
            if not batches or self.starts[g + 1] - self.starts[batches[-1][0]] > WORTH_A_BATCH:
                batches.append([g, g])
            batches[-1][1] = g + 1
        return batches

    def _by_column(
        self, made: Mapping[str, Column], function: Callable[[str, int, int], Array],
        known: Mapping[str, Array] = MappingProxyType({}),
    ) -> MemoryTable:
        """New columns from whole sub-groups, small ones together; columns and sub-groups run in parallel on all cores."""
        new = {n: np.empty(self.rows) for n in made if n not in known}

        def run(job: tuple[str, int, int]) -> None:
            new[job[0]][self._rows(job[1], job[2])] = function(*job)

        for _ in self._work(run, [(n, first, last) for first, last in self._batches() for n in new]):
            pass
        return replace(self, columns={**self.columns, **made}, values=with_columns(self.values, {**frozen(new), **known}))

    def map_rows(self, function: RowFunction, names: Sequence[str], made: Sequence[Column] = ()) -> MemoryTable:
        return self._mapped(function, names, made, CHUNK)

    def map_groups(
        self, function: RowFunction, names: Sequence[str], made: Sequence[Column] = (),
        together: ManyGroupsFunction | None = None,
    ) -> MemoryTable:
        if together is None or self.rows > WORTH_A_JOB * len(self.groups):
            return self._mapped(function, names, made, None)
        batches = self._batches()

        def run(batch: int, block: Block) -> Mapping[str, Array]:
            first, last = batches[batch]
            return together(first, self.starts[first : last + 1] - self.starts[first], block)

        jobs = [(i, int(self.starts[first]), int(self.starts[last])) for i, (first, last) in enumerate(batches)]
        return self._mapped(run, names, made, None, jobs)

    def _mapped(
        self, function: RowFunction, names: Sequence[str], made: Sequence[Column], size: int | None,
        jobs: Sequence[tuple[int, int, int]] | None = None,
    ) -> MemoryTable:
        columns = {**self.columns, **{c.name: c for c in made}}
        new: dict[str, Array] = {}
        lock = threading.Lock()

        def run(job: tuple[int, int, int]) -> None:
            group, low, high = job
            for name, part in function(group, self.block(low, high, names)).items():
                if name not in new:
                    with lock:
                        new.setdefault(name, np.empty(self.rows, dtype=dtype_of(columns[name])))
                new[name][low:high] = part

        for _ in self._work(run, jobs or list(self.slices(size))):
            pass
        columns |= {n: replace(columns[n], missing=True) for n in new}
        return replace(self, columns=columns, values=with_columns(self.values, frozen(new)))

    def gather(self, names: Sequence[str], function: Callable[[int, Block], Block]) -> list[Block]:
        """What a function of whole sub-groups picks from each of them."""
        return list(self._work(lambda job: function(job[0], self.block(job[1], job[2], names)), list(self.slices())))

    def scan(
        self, order: str, names: Sequence[str], start: _T,
        function: Callable[[_T, Block], tuple[_T, Mapping[str, Array]]], random: RecordRandom, made: Sequence[Column] = (),
    ) -> MemoryTable:
        def run(group: int, block: Block) -> Mapping[str, Array]:
            return scan_block(block, order, names, start, function, random, made)

        return self.map_groups(run, list(dict.fromkeys([order, *names])), made)

    def fold_in_order(
        self, order: str, names: Sequence[str], start: _T, function: Callable[[int, _T, Block], _T],
        random: RecordRandom | None = None,
    ) -> list[_T]:
        def run(job: tuple[int, int, int]) -> _T:
            block = self.block(job[1], job[2], list(dict.fromkeys([order, *names])))
            return fold_block(block, order, names, start, partial(function, job[0]), random)

        return list(self._work(run, list(self.slices())))

    def pair(self, other: RecordTable, names: Mapping[str, str], partly: bool = False) -> MemoryTable:
        theirs = as_memory(other)
        columns = {new: replace(theirs.columns[old], name=new) for new, old in names.items()}
        if theirs.record is self.record or np.array_equal(theirs.record, self.record):
            added = {new: theirs.values[old] for new, old in names.items()}
        else:
            rows, found = positions_among(self.record, theirs.record)
            if not partly and not found.all():
                raise PairingError(
                    f"{int((~found).sum()):,} of {self.rows:,} records have no counterpart in the other table. "
                    "Pair a release with the original it was made from."
                )
            added = {}
            for new, old in names.items():
                added[new] = blank(columns[new], self.rows)
                added[new][found] = theirs.values[old][rows[found]]
        return replace(self, columns={**self.columns, **columns}, values=with_columns(self.values, frozen(added)))

    def stack(self, other: RecordTable, names: Sequence[str], indicator: str) -> MemoryTable:
        theirs = as_memory(other)
        labels = list(dict.fromkeys(self.groups.labels + theirs.groups.labels))
        index = {label: i for i, label in enumerate(labels)}
        code = np.concatenate([
            np.repeat([index[label] for label in t.groups.labels], np.diff(t.starts)).astype(np.int64)
            for t in (self, theirs)
        ])
        values = {n: np.concatenate([self.values[n], theirs.values[n]]) for n in names}
        values[indicator] = np.repeat([0.0, 1.0], [self.rows, theirs.rows])
        columns = {n: self.columns[n] for n in names} | {indicator: Column(indicator, "number", integer=True)}
        record = np.concatenate([2 * self.record, 2 * theirs.record + 1])
        position = np.concatenate([self.position, theirs.position])
        return lay_out_rows(columns, record, position, values, code, self.groups.columns, labels)

    def take(self, keep: Callable[[int, Block], Array], names: Sequence[str]) -> MemoryTable:
        kept = self._kept(keep, names)
        code = np.where(kept, np.repeat(np.arange(len(self.groups)), np.diff(self.starts)), -1)
        groups = self.groups
        return self._in_order_of(code, groups.columns, groups.labels, groups.declared)

    def _kept(self, keep: Callable[[int, Block], Array], names: Sequence[str]) -> NDArray[np.bool_]:
        parts = [np.asarray(keep(g, self.block(a, b, names)), dtype=bool) for g, a, b in self.slices(CHUNK)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)

    def regroup(
        self, assign: Callable[[int, Block], Array], names: Sequence[str], columns: Sequence[str],
        labels: Sequence[GroupLabel], declared: Sequence[tuple[GroupLabel, ...]] = (),
    ) -> MemoryTable:
        parts = [np.asarray(assign(g, self.block(a, b, names)), dtype=np.int64) for g, a, b in self.slices(CHUNK)]
        code = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        return self._in_order_of(code, columns, labels, declared)

    def _in_order_of(
        self, code: Ints, columns: Sequence[str], labels: Sequence[GroupLabel], declared: Sequence[tuple[GroupLabel, ...]]
    ) -> MemoryTable:
        """Rows by (code, record id). If all stay, each column is moved when it is first read."""
        if len(code) and code.min() < 0:
            return lay_out_rows(self.columns, self.record, self.position, self.values, code, columns, labels, declared,
                                self.source, self.results)
        what = "row order", digest_of(code)
        order = self.results.find(what, [self.record], lambda: NewOrder.of(self.record, self.position, code))
        groups = groups_of(code, columns, labels, declared)
        there = replace(self, groups=groups, starts=offsets(groups.sizes))
        if order.rows is None:
            return there
        moved = MovedColumns(self.values, order.rows, self.results)
        return replace(there, record=order.record, position=order.position, values=moved)

    def materialise(self) -> MemoryTable:
        return self

    def _work(self, function: Callable[[Any], _T], jobs: Sequence[Any]) -> Iterator[_T]:
        """Results in the order of the jobs, on all free cores if there is enough work."""
        cores = usable_threads()
        if self.rows < WORTH_THREADS or len(jobs) < 2:
            yield from map(function, jobs)
            return
        with one_blas_thread():
            if self.rows < WORTH_A_JOB * len(jobs) or cores < 2:
                yield from map(function, jobs)
                return
            with ThreadPoolExecutor(cores) as pool:
                yield from pool.map(function, jobs)


def scan_block(
    block: Block, order: str, names: Sequence[str], start: _T, function: Callable[[_T, Block], tuple[_T, Mapping[str, Array]]],
    random: RecordRandom, made: Sequence[Column], size: int = CHUNK,
) -> dict[str, Array]:
    """New columns of a block from one pass in the order of a column, with a state carried along."""
    rows = keyed_order(block[order], block.record, ties(random, order))
    carry, out = start, {c.name: blank(c, len(block)) for c in made}
    for low, high in pieces_of(0, len(rows), size):
        part = rows[low:high]
        carry, result = function(carry, Block(block.record[part], {n: block[n][part] for n in names}))
        for name, values in result.items():
            out[name][part] = values
    return out


def fold_block(
    block: Block, order: str, names: Sequence[str], start: _T, function: Callable[[_T, Block], _T], random: RecordRandom | None
) -> _T:
    """The final state of a pass over the rows of a block in the order of a column."""
    x = block[order]
    rows = present_order(x) if random is None else keyed_order(x, block.record, ties(random, order))
    for low, high in pieces_of(0, len(rows)):
        part = rows[low:high]
        record = np.zeros(len(part), dtype=np.int64) if random is None else block.record[part]
        start = function(start, Block(record, {n: block[n][part] for n in names}))
    return start


def ties(random: RecordRandom, name: str) -> Words:
    """The random words that break ties of a column."""
    return lambda record: random.words(record, purpose=f"ties {stream_text(name)}")[0]


def positions_among(record: Ints, among: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """The position of each record in `among`, and whether it is there."""
    if len(among) == 0:
        return np.zeros(len(record), dtype=np.int64), np.zeros(len(record), dtype=bool)
    order = np.argsort(among, kind="stable")
    spot = np.searchsorted(among, record, sorter=order)
    rows = order[np.minimum(spot, len(among) - 1)]
    return rows, among[rows] == record


def lay_out_rows(
    columns: Mapping[str, Column], record: Ints, position: Ints, values: Mapping[str, Array], code: Ints,
    group_columns: Sequence[str], labels: Sequence[GroupLabel], declared: Sequence[tuple[GroupLabel, ...]] = (),
    source: Any = None, results: ResultMemory | None = None,
) -> MemoryTable:
    """Rows sorted by (code, record id); rows with code -1 and empty sub-groups are dropped."""
    order, groups = NewOrder.of(record, position, code), groups_of(code, group_columns, labels, declared)
    results = memory_for(len(record), len(values)) if results is None else results
    if order.rows is None:
        return MemoryTable(columns, groups, record, position, frozen(values), offsets(groups.sizes), source, results)
    arranged = frozen({n: v[order.rows] for n, v in values.items()})
    return MemoryTable(columns, groups, order.record, order.position, arranged, offsets(groups.sizes), source, results)


def joined_rows(table: RecordTable, names: Sequence[str]) -> tuple[Ints, dict[str, Array], Ints]:
    """All rows of a table of any engine: record ids, values, and index of the sub-group."""
    parts = list(table.blocks(names))
    record = np.concatenate([np.zeros(0, dtype=np.int64), *(b.record for _, b in parts)])
    code = np.concatenate([np.zeros(0, dtype=np.int64), *(np.full(len(b), g, dtype=np.int64) for g, b in parts)])
    kinds = {n: dtype_of(table.columns[n]) for n in names}
    return record, {n: np.concatenate([np.zeros(0, dtype=k), *(b[n] for _, b in parts)]) for n, k in kinds.items()}, code


def rows_in_memory(table: RecordTable, names: Sequence[str]) -> MemoryTable:
    """Columns of a table of any engine in memory, in its sub-groups."""
    record, values, code = joined_rows(table, names)
    groups = table.groups
    return lay_out_rows({n: table.columns[n] for n in names}, record, record, values, code, groups.columns, groups.labels,
                        groups.declared)


def offsets(sizes: Sequence[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(np.asarray(sizes, dtype=np.int64)))).astype(np.int64)


def fold_groups(groups: Sequence[int], parts: Iterator[_T], combine: Callable[[_T, _T], _T]) -> list[_T]:
    """One value per sub-group: its parts, combined in order."""
    out: dict[int, _T] = {}
    for g, part in zip(groups, parts, strict=True):
        out[g] = combine(out[g], part) if g in out else part
    return [out[g] for g in sorted(out)]


def decode_labels(codes: Sequence[int], levels: Sequence[tuple[Level, ...]]) -> GroupLabel:
    return tuple(None if c < 0 else lv[int(c)] for c, lv in zip(codes, levels, strict=True))


def dtype_of(column: Column) -> type:
    return np.float64 if column.kind == "number" else np.int32


def blank(column: Column, n: int) -> Array:
    return np.full(n, np.nan) if column.kind == "number" else np.full(n, -1, dtype=np.int32)


def as_memory(table: RecordTable) -> MemoryTable:
    if not isinstance(table, MemoryTable):
        raise TypeError("tables of two engines cannot be joined; read both with the same engine")
    return table
