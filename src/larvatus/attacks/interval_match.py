"""Keep the released records whose rounding interval holds the target's value, in every column (004 §3.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar

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

SPREADS = 2.0  # standard deviations of their error by which intruders widen the intervals of what they know


class IntervalMatch(Attack):
    """The intruder sees the base to which values were rounded and keeps the records that the target can have become.

    A value beyond the released range can only have become its end, so that truncation at a bound is covered too; tails
    replaced by their mean are not. Candidates share the credit; a blanked value excludes nothing; where no record is left,
    the file was not merely coarsened, and the intruder guesses among the records with the same S. Numbers known with error
    may lie two of its standard deviations outside.

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
        vague = intruder.error > 0 and intruder.file is None
        by = GroupKeys.of(self, original, release, intruder, random, self.targets, soft_too=vague)
        told = _told(release)
        known = {n: told[by.keys.base.get(n, n)] for n in by.masked if n not in by.keys.base and n in told}
        links = [_linker(self.base, bases, intruder.error) for bases in ((known, {}) if known and not self.base else ({},))]
        two = len(links) == 2
        return link_groups(
            self, "share of records singled out by the intervals their values were rounded in", original, release, intruder,
            by, lambda sides: np.array([link(sides) for link in links]),
            trials=KNOWN_OR_NOT if two else ("", (0.0,)), pick=(0 if intruder.told(release.steps) else 1) if two else None,
        )


def _told(release: Release) -> dict[str, float]:
    """The base of each column that the last step rounded, as one who is told the settings knows it."""
    from larvatus.data.per_column import per_column

    if not release.steps or release.steps[-1].name() != "rounding":
        return {}
    names = release.steps[-1].columns or release.data.numeric([n for n in release.data.confidential if n not in release.joined])
    base = getattr(release.steps[-1], "base", None)
    return {} if base is None else dict(zip(names, per_column("rounding.base", base, names).tolist(), strict=True))


def _linker(base: float | None, told: Mapping[str, float], error: float) -> Callable[[LinkedGroup], Floats]:
    from larvatus.stats.linkage.boxes import shared_credit
    from larvatus.stats.noise.rounding import half_step

    def link(sides: LinkedGroup) -> Floats:
        x, y = sides.x.copy(), sides.y
        half = np.empty_like(x)
        for j in range(y.shape[1]):
            there = y[~np.isnan(y[:, j]), j]
            x[:, j] = np.clip(x[:, j], there.min(), there.max()) if len(there) else np.nan
            half[:, j] = half_step(there, told.get(sides.names[j], base)) + SPREADS * error * np.abs(sides.x[:, j])
        room = 1e-12 * np.abs(x)
        return shared_credit(x, x - half - room, x + half + room, y, sides.same, sides.own)

    return link
