"""Undo an exchange of values in pairs: each guess implies others in every column, and wrong guesses contradict themselves.

    src_j(r): the record whose value of column j is in row r;      row_j(a): the row that holds record a's value of column j
    r is the row of a   ⇒   row_j(a) is the row of src_j(r), for every column j
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Self

import numpy as np

from larvatus.attacks.linkage.group_linkage import GroupKeys, LinkedGroup, link_groups
from larvatus.attacks.linkage.target_sample import SLOW_ATTACK_TARGETS, Targets
from larvatus.core.arrays import Floats
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack, Mask
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score

FEWEST = 3
_SHARED = ("shared by all", "shared by those with the most equal values", "longest chain")


class SwapChain(Attack):
    """The intruder knows that values were exchanged in pairs, and follows a guess from column to column.

    If a row belongs to a record, then in each column the record whose value is in the row owns the row that holds the
    record's value. One guess so leads to others in every column. Wrong guesses soon contradict themselves, and the right one
    links nearly the whole file. The window of the exchange is not needed; an intruder who knows the parameters also drops
    guesses that move a value farther than any was moved. The attack uses values that occur once. If several rows are
    possible, they share the credit: all of them, or those with the most values equal to the known ones, or the one with the
    longest chain of guesses has it, whichever finds more.
    If no row is possible, values were not exchanged in pairs, and the intruder guesses among the records with the same S.
    The work is bounded: beyond 300 million steps in a sub-group, rows are compared by equal values only.

    Look at it if values were exchanged in pairs. It finds nothing if swaps are permutations without pairs, which is the default
    here.

    Parameters:
        targets: number of records to attack, or "all" (default: as many as the precision needs, docs/guides/intervals.md).
    """

    most_targets: ClassVar[int | None] = SLOW_ATTACK_TARGETS
    assumes: ClassVar[str] = (
        "The intruder knows the original values of every target and of other records, in at least three confidential columns, "
        "and that values were exchanged in pairs."
    )

    targets: Targets = None

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(),)

    def why_unsuitable(self, release: Release, intruder: Intruder) -> str:
        releases = (release, *release.internals.other_releases)
        known = intruder.knows_settings_of([s for r in releases for s in r.steps])
        if known and all(r.steps and not any(_pairwise(s) for s in r.steps) for r in releases):
            return "no step exchanged values in pairs."
        return ""

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        by = GroupKeys.of(self, original, release, intruder, random, self.targets, categorical_too=True, soft_too=False,
                          whole_file=any(_pairwise(s) and s.scope == "file" for s in release.steps))
        by = by.limited_to(_exchanged(release, by.masked))
        if len(by.masked) < FEWEST:
            raise RiskError(f"needs at least {FEWEST} confidential columns that the intruder knows, and there are "
                            f"{len(by.masked)}. With fewer columns no guess leads to a contradiction.", subject="swap_chain")
        told = intruder.knows_settings_of([s for r in (release, *release.internals.other_releases) for s in r.steps])
        farthest = np.nan_to_num(by.measure(_moves)).max(axis=1) if told else None
        return link_groups(
            self, "share of records linked by following exchanges of values from column to column", original, release,
            intruder, by, _linker(farthest), trials=("several possible rows", _SHARED if farthest is None else (
                *(f"{how}, none too far" for how in _SHARED), *_SHARED)),
        )


def _moves(sides: LinkedGroup) -> Floats:
    """How far each value moved, as a share of the ranks; columns × records."""
    from larvatus.stats.linkage.chains.swap_chains import moves_in_release

    return np.asarray((moves_in_release(sides.originals, sides.y) / len(sides.y)).T)


def _linker(farthest: Floats | None) -> Callable[[LinkedGroup], Floats]:
    def link(sides: LinkedGroup) -> Floats:
        from larvatus.stats.linkage.chains.swap_chains import chain_credit

        given = sides.originals, sides.y, sides.same, sides.own, sides.holds
        plain = chain_credit(*given)[0]
        if farthest is None:
            return plain
        return np.concatenate([chain_credit(*given, np.floor(farthest * len(sides.y) + 1e-9))[0], plain])

    return link


def _pairwise(step: Mask) -> bool:
    return bool(getattr(step, "pairs", False))


def _exchanged(release: Release, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that the steps exchanged in pairs, or all of them if no step states that it did."""
    steps = [s for r in (release, *release.internals.other_releases) for s in r.steps if _pairwise(s)]
    if not steps or any(s.columns is None for s in steps):
        return tuple(names)
    stated = {n for s in steps for n in s.columns or ()}
    return tuple(n for n in names if release.internals.original_columns.get(n, n) in stated)

