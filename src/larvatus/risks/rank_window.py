"""Intersect, over columns, the released records whose rank lies within a window of the target's (004 §3.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Self

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


class RankWindow(Attack):
    """The intruder knows how far ranks can have moved and keeps the records that are near enough in every column at once.

    Meant for rank swapping, whose window is often published: at the true window the own record is never excluded, and few
    others pass in several columns. Ranks are taken within the sub-group among the values present; a blanked value excludes
    nothing. Candidates share the credit; where none is left the intruder guesses among the records with the same S.

    Parameters:
        window: how far a rank may have moved, as a share of the records; where none is given, the smallest window of each
            column that excludes no target from its own record, as an intruder told the parameters would take.
        targets: try about this many records, drawn by record id, where there are more; each is held against all others.
    """

    assumes: ClassVar[str] = (
        "Knows the original values of every target and of the others in its sub-group, so their ranks, and how far the mask "
        "moves a rank at most."
    )

    window: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="largest move of a rank, as a share of the records; the smallest true one where none is given"
    )
    targets: Annotated[int, Field(ge=1)] = Field(default=5000, description="about how many records to try")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(),)

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        return linked(
            self, "share of records singled out by their ranks, candidates sharing the credit", original, release, intruder,
            random, _linker(self.window), targets=self.targets,
        )


def _linker(window: float | None) -> Callable[[Sides], Floats]:
    from larvatus.stats.boxes import shared_credit
    from larvatus.stats.rank_limits import rank_limits

    def link(sides: Sides) -> Floats:
        limits = [rank_limits(x, y, window) for x, y in zip(sides.originals.T, sides.y.T, strict=True)]
        low, high = (np.array([pair[side] for pair in limits]).T[sides.own] for side in (0, 1))
        return shared_credit(sides.x, low, high, sides.y, sides.same, sides.own)

    return link
