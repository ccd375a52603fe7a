"""Blank the key values that make records rarer than k (Winkler 2007: 004; k-anonymity: Samarati and Sweeney 1998).

    min Σ_j c_j · (blanks in column j)      subject to      count(key combination) ≥ k      for every released record

solved greedily, with c_j the importance of column j.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.errors import MaskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.households.household_steps import blank_whole_units, shared_columns
from larvatus.data.households.record_units import unit_levels
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.per_column import per_column
from larvatus.data.verbs import count_present, map_rows
from larvatus.masks.categories.key_combinations import Combinations, combine_keys, key_combinations, select_blanks

_Weight = Annotated[float, Field(gt=0, le=1e6)]


class LocalSuppression(Mask):
    """Make key values missing until every combination of the key is shared by at least k records.

    The key consists of the columns masked in this step, numeric or categorical, the sub-group (under the default scope) and the
    non-confidential columns listed in `known`. No other column counts. A missing value is a level like any other, so every
    released combination, blanks included, has at least k records. All other values are released unchanged: relations among
    frequent combinations are preserved, rare ones are lost. An intruder who knows only the key has at least k candidates; one
    who knows other columns may have fewer. A household variable that is blanked in one member is blanked in all of them, and
    combinations that this makes rare are blanked further.

    Use it if few records have rare keys and the others must stay as they are. Do not use it if most records are unique: nearly
    everything would be blanked. Make the keys coarser with `recoding` first.

    Parameters:
        k: smallest number of records that may share a combination of the key.
        importance: cost of a blank in a column; the cheapest blanks are chosen; one value, a list, or by column name.
        known: non-confidential columns that the intruder also knows; they are part of the key and are never blanked.
        out_of_reach: records that sub-group and `known` alone make rarer than k: "refuse" raises an error, "blank" blanks all
            their key values.
        columns: the confidential columns of the key (default: all).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records); combinations
            are counted among these records.
        scope: count combinations within each sub-group, which is then part of the key, or over the whole file.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    scale_free: ClassVar[bool] = True
    keeps_ranks: ClassVar[bool] = True
    random: ClassVar[bool] = False
    blanks: ClassVar[bool] = True
    as_needed: ClassVar[bool] = True
    keeps_households: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})
    publishable: ClassVar[frozenset[str]] = frozenset({"k", "known"})
    nemesis: ClassVar[tuple[str, ...]] = ("exact_match", "uniqueness", "probabilistic_linkage", "rerun")

    k: Annotated[int, Field(ge=2)] = Field(default=3, description="smallest number of records that may share a key")
    importance: _Weight | tuple[_Weight, ...] | dict[str, _Weight] = Field(
        default=1.0, description="cost of a blank in a column; the cheapest blanks are chosen"
    )
    known: tuple[str, ...] = Field(default=(), description="non-confidential columns that are part of the key")
    out_of_reach: Literal["refuse", "blank"] = Field(
        default="refuse", description="for records that no blank can make frequent enough: raise an error, or blank all keys"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(k=5, scope="file")

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        for name in self.known:
            if name not in current.known and name not in current.sub_groups.columns:
                near = nearest_names(name, current.known)
                raise MaskError(f"local_suppression.known: {name!r} is not a non-confidential column; {near}")
        cost = per_column("local_suppression.importance", self.importance, names)
        shared = shared_columns(original, unit_levels(original) or unit_levels(current), names)
        data, lost, apart = current, 0, True
        while apart:
            found = key_combinations(data, names, self.known)
            lost = lost if data is not current else self._out_of_reach(data, found)
            data = self._blanked(data, found, cost, random)
            data, apart = blank_whole_units(data, shared)
        blanked = count_present(current).sum(axis=0) - count_present(data).sum(axis=0)
        return Masked(data, self._notes(current, blanked, lost))

    def _blanked(self, data: Microdata, found: Combinations, cost: NDArray[np.float64], random: RecordRandom) -> Microdata:
        """The data with the cheapest blanks after which no combination is rarer than k."""
        from larvatus.stats.grouping.suppression import suppress

        names = data.confidential
        pieces = suppress(found.rows, found.part, found.count, self.k, cost)
        every, single = select_blanks(data, found, pieces, random)

        def mask_block(group: int, block: Block) -> Mapping[str, Array]:
            gone = np.zeros((len(block), len(names)), dtype=bool)
            for i, key in enumerate(combine_keys(block, [*self.known, *names])):
                lose = single.get((group, int(block.record[i])), every.get((group, key)))
                if lose is not None:
                    gone[i] = lose
            missing = {n: np.nan if block[n].dtype.kind == "f" else -1 for n in names}
            return {n: np.where(gone[:, j], missing[n], block[n]) for j, n in enumerate(names)}

        return map_rows(data, mask_block, [*self.known, *names])

    def change_clause(self) -> str:
        return "values of rare combinations are missing, and not at random: rare combinations are under-represented"

    def public_sentence(self) -> str:
        return f"Confidential values that made combinations of key values rarer than {self.k} records were made missing."

    def _out_of_reach(self, data: Microdata, found: Combinations) -> int:
        """The number of records too rare because of columns that cannot be blanked."""
        totals = np.bincount(found.part, weights=found.count)
        lost = int(totals[totals < self.k].sum())
        if lost and self.out_of_reach == "refuse":
            inside = [*(data.groups.columns), *self.known]
            by = f"{', '.join(inside)} alone make" if inside else "the size of the file makes"
            raise MaskError(
                f"local_suppression: {by} {lost:,} of {data.rows:,} records rarer than k = {self.k}; blanks cannot help. "
                "List fewer columns in known, pool sub-groups, use scope = \"file\", reduce k, or set out_of_reach = \"blank\"."
            )
        return lost

    def _notes(self, data: Microdata, blanked: NDArray[np.int64], lost: int) -> list[Note]:
        names = data.confidential
        key = ", ".join([*(data.groups.columns), *self.known, *names])
        notes = [Note(f"every combination of {key} is shared by {self.k} or more records, counting missing as a level")]
        if lost:
            rest = f"{lost:,} records are rarer because of sub-group and known columns alone: all their keys are missing"
            notes = [Note(f"{notes[0].text}, but {rest}", "warning")]
        other = [n for n in data.known if n not in self.known and n != data.roles.weight]
        if other:
            notes.append(Note(f"{', '.join(other)}: also released, and not part of the key", "warning"))
        there = count_present(data).sum(axis=0).tolist()
        for name, gone, all_ in zip(names, blanked.tolist(), there, strict=True):
            heavy = gone > all_ / 2
            said = f"{gone:,} of {all_:,} values of {name} were made missing"
            notes.append(Note(f"{said}: recode the column first" if heavy else said, "warning" if heavy else "information"))
        return notes
