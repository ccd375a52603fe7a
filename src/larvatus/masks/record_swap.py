"""Exchange values, above all the geography, between households alike in other respects (targeted record swapping).

    (z_h, z_k) = (x_k, x_h)   for pairs of households with the same size and the same `match` columns, and x_h ≠ x_k,

households at high risk first: those with a member whose keys and exchanged values are shared by fewer than k records (Dalenius
and Reiss 1982; Shlomo, Tudor and Groom 2010; the method of the UK censuses).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


class RecordSwap(Mask):
    """Exchange the values of whole households with those of another household of the same size, the riskiest first.

    Meant for the geography: declare it confidential, and name it in `columns`. All columns of the step move together. The
    members of both households are put in the order of their `match` columns, and the first of one gets the values of the
    first of the other, and so on: households stay consistent. Every column keeps exactly its values, and tables of the
    `match` columns and the household size by geography do not change. Without the role `household`, records are exchanged.
    Values that are not exchanged are released unchanged, so an intruder who knows the keys of a household finds it unless it
    was exchanged.

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
        code = same_rows([group, *(values[n] for n in self.match), *absent], len(record))
        blocks = UnitBlocks.of(units.unit, code)
        moved = same_rows([values[n] for n in names], len(record))
        risky = _risky(same_rows([moved, *(values[n] for n in keys)], len(record)), units, self.k)
        contents = UnitBlocks.of(units.unit, moved).block
        words = random.words(units.reference, purpose="swap")[0]
        wanted = max(2, round(self.rate * len(units.size)))
        partner, failed = swap_pairs(blocks.block, contents, risky, words, wanted)
        if (partner == np.arange(len(partner))).all():
            raise MaskError("record_swap: no household has a partner of the same size, with the same match columns and other "
                            f"values of {', '.join(names)}. Name fewer columns in match, or use scope = \"file\".")
        source = _sources(blocks, partner, len(record))

        def exchange(block_group: int, block: Block) -> Mapping[str, Array]:
            at = source[np.searchsorted(record, block.record)]
            return {n: values[n][at] for n in names}

        made = [current.table.columns[n] for n in names]
        return Masked(map_rows(current, exchange, (), made), self._notes(units, partner, risky, failed))

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

    def _notes(self, units: RecordUnits, partner: Ints, risky: Bools, failed: int) -> list[Note]:
        moved = partner != np.arange(len(partner))
        what = f"{units.kind}s" if len(units.size) < len(units.record) else "records"
        notes = [Note(f"{int(moved.sum()):,} of {len(moved):,} {what} were exchanged, {int((moved & risky).sum()):,} of "
                      f"{int(risky.sum()):,} at high risk among them")]
        left = int((risky & ~moved).sum())
        if left:
            why = f"; {failed:,} of them have no partner" if failed else "; increase rate"
            notes.append(Note(f"{left:,} {what} at high risk were not exchanged{why}", "warning"))
        return notes


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
