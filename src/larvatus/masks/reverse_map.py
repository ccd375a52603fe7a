"""Put the original values in the order of the masked ones, within each sub-group.

    z_i = x_(rank(y_i))

Reverse mapping (Muralidhar, Sarathy and Domingo-Ferrer 2014: paper 001). If n original and m masked records differ in
number, z_i = x_(⌈rank(y_i) · n / m⌉).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import LEAST_MOVED, Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.notes import extremes_unchanged
from larvatus.data.verbs import place_by_rank
from larvatus.masks.categories.ordered_levels import distinct_numbers, levels_to_numbers, numbers_to_levels


class ReverseMap(Mask):
    """Replace the masked value of rank r by the original value of rank r, column by column.

    Every column is released with exactly its original values, in the order of the masked ones, so univariate analyses give the
    original results. The smallest and the largest value are released unchanged, as with any permutation; top_coding can follow.
    After a mask that preserves ranks it would return the original values and raises an error. Categorical columns are mapped
    too if their levels have an order: a stated one, or their marginality in a taxonomy.

    Use it after noise or a model, if the released values must be original ones. Do not use it after a mask that preserves
    ranks: it would undo that mask. Do not use it if single values are sensitive.

    Parameters:
        allow_reversible: run even after masks that preserve ranks, which it nearly undoes.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    scale_free: ClassVar[bool] = True
    follows: ClassVar[bool] = True
    permutes: ClassVar[bool] = True
    keeps_promises: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"number", "ordered"})
    nemesis: ClassVar[tuple[str, ...]] = ("rank_disclosure", "rank_window", "simulated_release")

    allow_reversible: bool = Field(
        default=False, description="run even after masks that preserve ranks, which it nearly undoes"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(scope="file")

    def smallest(self, data: Microdata) -> int:
        return LEAST_MOVED

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        ranked, values = levels_to_numbers(current, original, names), distinct_numbers(original, original, names)
        placed = place_by_rank(ranked, {n: (n, n) for n in names}, random, values)
        placed = numbers_to_levels(placed, original, original, names)
        return Masked(placed, [extremes_unchanged()])

    def check_order(self, before: Sequence[Mask]) -> None:
        """Raise an error if no step comes before this one, or only steps that preserve ranks."""
        if not before:
            raise MaskError(
                "reverse_map: no step before it masks the same columns, so it would return the original. Put a mask before it."
            )
        if all(step.keeps_ranks for step in before) and not self.allow_reversible:
            named = ", ".join(dict.fromkeys(step.name() for step in before))
            raise MaskError(
                f"reverse_map: {named} preserves the order of values, so reverse mapping would nearly return the originals. "
                "Put a mask that changes ranks before it, or set allow_reversible = true."
            )

    def change_clause(self) -> str:
        return "each column has its collected values again; relations between columns are those after the step before"

    def public_sentence(self) -> str:
        return "The released values are original values, assigned to records by the order of the masked values."
