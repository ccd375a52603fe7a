"""The verbs on columns on disk: blocks in memory if they fit, otherwise sorts and joins by the database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Ints
from larvatus.core.kernels import one_blas_thread
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Column, ManyGroupsFunction, RecordTable, RowFunction
from larvatus.data.sub_groups import GroupLabel, Groups
from larvatus.engines._disk import sorting
from larvatus.engines._disk.layout import (
    Above,
    DiskLayout,
    DiskMove,
    MovedColumn,
    PlacedColumn,
    Room,
    RowPlaces,
    fingerprint,
    rechunk,
)
from larvatus.engines._disk.pairing import pair_on_disk
from larvatus.engines._layout.base_table import LaidOut, bytes_of_whole, replace_columns
from larvatus.engines._layout.chunks import CHUNK, pieces_of
from larvatus.engines._layout.result_memory import ResultMemory, digest_of
from larvatus.engines._layout.sorted_groups import ONE_IN, SortedGroups, SortedPart, sorted_present
from larvatus.engines._layout.stored_columns import WIDE, StoredColumn, scatter_on_disk
from larvatus.engines._memory.table import decode_labels, dtype_of, fold_block, fold_groups, offsets, scan_block, ties
from larvatus.stats.ranks.quantiles import quantiles
from larvatus.stats.ranks.ranks import average_ranks, by_rank, keyed_order, keyed_ranks

_T = TypeVar("_T")
AHEAD = 2
_REMEMBERED = 1 << 32  # bytes, nearly all of them on disk


@dataclass(frozen=True, slots=True)
class DiskTable(LaidOut):
    """Columns by name, read in the row order of one layout; `starts` holds the first row of each sub-group."""

    columns: Mapping[str, Column]
    groups: Groups
    layout: DiskLayout = field(repr=False)
    held: Mapping[str, PlacedColumn] = field(repr=False)
    starts: Ints = field(repr=False)
    room: Room = field(repr=False)
    source: Any = field(default=None, repr=False)
    stacked: tuple[str, DiskTable, DiskTable] | None = field(default=None, repr=False)
    results: ResultMemory = field(default_factory=partial(ResultMemory, _REMEMBERED), repr=False, compare=False)

    def remember(self, what: Hashable, names: Sequence[str], compute: Callable[[], _T]) -> _T:
        return self.results.find(self._here(what), self._of(names), compute)

    def remember_columns(
        self, what: Hashable, names: Sequence[str], made: Sequence[str], compute: Callable[[], RecordTable]
    ) -> DiskTable:
        def only_made() -> dict[str, tuple[Column, PlacedColumn]]:
            done = as_disk(compute())
            return {n: (done.columns[n], done.held[n]) for n in made}

        found = self.remember(("columns", what), names, only_made)
        return replace(self, columns={**self.columns, **{n: c for n, (c, _) in found.items()}},
                       held=replace_columns(self.held, {n: h for n, (_, h) in found.items()}))

    def _here(self, what: Hashable) -> Hashable:
        """What is asked for, in these sub-groups."""
        return what, digest_of(self.starts)

    def _of(self, names: Sequence[str]) -> list[object]:
        """The columns, in this row order."""
        return [self.layout, *(self.held[n] for n in names)]

    def block(self, low: int, high: int, names: Sequence[str]) -> Block:
        record = self.layout.record.stored().read(low, high)
        return Block(record, {n: self.held[n].stored().read(low, high) for n in names})

    def counts(self, names: Sequence[str]) -> Mapping[GroupLabel, int]:
        levels = [self.columns[n].levels for n in names]
        out: dict[GroupLabel, int] = {}
        for _, block in self.blocks(names):
            codes = np.stack([block[n].astype(np.int64) for n in names], axis=1) if names else np.zeros((len(block), 0))
            for row, times in zip(*np.unique(codes, axis=0, return_counts=True), strict=True):
                label = decode_labels(row, levels)
                out[label] = out.get(label, 0) + int(times)
        return dict(sorted(out.items(), key=lambda pair: tuple((v is None, str(v)) for v in pair[0])))

    def reduce(
        self, names: Sequence[str], function: Callable[[int, Block], _T], combine: Callable[[_T, _T], _T]
    ) -> list[_T]:
        self._ready(names)
        jobs = list(self.slices(CHUNK))
        parts = self._work(lambda job: function(job[0], self.block(job[1], job[2], names)), jobs)
        return fold_groups([j[0] for j in jobs], parts, combine)

    def quantiles(self, name: str, probabilities: Sequence[float]) -> NDArray[np.float64]:
        def compute() -> NDArray[np.float64]:
            out = np.full((len(self.groups), len(probabilities)), np.nan)
            column = self._in_any_order(name)
            for g, low, high in self.slices():
                if high - low <= self.room.rows:
                    out[g] = quantiles(column.read(low, high), probabilities)
                else:
                    out[g] = sorting.sorted_quantiles(self.room, column, low, high, probabilities)
            out.flags.writeable = False
            return out

        return self.remember(("quantiles", tuple(probabilities)), [name], compute)

    def sorted_groups(self, name: str) -> Sequence[SortedPart]:
        """The present values of a column in each sub-group, in ascending order."""

        def compute() -> SortedGroups:
            column, out = self._in_any_order(name), StoredColumn(self.room.folder, np.float64, self.rows)

            def in_memory(job: tuple[int, int, int]) -> SortedPart:
                x, present = sorted_present(column.read(job[1], job[2]))
                out.write(job[1], x)
                return SortedPart(out, job[1], present, x[:present:ONE_IN].copy())

            def larger(low: int, high: int) -> SortedPart:
                ordered = sorting.ordered_values(self.room, column, low, high)
                for at, block in ordered.stream():
                    out.write(low + at, block)
                sample = [ordered.read(i, i + 1) for i in range(0, ordered.rows, ONE_IN)]
                return SortedPart(out, low, ordered.rows, np.concatenate([np.zeros(0), *sample]))

            small = [j for j in self.slices() if j[2] - j[1] <= self.room.rows]
            found = dict(zip((g for g, _, _ in small), self._work(in_memory, small), strict=True))
            found |= {g: larger(low, high) for g, low, high in self.slices() if high - low > self.room.rows}
            return SortedGroups([found[g] for g, _, _ in self.slices()], out.nbytes)

        return self.remember("sorted groups", [name], compute).parts

    def ranks(self, names: Mapping[str, str], random: RecordRandom | None = None) -> DiskTable:
        record = self.layout.record.stored()

        def in_memory(new: str, low: int, high: int) -> Array:
            x = self.held[names[new]].stored().read(low, high)
            if random is None:
                return average_ranks(x)
            return keyed_ranks(x, record.read(low, high), ties(random, names[new]))

        def larger(new: str, out: StoredColumn, low: int, high: int) -> None:
            words = None if random is None else ties(random, names[new])
            sorting.ranks(self.room, self.held[names[new]].stored(), record, words, out, low, high)

        known = {} if random is not None else {
            n: found for n, old in names.items()
            if (found := self.results.get(self._here("average ranks"), self._of([old]))) is not None
        }
        new = {n: old for n, old in names.items() if n not in known}
        done = self._by_column(
            {n: Column(n, "number") for n in new}, new.values(), lambda n, g, a, b: in_memory(n, a, b),
            lambda n, g, out, a, b: larger(n, out, a, b),
        )
        for n in new if random is None else ():
            self.results.put(self._here("average ranks"), self._of([names[n]]), done.held[n])
        return replace(done, columns={**done.columns, **{n: Column(n, "number") for n in known}},
                       held=replace_columns(done.held, known)) if known else done

    def place(
        self, placed: Mapping[str, tuple[str, str]], random: RecordRandom, source: RecordTable | None = None
    ) -> DiskTable:
        other = self if source is None else as_disk(source)
        record = self.layout.record.stored()
        given = {v: other.sorted_groups(v) for _, v in placed.values()}

        def in_memory(into: str, group: int, low: int, high: int) -> Array:
            order, values = placed[into]
            ordered = given[values][group].all()
            rows = keyed_order(self.held[order].stored().read(low, high), record.read(low, high), ties(random, order))
            out = np.full(high - low, np.nan)
            if len(ordered):
                out[rows] = by_rank(ordered, len(rows))
            return out

        def larger(into: str, group: int, out: StoredColumn, low: int, high: int) -> None:
            order, values = placed[into]
            by, words = self.held[order].stored(), ties(random, order)
            sorting.place(self.room, by, record, words, given[values][group], out, low, high)

        made = {n: replace(other.columns[v], name=n, missing=True) for n, (_, v) in placed.items()}
        return self._by_column(made, [o for o, _ in placed.values()], in_memory, larger, np.diff(other.starts))

    def _by_column(
        self, made: Mapping[str, Column], names: Any, in_memory: Callable[[str, int, int, int], Array],
        larger: Callable[[str, int, StoredColumn, int, int], None], beside: Ints | None = None,
    ) -> DiskTable:
        """New columns from whole sub-groups: in memory on all cores, by the database if a sub-group is too large."""
        self._ready(names)
        new = {n: StoredColumn(self.room.folder, np.float64, self.rows) for n in made}
        sizes = np.diff(self.starts) if beside is None else np.maximum(np.diff(self.starts), beside)
        jobs = [(n, *part) for part in self.slices() for n in made]

        def run(job: tuple[str, int, int, int]) -> None:
            new[job[0]].write(job[2], in_memory(*job))

        for _ in self._work(run, [j for j in jobs if sizes[j[1]] <= self.room.rows]):
            pass
        for n, g, low, high in jobs:
            if sizes[g] > self.room.rows:
                larger(n, g, new[n], low, high)
        return self._with(made.values(), new)

    def map_rows(self, function: RowFunction, names: Sequence[str], made: Sequence[Column] = ()) -> DiskTable:
        return self._mapped(function, names, made, CHUNK)

    def map_groups(
        self, function: RowFunction, names: Sequence[str], made: Sequence[Column] = (),
        together: ManyGroupsFunction | None = None,
    ) -> DiskTable:
        self.refuse_larger(self.room, len(names) + len(made) + 1, "may be used")
        return self._mapped(function, names, made, None)

    def gather(self, names: Sequence[str], function: Callable[[int, Block], Block]) -> list[Block]:
        """What a function of whole sub-groups picks from each of them."""
        self.refuse_larger(self.room, len(names) + 1, "may be used")
        self._ready(names)
        jobs = list(self.slices())
        most = bytes_of_whole(max((b - a for _, a, b in jobs), default=0), len(names) + 1)
        found = self._work(lambda job: function(job[0], self.block(job[1], job[2], names)), jobs,
                           alone=most > self.room.memory // self.room.threads)
        return list(found)

    def _mapped(self, function: RowFunction, names: Sequence[str], made: Sequence[Column], size: int | None) -> DiskTable:
        self._ready(names)
        columns = {**self.columns, **{c.name: c for c in made}}

        new: dict[str, StoredColumn] = {}
        lock = threading.Lock()

        def run(job: tuple[int, int, int]) -> None:
            group, low, high = job
            for name, part in function(group, self.block(low, high, names)).items():
                with lock:
                    if name not in new:
                        new[name] = StoredColumn(self.room.folder, dtype_of(columns[name]), self.rows)
                new[name].write(low, part)

        jobs = list(self.slices(size))
        largest = max((b - a for _, a, b in jobs), default=0)
        for _ in self._work(run, jobs, alone=largest > self.room.rows):
            pass
        return self._with([replace(columns[n], missing=True) for n in new], new)

    def _with(self, columns: Any, new: Mapping[str, StoredColumn]) -> DiskTable:
        return replace(
            self, columns={**self.columns, **{c.name: c for c in columns}},
            held=replace_columns(self.held, {n: RowPlaces(c) for n, c in new.items()}),
        )

    def _dtype(self, name: str) -> np.dtype[np.generic]:
        if name in self.columns:
            return np.dtype(dtype_of(self.columns[name]))
        return self.held[name].dtype if name in self.held else np.dtype(np.int64)

    def scan(
        self, order: str, names: Sequence[str], start: _T,
        function: Callable[[_T, Block], tuple[_T, Mapping[str, Array]]], random: RecordRandom, made: Sequence[Column] = (),
    ) -> DiskTable:
        wanted = list(dict.fromkeys([order, *names]))
        self._ready(wanted)
        new = {c.name: StoredColumn(self.room.folder, dtype_of(c), self.rows) for c in made}

        def run(job: tuple[int, int, int]) -> None:
            _, low, high = job
            block = self.block(low, high, wanted)
            out = scan_block(block, order, names, start, function, random, made)
            for name, values in out.items():
                new[name].write(low, values)

        most = self.room.rows * 2 // (len(wanted) + len(made) + 1)
        for _ in self._work(run, [j for j in self.slices() if j[2] - j[1] <= most]):
            pass
        for _, low, high in (j for j in self.slices() if j[2] - j[1] > most):
            columns = {n: self.held[n].stored() for n in wanted}
            found = sorting.in_order(self.room, columns, self.layout.record.stored(), order, ties(random, order), low, high)
            scatter_on_disk(_scanned(found, names, start, function, list(new)), list(new.values()), low, high, self.room.bucket)
        return self._with([replace(c, missing=True) for c in made], new)

    def fold_in_order(
        self, order: str, names: Sequence[str], start: _T, function: Callable[[int, _T, Block], _T],
        random: RecordRandom | None = None,
    ) -> list[_T]:
        wanted = list(dict.fromkeys([order, *names]))
        most = self.room.held(len(wanted))
        sizes = self.groups.sizes

        def in_memory(g: int) -> _T:
            parts = list(self._in_parts(g, wanted, random is not None))
            return fold_block(joined_blocks(parts, wanted), order, names, start, partial(function, g), random)

        small = [g for g in range(len(sizes)) if sizes[g] <= most]
        found = dict(zip(small, self._work(in_memory, small), strict=True))
        for g in (g for g in range(len(sizes)) if sizes[g] > most):
            words = None if random is None else ties(random, order)
            carry = start
            parts = self._in_parts(g, wanted, random is not None)
            for block in sorting.sorted_chunks(self.room, parts, self._kinds(wanted), order, words):
                carry = function(g, carry, Block(block.record, {n: block[n] for n in names}))
            found[g] = carry
        return [found[g] for g in range(len(sizes))]

    def _kinds(self, names: Sequence[str]) -> dict[str, str]:
        return {n: self._dtype(n).name for n in names}

    def _in_parts(self, g: int, names: Sequence[str], with_record: bool) -> Iterator[Block]:
        """The rows of a sub-group in any order; rows of stacked tables from where they are stored."""
        if self.stacked is not None and not with_record:
            indicator, *tables = self.stacked
            for k, table in enumerate(tables):
                own = [n for n in names if n != indicator]
                if self.groups.labels[g] in table.groups.labels:
                    for block in table._in_parts(table.groups.labels.index(self.groups.labels[g]), own, False):
                        mark = {indicator: np.full(len(block), float(k))} if indicator in names else {}
                        yield Block(block.record, {**block.values, **mark})
            return
        columns = {n: self.held[n].stored() if with_record else self._in_any_order(n) for n in names}
        for low, high in pieces_of(int(self.starts[g]), int(self.starts[g + 1]), WIDE):
            record = self.layout.record.stored().read(low, high) if with_record else np.zeros(high - low, dtype=np.int64)
            yield Block(record, {n: c.read(low, high) for n, c in columns.items()})

    def pair(self, other: RecordTable, names: Mapping[str, str], partly: bool = False) -> DiskTable:
        theirs = as_disk(other)
        columns = {new: replace(theirs.columns[old], name=new) for new, old in names.items()}
        found = pair_on_disk(self, theirs, names, columns, partly)
        return replace(self, columns={**self.columns, **columns}, held=replace_columns(self.held, found))

    def stack(self, other: RecordTable, names: Sequence[str], indicator: str) -> DiskTable:
        theirs = as_disk(other)
        labels = list(dict.fromkeys(self.groups.labels + theirs.groups.labels))
        index = {label: i for i, label in enumerate(labels)}
        record, code, which = (StoredColumn(self.room.folder, d) for d in (np.int64, np.int32, np.float64))
        for k, table in enumerate((self, theirs)):
            for g, block in table.blocks(()):
                record.append(2 * block.record + k)
                code.append(np.full(len(block), index[table.groups.labels[g]], dtype=np.int32))
                which.append(np.full(len(block), float(k)))
        columns = {n: self.columns[n] for n in names} | {indicator: Column(indicator, "number", integer=True)}
        held: dict[str, PlacedColumn] = {n: Above(self.held[n], theirs.held[n]) for n in names}
        held[indicator] = RowPlaces(which)
        position = Above(self.layout.position, theirs.layout.position)
        above = DiskLayout(RowPlaces(record), position, self.rows + theirs.rows)
        start = DiskTable(columns, self.groups, above, held, self.starts, self.room)
        done = start.laid_out(code, self.groups.columns, labels, fresh=True)
        return replace(done, stacked=(indicator, self, theirs))

    def take(self, keep: Callable[[int, Block], Array], names: Sequence[str]) -> DiskTable:
        def assign(group: int, block: Block) -> Array:
            return np.where(np.asarray(keep(group, block), dtype=bool), group, -1)

        groups = self.groups
        return self.regroup(assign, names, groups.columns, groups.labels, groups.declared)

    def regroup(
        self, assign: Callable[[int, Block], Array], names: Sequence[str], columns: Sequence[str],
        labels: Sequence[GroupLabel], declared: Sequence[tuple[GroupLabel, ...]] = (),
    ) -> DiskTable:
        code = StoredColumn(self.room.folder, np.int32)
        for group, block in self.blocks(names):
            code.append(np.asarray(assign(group, block)))
        return self.laid_out(code, columns, labels, declared)

    def laid_out(
        self, code: StoredColumn, columns: Sequence[str], labels: Sequence[GroupLabel],
        declared: Sequence[tuple[GroupLabel, ...]] = (),
        fresh: bool = False,
    ) -> DiskTable:
        """Rows by (code, record id), moved when needed; rows with code -1 and empty sub-groups are dropped."""
        sizes = np.zeros(len(labels), dtype=np.int64)
        for _, block in code.stream():
            sizes += np.bincount(block[block >= 0], minlength=len(labels))
        there = np.flatnonzero(sizes) if len(labels) > 1 else np.arange(len(labels))
        groups = Groups(
            tuple(columns), tuple(labels[int(g)] for g in there), tuple(int(sizes[g]) for g in there),
            tuple(declared[int(g)] for g in there) if declared else (),
        )
        key = (fingerprint(code), tuple(sizes.tolist()))
        after = self.layout.moves.get(key)
        if after is None:
            starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
            move = DiskMove(self.room, self.layout, self.layout.record, code, starts)
            kind = np.dtype(np.int64)
            record, position = MovedColumn(self.layout.record, move, kind), MovedColumn(self.layout.position, move, kind)
            stays = not fresh and _in_place(code, self.layout.record)
            after = self.layout if stays else DiskLayout(record, position, move.rows, move)
            self.layout.moves[key] = after
        held = self.held
        if after is not self.layout and after.move is not None:
            held = {n: after.move.column(h, self._dtype(n), self.results) for n, h in self.held.items()}
        return replace(self, groups=groups, layout=after, held=held, starts=offsets(groups.sizes))

    def materialise(self) -> DiskTable:
        self._ready(list(self.held))
        return self

    def _ready(self, names: Any) -> None:
        """Move columns to their row order one after the other, because each move uses all cores."""
        self.layout.record.stored()
        for name in names:
            self.held[name].stored()

    def _in_any_order(self, name: str) -> StoredColumn:
        """A column whose rows may be in any order within its sub-group."""
        column = self.held[name]
        if len(self.groups) == 1 and isinstance(column, MovedColumn):
            column = column.in_any_order()
        return column.stored() if not isinstance(column, Above) else self.held[name].stored()

    def _work(self, function: Callable[[Any], _T], jobs: Sequence[Any], alone: bool = False) -> Iterator[_T]:
        """Results in the order of the jobs, computed on all cores, with few of them waiting at a time."""
        threads = min(self.room.threads, len(jobs))
        if threads < 2 or alone or self.rows < CHUNK * 2:
            yield from map(function, jobs)
            return
        with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
            waiting: list[Future[_T]] = []
            try:
                for job in jobs:
                    waiting.append(pool.submit(function, job))
                    if len(waiting) >= threads * AHEAD:
                        yield waiting.pop(0).result()
                while waiting:
                    yield waiting.pop(0).result()
            finally:
                for left in waiting:
                    left.cancel()


def joined_blocks(parts: Sequence[Block], names: Sequence[str]) -> Block:
    if len(parts) == 1:
        return parts[0]
    return Block(np.concatenate([p.record for p in parts]), {n: np.concatenate([p[n] for p in parts]) for n in names})


def _scanned(
    found: Iterator[tuple[Ints, Block]], names: Sequence[str], start: _T,
    function: Callable[[_T, Block], tuple[_T, Mapping[str, Array]]], made: Sequence[str],
) -> Iterator[tuple[Ints, list[Array]]]:
    carry = start
    for rows, block in found:
        carry, result = function(carry, Block(block.record, {n: block[n] for n in names}))
        yield rows, [result[n] for n in made]


def _in_place(code: StoredColumn, record: PlacedColumn) -> bool:
    """Whether rows are already in the order (code, record id), with none dropped."""
    last = (0, -(2**62))
    for (_, codes), ids in zip(code.stream(), rechunk(record.stream()), strict=True):
        step, rise = np.diff(codes, prepend=last[0]), np.diff(ids, prepend=last[1])
        if (step < 0).any() or ((step == 0) & (rise <= 0)).any():
            return False
        last = int(codes[-1]), int(ids[-1])
    return True


def as_disk(table: RecordTable) -> DiskTable:
    if not isinstance(table, DiskTable):
        raise TypeError("tables of two engines cannot be joined; read both with the same engine")
    return table

