"""Round every confidential value to a multiple of a base, halves away from zero (Winkler 2007: 004).

    y = sign(x) · b · ⌊|x| / b + 1/2⌋
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.errors import MaskError
from larvatus.core.number_format import exact_number
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.per_column import per_column
from larvatus.data.verbs import as_one_group, map_rows, reduce_groups

if TYPE_CHECKING:
    from larvatus.stats.linear.moments import SampleMoments

Base = Annotated[float, Field(gt=0, le=1e300)]
FINE = 0.1


class Rounding(Mask):
    """Replace each value by the nearest multiple of a base, halves away from zero.

    No value changes by more than half the base. Means and correlations hardly change if the values spread over many multiples.
    Small values and fine differences are lost. An intruder knows every value to within half the base: unless the base is large,
    records that differ clearly are linked as easily as before.

    Use it to hide digits, such as exact amounts that appear in other files. Do not use it alone against linkage: a few rounded
    columns still single out most records.

    Parameters:
        base: values become multiples of it; one value, a list in role order, or by column name.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: has no effect on this mask, which handles one value at a time.
    """

    record_wise: ClassVar[bool] = True
    scale_free: ClassVar[bool] = True
    alone: ClassVar[bool] = True
    keeps_ranks: ClassVar[bool] = True
    random: ClassVar[bool] = False
    publishable: ClassVar[frozenset[str]] = frozenset({"base"})
    nemesis: ClassVar[tuple[str, ...]] = ("rerun", "interval_match", "interval_disclosure")

    base: Base | tuple[Base, ...] | dict[str, Base] = Field(default=10.0, description="values become multiples of it")
    scope: Literal["sub_group", "file"] = Field(default="file", description="has no effect on this mask")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(base=1000.0), cls(base=0.7)

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        from larvatus.stats.noise.rounding import round_to_base

        names = current.confidential
        bases = dict(zip(names, per_column("rounding.base", self.base, names).tolist(), strict=True))

        def mask_block(group: int, block: Block) -> Mapping[str, Array]:
            return {n: round_to_base(block[n], bases[n]) for n in names}

        columns = current.table.columns
        broken = [replace(columns[n], integer=False) for n in names if not float(bases[n]).is_integer()]
        return Masked(map_rows(current, mask_block, names, broken), self._notes(current, bases))

    def change_clause(self) -> str:
        return "differences finer than the base are lost, and small values may have become zero"

    def public_sentence(self) -> str:
        return "Confidential values were rounded to multiples of a fixed base."

    def _notes(self, data: Microdata, bases: Mapping[str, float]) -> list[Note]:
        """Notes on how many values changed; an error if none did, a warning if the base is small for the column."""
        from larvatus.stats.linear.moments import SampleMoments
        from larvatus.stats.noise.rounding import round_to_base

        names = tuple(bases)

        def count(group: int, block: Block) -> Array:
            there = [~np.isnan(block[n]) for n in names]
            moved = [(round_to_base(block[n], bases[n]) != block[n]) & t for n, t in zip(names, there, strict=True)]
            return np.array([[int(m.sum()), int(t.sum())] for m, t in zip(moved, there, strict=True)])

        totals = np.sum(reduce_groups(data, names, count, np.add), axis=0)

        def scatter(group: int, block: Block) -> SampleMoments:
            with np.errstate(over="ignore"):  # a spread beyond the largest number is infinite, and the base small for it
                return SampleMoments.of(block.matrix(names))

        spread = np.sqrt(reduce_groups(as_one_group(data), names, scatter, _merge_quietly)[0].variance)
        notes = []
        for j, name in enumerate(names):
            moved, there = (int(v) for v in totals[j])
            if there and not moved:
                raise MaskError(
                    f"rounding: base {exact_number(bases[name])} changes no value of {name!r}: all are already multiples of "
                    "it. Use a larger base, or leave the column out of the step."
                )
            base = exact_number(bases[name])
            notes.append(Note(f"{moved:,} of {there:,} values of {name} are rounded to a multiple of {base}"))
            if bases[name] < FINE * spread[j]:
                notes.append(Note(
                    f"the base for {name} is less than a tenth of the column's standard deviation: rounded values still "
                    "tell records apart. Run an attack before relying on it", "warning",
                ))
        return notes


def _merge_quietly(one: SampleMoments, other: SampleMoments) -> SampleMoments:
    from larvatus.stats.linear.moments import SampleMoments

    with np.errstate(over="ignore", invalid="ignore"):
        return SampleMoments.merge(one, other)
