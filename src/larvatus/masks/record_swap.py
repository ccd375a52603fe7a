"""Exchange values, above all the geography, between households alike in other respects (targeted record swapping).

    (z_h, z_k) = (x_k, x_h)   for pairs of households with the same size and the same `match` columns, and x_h ≠ x_k,

households at high risk first: those with a member whose keys and exchanged values are shared by fewer than k records (Dalenius
and Reiss 1982; Shlomo, Tudor and Groom 2010; the method of the UK censuses).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.arrays import Bools, Ints
from larvatus.core.errors import MaskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import LEAST_MOVED, Array, Block, Mask, Masked
from larvatus.data.households.record_units import RecordUnits, masking_units
from larvatus.data.microdata import Microdata, collect
from larvatus.data.notes import Note
from larvatus.data.verbs import map_rows

if TYPE_CHECKING:
    from larvatus.stats.neighbours.unit_links import UnitBlocks

_MOST_PROBABLE = 0.8  # of being exchanged


class RecordSwap(Mask):
    """Exchange the values of whole households with those of another household of the same size, the riskiest first.

    Meant for the geography: declare it confidential, and name it in `columns`. All columns of the step move together. The
    members of both households are put in the order of their `match` columns, and the first of one gets the values of the
    first of the other, and so on: households stay consistent. Every column keeps exactly its values, and tables of the
    `match` columns and the household size by geography do not change. Without the role `household`, records are exchanged.
    Values that are not exchanged are released unchanged, so an intruder who knows the keys of a household finds it unless it
    was exchanged.

    No household is exchanged for certain, whatever the rate: an intruder can compute which ones are at high risk, and would
    know that their released value is wrong. With D different values, a household is exchanged with probability 1 − 1/D at
    most, so that the released value is no less likely to be true than each other one, and never above .8. Two areas: .5.

    If fewer than five households agree in all `match` columns, their partner could be guessed. They are exchanged with
    others that agree in the first columns of `match`, as many as leave five; put the most important column first. A warning
    gives their number. Tables of the columns that are not matched change for them. If fewer than five have the same size,
    they are not exchanged.

    Use it in household files, if tables by geography must stay nearly right and small areas are sensitive. Do not use it if an
    intruder knows more than the keys: households that are not exchanged are released as they are.

    Parameters:
        rate: share of the households that are exchanged; each exchange counts two.
        match: non-confidential columns in which both households agree, member by member (default: only their size).
        keys: columns by which an intruder may find a record (default: all non-confidential columns).
        k: a household is at high risk if a member shares its keys and exchanged values with fewer than k records.
        columns: confidential columns to exchange (default: all).
        where: exchange only households of these records: a condition on columns, a list of record ids, or @FILE (default: all).
        scope: exchange within each sub-group, or over the whole file.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    scale_free: ClassVar[bool] = True
    permutes: ClassVar[bool] = True
    keeps_households: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})
    publishable: ClassVar[frozenset[str]] = frozenset({"match"})
    nemesis: ClassVar[tuple[str, ...]] = (
        "household_linkage", "exact_match", "nearest_record", "probabilistic_linkage", "swap_chain", "simulated_release",
    )

    rate: Annotated[float, Field(gt=0, le=1)] = Field(default=0.1, description="share of the households that are exchanged")
    match: tuple[str, ...] = Field(default=(), description="columns in which both households agree, member by member")
    keys: tuple[str, ...] = Field(default=(), description="columns that identify records (default: all non-confidential)")
    k: Annotated[int, Field(ge=2)] = Field(default=3, description="records sharing fewer than k are exchanged first")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(rate=0.5, scope="file")

    def smallest(self, data: Microdata) -> int:
        return LEAST_MOVED

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        from larvatus.stats.grouping.swap_pairs import swap_pairs
        from larvatus.stats.linkage.coordinates import same_rows
        from larvatus.stats.neighbours.unit_links import UnitBlocks

        names = current.confidential
        self._check(current)
        keys = self.keys or (*current.sub_groups.columns, *current.non_confidential)
        keys = tuple(n for n in keys if n in current.table.columns)
        record, group, values = collect(current, list(dict.fromkeys([*names, *self.match, *keys])))
        units = masking_units(current) or RecordUnits(record, np.arange(len(record)))
        absent = [values[n] != values[n] if values[n].dtype.kind == "f" else values[n] < 0 for n in names]
        blocks, wider, alone = _large_blocks(units, [group, *absent], [values[n] for n in self.match])
        moved = same_rows([values[n] for n in names], len(record))
        risky = _risky(same_rows([moved, *(values[n] for n in keys)], len(record)), units, self.k)
        contents = UnitBlocks.of(units.unit, moved).block
        words = random.words(units.reference, purpose="swap")[0]
        wanted = max(2, round(self.rate * len(units.size)))
        draw = random.uniform(units.reference, purpose="swap or stay")[0]
        some = np.flatnonzero((draw < _most_probable(contents)) & ~alone)
        partner = np.arange(len(units.size))
        pairs, failed = swap_pairs(blocks.block[some], contents[some], risky[some], words[some], wanted)
        partner[some] = some[pairs]
        if (partner == np.arange(len(partner))).all():
            raise MaskError("record_swap: no household has a partner of the same size, with the same match columns and other "
                            f"values of {', '.join(names)}. Name fewer columns in match, or use scope = \"file\".")
        source = _sources(blocks, partner, len(record))

        def exchange(block_group: int, block: Block) -> Mapping[str, Array]:
            at = source[np.searchsorted(record, block.record)]
            return {n: values[n][at] for n in names}

        made = [current.table.columns[n] for n in names]
        return Masked(map_rows(current, exchange, (), made), self._notes(units, partner, risky, failed, wider, alone))

    def change_clause(self) -> str:
        return "relations between the exchanged columns and columns outside match are weaker than in the collected data"

    def public_sentence(self) -> str:
        alike = f" that agree in {', '.join(self.match)}" if self.match else ""
        return f"Some households exchanged confidential values with others of the same size{alike}."

    def _check(self, data: Microdata) -> None:
        free = (*data.sub_groups.columns, *data.known)
        for field, names in (("match", self.match), ("keys", self.keys)):
            for name in (n for n in names if n not in free):
                raise MaskError(f"record_swap.{field}: {name!r} is not a non-confidential column; {nearest_names(name, free)}")

    def _notes(
        self, units: RecordUnits, partner: Ints, risky: Bools, failed: int, wider: Bools, alone: Bools
    ) -> list[Note]:
        moved = partner != np.arange(len(partner))
        what = f"{units.kind}s" if len(units.size) < len(units.record) else "records"
        notes = [Note(f"{int(moved.sum()):,} of {len(moved):,} {what} were exchanged, {int((moved & risky).sum()):,} of "
                      f"{int(risky.sum()):,} at high risk among them")]
        left = int((risky & ~moved).sum())
        if left:
            why = f"; {failed:,} of them have no partner" if failed else ""
            notes.append(Note(f"{left:,} {what} at high risk were not exchanged{why}. Some never are, so that nobody knows "
                              "that a released value is wrong; if there are many, increase rate", "warning"))
        if wider.any():
            notes.append(Note(f"fewer than {LEAST_MOVED} {what} agree in all match columns with each of {int(wider.sum()):,} "
                              f"{what}; these were exchanged with {what} that agree in fewer of them", "warning"))
        if alone.any():
            notes.append(Note(f"{int(alone.sum()):,} {what} have fewer than {LEAST_MOVED} to be exchanged with, and are "
                              "released unchanged. Use scope = \"file\", or suppress them", "warning"))
        return notes


