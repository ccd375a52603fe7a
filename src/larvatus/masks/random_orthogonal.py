"""Rotate what S leaves of X by a random orthogonal matrix (Ting, Fienberg and Trottini 2005: ROMM; 000 §3.3)."""

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
from larvatus.masks.grouping.cell_patterns import by_missing_pattern, left_out
from larvatus.masks.linear.models import linear_law, rotate_residuals, unmoved_notes

_Outcome = tuple[str, tuple[str, ...]]
_REFUSED = {
    "reflected": "only the mirror image keeps the moments, and anyone can undo it",
    "forced": "only the original values keep the moments",
}


class RandomOrthogonal(Mask):
    """Release X after a random rotation of the records, with exactly the means and covariances of X in every sub-group.

    The rotation leaves the constant and every non-confidential column where they are, so covariances with S are exact too.
    Shapes are lost: columns come out nearer to normal, with negative values where there were none. The rotation is drawn
    from all of them alike, so the values tell an intruder nothing beyond S and the moments; which record a value came from
    is lost, and no similarity can be asked for.

    Parameters:
        columns: mask only these confidential columns; all that the step can mask where none is named.
        where: mask only these records: a condition on columns, a list of record ids, or @FILE with one.
        scope: run within each sub-group, or over the whole file at once.
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
        return Masked(masked, [*_settled(data, outcomes, len(design.terms)), *left_out(current, data, "missing")])

    def law(self, original: Microdata) -> Law | None:
        if self.where is not None or self.scope == "file":
            return None
        p = len(original.confidential)
        return linear_law(original, np.zeros((p, p)))

    def altered(self) -> str:
        return ""

    def public_sentence(self) -> str:
        return (
            "The records of the confidential columns were mixed by a random rotation that leaves their means, variances and "
            "correlations, with each other and with the columns left as they are, exactly as they were at this step."
        )


def _settled(data: Microdata, outcomes: Mapping[int, _Outcome], terms: int) -> list[Note]:
    """Refuse groups that only the originals would satisfy; say which columns could not be moved."""
    for g, (status, _) in sorted(outcomes.items()):
        if status in _REFUSED:
            raise MaskError(
                f"random_orthogonal: sub-group ({data.groups.name(g)}) has {data.groups.sizes[g]} records and {terms} "
                f"non-confidential terms: {_REFUSED[status]}. Pool small sub-groups (small = \"pool\"), drop a sub-group "
                "column, or leave out a non-confidential column that determines the confidential ones."
            )
    turned = sum(status == "rotated" for status, _ in outcomes.values())
    said = Note(f"rotated in {turned} of {len(outcomes)} sub-groups, with the moments exactly kept")
    return [*unmoved_notes(data, {g: fixed for g, (_, fixed) in outcomes.items()}), said]
