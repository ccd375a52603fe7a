"""Exchange values between random pairs of records of a sub-group (Dalenius and Reiss 1982; 000 §3.6, 004).

    z_i = x_j  and  z_j = x_i      for rate · n / 2 random pairs (i, j),      z_i = x_i      for all other records
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column, Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.roles import has_order
from larvatus.data.verbs import count_present, with_table
from larvatus.masks.grouping.cell_patterns import by_missing_pattern
from larvatus.masks.grouping.column_groups import column_groups, rejoin_columns

_ORDER, _PLACE, _BACK = scratch("swap order"), scratch("swap place"), scratch("swap back")


class RandomSwap(Mask):
    """Exchange the values of randomly paired records, column by column or for several columns at once.

    In every sub-group each column keeps exactly its values. Columns swapped together preserve the correlations between them. A
    correlation falls by the factor 1 − rate if one of its columns is swapped, and by (1 − rate)² if both are swapped
    separately. Values that are not selected stay in place, so at a low rate an intruder finds most records by them. Missing
    values stay in place too: columns are swapped together only between records with the same missing columns.

    Parameters:
        rate: share of the values of each column that are swapped, rounded to an even number in each sub-group.
        together: columns whose values are swapped together: one list, several lists, or true for all columns (default: none).
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    permutes: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})
    publishable: ClassVar[frozenset[str]] = frozenset({"together"})

    rate: Annotated[float, Field(gt=0, le=1)] = Field(default=0.2, description="share of the values that are swapped")
    together: bool | tuple[str, ...] | tuple[tuple[str, ...], ...] = Field(
        default=False, description="columns swapped together: one list, several lists, or true for all"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(rate=1.0, together=True), cls(rate=0.5, scope="file")

    def smallest(self, data: Microdata) -> int:
        return max(2, math.ceil(1 / self.rate - 1e-9))

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        data, notes = current, list[Note]()
        for columns in self._groups(current.confidential):
            data, said = self._swapped(data, columns, random)
            notes += said
        return Masked(data, [*notes, *_unmodified(current)])

    def altered(self) -> str:
        return "relations with columns that were not exchanged together are weaker than in the collected data"

    def public_sentence(self) -> str:
        of = " of the same sub-group" if self.scope == "sub_group" else ""
        return f"Some confidential values were exchanged between randomly chosen records{of}."

    def _groups(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        if isinstance(self.together, bool):
            return [tuple(names)] if self.together else [(n,) for n in names]
        return column_groups("random_swap.together", self.together, names)

    def _swapped(self, data: Microdata, names: tuple[str, ...], random: RecordRandom) -> tuple[Microdata, list[Note]]:
        """Put the records in random order and pair the first ones with their neighbours, in one pass down and one pass up."""
        split = by_missing_pattern(data, names, 1, self.name())[0] if len(names) > 1 else data
        sizes = count_present(split.with_confidential(names)).max(axis=1)
        moved = 2 * np.floor(self.rate * sizes / 2 + 0.5).astype(np.int64)
        moved = np.where(moved > sizes, moved - 2, moved)
        kinds = [split.table.columns[n] for n in names]
        before = [Column(scratch("before", n), c.kind, levels=c.levels) for n, c in zip(names, kinds, strict=True)]
        after = [Column(scratch("after", n), c.kind, levels=c.levels) for n, c in zip(names, kinds, strict=True)]
        down = [*before, Column(_PLACE, "number")]
        purpose = f"swap {' + '.join(names)}"

        def draw(group: int, block: Block) -> Mapping[str, Array]:
            word = random.uniform(block.record, purpose=purpose)[0]
            return {_ORDER: np.where(_absent(block, names), np.nan, word)}

        def back(group: int, block: Block) -> Mapping[str, Array]:
            return {_BACK: np.where(block[_PLACE] <= moved[group], -block[_PLACE], np.nan)}

        def choose(group: int, block: Block) -> Mapping[str, Array]:
            drawn, even = block[_PLACE] <= moved[group], block[_PLACE] % 2 == 0
            return {
                n: np.where(drawn, np.where(even, block[b.name], block[a.name]), block[n])
                for n, b, a in zip(names, before, after, strict=True)
            }

        table = split.table.map_rows(draw, names, [Column(_ORDER, "number")])
        table = table.scan(_ORDER, names, _START, _neighbour(names, down), random, down)
        table = table.map_rows(back, [_PLACE], [Column(_BACK, "number")])
        table = table.scan(_BACK, names, _START, _neighbour(names, after), random, after)
        beside = [c.name for c in (*before, *after)]
        swapped = with_table(split, table.map_rows(choose, [*names, *beside, _PLACE]))
        named = ", ".join(names)
        notes = [Note(f"{int(moved.sum()):,} of {int(sizes.sum()):,} values of {named} were swapped with another record")]
        still = int(np.count_nonzero((moved == 0) & (sizes > 0)))
        if still:
            alike = "records with the same values missing" if len(names) > 1 else "values"
            notes.append(Note(f"{int(sizes[moved == 0].sum()):,} values of {named} are in {still} parts of the file with too "
                              f"few {alike} to swap any; they are released unchanged", "warning"))
        return rejoin_columns(data, swapped, names), notes


def _unmodified(data: Microdata) -> list[Note]:
    """Warnings on what swapping does not change: extremes of ordered columns, counts of categories in other columns."""
    names = data.confidential
    plain = [n for n in names if data.table.columns[n].kind == "nominal" and not has_order(data.roles, n)]
    ends = [n for n in names if n not in plain]
    notes = []
    if ends:
        of = "every column" if not plain else ", ".join(ends)
        notes.append(Note(f"the smallest and the largest value of {of} are released unchanged", "warning"))
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
