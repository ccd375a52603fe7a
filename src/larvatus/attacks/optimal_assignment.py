"""Link all records of a sub-group at once, each released record to one original record (Domingo-Ferrer and Torra 2003).

    π* = arg min_π Σ_i c(x_i, y_π(i))  over the permutations π that leave S unchanged;  target i succeeds if π*(i) = i.

    by distance   c(x, y) = ‖(x − y) / sd(y)‖²
    by law        c(x, y) = −log f(y | x, s), the density of the released values under the law of the mask
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup, link_groups
from larvatus.attacks.linkage.posterior_links import PairCosts, PosteriorLink
from larvatus.attacks.linkage.release_law import ReleaseLaw, law_of
from larvatus.core.arrays import Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score

if TYPE_CHECKING:
    from larvatus.stats.linkage.assignment import Costs

_LEARNT = ("distance", "learnt law", "learnt law of logarithms", "learnt moves of ranks", "learnt window of ranks")
_TRIALS = (*_LEARNT, "law", "law, most probable")


class OptimalAssignment(Attack):
    """The intruder knows every record of the sub-group and assigns a released record to each, at the least total cost.

    Knowing all targets helps: a released record assigned to one target is not available for another, which a search for
    nearest records ignores. The cost is squared distance, in standard deviations of the released values. Four further trials
    learn from true pairs how values change, each half of the pairs from the other: a linear law with normal noise, of the
    values and of their logarithms, and the distribution and the largest of the moves in rank. They take the most probable
    record of each target given that every released record belongs to one original record. If the mask has a linear law and
    the intruder knows its settings, two trials use −log f(y | x) under that law: the best assignment, and the most probable
    record. The most successful trial is scored. Records that differ in S are never linked. Assignments of equal cost share
    the credit: several are found, in keyed random order. The interval treats targets as independent, but one
    wrong link causes another: coverage measured .81 to 1 (docs/guides/intervals.md).

    Parameters:
        largest: largest number of records assigned at once; larger sets are assigned in overlapping windows along the
            direction of largest variance of the released values, and targets that moved far along it may be missed. Time
            grows with its square.
    """

    assumes: ClassVar[str] = (
        "The intruder knows the original values of all records in the file, and that each has exactly one released record. "
        "The law of the mask is used if it has one and its settings are known."
    )

    largest: Annotated[int, Field(ge=2, le=20_000)] = Field(
        default=1500, description="largest number of records assigned at once"
    )

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        by = GroupKeys.of(self, original, release, intruder, random)
        cut = sum(n > self.largest for n in by.keys.joined.groups.sizes)
        notes = [
            f"{cut} sub-groups of more than {self.largest:,} records may have been assigned in blocks that overlap"
        ] if cut else []
        law = _law(by, original, release, intruder)
        meaning = "share of records that are assigned their own released record"
        tried = _LEARNT if law is None else _TRIALS
        notes.append(f"the score is the largest of {len(tried)} trials: {'; '.join(tried)}")
        if law is None:
            return link_groups(self, meaning, original, release, intruder, by, self._linker(None), notes=notes, one_guess=True,
                               trials=("cost", tried))
        link = PosteriorLink(by.keys, original, release, (1,), "posterior" if by.keys.own_file else "likelihood", random)
        return link_groups(
            self, meaning, original, release, intruder, by, self._linker(link.pair_costs(law)), notes=notes, one_guess=True,
            trials=("cost", tried), columns=[*link.law_columns, *law.design.columns],
        )

    def _linker(self, pairs: PairCosts | None) -> Callable[[LinkedGroup], Floats]:
        from larvatus.stats.linkage.assignment import assignment_credit, law_credits, most_probable_credit
        from larvatus.stats.linkage.learnt_law import learnt_costs, learnt_rank_costs, log_scale
        from larvatus.stats.linkage.paired_points import in_same_units, rows_by_code

        def link(sides: LinkedGroup) -> Floats:
            x, y = in_same_units(sides.originals, sides.y)
            out = np.zeros((len(_LEARNT if pairs is None else _TRIALS), len(y)))
            holds = np.zeros(len(y), dtype=bool)
            holds[sides.holds] = True
            under = None
            if pairs is not None and sides.block is not None:
                under = pairs(sides.group, sides.block, without_soft=sides.soft == 0)
            learnt = [learnt_costs(*both, sides.holds) for both in ((x, y), log_scale(sides.originals, sides.y))]
            learnt += [learnt_rank_costs(x, y, sides.holds, window) for window in (False, True)]
            for rows in rows_by_code(sides.same):
                mine = np.flatnonzero(holds[rows])
                if not len(mine):
                    continue
                held = rows[mine]
                out[0, held] = assignment_credit(x[held], y[rows], self.largest, mine)
                for k, found in enumerate(learnt, 1):
                    if found is not None:
                        out[k, held] = most_probable_credit(x[held], y[rows], mine, _among(found, held, rows), self.largest)
                if under is not None:
                    costs = _among(under.costs, held, rows)
                    out[len(_LEARNT):, held] = law_credits(x[held], y[rows], mine, costs, self.largest, under.level)
            return out[:, sides.own]

        return link


def _among(costs: Costs, held: Ints, rows: Ints) -> Costs:
    """The costs by position among the known and the released records of one set."""
    return lambda a, b: costs(held[a], rows[b])


def _law(by: GroupKeys, original: Microdata, release: Release, intruder: Intruder) -> ReleaseLaw | None:
    """The law of the release, if the intruder knows it and searches within the sub-groups in which it holds."""
    steps = [s for r in (release, *release.internals.other_releases) for s in r.steps]
    if not steps or not intruder.knows_settings_of(steps) or by.keys.joined.groups.labels != release.data.groups.labels:
        return None
    return law_of(release, original)
