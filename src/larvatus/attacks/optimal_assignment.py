"""Link all records of a sub-group at once, each released record to one original (Domingo-Ferrer and Torra 2003)."""

from __future__ import annotations

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


class OptimalAssignment(Attack):
    """The intruder knows every record of the sub-group and gives each its own released record, at the least total distance.

    Whoever knows all targets gains by it: a released record taken by one target is not there for another, which a search for
    the nearest record does not use. Distances are squared, in standard deviations of the released values; records that
    differ in S are never linked. Assignments of equal cost share the credit: several are found, in keyed random order.

    Parameters:
        largest: assign at most this many records at once; more are cut into blocks along the direction in which released
            values vary most, which loses targets near the cuts. Time grows with the cube of it.
    """

    assumes: ClassVar[str] = (
        "Knows the original values of all records in the file, and that each of them has exactly one released record."
    )

    largest: Annotated[int, Field(ge=2, le=20_000)] = Field(default=5000, description="most records to assign at once")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        by = GroupKeys.of(self, original, release, intruder, random)
        cut = sum(n > self.largest for n in by.keys.joined.groups.sizes)
        notes = [f"{cut} sub-groups of more than {self.largest:,} records may have been assigned in blocks"] if cut else []
        return link_groups(
            self, "share of records whose own released record is assigned to them", original, release, intruder, by,
            self._link, notes=notes, one_guess=True,
        )

    def _link(self, sides: LinkedGroup) -> Floats:
        from larvatus.stats.linkage.assignment import assignment_credit
        from larvatus.stats.linkage.paired_points import in_same_units, rows_by_code

        x, y = in_same_units(sides.originals, sides.y)
        out = np.empty(len(y))
        holds = np.zeros(len(y), dtype=bool)
        holds[sides.holds] = True
        for rows in rows_by_code(sides.same):
            mine = np.flatnonzero(holds[rows])
            if len(mine):
                out[rows[mine]] = assignment_credit(x[rows[mine]], y[rows], self.largest, mine)
        return out[sides.own]
