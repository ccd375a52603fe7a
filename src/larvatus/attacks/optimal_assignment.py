"""Link all records of a sub-group at once, each released record to one original record (Domingo-Ferrer and Torra 2003).

    π* = arg min_π Σ_i c(x_i, y_π(i))  over the permutations π that leave S unchanged;  target i succeeds if π*(i) = i.

    by distance   c(x, y) = ‖(x − y) / sd(y)‖²
    by law        c(x, y) = −log f(y | x, s), the density of the released values under the law of the mask
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.blocking import draws_of, margin_of_windows, set_sizes, with_margin, without_s
from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup, link_groups
from larvatus.attacks.linkage.linkage_keys import TARGET
from larvatus.attacks.linkage.posterior_links import PairCosts, PosteriorLink
from larvatus.attacks.linkage.release_law import ReleaseLaw, law_of
from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.stats.linkage.link_windows import pairs_of_sizes
from larvatus.stats.linkage.paired_points import PointWindow

if TYPE_CHECKING:
    from larvatus.stats.linkage.assignment import Costs

_LEARNT = ("distance", "learnt law", "learnt law of logarithms", "learnt moves of ranks", "learnt window of ranks",
           "values nearly kept or replaced", "learnt function")
_TRIALS = (*_LEARNT, "law", "law, most probable")
_ASSIGNED = ("distance", "law")  # trials that take the best assignment; the others take the most probable record
_USUAL = len(_LEARNT) - 2  # learnt trials that take time in most files: a function is seldom found
_NARROWEST, _WIDEST = 500, 5000  # records of a window
_LEARNERS = 10_000  # true pairs of a sub-group from which a law is learnt, at most
_ASSIGNED_PAIRS, _PROBABLE_PAIRS = 6e6, 1e7  # pairs of a file up to which windows are as wide as they may be
_SLOWER, _FIXED = 4, 1300  # time of an assignment relative to most probable records, and time of a record, in pairs
_MANY_RECORDS = 10_000  # in larger files chance averages out over the targets, so few assignments of equal cost are tried
_MANY_TRIES, _FEW_TRIES = 12, 2
_BUDGET, _BUDGET_ALONE = 1.5e8, 1.2e8  # pairs, all trials together; and those of the baseline X alone


class OptimalAssignment(Attack):
    """The intruder knows every record of the sub-group and assigns a released record to each, at the least total cost.

    Knowing all targets helps: a released record assigned to one target is not available for another, which a search for
    nearest records ignores. The cost is squared distance, in standard deviations of the released values. Five further trials
    learn from true pairs how values change, each half of the pairs from the other: a linear law with normal noise, of the
    values and of their logarithms, the distribution and the largest of the moves in rank, and the share of values that are
    kept, exactly or nearly, while others are replaced. A sixth learns how single values were computed, from the known values
    next to them: it reads transformed and folded values, remainders, and codes of frequent values. Released values in full
    precision exclude records whose values cannot give their last digits by adding a number. At most 10,000 pairs of a
    sub-group are used. These trials take the most probable record of each target given that every released record belongs to
    one original record. If the mask has a linear law and the intruder knows its settings, two trials use −log f(y | x) under
    that law: the best assignment, and the most probable record. The most successful trial is scored. Records that differ in S
    are never linked. Assignments of equal cost share the credit: several are found, in keyed random order. One wrong link
    causes another, for which the interval allows (docs/guides/intervals.md). The work is bounded: in large files only some
    windows are linked, drawn at random. A target whose own record moved out of its window is missed. What this may cost is
    measured, by linking some windows again at half their width, and added to the upper end of the interval.

    Look at it if the intruder may hold the whole file: one-to-one links are stronger than single ones. It needs time in large
    files, and works on blocks there.

    Parameters:
        largest: largest number of records assigned at once (default: 1,500, and fewer in files of more than 4,000 records);
            larger sets are assigned in overlapping windows along the direction of largest variance of the released values.
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
        law = _law(by, original, release, intruder)
        tried = _LEARNT if law is None else _TRIALS
        pairs, columns = None, [TARGET]
        if law is not None:
            link = PosteriorLink(by.keys, original, release, (1,), "posterior" if by.keys.own_file else "likelihood", random)
            pairs, columns = link.pair_costs(law), [*link.law_columns, *law.design.columns]
        bounds = self._bounds(by, len(tried))
        linker = _Linker(by, bounds, tried, pairs, random)
        score = link_groups(
            self, "share of records that are assigned their own released record", original, release, intruder, by, linker,
            notes=[*bounds.notes(), f"the score is the largest of {len(tried)} trials: {'; '.join(tried)}"], one_guess=True,
            trials=("cost", tried), columns=columns,
        )
        best = tried[int(np.argmax([float(cast(float, row["value"])) for row in score.details["cost"]]))]
        width = bounds.width_of(best)
        margin = margin_of_windows(by, score, bounds.sizes, width, partial(linker.narrower, best), columns, random)
        return with_margin(replace(score, sampled=score.sampled or bounds.every > 1), margin, by, width)

    def _bounds(self, by: GroupKeys, trials: int) -> _Bounds:
        """The widths of the windows and the share of targets that is linked, from the number of records with the same S."""
        sizes = set_sizes(by)
        whole = np.repeat(by.keys.joined.groups.sizes, by.keys.joined.groups.sizes)
        rows = max(len(sizes), 1)
        stated = "largest" in self.model_fields_set
        width = self.largest if stated else int(np.clip(_ASSIGNED_PAIRS / rows, _NARROWEST, self.largest))
        wide = max(width, int(np.clip(_PROBABLE_PAIRS / rows, _NARROWEST, _WIDEST)))

        def every(sizes: Ints, wide: int, budget: float) -> int:
            assigned, probable = pairs_of_sizes(sizes, width), pairs_of_sizes(sizes, wide)
            each = _SLOWER * assigned * (1 + (trials > len(_LEARNT))) + _USUAL * probable + _FIXED
            return max(1, int(np.ceil(float(each.sum()) / budget)))

        if every(sizes, wide, _BUDGET) > 1 or every(whole, wide, _BUDGET_ALONE) > 1:
            wide = width  # so that every trial links the same targets
        alone = every(whole, wide, _BUDGET_ALONE)
        return _Bounds(width, wide, every(sizes, wide, _BUDGET), alone if alone == 1 else 3 * alone, sizes)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Widths of the windows of assignments and of most probable records, and one in how many targets is linked.

    `every_alone` is that of the baseline X alone. `sizes` has the number of records with the same S, for each record.
    """

    width: int
    wide: int
    every: int
    every_alone: int
    sizes: Ints

    def width_of(self, trial: str) -> int:
        return self.width if trial in _ASSIGNED else self.wide

    def notes(self) -> list[str]:
        """Notes on windows and on the sample of targets, if there is one."""
        cut = int((self.sizes > self.width).sum())
        out = [f"{cut:,} records were assigned in blocks of at most {self.width:,} that overlap"] if cut else []
        if self.every > 1:
            out.append(f"to bound the work, 1 in {self.every} targets was linked, in whole blocks; the interval refers to them")
        return out


@dataclass(frozen=True, slots=True)
class _Linker:
    """Links a sub-group by every trial: credits, trials × targets. Targets that the sample leaves out have no credit (NaN)."""

    by: GroupKeys
    bounds: _Bounds
    trials: Sequence[str]
    pairs: PairCosts | None
    random: RecordRandom

    def __call__(self, sides: LinkedGroup) -> Floats:
        alone = without_s(sides, self.by)
        windows = {width: self._windows(sides, width, alone) for width in {self.bounds.width, self.bounds.wide}}
        costs, level = self._costs(sides, self.trials)
        out = np.array([self._credit(t, sides, windows[self.bounds.width_of(t)], costs[t], level) for t in self.trials])
        every = self.bounds.every_alone if alone else self.bounds.every
        if every == 1:
            return out[:, sides.own]
        linked = ~np.isnan(out).any(axis=0)
        if alone:  # the baseline is a mean: others count as the linked ones do on average
            return np.where(linked, out, np.nan_to_num(out[:, linked].mean(axis=1, keepdims=True)))[:, sides.own]
        return np.where(linked, out, np.nan)[:, sides.own]

    def narrower(self, trial: str, sides: LinkedGroup, drawn: Bools) -> tuple[Floats, Floats]:
        """Credits of targets in drawn windows of half the width, and how far their own records are; NaN for other targets."""
        from larvatus.stats.linkage.link_windows import halves, moves_along

        windows = self._windows(sides, self.bounds.width_of(trial), False)
        pilot = [w for w in windows if w.whole is not None and drawn[w.targets[0]]]
        moves = np.full(len(sides.y), np.nan)
        for w in pilot:
            moves[w.targets] = moves_along(w)
        costs, level = self._costs(sides, (trial,))
        narrow = [half for w in pilot for half in halves(w)]
        return self._credit(trial, sides, narrow, costs[trial], level), moves

    def _credit(
        self, trial: str, sides: LinkedGroup, windows: Sequence[PointWindow], costs: Costs | None, level: bool
    ) -> Floats:
        """The credit of each record in one trial; NaN if no window counts for it."""
        from larvatus.stats.linkage.assignment import credit_of_assignments, probable_credit

        if costs is None:
            return np.zeros(len(sides.y))
        if trial not in _ASSIGNED:
            return probable_credit(len(sides.y), windows, costs)
        x, y = _in_units(sides)
        tries = _MANY_TRIES if len(self.bounds.sizes) <= _MANY_RECORDS else _FEW_TRIES
        return credit_of_assignments(x, y, sides.same, sides.holds, windows, costs, level and trial == "law", tries)

    def _windows(self, sides: LinkedGroup, width: int, alone: bool) -> list[PointWindow]:
        from larvatus.stats.linkage.link_windows import WindowPlan, group_windows

        x, y = _in_units(sides)
        every = self.bounds.every_alone if alone else self.bounds.every
        plan = WindowPlan(width, every, draws_of(sides, self.random) if every > 1 else None, alone)
        return group_windows(x, y, sides.same, sides.holds, plan)

    def _learners(self, sides: LinkedGroup) -> Ints:
        """The records from whose true pairs laws are learnt: all that are known, or a sample of them."""
        if len(sides.holds) <= _LEARNERS:
            return sides.holds
        draws = draws_of(sides, self.random, "learners")[sides.holds]
        return np.sort(sides.holds[np.argsort(draws, kind="stable")[:_LEARNERS]])

    def _costs(self, sides: LinkedGroup, trials: Sequence[str]) -> tuple[dict[str, Costs | None], bool]:
        """The costs of the named trials, None if they cannot be learnt; and whether the law has many equal costs."""
        from larvatus.stats.linkage.assignment import distance_costs
        from larvatus.stats.linkage.kept_values import costs_of_kept_values
        from larvatus.stats.linkage.learnt_law import (
            halves_of_pairs,
            learnt_costs,
            learnt_rank_costs,
            log_scale,
            ranks_of_pairs,
        )
        from larvatus.stats.models.learnt_maps import costs_of_learnt_maps
        from larvatus.stats.noise.last_digits import barring, columns_that_exclude

        x, y = _in_units(sides)
        learners = self._learners(sides)
        half = halves_of_pairs(x, y, learners)
        out: dict[str, Costs | None] = {"distance": distance_costs(x, y)}
        if "learnt law" in trials:
            out["learnt law"] = learnt_costs(x, y, learners, half)
        if "learnt law of logarithms" in trials:
            out["learnt law of logarithms"] = learnt_costs(*log_scale(sides.originals, sides.y), learners, half)
        by_rank = {"learnt moves of ranks": False, "learnt window of ranks": True}
        ranks = ranks_of_pairs(x, y) if any(trial in trials for trial in by_rank) else ()
        for trial, window in by_rank.items():
            if trial in trials:
                out[trial] = learnt_rank_costs(x, y, learners, window, half, ranks)
        if "values nearly kept or replaced" in trials:
            out["values nearly kept or replaced"] = costs_of_kept_values(x, y, learners, half)
        if "learnt function" in trials:
            out["learnt function"] = costs_of_learnt_maps(x, y, learners, half)
        under = None
        if self.pairs is not None and sides.block is not None:
            under = self.pairs(sides.group, sides.block, without_soft=sides.soft == 0)
        for trial in _TRIALS[len(_LEARNT):]:
            out[trial] = None if under is None else under.costs
        excluding = columns_that_exclude(sides.originals, sides.y, learners)
        barred = {t: None if c is None else barring(c, sides.originals, sides.y, excluding) for t, c in out.items()}
        return barred, under is not None and under.level


def _in_units(sides: LinkedGroup) -> tuple[Floats, Floats]:
    from larvatus.stats.linkage.paired_points import in_same_units

    return in_same_units(sides.originals, sides.y)


def _law(by: GroupKeys, original: Microdata, release: Release, intruder: Intruder) -> ReleaseLaw | None:
    """The law of the release, if the intruder knows it and searches within the sub-groups in which it holds."""
    steps = [s for r in (release, *release.internals.other_releases) for s in r.steps]
    if not steps or not intruder.knows_settings_of(steps) or by.keys.joined.groups.labels != release.data.groups.labels:
        return None
    return law_of(release, original)
