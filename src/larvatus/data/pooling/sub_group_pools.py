"""Pool sub-groups that are too small with their nearest siblings, and leave the others as they are.

Siblings agree in all sub-group columns but the last one. A sub-group that is too small joins

    the next level in the stated order of that column, or the one that shares the deepest branch of its taxonomy;
    without either, the smallest sibling,

until the pool is large enough. If all siblings together are not, they form one sub-group without that column, which is pooled
with its own siblings in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any

from larvatus.data.hierarchies.taxonomy import ROOT, Taxonomy
from larvatus.data.roles import Roles

_SHOWN = 3
FEW_RECORDS = 10  # sub-groups with fewer records are not named in public


class PooledLevels(str):
    """The name of several levels of a sub-group column that are masked together, such as `AK, DE or HI`."""

    __slots__ = ()


def resolved_columns(label: Sequence[object]) -> int:
    """The number of leading sub-group columns in which all records of a sub-group have the same level."""
    return next((j for j, level in enumerate(label) if isinstance(level, PooledLevels)), len(label))


def usable(present: Sequence[int], limit: int) -> int:
    """Smallest number of non-missing values over the columns that have any. A group with no values needs no protection."""
    return min((n for n in present if n), default=limit)


def added(present: Sequence[Sequence[int]]) -> list[int]:
    """Counts of several sub-groups together, by column."""
    return [sum(column) for column in zip(*present, strict=True)]


@dataclass(frozen=True, slots=True)
class LevelNearness:
    """How near the levels of a sub-group column are: by their stated order, by a taxonomy, or unknown."""

    ranks: Mapping[object, int] = field(default_factory=dict)
    branches: Mapping[object, frozenset[str]] = field(default_factory=dict)

    def nearest(self, pool: _Siblings, others: Sequence[_Siblings], limit: int) -> _Siblings:
        """The sub-group to pool with next; the smaller one if two are equally near."""
        if self.ranks:
            return min(others, key=lambda o: (self._gap(pool, o), o.size(limit), o.first))
        if self.branches:
            return min(others, key=lambda o: (-len(self._common((*pool.levels, *o.levels))), o.size(limit), o.first))
        return min(others, key=lambda o: (o.size(limit), o.first))

    def _gap(self, one: _Siblings, other: _Siblings) -> int:
        last = len(self.ranks)  # a missing level comes last
        mine, theirs = ([self.ranks.get(level, last) for level in s.levels] for s in (one, other))
        return max(min(theirs) - max(mine), min(mine) - max(theirs))

    def _common(self, levels: Sequence[object]) -> frozenset[str]:
        top = frozenset({ROOT})
        return frozenset.intersection(*(self.branches.get(level, top) for level in levels))


def level_nearness(roles: Roles, columns: Mapping[str, Any], names: Sequence[str]) -> list[LevelNearness]:
    """How near the levels of each sub-group column are. The levels of a column with a stated order are in that order."""
    return [_nearness(roles, name, columns[name].levels) if name in columns else LevelNearness() for name in names]


def _nearness(roles: Roles, name: str, levels: Sequence[object]) -> LevelNearness:
    if name in roles.ordered:
        return LevelNearness(ranks={level: i for i, level in enumerate(levels)})
    if name not in roles.taxonomies:
        return LevelNearness()
    tree = Taxonomy.of(name, roles.taxonomies[name])
    return LevelNearness(branches={level: tree.ancestors(str(level)) for level in levels if str(level) in tree.parents})


@dataclass(frozen=True, slots=True)
class _Siblings:
    """One or more sub-groups that differ in one column: their levels there, their indices, and their counts by column."""

    by_place: tuple[tuple[int, object], ...]  # levels with the index of their first sub-group, in order
    groups: tuple[int, ...]
    present: Sequence[int]

    @property
    def levels(self) -> tuple[object, ...]:
        return tuple(level for _, level in self.by_place)

    @property
    def first(self) -> int:
        return self.by_place[0][0]

    def size(self, limit: int) -> int:
        return usable(self.present, limit)

    def joined(self, other: _Siblings) -> _Siblings:
        by_place = tuple(sorted((*self.by_place, *other.by_place), key=lambda pair: pair[0]))
        return _Siblings(by_place, (*self.groups, *other.groups), added([self.present, other.present]))


def pool_small_groups(
    labels: Sequence[tuple[Any, ...]], present: Sequence[Sequence[int]], limit: int, nearness: Sequence[LevelNearness]
) -> list[tuple[Any, ...]]:
    """The label of the effective sub-group of each sub-group, one column at a time from the last."""
    pooled = list(labels)
    for length in range(len(nearness), 0, -1):
        for prefix, siblings in _by_prefix(pooled, present, length).items():
            small = [s for s in siblings if s.size(limit) < limit and all(len(pooled[g]) == length for g in s.groups)]
            if not small:
                continue
            parts = _enlarge(siblings, limit, nearness[length - 1])
            apart = {str(s.levels[0]) for s in parts if len(s.levels) == 1}
            for part in parts:
                if len(parts) == 1 or len(part.levels) > 1:
                    label = prefix if len(parts) == 1 else (*prefix, _name_of(part.levels, apart))
                    for g in part.groups:
                        pooled[g] = label
    return pooled


def _by_prefix(
    pooled: Sequence[tuple[Any, ...]], present: Sequence[Sequence[int]], length: int
) -> dict[tuple[Any, ...], list[_Siblings]]:
    """Sub-groups by their levels before the last column; those that differ only in later columns are taken together."""
    found: dict[tuple[Any, ...], dict[tuple[Any, ...], list[int]]] = {}
    for g, label in enumerate(pooled):
        if len(label) >= length:
            found.setdefault(label[: length - 1], {}).setdefault(label[:length], []).append(g)
    return {
        prefix: [
            _Siblings(((held[0], label[-1]),), tuple(held), added([present[g] for g in held])) for label, held in units.items()
        ]
        for prefix, units in found.items()
    }


def _enlarge(siblings: Sequence[_Siblings], limit: int, nearness: LevelNearness) -> list[_Siblings]:
    """Join the smallest sub-group with the nearest others until it is large enough; repeat until all are."""
    if not nearness.ranks and not nearness.branches:
        return _enlarge_by_size(siblings, limit)
    parts = list(siblings)
    while len(parts) > 1 and any(s.size(limit) < limit for s in parts):
        pool = min(parts, key=lambda s: (s.size(limit), s.first))
        others = [s for s in parts if s is not pool]
        while others and pool.size(limit) < limit:
            other = nearness.nearest(pool, others, limit)
            others = [s for s in others if s is not other]
            pool = pool.joined(other)
        parts = sorted([*others, pool], key=lambda s: s.first)
    return parts


def _enlarge_by_size(siblings: Sequence[_Siblings], limit: int) -> list[_Siblings]:
    """The same if no level is nearer than another: the smallest together."""
    waiting = [(s.size(limit), s.first, s) for s in siblings]
    heapify(waiting)
    while len(waiting) > 1 and waiting[0][0] < limit:
        pool = heappop(waiting)[2]
        while waiting and pool.size(limit) < limit:
            pool = pool.joined(heappop(waiting)[2])
        heappush(waiting, (pool.size(limit), pool.first, pool))
    return sorted((s for _, _, s in waiting), key=lambda s: s.first)


def pools_in_words(labels: Sequence[tuple[Any, ...]], columns: Sequence[str], members: Sequence[Sequence[int]],
                   least: int) -> list[str]:
    """Pools of levels, by name; pools with sub-groups of fewer than `least` records are not named.

    `members` are the numbers of records of the declared sub-groups in each effective one.
    """
    out, unnamed = [], 0
    for label, sizes in zip(labels, members, strict=True):
        known = resolved_columns(label)
        if known == len(label):
            continue
        if min(sizes) < least:
            unnamed += 1
            continue
        inside = ", ".join(f"{c}={v}" for c, v in zip(columns, label[:known], strict=False))
        out.append(f"{label[known]}{f' (in {inside})' if inside else ''}")
    more = f"{unnamed} with sub-groups of fewer than {least} records"
    return [*out, *([f"{more}, not named"] if unnamed else [])]


def _name_of(levels: Sequence[object], taken: set[str]) -> PooledLevels:
    """The names of the levels, shortened if they are many; different from every level that stays separate."""
    names = ["missing" if level is None else str(level) for level in levels]
    if len(names) > _SHOWN + 1:
        names = [*names[:_SHOWN], f"{len(names) - _SHOWN} more"]
    text = f"{', '.join(names[:-1])} or {names[-1]}"
    return PooledLevels(f"{text} (pooled)" if text in taken else text)
