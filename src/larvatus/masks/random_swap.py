"""Permute the values of randomly drawn records of a sub-group (Dalenius and Reiss 1982; 000 §3.6, 004).

    z_i = x_σ(i)  for rate · n drawn records,  σ a random permutation of them with σ(i) ≠ i;      z_i = x_i  for all others

Pairs = true exchanges values in pairs, σ(σ(i)) = i, which the attack swap_chain undoes in three columns or more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import LEAST_MOVED, Array, Block, Column, Mask, Masked, RecordTable
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note, extremes_unchanged
from larvatus.data.roles import has_order
from larvatus.data.verbs import count_present, with_table
from larvatus.masks.grouping.cell_patterns import by_missing_pattern
from larvatus.masks.grouping.column_groups import column_groups, rejoin_columns

_ORDER, _PLACE, _BACK = scratch("swap order"), scratch("swap place"), scratch("swap back")
_HELD = 1 << 24
_IN_PAIRS = "values were exchanged in pairs, which the attack swap_chain can undo"


class RandomSwap(Mask):
    """Permute the values of randomly drawn records, column by column or for several columns at once.

    In every sub-group each column keeps exactly its values. Columns swapped together preserve the correlations between them. A
    correlation falls by the factor 1 − rate if one of its columns is swapped, and by (1 − rate)² if both are swapped
    separately. Values that are not selected stay in place, so at a low rate an intruder finds most records by them. Missing
    values stay in place too: columns are swapped together only between records with the same missing columns.

    Use it if every value must stay in the file and only a stated share of the records needs protection. Do not use it at low
    rates: most records keep all their values, and an intruder knows that.

    Parameters:
        rate: share of the values of each column that are moved, rounded to a whole number in each sub-group and at least two;
            no value that is drawn stays in place.
        together: columns whose values are swapped together: one list, several lists, or true for all columns (default: none).
        pairs: exchange values in pairs, as in the literature; the attack swap_chain undoes it in three columns or more.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    scale_free: ClassVar[bool] = True
    permutes: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})
    publishable: ClassVar[frozenset[str]] = frozenset({"together", "pairs"})
    nemesis: ClassVar[tuple[str, ...]] = (
        "exact_match", "swap_chain", "probabilistic_linkage", "nearest_record", "simulated_release",
    )

    rate: Annotated[float, Field(gt=0, le=1)] = Field(default=0.2, description="share of the values that are moved")
    together: bool | tuple[str, ...] | tuple[tuple[str, ...], ...] = Field(
        default=False, description="columns swapped together: one list, several lists, or true for all"
    )
    pairs: bool = Field(default=False, description="exchange values in pairs, which the attack swap_chain undoes")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(rate=1.0, together=True), cls(rate=0.5, scope="file"), cls(rate=0.5, pairs=True)

    def smallest(self, data: Microdata) -> int:
        return max(LEAST_MOVED, math.ceil(1 / max(self.rate, 1e-15) - 1e-9))

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        data, notes = current, list[Note]()
        for columns in self._groups(current.confidential):
            data, said = self._swapped(data, columns, random)
            notes += said
        return Masked(data, [*notes, *_unmodified(current), *([Note(_IN_PAIRS, "warning")] if self.pairs else [])])

    def change_clause(self) -> str:
        return "relations with columns that were not exchanged together are weaker than in the collected data"

    def public_sentence(self) -> str:
        of = " of the same sub-group" if self.scope == "sub_group" else ""
        return f"Some confidential values were exchanged between randomly chosen records{of}."

    def _groups(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        if isinstance(self.together, bool):
            return [tuple(names)] if self.together else [(n,) for n in names]
        return column_groups("random_swap.together", self.together, names)

    def _swapped(self, data: Microdata, names: tuple[str, ...], random: RecordRandom) -> tuple[Microdata, list[Note]]:
        split = by_missing_pattern(data, names, 1, self.name())[0] if len(names) > 1 else data
        sizes = count_present(split.with_confidential(names)).max(axis=1)
        moved = self._moved(sizes)
        if self.pairs:
            swapped = _in_pairs(split, names, moved, random)
        elif max(split.groups.sizes) <= _HELD:
            swapped = _permuted(split, names, moved, random)
        else:
            swapped = _placed(split, names, moved, random)
        named = ", ".join(names)
        done = "swapped with" if self.pairs else "moved to"
        notes = [Note(f"{int(moved.sum()):,} of {int(sizes.sum()):,} values of {named} were {done} another record")]
        still = int(np.count_nonzero((moved == 0) & (sizes > 0)))
        if still:
            alike = "records with the same values missing" if len(names) > 1 else "values"
            notes.append(Note(f"{int(sizes[moved == 0].sum()):,} values of {named} are in {still} parts of the file with too "
                              f"few {alike} to swap any; they are released unchanged", "warning"))
        return rejoin_columns(data, swapped, names), notes

    def _moved(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of values that are moved in each sub-group; an even one in pairs, never one alone."""
        if self.pairs:
            even = 2 * np.floor(self.rate * sizes / 2 + 0.5).astype(np.int64)
            return np.where(even > sizes, even - 2, even)
        moved = np.floor(self.rate * sizes + 0.5).astype(np.int64)
        return np.where(moved == 1, np.where((self.rate * sizes >= 1 - 1e-9) & (sizes > 1), 2, 0), moved)


def _drawn_order(block: Block, names: Sequence[str], random: RecordRandom) -> Array:
    """A random number for each record that has values to move, which puts them in random order."""
    word = random.uniform(block.record, purpose=f"swap {' + '.join(names)}")[0]
    return np.where(_absent(block, names), np.nan, word)


def _permutation(names: Sequence[str], group: int, moved: int, random: RecordRandom) -> NDArray[np.int64]:
    """For each of the drawn records in random order, the drawn record whose values it receives."""
    from larvatus.stats.ranks.swap_partners import random_permutation

    return random_permutation(random.words(np.arange(moved), purpose=f"permute {' + '.join(names)} in {group}")[0])


def _permuted(data: Microdata, names: tuple[str, ...], moved: NDArray[np.int64], random: RecordRandom) -> Microdata:
    """Permute in sub-groups that fit in memory."""

    def permute(group: int, block: Block) -> Mapping[str, Array]:
        from larvatus.stats.ranks.ranks import keyed_order

        word = _drawn_order(block, names, random)
        order = keyed_order(word, block.record, lambda r: random.words(r, purpose=f"ties {_ORDER}")[0])[: moved[group]]
        taken = order[_permutation(names, group, len(order), random)]
        out = {n: block[n].copy() for n in names}
        for n in names:
            out[n][order] = block[n][taken]
        return out

    return with_table(data, data.table.map_groups(permute, names))


def _placed(data: Microdata, names: tuple[str, ...], moved: NDArray[np.int64], random: RecordRandom) -> Microdata:
    """The same for sub-groups of any size: each record is told the rank of the value that it receives."""
    kinds = {n: data.table.columns[n] for n in names}
    values, ranks, aims = ({n: scratch(what, n) for n in names} for what in ("value", "rank", "aim"))
    permutations = [_permutation(names, group, int(m), random) for group, m in enumerate(moved)]

    def draw(group: int, block: Block) -> Mapping[str, Array]:
        return {_ORDER: _drawn_order(block, names, random)}

    def drawn(group: int, block: Block) -> Mapping[str, Array]:
        there = block[_PLACE] <= moved[group]
        return {values[n]: np.where(there & ~_absent(block, (n,)), block[n].astype(np.float64), np.nan) for n in names}

    table = data.table.map_rows(draw, names, [Column(_ORDER, "number")]).ranks({_PLACE: _ORDER}, random)
    table = table.map_rows(drawn, [*names, _PLACE], [Column(v, "number") for v in values.values()])
    table = table.ranks({ranks[n]: values[n] for n in names}, random)
    for n in names:
        of_place = _by_place(table, ranks[n], moved)

        def aim(group: int, block: Block, n: str = n, of_place: Sequence[Array] = of_place) -> Mapping[str, Array]:
            out, there = np.full(len(block), np.nan), block[_PLACE] <= moved[group]
            out[there] = of_place[group][permutations[group][block[_PLACE][there].astype(np.int64) - 1]]
            return {aims[n]: out}

        def take(group: int, block: Block, n: str = n) -> Mapping[str, Array]:
            there = ~np.isnan(block[ranks[n]])
            out = block[n].copy()
            out[there] = block[values[n]][there].astype(out.dtype)
            return {n: out}

        table = table.map_rows(aim, [_PLACE], [Column(aims[n], "number")])
        table = table.place({values[n]: (aims[n], values[n])}, random)
        table = table.map_rows(take, [n, ranks[n], values[n]], [kinds[n]])
    return with_table(data, table)


def _by_place(table: RecordTable, rank: str, moved: NDArray[np.int64]) -> list[Array]:
    """For each sub-group, the ranks of the values of the drawn records, in random order."""
    out = [np.full(int(m), np.nan) for m in moved]
    for group, block in table.blocks([_PLACE, rank]):
        there = block[_PLACE] <= moved[group]
        out[group][block[_PLACE][there].astype(np.int64) - 1] = block[rank][there]
    return out


def _in_pairs(data: Microdata, names: tuple[str, ...], moved: NDArray[np.int64], random: RecordRandom) -> Microdata:
    """Put the records in random order and pair the first ones with their neighbours, in one pass down and one pass up."""
    kinds = [data.table.columns[n] for n in names]
    before = [Column(scratch("before", n), c.kind, levels=c.levels) for n, c in zip(names, kinds, strict=True)]
    after = [Column(scratch("after", n), c.kind, levels=c.levels) for n, c in zip(names, kinds, strict=True)]
    down = [*before, Column(_PLACE, "number")]

    def draw(group: int, block: Block) -> Mapping[str, Array]:
        return {_ORDER: _drawn_order(block, names, random)}

    def back(group: int, block: Block) -> Mapping[str, Array]:
        return {_BACK: np.where(block[_PLACE] <= moved[group], -block[_PLACE], np.nan)}

    def choose(group: int, block: Block) -> Mapping[str, Array]:
        drawn, even = block[_PLACE] <= moved[group], block[_PLACE] % 2 == 0
        return {
            n: np.where(drawn, np.where(even, block[b.name], block[a.name]), block[n])
            for n, b, a in zip(names, before, after, strict=True)
        }

    table = data.table.map_rows(draw, names, [Column(_ORDER, "number")])
    table = table.scan(_ORDER, names, _START, _neighbour(names, down), random, down)
    table = table.map_rows(back, [_PLACE], [Column(_BACK, "number")])
    table = table.scan(_BACK, names, _START, _neighbour(names, after), random, after)
    return with_table(data, table.map_rows(choose, [*names, *(c.name for c in (*before, *after)), _PLACE]))


def _unmodified(data: Microdata) -> list[Note]:
    """Warnings on what swapping does not change: extremes of ordered columns, counts of categories in other columns."""
    names = data.confidential
    plain = [n for n in names if data.table.columns[n].kind == "nominal" and not has_order(data.roles, n)]
    ends = [n for n in names if n not in plain]
    notes = []
    if ends:
        of = "every column" if not plain else ", ".join(ends)
        notes.append(extremes_unchanged(of))
    if plain:
        notes.append(Note(f"every category of {', '.join(plain)} is released as often as it occurs, rare ones too", "warning"))
    return notes


_START: tuple[int, tuple[Array, ...] | None] = (0, None)


def _absent(block: Block, names: Sequence[str]) -> Array:
    """Records in which all of these columns are missing."""
    gone = [np.isnan(block[n]) if block[n].dtype.kind == "f" else block[n] < 0 for n in names]
    return np.asarray(np.logical_and.reduce(gone))


def _neighbour(names: Sequence[str], made: Sequence[Column]):  # type: ignore[no-untyped-def]
    """A scan step that gives each record the values of the one before it, and its place if asked for."""

    def passed(carry: tuple[int, tuple[Array, ...] | None], block: Block):  # type: ignore[no-untyped-def]
        done, last = carry
        last = last or tuple(block[n][:1] for n in names)
        out = {c.name: np.concatenate([v, block[n][:-1]]) for c, n, v in zip(made, names, last, strict=False)}
        if made[-1].name == _PLACE:
            out[_PLACE] = done + np.arange(1.0, len(block) + 1)
        return (done + len(block), tuple(block[n][-1:].copy() for n in names)), out

    return passed
