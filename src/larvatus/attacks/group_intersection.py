"""Intersect, over groups of columns, the records in the microaggregate nearest to the target (Winkler 2007: 004 §3.5).

    For each group of columns g, with microaggregates (tied released values) c:  A_g(i) = {j : y_jg = arg min_c ‖x_ig − c‖}.
    The candidates of target i are ∩_g A_g(i), and each has probability 1 / |∩_g A_g(i)|.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Self

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.group_linkage import KNOWN_OR_NOT, GroupKeys, LinkedGroup, link_groups
from larvatus.attacks.linkage.rank_blocks import block_columns, rank_block_credit, with_rank_blocks
from larvatus.attacks.linkage.target_sample import QUICK_ATTACK_TARGETS, Targets
from larvatus.core.arrays import Floats
from larvatus.core.errors import RiskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score


class GroupIntersection(Attack):
    """The intruder finds the microaggregate nearest to the target in each group of columns and intersects their records.

    Microaggregation hides a record among k others in each group of columns, but far fewer than k records share all of its
    microaggregates. Distances are in standard deviations of the released values. Candidates share the credit. If no record
    is in all nearest microaggregates, the intruder guesses among the records with the same S.
    If a reverse map followed and each column was grouped on its own, the released column holds all original values, so an
    intruder who knows the settings groups it again. The released records whose groups contain the values of the target are its
    candidates.

    Look at it if columns were microaggregated in separate groups. It does not apply if all columns share one grouping.

    Parameters:
        column_groups: lists of columns that were microaggregated together (default: columns whose released values are tied in
            the same records form a group).
        targets: number of records to attack, or "all" (default: as many as the precision needs, docs/guides/intervals.md).
    """

    most_targets: ClassVar[int | None] = QUICK_ATTACK_TARGETS
    assumes: ClassVar[str] = (
        "The intruder knows the original values of every target, and which columns were microaggregated together: from the "
        "published settings, or from ties in the release."
    )

    column_groups: tuple[tuple[str, ...], ...] | None = Field(
        default=None, description="columns that were microaggregated together (default: found from ties)"
    )
    targets: Targets = None

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(),)

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        by = GroupKeys.of(self, original, release, intruder, random, self.targets, soft_too=False)
        names = [n for n in by.masked if n not in by.keys.base]
        for name in (n for group in self.column_groups or () for n in group):
            if name not in names:
                raise RiskError(f"{name!r} is not a numeric confidential column that the "
                                f"intruder knows; {nearest_names(name, names)}", subject="group_intersection.column_groups")
        several = bool(release.internals.original_columns)
        stated = None if self.column_groups is not None or several else _stated_groups(release, names)
        tried = [self.column_groups] if stated is None else [stated, None]
        links = [_linker(groups, release) for groups in tried]
        ranked: tuple[str, ...] = ()
        if stated is None and self.column_groups is None and not several and intruder.knows_settings_of(release.steps):
            by, ranked = with_rank_blocks(by, release, random)
            links = [lambda sides: rank_block_credit(sides, ranked), *links] if ranked else links
        two = len(links) == 2
        return link_groups(
            self, "share of records singled out by the microaggregates they fall in (candidates share the credit)",
            original, release, intruder, by, lambda sides: np.array([link(sides) for link in links]),
            trials=KNOWN_OR_NOT if two else ("", (0.0,)),
            pick=(0 if intruder.knows_settings_of(release.steps) else 1) if two else None, columns=block_columns(ranked),
        )


def _stated_groups(release: Release, names: Sequence[str]) -> tuple[tuple[str, ...], ...] | None:
    """The groups of columns that the last step microaggregated together, according to its settings."""
    if not release.steps or release.steps[-1].name() != "microaggregation":
        return None
    together = getattr(release.steps[-1], "together", None)
    if not isinstance(together, tuple) or not together:
        return None
    groups = together if isinstance(together[0], tuple) else (together,)
    known = tuple(tuple(n for n in group if n in names) for group in groups)
    return tuple(group for group in known if group) or None


def _linker(groups: Sequence[Sequence[str]] | None, release: Release) -> Callable[[LinkedGroup], Floats]:
    from larvatus.stats.linkage.boxes import shared_credit
    from larvatus.stats.linkage.microaggregates import nearest_codes, tied_together

    def link(sides: LinkedGroup) -> Floats:
        parts = tied_together(sides.y) if groups is None else _places(groups, sides.names, release)
        codes = [pair for part in parts for pair in nearest_codes(sides.x[:, list(part)], sides.y[:, list(part)])]
        if not codes:
            return sides.guess
        mine, theirs = (np.array([pair[side] for pair in codes]).T for side in (0, 1))
        return shared_credit(mine, mine, mine, theirs, sides.same, sides.own)

    return link


def _places(groups: Sequence[Sequence[str]], names: Sequence[str], release: Release) -> list[list[int]]:
    """Positions of the columns of each group, and of the same columns in other releases."""
    shown = [{n: n for n in names if n not in release.internals.original_columns},
             *({b: n for n, b in o.internals.original_columns.items()} for o in release.internals.other_releases)]
    found = [[names.index(there[n]) for n in group if there.get(n) in names] for there in shown for group in groups]
    return [places for places in found if places]