def _most_probable(contents: Ints) -> float:
    """The largest probability with which a unit is exchanged, for D different contents: 1 − 1/D, at most .8."""
    return min(1 - 1 / max(len(np.unique(contents)), 2), _MOST_PROBABLE)


def _large_blocks(units: RecordUnits, always: Sequence[Array], match: Sequence[Array]) -> tuple[UnitBlocks, Bools, Bools]:
    """Blocks of units that may exchange, those whose block is wider than all match columns, and those that have too few.

    Units of a block that is too small are put with others of such blocks that agree in one column less, and so on.
    """
    from larvatus.stats.linkage.coordinates import same_rows
    from larvatus.stats.neighbours.unit_links import UnitBlocks

    n = len(units.record)
    first = UnitBlocks.of(units.unit, same_rows([*always, *match], n))
    rows, block = first.rows.copy(), first.block.copy()
    size = np.diff(first.starts)
    small = np.bincount(block)[block] < LEAST_MOVED
    wider = small.copy()
    for k in range(len(match) - 1, -1, -1):
        if not small.any():
            break
        level = UnitBlocks.of(units.unit, same_rows([*always, *match[:k]], n))
        settled = small & (np.bincount(level.block[small], minlength=int(level.block.max()) + 1)[level.block] >= LEAST_MOVED)
        block[settled] = int(block.max()) + 1 + level.block[settled]
        inside = np.repeat(settled, size)
        rows[inside] = level.rows[inside]
        small &= ~settled
    return replace(first, rows=rows, block=block), wider & ~small, small


def _risky(key: Ints, units: RecordUnits, k: int) -> Bools:
    """Whether a unit has a record that shares its key with fewer than k records."""
    rare = np.bincount(key)[key] < k
    return np.asarray(np.bincount(units.unit, weights=rare, minlength=len(units.size)) > 0)


def _sources(blocks: UnitBlocks, partner: Ints, n: int) -> Ints:
    """The place of the record whose values each record gets."""
    size = np.diff(blocks.starts)
    unit = np.repeat(np.arange(len(partner)), size)
    inside = np.arange(n) - blocks.starts[unit]
    source = np.empty(n, dtype=np.int64)
    source[blocks.rows] = blocks.rows[blocks.starts[partner[unit]] + inside]
    return source
