"""Keep the released records whose rounding interval holds the target's value, in every column (004 §3.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.data.sides import Sides, linked

Floats = NDArray[np.float64]


class IntervalMatch(Attack):
    """The intruder sees the base to which values were rounded and keeps the records that the target can have become.

    A value beyond the released range can only have become its end, so that truncation at a bound is covered too; tails
    replaced by their mean are not. Candidates share the credit; a blanked value excludes nothing; where no record is left,
    the file was not merely coarsened, and the intruder guesses among the records with the same S.

    Parameters:
        base: what values were rounded to; where none is given, the largest step of which every released value of the column
            in the sub-group is a multiple, and an exact match where there is no such step.
        targets: try about this many records, drawn by record id, instead of all.
    """

    assumes: ClassVar[str] = (
        "Knows the original values of every target and that released ones are rounded or cut off; the base is told, or seen "
        "in the release."
    )

    base: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="what values were rounded to; found in the release where none is given"
    )
    targets: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="about how many records to try; all where none is given"
    )

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        return linked(
            self, "share of records singled out by the intervals their values were rounded in", original, release, intruder,
            random, _linker(self.base), targets=self.targets,
        )


def _linker(base: float | None) -> Callable[[Sides], Floats]:
    from larvatus.stats.boxes import shared_credit
    from larvatus.stats.rounding import half_step

    def link(sides: Sides) -> Floats:
        x, y = sides.x.copy(), sides.y
        half = np.empty_like(x)
        for j in range(y.shape[1]):
            there = y[~np.isnan(y[:, j]), j]
            x[:, j] = np.clip(x[:, j], there.min(), there.max()) if len(there) else np.nan
            half[:, j] = half_step(there, base)
        room = 1e-12 * np.abs(x)
        return shared_credit(x, x - half - room, x + half + room, y, sides.same, sides.own)

    return link
