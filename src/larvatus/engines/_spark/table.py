"""The verbs on a cluster: tasks read blocks from the shared folder and write columns to it; Spark sorts large sub-groups."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Column, ManyGroupsFunction, RecordTable, RowFunction
from larvatus.data.sub_groups import GroupLabel, Groups
from larvatus.engines._layout.base_table import LaidOut, Slice, bytes_of_whole, replace_columns
from larvatus.engines._layout.chunks import CHUNK
from larvatus.engines._layout.result_memory import ResultMemory, digest_of
from larvatus.engines._layout.sorted_groups import ONE_IN, SortedPart
from larvatus.engines._memory.table import decode_labels, dtype_of, fold_groups, offsets
from larvatus.engines._spark import ordering, tasks
from larvatus.engines._spark.description import (
    DescribedTable,
    encode_description,
    keep_columns,
    stack_descriptions,
    write_made_columns,
)
from larvatus.engines._spark.jobs import SparkCluster, dump_function, load_function
from larvatus.engines._spark.layout import (
    GroupAssignment,
    SparkColumn,
    SparkLayout,
    SparkMove,
    SparkMovedColumn,
    SparkRowPlaces,
    ready,
)
from larvatus.engines._spark.pairing import pair_on_cluster
from larvatus.engines._spark.store import Piece, Reader, SpreadColumn, new_folder
from larvatus.engines._spark.tasks import Target
from larvatus.stats.ranks.quantiles import quantiles_in_order

_T = TypeVar("_T")
_REMEMBERED = 1 << 28  # bytes on the driver; sorted values are in the shared folder
MOST_KNOWN, MOST_KEPT = 64, 1 << 24  # number of reductions that are cached, and bytes of each


@dataclass(frozen=True, slots=True)
class SparkTable(LaidOut):
    """Columns by name in the row order of one layout; `starts` holds the first row of each sub-group."""

    columns: Mapping[str, Column]
    groups: Groups
    layout: SparkLayout = field(repr=False)
    held: Mapping[str, SparkColumn] = field(repr=False)
    starts: Ints = field(repr=False)
    room: SparkCluster = field(repr=False)
    source: Any = field(default=None, repr=False)
    results: ResultMemory = field(default_factory=partial(ResultMemory, _REMEMBERED), repr=False, compare=False)

    def remember(self, what: Hashable, names: Sequence[str], compute: Callable[[], _T]) -> _T:
        return self.results.find(self._here(what), self._of(names), compute)

    def _here(self, what: Hashable) -> Hashable:
        """What is asked for, in these sub-groups."""
        return what, digest_of(self.starts)

    def _of(self, names: Sequence[str]) -> list[object]:
        """The columns, in this row order."""
        return [self.layout, *(self.held[n] for n in names)]

    def __reduce__(self) -> Any:
        """A method's function may refer to its data: executors receive the description of the table, not its rows."""
        return DescribedTable, (dict(self.columns), self.groups)

    def block(self, low: int, high: int, names: Sequence[str]) -> Block:
        return self.reader(names).block(low, high, names)

    def counts(self, names: Sequence[str]) -> Mapping[GroupLabel, int]:
        levels = [self.columns[n].levels for n in names]
        total: dict[tuple[int, ...], int] = {}
        for part in self.room.run(partial(tasks.combination_counts, self.reader(names), names), self._batches(CHUNK)):
            for codes, times in part.items():
                total[codes] = total.get(codes, 0) + times
        return {decode_labels(codes, levels): total[codes] for codes in sorted(total)}

    def reduce(
        self, names: Sequence[str], function: Callable[[int, Block], _T], combine: Callable[[_T, _T], _T]
    ) -> list[_T]:
        batches, reader = self._batches(CHUNK), self.reader(names)
        work = partial(self.room.packed, partial(tasks.each, reader, function, names), batches)
        packed = self._known(reader, names, function, work)
        # results are unpacked when their turn comes: those of all blocks at once may take more memory than a sub-group
        parts = (part for batch in packed for part in load_function(batch))
        return fold_groups([g for b in batches for g, _, _ in b], parts, combine)

    def _known(self, reader: Reader, names: Sequence[str], function: Any, work: Callable[[], list[bytes]]) -> list[bytes]:
        """Packed results, cached if the same function was applied to the same columns and sub-groups before, as methods do."""
        asked = hashlib.blake2b(dump_function((names, function)), digest_size=16).digest()
        columns = [reader.columns[n] for n in names]
        key, known = (asked, self.starts.tobytes(), *map(id, columns)), self.layout.known
        kept = known.get(key)
        if kept is not None and all(ref() is column for ref, column in zip(kept[0], columns, strict=True)):
            return kept[1]
        found = work()
        if sum(map(len, found)) > MOST_KEPT:
            return found
        while len(known) >= MOST_KNOWN:
            del known[next(iter(known))]
        known[key] = tuple(map(weakref.ref, columns)), found
        return found

    def quantiles(self, name: str, probabilities: Sequence[float]) -> NDArray[np.float64]:
        out = np.full((len(self.groups), len(probabilities)), np.nan)
        small, large = self._by_size(self.room.rows)
        found = self.room.run(partial(tasks.group_quantiles, self.held[name].stored(), list(probabilities)), small)
        for batch, rows in zip(small, found, strict=True):
            for (g, _, _), row in zip(batch, rows, strict=True):
                out[g] = row
        for group, ordered in self._sorted_values([name], large)[name].items():
            out[group] = quantiles_in_order(ordered.rows, ordered.read, probabilities)
        return out

    def sorted_groups(self, name: str) -> list[SortedPart]:
        """The present values of a column in each sub-group, in ascending order."""
        return self.remember("sorted groups", [name], partial(self._sorted_parts, name))

    def _sorted_parts(self, name: str) -> list[SortedPart]:
        small, large = self._by_size(self.room.rows)
        target = Target(self.room.place, new_folder())
        work = partial(tasks.sort_groups, self.reader([name]), target, name)
        found = self.room.run(work, small)
        column = SpreadColumn.of(self.room.place, np.float64, [piece for piece, _ in found], target.of(name))
        out: dict[int, SortedPart] = {}
        first = 0
        for batch, (piece, parts) in zip(small, found, strict=True):
            for (g, low, _), (present, sample) in zip(batch, parts, strict=True):
                out[g] = SortedPart(column, first + low - batch[0][1], present, sample)
            first += piece[1]
        for group, values in self._sorted_values([name], large)[name].items():
            sample = [block[(-low) % ONE_IN :: ONE_IN] for low, block in values.stream()]
            out[group] = SortedPart(values, 0, values.rows, np.concatenate([np.zeros(0), *sample]))
        return [out.get(g) or SortedPart(column, 0, 0, np.zeros(0)) for g in range(len(self.groups))]

    def sort_columns(self, names: Sequence[str]) -> None:
        """Sort columns in one exchange that `sorted_groups` will be asked for one by one."""
        self._sorted_values(names, self._by_size(self.room.rows)[1])

    def _sorted_values(self, names: Sequence[str], large: Sequence[Slice]) -> dict[str, dict[int, SpreadColumn]]:
        """The present values of columns in ascending order, in each sub-group that no task can hold: sorted once."""
        key = self._sorted_key(large)
        known = {n: self.results.get(key, self._of([n])) if large else {} for n in names}
        for some in ordering.together([n for n, found in known.items() if found is None], large):
            known |= self._keep_sorted(some, ordering.sort_large_groups(self, some, large, None, ["value"]), large)
        return known

    def _keep_sorted(
        self, names: Sequence[str], rows: Sequence[Sequence[tasks.SortedRows]], large: Sequence[Slice]
    ) -> dict[str, dict[int, SpreadColumn]]:
        found = {n: {r.group: r.columns["value"] for r in groups} for n, groups in zip(names, rows, strict=True)}
        for name, values in found.items():
            self.results.put(self._sorted_key(large), self._of([name]), values)
        return found

    def _sorted_key(self, large: Sequence[Slice]) -> Hashable:
        return self._here(("sorted values", digest_of(np.array([g for g, _, _ in large], dtype=np.int64))))

    def ranks(self, names: Mapping[str, str], random: RecordRandom | None = None) -> SparkTable:
        small, large = self._by_size(self.room.rows)
        target = Target(self.room.place, new_folder())
        work = partial(tasks.rank_groups, self.reader(list(names.values())), target, dict(names), random)
        found = self._gathered(self.room.run(work, [(n, b) for b in small for n in names]))
        beside: dict[str, SpreadColumn] = {}
        for some in ordering.together(list(names), large):
            if random is None:
                ordered = ordering.sort_large_groups(self, [names[n] for n in some], large, None, ["value", "row"])
                self._keep_sorted([names[n] for n in some], ordered, large)
                runs = ordering.shared_runs(self.room, list(chain(*ordered)))
                put = ordering.put_large_groups(self.room, tasks.share_ranks, runs, large, [np.float64], len(some))
            else:
                rows = chain(*ordering.sort_large_groups(self, [names[n] for n in some], large, random, ["row"]))
                put = ordering.put_large_groups(self.room, tasks.number_rows, ordering.jobs_of(self.room, rows), large,
                                                [np.float64], len(some))
            beside |= dict(zip(some, put, strict=True))
        return self._with([Column(n, "number") for n in names], found, target, large, beside)

    def place(
        self, placed: Mapping[str, tuple[str, str]], random: RecordRandom, source: RecordTable | None = None
    ) -> SparkTable:
        other = self if source is None else as_spark(source)
        given = {v: other.held[v].stored() for _, v in placed.values()}
        sizes = np.maximum(np.diff(self.starts), np.diff(other.starts)[: len(self.groups)])
        small, large = self._by_size(self.room.rows, sizes)
        target = Target(self.room.place, new_folder())
        reader = self.reader([o for o, _ in placed.values()])
        work = partial(tasks.place_values, reader, target, dict(placed), random, given, other.starts)
        found = self._gathered(self.room.run(work, [(n, b) for b in small for n in placed]))
        theirs = [(g, int(other.starts[g]), int(other.starts[g + 1])) for g, _, _ in large]
        beside: dict[str, SpreadColumn] = {}
        for some in ordering.together(list(placed), large):
            ordered = other._sorted_values(list(dict.fromkeys(placed[n][1] for n in some)), theirs)
            given_in = {(i, g): values for i, n in enumerate(some) for g, values in ordered[placed[n][1]].items()}
            orders = ordering.sort_large_groups(self, [placed[n][0] for n in some], large, random, ["row"])
            rows = [r for r in chain(*orders) if given_in[r.column, r.group].rows]
            jobs = ordering.jobs_of(self.room, rows)
            put = ordering.put_large_groups(self.room, partial(tasks.receive_values, given_in), jobs, large, [np.float64],
                                            len(some))
            beside |= dict(zip(some, put, strict=True))
        made = [replace(other.columns[v], name=n, missing=True) for n, (_, v) in placed.items()]
        return self._with(made, found, target, large, beside)

    def map_rows(self, function: RowFunction, names: Sequence[str], made: Sequence[Column] = ()) -> SparkTable:
        return self._mapped(function, names, made, self._batches(CHUNK))

    def map_groups(
        self, function: RowFunction, names: Sequence[str], made: Sequence[Column] = (),
        together: ManyGroupsFunction | None = None,
    ) -> SparkTable:
        self.refuse_larger(self.room, len(names) + len(made) + 1, "a task may use")
        return self._mapped(function, names, made, self._batches(None))

    def gather(self, names: Sequence[str], function: Callable[[int, Block], Block]) -> list[Block]:
        """What a function of whole sub-groups picks from each of them."""
        self.refuse_larger(self.room, len(names) + 1, "a task may use")
        most = bytes_of_whole(max(self.groups.sizes, default=0), len(names) + 1)
        work = partial(tasks.each, self.reader(names), function, names)
        found = self.room.run(work, self._batches(None), alone=most > self.room.memory // 2)
        return [part for batch in found for part in batch]

    def _mapped(
        self, function: RowFunction, names: Sequence[str], made: Sequence[Column], batches: Sequence[Sequence[Slice]]
    ) -> SparkTable:
        columns = {**self.columns, **{c.name: c for c in made}}
        target = Target(self.room.place, new_folder())
        work = partial(tasks.map_blocks, self.reader(names), target, function, list(names), columns)
        found = self._gathered(self.room.run(work, batches))
        return self._with([replace(columns[n], missing=True) for n in found], found, target)

    def scan(
        self, order: str, names: Sequence[str], start: _T,
        function: Callable[[_T, Block], tuple[_T, Mapping[str, Array]]], random: RecordRandom, made: Sequence[Column] = (),
    ) -> SparkTable:
        wanted = list(dict.fromkeys([order, *names]))
        small, large = self._by_size(self.room.rows * 2 // (len(wanted) + len(made) + 1))
        target = Target(self.room.place, new_folder())
        work = partial(tasks.scan_groups, self.reader(wanted), target, order, list(names), start, function, random, list(made))
        found = self._gathered(self.room.run(work, small))
        beside: dict[str, SpreadColumn] = {}
        if large:
            (rows,) = ordering.sort_large_groups(self, [order], large, random, ["row", "record"], names)
            aside = Target(self.room.place, new_folder())
            parts = self.room.run(partial(tasks.scan_chunks, aside, list(names), start, function, list(made)), rows)
            along = {
                r.group: [SpreadColumn.of(self.room.place, dtype_of(c), p[c.name], aside.of(f"{c.name} {r.group}"))
                          for c in made]
                for r, p in zip(rows, parts, strict=True)
            }
            jobs, dtypes = ordering.jobs_of(self.room, rows), [dtype_of(c) for c in made]
            put = ordering.put_large_groups(self.room, partial(tasks.return_rows, along), jobs, large, dtypes)
            beside = {c.name: column for c, column in zip(made, put, strict=True)}
        return self._with([replace(c, missing=True) for c in made], found, target, large, beside)

    def fold_in_order(
        self, order: str, names: Sequence[str], start: _T, function: Callable[[int, _T, Block], _T],
        random: RecordRandom | None = None,
    ) -> list[_T]:
        wanted = list(dict.fromkeys([order, *names]))
        small, large = self._by_size(self.room.held(len(wanted)))
        work = partial(tasks.carry_along, self.reader(wanted), order, list(names), start, function, random)
        found: dict[int, _T] = {}
        for batch, parts in zip(small, self.room.run(work, small), strict=True):
            found |= {g: part for (g, _, _), part in zip(batch, parts, strict=True)}
        if large:
            (rows,) = ordering.sort_large_groups(self, [order], large, random, ["row", "record"], names)
            over = partial(tasks.fold_chunks, list(names), start, function, random is not None)
            found |= {r.group: part for r, part in zip(rows, self.room.run(over, rows), strict=True)}
        return [found[g] for g in range(len(self.groups))]

    def pair(self, other: RecordTable, names: Mapping[str, str], partly: bool = False) -> SparkTable:
        theirs = as_spark(other)
        columns = {new: replace(theirs.columns[old], name=new) for new, old in names.items()}
        held = replace_columns(self.held, pair_on_cluster(self, theirs, names, partly))
        return replace(self, columns={**self.columns, **columns}, held=held)

    def stack(self, other: RecordTable, names: Sequence[str], indicator: str) -> SparkTable:
        theirs = as_spark(other)
        labels = list(dict.fromkeys(self.groups.labels + theirs.groups.labels))
        index = {label: i for i, label in enumerate(labels)}
        parts = []
        for k, table in enumerate((self, theirs)):
            to = np.array([index[label] for label in table.groups.labels], dtype=np.int64)
            parts.append(table._made(partial(stack_descriptions, to, k),
                                     {"record": np.int64, "code": np.int32, "which": np.float64}))
        both = {n: self._above(parts[0][n], parts[1][n]) for n in parts[0]}
        columns = {n: self.columns[n] for n in names} | {indicator: Column(indicator, "number", integer=True)}
        held: dict[str, SparkColumn] = {n: SparkRowPlaces(self._above(self.held[n].stored(), theirs.held[n].stored()))
                                        for n in names}
        held[indicator] = SparkRowPlaces(both["which"])
        position = SparkRowPlaces(self._above(self.layout.position.stored(), theirs.layout.position.stored()))
        above = SparkLayout(SparkRowPlaces(both["record"]), position, self.rows + theirs.rows)
        start = SparkTable(columns, self.groups, above, held, self.starts, self.room)
        assigned = GroupAssignment.of(self.room, both["record"], both["code"], len(labels))
        return start.laid_out(assigned, self.groups.columns, labels, fresh=True)

    def take(self, keep: Callable[[int, Block], Array], names: Sequence[str]) -> SparkTable:
        groups = self.groups
        assigned = self._assigned(partial(keep_columns, keep), names, len(groups))
        return self.laid_out(assigned, groups.columns, groups.labels, groups.declared)

    def regroup(
        self, assign: Callable[[int, Block], Array], names: Sequence[str], columns: Sequence[str],
        labels: Sequence[GroupLabel], declared: Sequence[tuple[GroupLabel, ...]] = (),
    ) -> SparkTable:
        return self.laid_out(self._assigned(assign, names, len(labels)), columns, labels, declared)

    def _assigned(self, assign: Callable[[int, Block], Array], names: Sequence[str], groups: int) -> GroupAssignment:
        reader = self.reader(names)
        return GroupAssignment.made(self.room, reader.record, partial(encode_description, reader, assign, names),
                                    self._batches(CHUNK), groups)

    def laid_out(
        self, assigned: GroupAssignment, columns: Sequence[str], labels: Sequence[GroupLabel],
        declared: Sequence[tuple[GroupLabel, ...]] = (),
        fresh: bool = False, whole: bool = False,
    ) -> SparkTable:
        """Rows by (code, record id), moved when needed; rows with code -1 and empty sub-groups are dropped."""
        sizes = assigned.sizes
        there = np.flatnonzero(sizes) if len(labels) > 1 else np.arange(len(labels))
        groups = Groups(
            tuple(columns), tuple(labels[int(g)] for g in there), tuple(int(sizes[g]) for g in there),
            tuple(declared[int(g)] for g in there) if declared else (),
        )
        key = (assigned.fingerprint, tuple(sizes.tolist()))
        after = self.layout.moves.get(key)
        if after is None:
            if not fresh and assigned.in_place:
                after = self.layout
            else:
                move = SparkMove(self.room, self.layout, assigned, whole)
                after = SparkLayout(SparkMovedColumn(self.layout.record, move), SparkMovedColumn(self.layout.position, move),
                                    move.rows, move)
            self.layout.moves[key] = after
        held = self.held
        if after is not self.layout and after.move is not None:
            held = {n: SparkMovedColumn(h, after.move) for n, h in self.held.items()}
        return replace(self, groups=groups, layout=after, held=held, starts=offsets(groups.sizes))

    def materialise(self) -> SparkTable:
        self.reader(list(self.held))
        return self

    # --- division into tasks, and assembly of their results -------------------------------------------------------------------

    def reader(self, names: Sequence[str]) -> Reader:
        """Columns in their row order, and a reader for them."""
        ready([self.layout.record, *(self.held[n] for n in names)])
        return Reader(self.layout.record.stored(), {n: self.held[n].stored() for n in names})

    def _batches(self, size: int | None, slices: Iterator[Slice] | None = None) -> list[list[Slice]]:
        """Consecutive blocks or sub-groups for each task: enough tasks for all cores, each with at most one piece of rows."""
        most = max(min(self.room.piece, -(-self.rows // (2 * self.room.parallel))), min(CHUNK, self.room.piece))
        out: list[list[Slice]] = []
        for part in self.slices(size) if slices is None else slices:
            if not out or out[-1][-1][2] != part[1] or part[2] - out[-1][0][1] > most:
                out.append([])
            out[-1].append(part)
        return out

    def _by_size(self, most: int, sizes: Ints | None = None) -> tuple[list[list[Slice]], list[Slice]]:
        """Batches of whole sub-groups that a task can hold, and the sub-groups that no task can hold."""
        sizes = np.diff(self.starts) if sizes is None else sizes
        every = list(self.slices())
        return self._batches(None, (s for s in every if sizes[s[0]] <= most)), [s for s in every if sizes[s[0]] > most]

    def _gathered(self, found: Sequence[Mapping[str, Piece]]) -> dict[str, list[Piece]]:
        out: dict[str, list[Piece]] = {}
        for part in found:
            for name, piece in part.items():
                out.setdefault(name, []).append(piece)
        return out

    def _above(self, one: SpreadColumn, other: SpreadColumn) -> SpreadColumn:
        return SpreadColumn.joined(self.room.place, one.dtype, [one, other])

    def _with(
        self, columns: Sequence[Column], found: Mapping[str, Sequence[Piece]], target: Target,
        large: Sequence[Slice] = (), beside: Mapping[str, SpreadColumn] | None = None,
    ) -> SparkTable:
        """The table with new columns: pieces written by tasks and, between them, sub-groups sorted by Spark."""
        place, new, starts = self.room.place, {}, offsets([high - low for _, low, high in large])
        for c in columns:
            pieces = sorted(p for p in found.get(c.name, ()) if p[1])
            column = SpreadColumn.of(place, dtype_of(c), pieces, target.of(c.name))
            if large and beside is not None:
                ends = offsets([n for _, n, _ in pieces])
                parts = [(p[0], column.part(int(a), int(b))) for p, a, b in zip(pieces, ends, ends[1:], strict=False)]
                parts += [(low, beside[c.name].part(int(a), int(b)))
                          for (_, low, _), a, b in zip(large, starts, starts[1:], strict=False)]
                column = SpreadColumn.joined(place, dtype_of(c), [part for _, part in sorted(parts, key=lambda p: p[0])])
            new[c.name] = SparkRowPlaces(column)
        return replace(self, columns={**self.columns, **{c.name: c for c in columns}}, held=replace_columns(self.held, new))

    def _made(self, function: Any, dtypes: Mapping[str, Any], names: Sequence[str] = ()) -> dict[str, SpreadColumn]:
        """Additional columns computed from blocks."""
        folder = new_folder()
        work = partial(write_made_columns, self.reader(names), self.room.place, folder, function, dict(dtypes), list(names))
        found = self.room.run(work, self._batches(CHUNK))
        return {
            n: SpreadColumn.of(self.room.place, d, [f[n] for f in found], f"{folder}-{n}") for n, d in dtypes.items()
        }


def as_spark(table: RecordTable) -> SparkTable:
    if not isinstance(table, SparkTable):
        raise TypeError("tables of two engines cannot be joined; read both with the same engine")
    return table
