"""Intersect, over groups of columns, the released records that share the value nearest to the target (004 §3.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.errors import RiskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.data.sides import Sides, known_columns, linked

Floats = NDArray[np.float64]


class GroupIntersection(Attack):
    """The intruder finds, in each group of columns, the microaggregate nearest to the target and keeps who is in all of them.

    Microaggregation hides a record among k in every group of columns, and the few who share all of its microaggregates are
    far fewer than k. Distance is in standard deviations of the released values. Candidates share the credit; where nobody
    shares all nearest microaggregates, the intruder guesses among the records with the same S.

    Parameters:
        column_groups: lists of columns that were microaggregated together; where none are given, columns whose released
            values are tied in the same records form a group.
        targets: try about this many records, drawn by record id, instead of all.
    """

    assumes: ClassVar[str] = (
        "Knows the original values of every target and which columns were microaggregated together, told or seen from the "
        "ties of the release."
    )

    column_groups: tuple[tuple[str, ...], ...] | None = Field(
        default=None, description="columns that were microaggregated together; found by their ties where none are given"
    )
    targets: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="about how many records to try; all where none is given"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(),)

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        names = known_columns(self, original, release.data, intruder)[0]
        for name in (n for group in self.column_groups or () for n in group):
            if name not in names:
                raise RiskError(f"group_intersection.column_groups: {name!r} is not a numeric confidential column that the "
                                f"intruder knows; {nearest_names(name, names)}")
        groups = None if self.column_groups is None else [[names.index(n) for n in group] for group in self.column_groups]
        return linked(
            self, "share of records singled out by the microaggregates they fall in, candidates sharing the credit",
            original, release, intruder, random, _linker(groups), targets=self.targets,
        )


def _linker(groups: Sequence[Sequence[int]] | None) -> Callable[[Sides], Floats]:
    from larvatus.stats.boxes import shared_credit
    from larvatus.stats.micro_groups import nearest_of, tied_together

    def link(sides: Sides) -> Floats:
        parts = tied_together(sides.y) if groups is None else groups
        codes = [nearest_of(sides.x[:, list(part)], sides.y[:, list(part)]) for part in parts]
        if not codes:
            return sides.guess
        mine, theirs = (np.array([pair[side] for pair in codes]).T for side in (0, 1))
        return shared_credit(mine, mine, mine, theirs, sides.same, sides.own)

    return link
