"""A test engine: data in memory, handed out in random pieces of random size and order. A correct method does not notice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Column, ManyGroupsFunction, RecordTable, RowFunction, Words
from larvatus.data.labelling.labels import FileLabels
from larvatus.data.roles import Roles, SubGroups
from larvatus.data.sub_groups import GroupLabel, Groups
from larvatus.engines._layout.chunks import CHUNK, pieces_of
from larvatus.engines._memory.row_order import frozen
from larvatus.engines._memory.table import MemoryTable, blank, dtype_of, ties
from larvatus.engines.memory import Memory
from larvatus.stats.ranks.quantiles import quantiles

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _PiecesTable:
    """Arrays in memory that are never handed out the same way twice; orders and ranks are computed by plain sorting."""

    held: MemoryTable
    rng: np.random.Generator

    @property
    def columns(self) -> Mapping[str, Column]:
        return self.held.columns

    @property
    def groups(self) -> Groups:
        return self.held.groups

    @property
    def rows(self) -> int:
        return self.held.rows

    def with_held(self, held: MemoryTable) -> _PiecesTable:
        return replace(self, held=held)

    def _rows(self, rows: NDArray[np.int64], names: Sequence[str]) -> Block:
        return Block(self.held.record[rows], {n: np.ascontiguousarray(self.held.values[n][rows]) for n in names})

    def _random_pieces(self) -> Iterator[tuple[int, NDArray[np.int64]]]:
        pieces = []
        for g, low, high in self.held.slices():
            rows = self.rng.permutation(np.arange(low, high))
            cuts = np.sort(self.rng.integers(0, len(rows) + 1, size=self.rng.integers(0, 5)))
            pieces += [(g, part) for part in np.split(rows, cuts) if len(part)]
        for i in self.rng.permutation(len(pieces)):
            yield pieces[i]

    def blocks(self, names: Sequence[str]) -> Iterator[tuple[int, Block]]:
        for g, rows in self._random_pieces():
            yield g, self._rows(rows, names)

    def counts(self, names: Sequence[str]) -> Mapping[GroupLabel, int]:
        return self.held.counts(names)

    def reduce(
        self, names: Sequence[str], function: Callable[[int, Block], _T], combine: Callable[[_T, _T], _T]
    ) -> list[_T]:
        jobs = list(self.held.slices(CHUNK))
        done: dict[int, _T] = {}
        for i in self.rng.permutation(len(jobs)):
            g, low, high = jobs[i]
            done[int(i)] = function(g, self._rows(np.arange(low, high), names))
        out: dict[int, _T] = {}
        for i, (g, _, _) in enumerate(jobs):
            out[g] = combine(out[g], done[i]) if g in out else done[i]
        return list(out.values())

    def quantiles(self, name: str, probabilities: Sequence[float]) -> NDArray[np.float64]:
        held = self.held.values[name]
        rows = [self.rng.permutation(np.arange(low, high)) for _, low, high in self.held.slices()]
        return np.array([quantiles(held[some], probabilities) for some in rows])

    def ranks(self, names: Mapping[str, str], random: RecordRandom | None = None) -> _PiecesTable:
        def ranked(group: int, block: Block) -> Mapping[str, Array]:
            return {new: self._rank(block, old, random) for new, old in names.items()}

        return self.map_groups(ranked, list(names.values()), [Column(n, "number") for n in names])

    def _rank(self, block: Block, name: str, random: RecordRandom | None) -> Array:
        x = block[name]
        there = ~np.isnan(x)
        out = np.full(len(x), np.nan)
        if random is None:
            ordered = np.sort(x[there])
            low, high = np.searchsorted(ordered, x[there]), np.searchsorted(ordered, x[there], side="right")
            out[there] = (low + high + 1) / 2
            return out
        out[self._sorted(block, name, random)] = np.arange(1, there.sum() + 1)
        return out

    def _sorted(self, block: Block, name: str, random: RecordRandom) -> NDArray[np.int64]:
        order = np.lexsort((block.record, ties(random, name)(block.record), block[name]))
        return order[: np.count_nonzero(~np.isnan(block[name]))]

    def place(
        self, placed: Mapping[str, tuple[str, str]], random: RecordRandom, source: RecordTable | None = None
    ) -> _PiecesTable:
        other = self if source is None else _pieces(source)

        def place(group: int, block: Block) -> Mapping[str, Array]:
            low, high = other.held.starts[group], other.held.starts[group + 1]
            out = {}
            for into, (order, values) in placed.items():
                given = np.sort(other.held.values[values][low:high])
                given = given[~np.isnan(given)]
                rows = self._sorted(block, order, random)
                out[into] = np.full(len(block), np.nan)
                for r, row in enumerate(rows, 1):
                    if len(given):
                        out[into][row] = given[-(-r * len(given) // len(rows)) - 1]
            return out

        made = [replace(other.columns[v], name=n, missing=True) for n, (_, v) in placed.items()]
        return self.map_groups(place, [order for order, _ in placed.values()], made)

    def map_rows(self, function: RowFunction, names: Sequence[str], made: Sequence[Column] = ()) -> _PiecesTable:
        return self._mapped(((g, rows, function(g, self._rows(rows, names))) for g, rows in self._random_pieces()), made)

    def map_groups(
        self, function: RowFunction, names: Sequence[str], made: Sequence[Column] = (),
        together: ManyGroupsFunction | None = None,
    ) -> _PiecesTable:
        slices = list(self.held.slices())
        jobs = ((slices[i][0], np.arange(slices[i][1], slices[i][2])) for i in self.rng.permutation(len(slices)))
        return self._mapped(((g, rows, function(g, self._rows(rows, names))) for g, rows in jobs), made)

    def _mapped(
        self, results: Iterator[tuple[int, NDArray[np.int64], Mapping[str, Array]]], made: Sequence[Column]
    ) -> _PiecesTable:
        columns = {**self.columns, **{c.name: c for c in made}}
        new: dict[str, Array] = {}
        for _, rows, result in results:
            for name, part in result.items():
                new.setdefault(name, np.empty(self.rows, dtype=dtype_of(columns[name])))[rows] = part
        columns |= {n: replace(columns[n], missing=True) for n in new}
        return self.with_held(replace(self.held, columns=columns, values={**self.held.values, **frozen(new)}))

    def scan(
        self, order: str, names: Sequence[str], start: _T,
        function: Callable[[_T, Block], tuple[_T, Mapping[str, Array]]], random: RecordRandom, made: Sequence[Column] = (),
    ) -> _PiecesTable:
        def run(group: int, block: Block) -> Mapping[str, Array]:
            rows = self._sorted(block, order, random)
            carry, out = start, {c.name: blank(c, len(block)) for c in made}
            for low, high in pieces_of(0, len(rows), int(self.rng.integers(1, 50))):
                part = rows[low:high]
                carry, result = function(carry, Block(block.record[part], {n: block[n][part] for n in names}))
                for name, values in result.items():
                    out[name][part] = values
            return out

        return self.map_groups(run, list(dict.fromkeys([order, *names])), made)

    def fold_in_order(
        self, order: str, names: Sequence[str], start: _T, function: Callable[[int, _T, Block], _T],
        random: RecordRandom | None = None,
    ) -> list[_T]:
        out = []
        for g, low, high in self.held.slices():
            rows = self.rng.permutation(np.arange(low, high))
            block = self._rows(rows, list(dict.fromkeys([order, *names])))
            at = np.argsort(block[order], kind="stable") if random is None else self._sorted(block, order, random)
            at = at[: np.count_nonzero(~np.isnan(block[order]))]
            carry = start
            for a, b in pieces_of(0, len(at), int(self.rng.integers(1, 50))):
                record = np.zeros(b - a, dtype=np.int64) if random is None else block.record[at[a:b]]
                carry = function(g, carry, Block(record, {n: block[n][at[a:b]] for n in names}))
            out.append(carry)
        return out

    def pair(self, other: RecordTable, names: Mapping[str, str], partly: bool = False) -> _PiecesTable:
        return self.with_held(self.held.pair(_pieces(other).held, names, partly))

    def stack(self, other: RecordTable, names: Sequence[str], indicator: str) -> _PiecesTable:
        return self.with_held(self.held.stack(_pieces(other).held, names, indicator))

    def take(self, keep: Callable[[int, Block], Array], names: Sequence[str]) -> _PiecesTable:
        return self.with_held(self.held.take(keep, names))

    def regroup(
        self, assign: Callable[[int, Block], Array], names: Sequence[str], columns: Sequence[str],
        labels: Sequence[GroupLabel], declared: Sequence[tuple[GroupLabel, ...]] = (),
    ) -> _PiecesTable:
        return self.with_held(self.held.regroup(assign, names, columns, labels, declared))

    def materialise(self) -> _PiecesTable:
        return self


def _pieces(table: RecordTable) -> _PiecesTable:
    if not isinstance(table, _PiecesTable):
        raise TypeError("tables of two engines cannot be joined; read both with the same engine")
    return table


class Pieces:
    """Reads and writes like engine memory; tables are handed out in random pieces."""

    name, can_be_sent = "pieces", False

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._memory = Memory()

    def names(self, source: Any) -> list[str]:
        return self._memory.names(source)

    def has_random_order(self, source: Any) -> bool:
        return self._memory.has_random_order(source)

    def read(self, source: Any, roles: Roles, sub_groups: SubGroups, pairing: Path | None = None) -> _PiecesTable:
        return _PiecesTable(self._memory.read(source, roles, sub_groups, pairing), np.random.default_rng(self._seed))

    def frame(self, table: RecordTable, names: Sequence[str], like: RecordTable) -> Any:
        return self._memory.frame(_pieces(table).held, names, _pieces(like).held)

    def write(
        self, table: RecordTable, names: Sequence[str], path: Path, order: Words | None, pairing: Path | None, overwrite: bool,
        labels: FileLabels | None = None,
    ) -> None:
        self._memory.write(_pieces(table).held, names, path, order, pairing, overwrite, labels)
