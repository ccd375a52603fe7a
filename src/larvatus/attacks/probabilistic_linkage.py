"""Weigh the agreement in each column and link to the record with the largest total weight (Fellegi and Sunter 1969).

    w(i, k) = Σ_j log( m_j(γ) / u_j(γ) ),  γ = the level of agreement of x_ij and y_kj,
    m_j(γ) = Pr(γ | matching pair),  u_j(γ) = Pr(γ | any pair);   k* = arg max_k w(i, k).

The probabilities m are estimated by EM.
"""

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
    """The intruder estimates from both files how much each level of agreement weighs, and links to the largest weight.

    Numeric and categorical columns are used together. Numbers agree exactly, within .01, .03, .1, .3 or one standard
    deviation, or not at all; categories agree or not. How often matching pairs agree is estimated by EM, with columns treated
    as independent. Columns that the mask left unchanged get a large weight, columns it destroyed get none. A blanked value
    has no weight. Only records with the same S are candidates. Candidates of equal weight share the credit. If values were
    swapped between records, this attack is misled by exact agreement, and attacks by distance or rank find more.

    Parameters:
        targets: approximate number of records to attack, a random sample of larger files; each is compared with all others.
    """

    assumes: ClassVar[str] = (
        "The intruder has a file of the targets with their original numeric and categorical values, and standard record "
        "linkage software, but knows nothing about the mask."
    )

    targets: Annotated[int, Field(ge=1)] = Field(default=5000, description="approximate number of records to attack")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        by = GroupKeys.of(self, original, release, intruder, random, self.targets, categorical_too=True)
        return link_groups(
            self, "share of records whose own released record has the largest weight", original, release, intruder, by,
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
