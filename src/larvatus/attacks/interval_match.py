"""Keep the released records whose rounding interval contains the target's value in every column (Winkler 2007: 004 §3.3).

    With rounding base b_j and [l_j, u_j] the range of released values, the candidates of target i are
        {k : |clip(x_ij, l_j, u_j) − y_kj| ≤ b_j / 2 for every column j},
    and each has probability one over their number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.group_linkage import KNOWN_OR_NOT, GroupKeys, LinkedGroup, link_groups
from larvatus.attacks.linkage.target_sample import QUICK_ATTACK_TARGETS, Targets
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score

SPREADS = 2.0  # intervals are widened by this many standard deviations of the intruder's error


class IntervalMatch(Attack):
    """The intruder finds the rounding base and keeps the released records that the target's values could have been rounded to.

    A value outside the released range can only have been moved to the end of the range, so truncation at a bound is covered
    too; tails replaced by their mean are not. Candidates share the credit. A blanked value excludes no record. If no
    candidate is left, the file was not merely coarsened, and the intruder guesses among the records with the same S. For
    numbers known with error, the interval is widened by two standard deviations of that error.

    Look at it if values were rounded, recoded or top-coded. It finds nothing beyond chance if values were moved further than
    the intervals.

    Parameters:
        base: rounding base (default: the largest number of which every released value of the column in the sub-group is a
            multiple; if there is none, values must match exactly).
        targets: number of records to attack, or "all" (default: as many as the precision needs, docs/guides/intervals.md).
    """

    most_targets: ClassVar[int | None] = QUICK_ATTACK_TARGETS
    intruder_class: ClassVar[Literal["single target", "whole file"]] = "single target"
    assumes: ClassVar[str] = (
        "The intruder knows the original values of every target, and that released values are rounded or truncated. The base "
        "is published, or found from the release."
    )

    base: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="rounding base (default: found from the release)"
    )
    targets: Targets = None

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        vague = intruder.error > 0 and intruder.file is None
        by = GroupKeys.of(self, original, release, intruder, random, self.targets, soft_too=vague)
        stated = _stated_bases(release)
        known = {n: stated[by.keys.base.get(n, n)] for n in by.masked if n not in by.keys.base and n in stated}
        links = [_linker(self.base, bases, intruder.error) for bases in ((known, {}) if known and not self.base else ({},))]
        two = len(links) == 2
        return link_groups(
            self, "share of records singled out by the rounding intervals of their values", original, release, intruder,
            by, lambda sides: np.array([link(sides) for link in links]),
            trials=KNOWN_OR_NOT if two else ("", (0.0,)),
            pick=(0 if intruder.knows_settings_of(release.steps) else 1) if two else None,
        )


def _stated_bases(release: Release) -> dict[str, float]:
    """The base of each column that the last step rounded, according to its settings."""
    from larvatus.data.per_column import per_column

    if not release.steps or release.steps[-1].name() != "rounding":
        return {}
    names = release.steps[-1].columns or release.data.numeric([n for n in release.data.confidential
                                                               if n not in release.internals.original_columns])
    base = getattr(release.steps[-1], "base", None)
    return {} if base is None else dict(zip(names, per_column("rounding.base", base, names).tolist(), strict=True))


def _linker(base: float | None, stated: Mapping[str, float], error: float) -> Callable[[LinkedGroup], Floats]:
    from larvatus.stats.linkage.boxes import shared_credit
    from larvatus.stats.noise.rounding import half_step

    def link(sides: LinkedGroup) -> Floats:
        x, y = sides.x.copy(), sides.y
        half = np.empty_like(x)
        for j in range(y.shape[1]):
            there = y[~np.isnan(y[:, j]), j]
            x[:, j] = np.clip(x[:, j], there.min(), there.max()) if len(there) else np.nan
            half[:, j] = half_step(there, stated.get(sides.names[j], base)) + SPREADS * error * np.abs(sides.x[:, j])
        room = 1e-12 * np.abs(x)
        return shared_credit(x, x - half - room, x + half + room, y, sides.same, sides.own)

    return link
