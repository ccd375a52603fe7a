"""Link all records of a sub-group at once, each released record to one original record (Domingo-Ferrer and Torra 2003).

    π* = arg min_π Σ_i ‖(x_i − y_π(i)) / sd(y)‖²  over the permutations π that leave S unchanged;
    target i succeeds if π*(i) = i.
"""

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
    """The intruder knows every record of the sub-group and assigns a released record to each, at the least total distance.

    Knowing all targets helps: a released record assigned to one target is not available for another, which a search for
    nearest records ignores. Distances are squared, in standard deviations of the released values. Records that differ in S
    are never linked. Assignments of equal cost share the credit: several are found, in keyed random order.

    Parameters:
        largest: largest number of records assigned at once; larger sets are cut into blocks along the direction of largest
            variance of the released values, and targets near a cut may be missed. Time grows with its cube.
    """

    assumes: ClassVar[str] = (
        "The intruder knows the original values of all records in the file, and that each has exactly one released record."
    )

    largest: Annotated[int, Field(ge=2, le=20_000)] = Field(
        default=5000, description="largest number of records assigned at once"
    )

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        by = GroupKeys.of(self, original, release, intruder, random)
        cut = sum(n > self.largest for n in by.keys.joined.groups.sizes)
        notes = [f"{cut} sub-groups of more than {self.largest:,} records may have been assigned in blocks"] if cut else []
        return link_groups(
            self, "share of records that are assigned their own released record", original, release, intruder, by,
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
