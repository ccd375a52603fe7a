"""Link each target to the released record that shares its rarest values (Fellegi and Sunter 1969, frequency weights).

    w(i, k) = Σ_j −log(share of x_ij in the original) · 1{x_ij = y_kj}  over the columns j;   k* = arg max_k w(i, k)
    among the released records k with s_k = s_i.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup, link_groups
from larvatus.attacks.linkage.rerun_steps import image_after_steps
from larvatus.attacks.linkage.target_sample import QUICK_ATTACK_TARGETS, Targets
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score


class ExactMatch(Attack):
    """The intruder looks for released values that equal the target's, and trusts agreement on rare values most.

    Numeric and categorical columns are used together. Numbers are equal if they agree to the precision of the release. A value
    shared by few records weighs more than a common one, and zero often weighs little. Values that differ count neither for nor
    against a candidate, so one or two unchanged values are enough to find a record. The attack is strong if a mask changes
    only some values: swapping, blanking with or without imputation, randomised categories, samples, or steps applied to some
    records. If steps such as rounding are mixed with random ones and the intruder knows them, they are applied to the known
    values first. Only records with the same S are candidates. Candidates of equal weight share the credit.

    Look at it if some values are released unchanged: swaps, blanking, imputation of some cells, random changes of categories.
    It finds nothing if every value changes.

    Parameters:
        targets: number of records to attack, or "all" (default: as many as the precision needs, docs/guides/intervals.md).
    """

    most_targets: ClassVar[int | None] = QUICK_ATTACK_TARGETS
    assumes: ClassVar[str] = (
        "The intruder knows original values of the targets and how common each value is. Settings of the mask are used only to "
        "round or recode the known values as it did."
    )

    targets: Targets = None

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        seen = image_after_steps(original, release, intruder, random)
        by = GroupKeys.of(self, seen, release, intruder, random, self.targets, categorical_too=True)
        return link_groups(
            self, "share of records whose own released record shares their rarest values", original, release, intruder, by,
            _linker(intruder.guesses or (1,)),
        )


def _linker(guesses: Sequence[int]) -> Callable[[LinkedGroup], Floats]:
    from larvatus.stats.linkage.equality import equality_credit

    def link(sides: LinkedGroup) -> Floats:
        return equality_credit(sides.originals, sides.y, sides.holds, sides.same, sides.own, guesses)[None]

    return link
