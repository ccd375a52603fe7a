"""Keep the released records whose rank lies within a window of the target's rank in every column (Winkler 2007: 004 §3.4).

    With window w_j (a fraction of the n records), the candidates of target i are
        {k : |rank(x_ij) − rank(y_kj)| ≤ w_j · n for every column j},
    and each has probability one over their number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.group_linkage import KNOWN_OR_NOT, GroupKeys, Link, LinkedGroup, link_groups
from larvatus.attacks.linkage.target_sample import SLOW_ATTACK_TARGETS, Targets
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score
from larvatus.stats.estimates.jackknife import PARTS


class RankWindow(Attack):
    """The intruder knows how far ranks can move, and keeps the records that are close enough in every column.

    This attack is designed against rank swapping, whose window is often published: at the true window the own record is
    never excluded, and few other records pass in several columns. Ranks are taken within the sub-group, among the values
    present. A blanked value excludes no record. Candidates share the credit. If none is left, the intruder guesses among the
    records with the same S. One window serves all targets; in files of up to 5,000 records the interval allows for that.

    Look at it if values were swapped within a window of ranks. It finds little if the window is wide or few columns are known.

    Parameters:
        window: largest move of a rank, as a fraction of the records (default: for each column the smallest window over the
            whole file that excludes no target's own record, as an intruder who knows the parameters would use; an intruder
            who does not know them uses the smallest window that fits the other records).
        targets: number of records to attack, or "all" (default: as many as the precision needs, docs/guides/intervals.md).
    """

    most_targets: ClassVar[int | None] = SLOW_ATTACK_TARGETS
    assumes: ClassVar[str] = (
        "The intruder knows the original values of every target and of the other records of its sub-group, hence their ranks, "
        "and knows the largest move of a rank."
    )

    window: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="largest move of a rank, as a fraction of the records (default: the smallest true window)"
    )
    targets: Targets = None

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(),)

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        by = GroupKeys.of(self, original, release, intruder, random, self.targets)
        meaning = "share of records singled out by their ranks (candidates share the credit)"
        if self.window is not None:
            return link_groups(self, meaning, original, release, intruder, by, _linker(np.full((2, 1), self.window), (False,)))
        moves = np.nan_to_num(by.measure(_moves))
        pick = 0 if intruder.knows_settings_of(release.steps) else 1
        return link_groups(
            self, meaning, original, release, intruder, by, _linker(_farthest(moves), (False, True)), trials=KNOWN_OR_NOT,
            pick=pick, left_out=_left_out(moves, bool(pick)) if moves.shape[1] <= SLOW_ATTACK_TARGETS else None,
        )


def _farthest(moves: Floats) -> Floats:
    """The largest and the second largest move of each column."""
    return np.asarray(np.sort(moves, axis=1)[:, -2:].T[::-1])


def _left_out(moves: Floats, from_others: bool) -> Link:
    """Credits with the windows of the file without each of ten parts; those that do not change a window are linked once."""
    part = np.random.default_rng(0).permutation(moves.shape[1]) % PARTS
    windows = [_farthest(moves[:, part != k] if (part != k).sum() > 1 else moves) for k in range(PARTS)]
    different = np.unique(windows, axis=0, return_inverse=True)

    def link(sides: LinkedGroup) -> Floats:
        found = [_linker(w, (from_others,))(sides)[0] for w in different[0]]
        return np.array([found[i] for i in different[1].ravel()])

    return link


def _moves(sides: LinkedGroup) -> Floats:
    from larvatus.stats.ranks.windows import RankScale

    return np.array([RankScale.of(x, y).moves() for x, y in zip(sides.originals.T, sides.y.T, strict=True)])


def _linker(windows: Floats, from_others: Sequence[bool]) -> Callable[[LinkedGroup], Floats]:
    """Link by the largest move of each column, or, if `from_others`, by the largest move among the other records.

    `windows` holds the largest and the second largest move; the second applies to the record that has the largest.
    """
    from larvatus.stats.linkage.boxes import shared_credit
    from larvatus.stats.ranks.windows import RankScale

    def link(sides: LinkedGroup) -> Floats:
        scales = [RankScale.of(x, y) for x, y in zip(sides.originals.T, sides.y.T, strict=True)]
        first, second = (np.broadcast_to(w, len(sides.names)) if len(w) == 1 else w[: len(sides.names)] for w in windows)
        by_column = []
        for j, scale in enumerate(scales):
            farthest = scale.moves(sides.own) >= first[j] if any(from_others) else False
            by_column.append(scale.limits([np.where(o & farthest, second[j], first[j]) for o in from_others], sides.own))
        out = []
        for trial in range(len(from_others)):
            low, high = (np.array([limits[trial][side] for limits in by_column]).T for side in (0, 1))
            out.append(shared_credit(sides.x, low, high, sides.y, sides.same, sides.own))
        return np.array(out)

    return link
