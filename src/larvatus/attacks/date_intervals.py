"""Find the records whose dates are those of the target, all shifted by one number of days.

    The candidates of target i are {k : y_kj − x_ij = d for every date j, with one whole number 0 < |d| ≤ days},
    and each has probability one over their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup, link_groups
from larvatus.attacks.linkage.target_sample import QUICK_ATTACK_TARGETS, Targets
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack, Mask
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.data.steps import columns_by_step


class DateIntervals(Attack):
    """The intruder knows dates of the target and how far they can be shifted, and compares the intervals between dates.

    A shift changes no interval between the dates of a person. Two known dates leave only the released persons with the same
    interval, and one known date leaves those within the largest shift. If the records of a person share a shift, the intruder
    is assumed to see which released records are of one person, as with a released key or with columns that do not change, and
    compares all their dates at once. Candidates have the same S and share the credit. If none is left, the intruder guesses
    among the records with the same S. The attack uses columns of dates that date_shift masked and no other step.

    Look at it if dates were shifted and a person has several of them. It does not apply to other masks of dates.

    Parameters:
        together: whether the intruder sees which released records are of one person or household (default: yes, if they share
            a shift).
        targets: number of records to attack, or "all" (default: as many as the precision needs, docs/guides/intervals.md).
    """

    most_targets: ClassVar[int | None] = QUICK_ATTACK_TARGETS
    assumes: ClassVar[str] = (
        "The intruder knows the original dates of all targets without error, the largest shift, and which released records are "
        "of the same person."
    )
    handles: ClassVar[frozenset[str]] = frozenset({"date"})

    together: bool = Field(default=True, description="whether the intruder sees which records are of one person")
    targets: Targets = None

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(together=False)

    def why_unsuitable(self, release: Release, intruder: Intruder) -> str:
        if not _shifts(release):
            return "no column of dates was masked by date_shift alone"
        return "the intruder knows dates with an error only, and intervals must agree exactly" if intruder.error else ""

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        by = GroupKeys.of(self, original, release, intruder, random, self.targets, soft_too=False)
        step, names = max(_shifts(release), key=lambda pair: len(set(pair[1]) & set(by.masked)), default=(None, ()))
        by = by.limited_to(names)
        if step is None or not by.masked:
            raise RiskError("the intruder knows no column of dates that was masked by date_shift alone.", subject=self.name())
        unit = self._unit(release.data, step, by)
        with_s = _credits(by, unit, step, (*by.keys.exact, *by.keys.reasons.kept))
        alone = _credits(by, unit, step, by.keys.reasons.kept) if by.keys.exact else with_s

        def link(sides: LinkedGroup) -> Floats:
            assert sides.block is not None
            record = sides.block.record[sides.own]
            credit = with_s if sides.s_known else alone
            return np.array([credit[1][np.searchsorted(credit[0], record)]])

        meaning = "share of records singled out by the intervals between their dates (candidates share the credit)"
        return link_groups(self, meaning, original, release, intruder, by, link)

    def _unit(self, data: Microdata, step: Mask, by: GroupKeys) -> str | None:
        """The column of the persons or households that share a shift; None if each record is searched on its own."""
        unit = getattr(step, "shared_by")(data.roles)  # noqa: B009 (masks are not imported here)
        return unit if self.together and not by.keys.own_file and unit in data.table.columns else None


def _shifts(release: Release) -> list[tuple[Mask, tuple[str, ...]]]:
    """Every step date_shift, with the columns that it masked and no other step, apart from steps that make values missing."""
    steps = [step for step in release.steps if not step.drops and not step.blanks]
    taken = columns_by_step(release.data, steps)
    found = [(step, tuple(n for n in names if sum(n in other for other in taken) == 1))
             for step, names in zip(steps, taken, strict=True) if step.name() == "date_shift"]
    return [(step, names) for step, names in found if names]


def _credits(by: GroupKeys, unit: str | None, step: Mask, exact: Sequence[str]) -> tuple[Ints, Floats]:
    """Record ids in increasing order, and the credit of each record."""
    from larvatus.stats.link_posteriors.date_intervals import interval_credit
    from larvatus.stats.linkage.coordinates import same_rows

    names = by.masked
    known = [by.keys.known_column(n) for n in names]
    record, pool, values = collect(by.keys.joined, list(dict.fromkeys([*names, *known, *exact, *([unit] if unit else [])])))
    x, y = (np.array([values[n] for n in columns]).reshape(len(names), -1).T for columns in (known, names))
    same = same_rows([pool, *(values[n] for n in exact)], len(record))
    own = np.arange(len(record))
    if unit is not None:
        codes = values[unit].astype(np.int64)
        own = np.unique(np.where(codes < 0, codes.max(initial=0) + 1 + own, codes), return_inverse=True)[1].ravel()
    return record, interval_credit(x, y, same, own, int(getattr(step, "days", 0)), unshifted=step.where is not None)
