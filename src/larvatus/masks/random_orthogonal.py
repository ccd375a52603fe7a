"""Rotate the residuals of X on S by a random orthogonal matrix (Ting, Fienberg and Trottini 2005: ROMM; 000 §3.3).

    Y = P X + Q T Qᵀ X,      T a random orthogonal matrix

where P projects onto [1, S] and Q is an orthonormal basis of the space orthogonal to [1, S].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Mask, Masked
from larvatus.data.laws import ExactNoise, Law
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.masks.grouping.cell_patterns import by_missing_pattern, omission_notes
from larvatus.masks.linear.insiders import (
    insiders_notes,
    insiders_reason,
    pinned_shares,
    rare_categories,
    refuse_pinned,
    smallest_for,
)
from larvatus.masks.linear.leverage import movable_records
from larvatus.masks.linear.models import linear_law, rotate_residuals, unmoved_notes

_Outcome = tuple[str, tuple[str, ...]]
_REFUSED = {
    "reflected": "only the mirror image preserves the moments, and anyone can undo it",
    "forced": "only the original values preserve the moments",
}


class RandomOrthogonal(Mask):
    """Replace X by a random rotation of its records, with exactly the same means and covariances in every sub-group.

    The rotation leaves the constant and every non-confidential column in place, so covariances with S are exact too.
    Distribution shapes are lost: columns come out closer to normal and may get negative values. All rotations are equally
    likely. The link between a record and its own values is lost; this mask has no similarity setting. It is known that moments
    are exact: in a small sub-group, persons who know their own records can solve the equations for the records of the others.
    The smallest sub-group follows from `insiders`. A small one is also refused if this number of
    insiders come too near to the values of the others. A record that S holds in place (the only one of a category, or with an
    extreme value of S) is treated like a sub-group that is too small. So are categories of S with at most `insiders` + 1
    records: their sums are exact, and all but one of these persons could compute the last one's values.

    Use it if means and covariances must be exact and each record must lose its own values completely. Do not use it for skewed
    columns, columns with zeros, or small sub-groups.

    Parameters:
        insiders: number of persons in a sub-group who, with their own records, must not be able to compute those of the
            others. With r confidential columns and m residual dimensions, m − (r + 1)/2 must exceed it. 0 sets no such limit.
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "sub_group"
    publishable: ClassVar[frozenset[str]] = frozenset({"insiders"})
    checks: ClassVar[frozenset[str]] = frozenset({"insiders"})
    takes_dates: ClassVar[bool] = False
    nemesis: ClassVar[tuple[str, ...]] = (
        "exact_equations", "posterior_match", "optimal_assignment", "aggregate_disclosure", "simulated_release",
    )

    insiders: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=3, description="number of persons in a sub-group who must not be able to compute the records of the others"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(scope="file")

    def smallest(self, data: Microdata) -> int:
        return smallest_for(data, self.insiders, rotated=True)

    def smallest_reason(self) -> str:
        return insiders_reason(self.insiders)

    def exact_noise(self, names: Sequence[str]) -> ExactNoise | None:
        return ExactNoise(rare=rare_categories(self.insiders))

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        smallest = self.smallest(current)
        split, present = by_missing_pattern(current, names, smallest, self.name(), self.smallest_reason())
        data, design, held_notes = movable_records(split, present, self.name(), smallest, rare_categories(self.insiders))
        masked, outcomes = rotate_residuals(data, present, design, random)
        notes = [*_settled(data, outcomes, len(design.terms)), *omission_notes(current, split, "missing"), *held_notes]
        refuse_pinned(data, pinned_shares(data, present, design, self.insiders), self.insiders, self.name())
        return Masked(masked, [*notes, *insiders_notes(self.insiders)])

    def law(self, original: Microdata) -> Law | None:
        if self.where is not None or self.scope == "file":
            return None
        p = len(original.confidential)
        return linear_law(original, np.zeros((p, p)), rare=rare_categories(self.insiders))

    def change_clause(self) -> str:
        return ""

    def forgets_pairing(self) -> bool:
        return self.where is None

    def public_sentence(self) -> str:
        return (
            "The records of the confidential columns were mixed by a random rotation. This step preserves their means, "
            "variances and correlations, with each other and with the unmasked columns, exactly."
        )


def _settled(data: Microdata, outcomes: Mapping[int, _Outcome], terms: int) -> list[Note]:
    """Raise an error if only the original values preserve the moments of a sub-group; else notes on fixed columns."""
    for g, (status, _) in sorted(outcomes.items()):
        if status in _REFUSED:
            raise MaskError(
                f"random_orthogonal: sub-group ({data.groups.name(g)}) has {data.groups.sizes[g]} records and {terms} "
                f"non-confidential terms: {_REFUSED[status]}. Pool small sub-groups (small = \"pool\"), drop a sub-group "
                "column, or leave out a non-confidential column that determines the confidential ones."
            )
    turned = sum(status == "rotated" for status, _ in outcomes.values())
    said = Note(f"rotated in {turned} of {len(outcomes)} sub-groups, with means and covariances preserved exactly")
    return [*unmoved_notes(data, {g: fixed for g, (_, fixed) in outcomes.items()}), said]
