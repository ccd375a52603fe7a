"""Put the original values in the order of the masked ones, within each sub-group (001: reverse mapping)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.masks.categories.ordered_levels import levels_to_numbers, numbers_to_levels, placed_levels


class ReverseMap(Mask):
    """Replace the masked value of rank r by the original value of rank r, column by column.

    Every column leaves with exactly its original values, in the order the steps before gave it, so univariate analyses
    are those of the original. The smallest and the largest value leave unmodified, as under any permutation: follow with
    top coding where that matters. After a mask that keeps ranks it would give the originals back, and is refused. Columns of
    names are mapped too where their levels have an order: a stated one, or how marginal they are in a taxonomy.

    Parameters:
        allow_reversible: run even after masks that keep ranks, which it nearly undoes.
        columns: mask only these confidential columns; all that the step can mask where none is named.
        where: mask only these records: a condition on columns, a list of record ids, or @FILE with one.
        scope: run within each sub-group, or over the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    follows: ClassVar[bool] = True
    permutes: ClassVar[bool] = True
    keeps_promises: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"number", "ordered"})

    allow_reversible: bool = Field(default=False, description="run even after masks that keep ranks, which it nearly undoes")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(scope="file")

    def smallest(self, data: Microdata) -> int:
        return 2

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        ranked, values = levels_to_numbers(current, original, names), placed_levels(original, original, names)
        placed = ranked.place({n: (n, n) for n in names}, random, values)
        placed = numbers_to_levels(placed, original, original, names)
        return Masked(placed, [Note("the smallest and the largest value of every column leave unmodified", "warning")])

    def check_order(self, before: Sequence[Mask]) -> None:
        """Refuse to stand first, or after masks that all keep ranks."""
        if not before:
            raise MaskError(
                "reverse_map: no step before it masks the same columns, so it would return the original. Put a mask before it."
            )
        if all(step.keeps_ranks for step in before) and not self.allow_reversible:
            named = ", ".join(dict.fromkeys(step.name() for step in before))
            raise MaskError(
                f"reverse_map: {named} keeps the order of values, so mapping back would nearly return the originals. Put a "
                "mask that changes ranks before it, or set allow_reversible = true."
            )

    def altered(self) -> str:
        return "each column has its collected values again; relations between columns stay as the step before left them"

    def public_sentence(self) -> str:
        return "The released values are original values, given to other records in the order of the masked ones."
