"""Rotate the residuals of X on S by a random orthogonal matrix (Ting, Fienberg and Trottini 2005: ROMM; 000 §3.3).

    Y = P X + Q T Qᵀ X,      T a random orthogonal matrix

where P projects onto [1, S] and Q is an orthonormal basis of the space orthogonal to [1, S].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Self

import numpy as np

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Mask, Masked
from larvatus.data.design import design_of
from larvatus.data.laws import Law
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.masks.grouping.cell_patterns import by_missing_pattern, omission_notes
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
    likely, so the values tell an intruder nothing beyond S and the moments. The link between a record and its own values is
    lost; this mask has no similarity setting.

    Parameters:
        columns: confidential columns to mask (default: all that the mask can handle).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: mask within each sub-group, or the whole file at once.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "sub_group"

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(scope="file")

    def smallest(self, data: Microdata) -> int:
        return len(design_of(data, data.non_confidential).terms) + 3

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        data, present = by_missing_pattern(current, names, self.smallest(current), self.name())
        design = design_of(data, data.non_confidential)
        masked, outcomes = rotate_residuals(data, present, design, random)
        return Masked(masked, [*_settled(data, outcomes, len(design.terms)), *omission_notes(current, data, "missing")])

    def law(self, original: Microdata) -> Law | None:
        if self.where is not None or self.scope == "file":
            return None
        p = len(original.confidential)
        return linear_law(original, np.zeros((p, p)))

    def altered(self) -> str:
        return ""

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
