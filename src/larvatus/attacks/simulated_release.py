"""Make the release again with other secrets, learn from that how values move, and link one to one under what was learnt.

    P(π) ∝ Π_i f_i(y_π(i)) over the one-to-one links π that leave S unchanged;  target i succeeds if argmax_r P(π(i) = r) = i

    f_i   the law of the released values of record i, estimated from its values in the simulated releases
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup, link_groups
from larvatus.attacks.linkage.intruder_file import check_steps_known
from larvatus.attacks.linkage.simulated_columns import columns_of_records, pilot_records
from larvatus.attacks.linkage.simulated_releases import SimulatedPart, simulate_parts
from larvatus.core.arrays import Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.exposure.known_gaps import gaps_table
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score

if TYPE_CHECKING:
    from larvatus.stats.simulated_laws.pair_trials import PairScores

_SHARED = 1.4  # variance of the score relative to that of independent pairs: links depend on each other in chains
_TRIALS = 3  # that are scored


class SimulatedRelease(Attack):
    """The intruder holds the original file and knows the steps but not the secret. They make the release again many times.

    The simulated releases show where each record's values can go: the law of the noise, the window of a swap, what stays,
    what is imputed, what copies share, whatever the sequence of steps. Values that recur (other records' values, classes,
    missing cells) and continuous ones are modelled apart, the latter on three scales, or as values that are nearly kept or
    else replaced. Each combination is a trial, and the most successful one is scored. Links are one to one: the probability of
    each link is that over all one-to-one links at once (belief propagation). All copies of a release are used together. Records
    that differ in S are never linked.

    An intruder who knows some columns applies the steps to these. A number that is known with error is read as the nearest
    value that the release shows, if that lies within the error, and the steps are applied to what was read.

    Look at it for every random mask and every sequence of steps: it needs no formula. It assumes an intruder who holds all
    original records, so it overstates what others find.

    Parameters:
        largest: largest number of records linked at once; larger sets are linked in overlapping windows along the direction
            of largest variance, and targets that moved far along it may be missed. Time grows with its square.
        records: approximate number of records to attack. Larger files are attacked in whole sub-groups or windows drawn at
            random.
    """

    copies_together: ClassVar[bool] = True
    assumes: ClassVar[str] = (
        "The intruder knows the original values of all records, in the columns and with the error that are stated, and all "
        "settings of the steps, but not the secret."
    )

    largest: Annotated[int, Field(ge=2, le=5000)] = Field(default=1500, description="largest number of records linked at once")
    records: Annotated[int, Field(ge=1)] = Field(default=3000, description="approximate number of records to attack")

    def why_unsuitable(self, release: Release, intruder: Intruder) -> str:
        if release.steps and not any(s.random for s in release.steps):
            return "no step draws random numbers; rerun applies the steps again."
        return ""

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        from larvatus.stats.simulated_laws.pair_trials import TRIALS, choose_trials

        check_steps_known(self.name(), release, intruder)
        by = GroupKeys.of(self, original, release, intruder, random, categorical_too=True, soft_too=False)
        names = (*by.masked, *_simulated_weight(by, release, intruder))
        parts = simulate_parts(self.name(), original, release, intruder, random, names)
        tried = choose_trials(columns_of_records(parts, pilot_records(parts)), _TRIALS)
        unused = [n for n in by.masked if not any(n in part.names for part in parts)]
        chosen = _Sample.of(by.keys.joined.groups.sizes, self.records, random)
        gaps = [
            *(["rules were not applied to the simulated releases"] if len(release.rules) else []),
            *([f"{', '.join(unused)}: not used, because the steps cannot be simulated"] if unused else []),
        ]
        notes = [
            f"the release was simulated {parts[0].times} times. The score is the largest of {len(tried)} trials, chosen "
            f"of {len(TRIALS)} by how well they link a simulated release",
            *gaps,
            *([f"about {self.records:,} of {release.data.rows:,} records were attacked"] if chosen.share < 1 else []),
        ]
        score = link_groups(
            self, "share of records linked one to one, under laws learnt from simulated releases", original, release, intruder,
            by, self._linker(by, parts, chosen, tried), notes=notes, one_guess=True,
            trials=("law", [TRIALS[k] for k in tried]), shared=_SHARED,
        )
        return replace(score, details={**score.details, **gaps_table(gaps)})

    def _linker(
        self, by: GroupKeys, parts: Sequence[SimulatedPart], chosen: _Sample, tried: Sequence[int]
    ) -> Callable[[LinkedGroup], Floats]:
        from larvatus.stats.linkage.matching import best_row_credit, link_odds
        from larvatus.stats.linkage.paired_points import in_same_units, rows_by_code, windows_along, with_indicators
        from larvatus.stats.simulated_laws.pair_trials import PairTrials

        learnt: dict[int, PairTrials] = {}

        def link(sides: LinkedGroup) -> Floats:
            out = np.full((len(tried), len(sides.y)), np.nan)
            assert sides.block is not None
            if not chosen.takes(sides.group, 0) and len(sides.y) <= self.largest:
                return out[:, sides.own]
            alone = by.keys.exact and not sides.s_known  # the baseline X alone: one trial, in one window of each sub-group
            trials: list[PairScores] = []
            place = np.zeros(0, dtype=np.int64)
            x, y = in_same_units(sides.originals, sides.y)
            gone = np.isnan(x).any(axis=0) | np.isnan(y).any(axis=0)
            x, y = with_indicators(x, gone), with_indicators(y, gone)
            at, sampled = 0, len(sides.y) > self.largest
            for rows in rows_by_code(sides.same):
                if sampled and len(rows) <= self.largest and not chosen.takes(sides.group, at + 1):
                    at += 1  # one window, which is not sorted if it is not attacked
                    continue
                for window in windows_along(x[rows], y[rows], self.largest):
                    at += 1
                    if sampled and not chosen.takes(sides.group, at):
                        continue
                    if alone and not np.isnan(out).all():
                        continue
                    if not trials:  # laws are learnt only in sub-groups with a window that is attacked
                        order = parts[0].in_canonical_order(sides.block.record)
                        place = np.argsort(order)
                        if sides.group not in learnt:
                            learnt[sides.group] = PairTrials(columns_of_records(parts, sides.block.record[order]))
                        trials = [learnt[sides.group].scores(k) for k in (tried[:1] if alone else tried)]
                    a, b = rows[window.left], rows[window.right]
                    records, shown = place[a], place[b]
                    own = _positions(a, b)
                    inner = a[window.inner]
                    done: dict[int, Floats] = {}
                    for k, trial in enumerate(trials):
                        if id(trial) not in done:
                            done[id(trial)] = best_row_credit(link_odds(trial(records, shown)), own)[window.inner]
                        out[k, inner] = done[id(trial)]
            if alone and not np.isnan(out).all():  # the baseline is a mean: others count as the linked ones do
                out = np.tile(np.where(np.isnan(out[:1]), np.nanmean(out[:1]), out[:1]), (len(tried), 1))
            return out[:, sides.own]

        return link


def _simulated_weight(by: GroupKeys, release: Release, intruder: Intruder) -> tuple[str, ...]:
    """The weight, if it was released with noise that the intruder can draw again."""
    if intruder.error or any(s.drops for s in release.steps):
        return ()
    return tuple(n for n in by.keys.soft if n == release.data.roles.weight)


def _positions(a: Ints, b: Ints) -> Ints:
    """The position in b of each entry of a; -1 if it is not there."""
    order = np.argsort(b)
    spot = order[np.minimum(np.searchsorted(b, a, sorter=order), len(b) - 1)]
    return np.where(b[spot] == a, spot, -1)


@dataclass(frozen=True, slots=True)
class _Sample:
    """Which sub-groups and windows are attacked: all, or a keyed random share of them and the first of the largest group."""

    share: float
    largest: int
    random: RecordRandom

    @classmethod
    def of(cls, sizes: Sequence[int], records: int, random: RecordRandom) -> _Sample:
        return cls(min(records / max(sum(sizes), 1), 1.0), int(np.argmax(sizes)), random.child("windows"))

    def takes(self, group: int, window: int) -> bool:
        if self.share >= 1 or (group == self.largest and window <= 1):
            return True
        draw = self.random.uniform(np.array([group]), purpose=f"window {window}")[0]
        return bool(draw[0] < self.share)
