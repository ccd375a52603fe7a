"""Intersect, over columns, the released records whose rank lies within a window of the target's (004 §3.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.group_linkage import KNOWN_OR_NOT, GroupKeys, LinkedGroup, link_groups
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score


class RankWindow(Attack):
    """The intruder knows how far ranks can have moved and keeps the records that are near enough in every column at once.

    Meant for rank swapping, whose window is often published: at the true window the own record is never excluded, and few
    others pass in several columns. Ranks are taken within the sub-group among the values present; a blanked value excludes
    nothing. Candidates share the credit; where none is left the intruder guesses among the records with the same S.

    Parameters:
        window: how far a rank may have moved, as a share of the records; where none is given, the smallest window of each
            column over the whole file that excludes no target from its own record, as an intruder told the parameters would
            take, or that of the other records where the intruder is not told.
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
        by = GroupKeys.of(self, original, release, intruder, random, self.targets)
        meaning = "share of records singled out by their ranks, candidates sharing the credit"
        if self.window is not None:
            return link_groups(self, meaning, original, release, intruder, by, _linker(np.full((2, 1), self.window), (False,)))
        farthest = np.sort(np.nan_to_num(by.measured(_moves)), axis=1)[:, -2:]
        return link_groups(
            self, meaning, original, release, intruder, by, _linker(farthest.T[::-1], (False, True)), trials=KNOWN_OR_NOT,
            pick=0 if intruder.told(release.steps) else 1,
        )


def _moves(sides: LinkedGroup) -> Floats:
    from larvatus.stats.ranks.windows import rank_moves

    return np.array([rank_moves(x, y) for x, y in zip(sides.originals.T, sides.y.T, strict=True)])


def _linker(windows: Floats, from_others: Sequence[bool]) -> Callable[[LinkedGroup], Floats]:
    """By the largest window of each column (or of all), or by that of the other records: the second where one has the first."""
    from larvatus.stats.linkage.boxes import shared_credit
    from larvatus.stats.ranks.windows import rank_limits

    def link(sides: LinkedGroup) -> Floats:
        moves = _moves(sides)
        first, second = (np.broadcast_to(w, len(sides.names)) if len(w) == 1 else w[: len(sides.names)] for w in windows)
        out = []
        for others in from_others:
            limits = [
                rank_limits(x, y, np.where(others & (moves[j] >= first[j]), second[j], first[j]))
                for j, (x, y) in enumerate(zip(sides.originals.T, sides.y.T, strict=True))
            ]
            low, high = (np.array([pair[side] for pair in limits]).T[sides.own] for side in (0, 1))
            out.append(shared_credit(sides.x, low, high, sides.y, sides.same, sides.own))
        return np.array(out)

    return link
