"""Apply the deterministic steps to the known original again, and keep the released records with the values that this gives.

    With m the mask, the candidates of target i are {k : y_k = m(x)_i}, and each has probability one over their number.
    After reverse mapping the values of tied records are in random order: with [a, b] the ranks of m(x)_ij and its ties,
    x_(a)j ≤ y_kj ≤ x_(b)j in every column j.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from larvatus.attacks.linkage.group_linkage import LinkedGroup, link_groups
from larvatus.attacks.linkage.rerun_steps import RerunGroup, rerun_keys
from larvatus.attacks.linkage.target_sample import QUICK_ATTACK_TARGETS, Targets
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score


class Rerun(Attack):
    """The intruder holds the whole original file and applies the same steps to it, which gives the released values of a target.

    Microaggregation, rounding, recoding, top coding and local suppression draw no random numbers, so nothing but ties is
    hidden from this intruder: a microaggregated record is hidden among k, and no better. After reverse mapping the values
    inside a group are in random order, but the group is known. Candidates share the credit. In columns that a random step
    masked as well, the intruder prefers the candidates nearest to the values before that step. If no released record has the
    computed values (ties were broken otherwise, or rules changed values), the nearest ones share the credit. The attack does
    not apply if every step is random.

    Look at it if steps use no random numbers: grouping, rounding, recoding, top coding. It does not apply to random masks;
    `simulated_release` does for them what it does here.

    Parameters:
        targets: number of records to attack, or "all" (default: as many as the precision needs, docs/guides/intervals.md).
            The steps are applied to the whole file in any case.
    """

    most_targets: ClassVar[int | None] = QUICK_ATTACK_TARGETS
    assumes: ClassVar[str] = (
        "The intruder knows the original values of all records, without error, and all settings of the steps, but not the "
        "secret."
    )

    targets: Targets = None

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(),)

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        by, notes = rerun_keys(self, original, release, intruder, random, self.targets)
        return link_groups(
            self, "share of records singled out by applying the steps again (candidates share the credit)", original, release,
            intruder, by, _link, notes=notes,
        )


def _link(sides: LinkedGroup) -> Floats:
    from larvatus.stats.linkage.rerun_boxes import rerun_credit

    assert isinstance(sides, RerunGroup)
    return rerun_credit(sides.boxes, sides.same, sides.own)
