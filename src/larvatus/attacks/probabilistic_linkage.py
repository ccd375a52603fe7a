"""Weigh agreement in each column by how much it tells and link to the heaviest record (Fellegi and Sunter 1969)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup, link_groups
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score


class ProbabilisticLinkage(Attack):
    """The intruder learns from the two files how telling each degree of agreement is, and links to the heaviest record.

    Numbers and names serve together: numbers agree exactly, within .01, .03, .1, .3 or one standard deviation, or not; names
    do or do not. How often matching pairs agree is found by EM, taking columns as independent; columns that a mask left alone
    come to weigh much, and columns that it destroyed nothing. A blanked value says nothing. Only records with the same S are
    candidates. Candidates of equal weight share the credit. Where values were exchanged between records, each still occurs
    somewhere, and this intruder is led there: distance and ranks then find more.

    Parameters:
        targets: try about this many records, drawn by record id, where there are more; each is held against all others.
    """

    assumes: ClassVar[str] = (
        "Holds a file of the targets with their original values, numbers and names, and ordinary record linkage software; "
        "knows nothing of the mask."
    )

    targets: Annotated[int, Field(ge=1)] = Field(default=5000, description="about how many records to try")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        by = GroupKeys.of(self, original, release, intruder, random, self.targets, names_too=True)
        return link_groups(
            self, "share of records whose own released record has the greatest weight", original, release, intruder, by,
            _linker(by.keys.codes, intruder.guesses or (1,)),
        )


def _linker(codes: Collection[str], guesses: Sequence[int]) -> Callable[[LinkedGroup], Floats]:
    from larvatus.stats.linkage.fellegi_sunter import linkage_credit, names_apart, weights_of
    from larvatus.stats.linkage.paired_points import in_same_units

    def link(sides: LinkedGroup) -> Floats:
        named = [n in codes for n in sides.names]
        x, y = names_apart(sides.originals, named), names_apart(sides.y, named)
        scaled = in_same_units(x, y)
        number = ~np.array(named, dtype=bool)
        x[:, number], y[:, number] = scaled[0][:, number], scaled[1][:, number]
        return linkage_credit(x[sides.own], y, weights_of(x[sides.holds], y), sides.same, sides.own, guesses)[None]

    return link
