"""Sub-groups: their labels, their sizes, and the treatment of those that are too small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from larvatus.core.errors import SubGroupError
from larvatus.data.pooling.sub_group_pools import LevelNearness, added, pool_small_groups, resolved_columns, usable
from larvatus.data.roles import Small, SubGroups

Level: TypeAlias = str | int | float | bool | None
GroupLabel: TypeAlias = tuple[Level, ...]
_SHOWN = 5
_PER_LEVEL = 3  # records per level, on average, below which a column is hardly a category, and its values are not shown


def label_text(columns: Sequence[str], label: GroupLabel) -> str:
    """The label as text, such as `region=7, sex=2`. A pooled label has fewer columns; the empty label means all records."""
    named = ", ".join(f"{c}={'missing' if v is None else v}" for c, v in zip(columns, label, strict=False))
    return named or "all records"


@dataclass(frozen=True, slots=True)
class Groups:
    """The sub-groups of a table in order, their sizes, and the declared sub-groups in each effective one."""

    columns: tuple[str, ...]
    labels: tuple[GroupLabel, ...]
    sizes: tuple[int, ...]
    declared: tuple[tuple[GroupLabel, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    def name(self, group: int) -> str:
        """The sub-group's label as text."""
        return label_text(self.columns, self.labels[group])

    def uncategorical(self) -> tuple[str, ...]:
        """The columns with nearly as many levels as records: measurements, perhaps confidential, declared by mistake."""
        levels = [len({label[i] for label in self.labels if len(label) > i}) for i in range(len(self.columns))]
        return tuple(c for c, n in zip(self.columns, levels, strict=True) if n * _PER_LEVEL > sum(self.sizes))

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(self.name(g) for g in range(len(self)))

    def unresolved(self, group: int) -> tuple[str, ...]:
        """The columns in which the records of an effective sub-group have several levels."""
        return self.columns[resolved_columns(self.labels[group]) :]

    def sizes_by_pool(self, effective: Groups) -> list[list[int]]:
        """Numbers of records of these sub-groups in each effective one."""
        size = dict(zip(self.labels, self.sizes, strict=True))
        held = effective.declared or tuple((label,) for label in effective.labels)
        return [[size.get(label, 0) for label in labels] for labels in held]

    def holds(self, group: int) -> tuple[str, ...]:
        """The declared sub-groups in an effective one; the sub-group itself if nothing was pooled."""
        held = self.declared[group] if self.declared else (self.labels[group],)
        return tuple(label_text(self.columns, label) for label in held)


@dataclass(frozen=True, slots=True)
class GroupSettlement:
    """For each declared sub-group, the index of its effective sub-group, or -1 if its records are suppressed."""

    target: tuple[int, ...]
    labels: tuple[GroupLabel, ...]
    declared: tuple[tuple[GroupLabel, ...], ...]


def settle(
    groups: Groups, present: Sequence[Sequence[int]], limit: int, small: Small, asked_by: str, reason: str = "",
    nearness: Sequence[LevelNearness] | None = None,
) -> GroupSettlement:
    """Refuse, pool or suppress sub-groups in which some column has too few values. This is done once, before the first step.

    `reason` is a sentence on why that number of values is needed, for the error. `nearness` is that of the levels of each
    sub-group column; without it, the smallest sub-groups are pooled.
    """
    workable = [usable(counts, limit) for counts in present]
    too_small = [g for g in range(len(groups)) if workable[g] < limit]
    labels = list(groups.labels)
    if too_small and small == "refuse":
        raise SubGroupError(_refusal(groups, workable, too_small, limit, asked_by, reason))
    if too_small and small == "suppress" and len(too_small) == len(groups):
        raise SubGroupError(f"{asked_by}: every sub-group has fewer than {limit} records, so suppressing them would release "
                            f"nothing. {_spaced(reason)}Pool them (small = \"pool\"), or drop a sub-group column.")
    if small == "suppress":
        dropped = set(too_small)
        kept = [g for g in range(len(groups)) if g not in dropped]
        place = {g: i for i, g in enumerate(kept)}
        target = tuple(place.get(g, -1) for g in range(len(groups)))
        return GroupSettlement(target, tuple(labels[g] for g in kept), tuple((labels[g],) for g in kept))
    pooled = labels
    if too_small:
        _check_whole_file(present, limit, asked_by, reason)
        near = nearness or [LevelNearness()] * len(groups.columns)
        pooled = _pool_all(groups, present, limit) if small == "pool_all" else pool_small_groups(labels, present, limit, near)
    held: dict[GroupLabel, list[GroupLabel]] = {}
    for effective, label in zip(pooled, labels, strict=True):
        held.setdefault(effective, []).append(label)
    index = {effective: i for i, effective in enumerate(held)}
    return GroupSettlement(tuple(index[e] for e in pooled), tuple(held), tuple(tuple(v) for v in held.values()))


def _check_whole_file(present: Sequence[Sequence[int]], limit: int, asked_by: str, reason: str) -> None:
    whole = usable(added(present), limit)
    if whole < limit:
        raise SubGroupError(
            f"{asked_by}: the whole file has {whole} usable records, and {limit} are needed, so pooling cannot help. "
            f"{_spaced(reason)}Use a mask that needs fewer records, or fewer confidential columns."
        )


def _pool_all(groups: Groups, present: Sequence[Sequence[int]], limit: int) -> list[GroupLabel]:
    """Shorten labels from the end, for all sub-groups that share the shortened label, until every pool is large enough."""
    pooled = list(groups.labels)
    for length in range(len(groups.columns) - 1, -1, -1):
        held: dict[GroupLabel, list[Sequence[int]]] = {}
        for label, counts in zip(pooled, present, strict=True):
            held.setdefault(label, []).append(counts)
        short = {label[:length] for label, parts in held.items() if usable(added(parts), limit) < limit}
        if not short:
            break
        pooled = [label[:length] if label[:length] in short else label for label in pooled]
    return pooled


def _refusal(
    groups: Groups, workable: Sequence[int], too_small: Sequence[int], limit: int, asked_by: str, reason: str
) -> str:
    named = ": " + "; ".join(f"({groups.name(g)}) has {workable[g]}" for g in too_small[:_SHOWN])
    more = f"; and {len(too_small) - _SHOWN} more" if len(too_small) > _SHOWN else ""
    if hidden := groups.uncategorical():
        listed = ", ".join(map(repr, hidden))
        named, more = "", (f". {listed}: there are few records per value, so its values are not shown. If it is to be masked, "
                           "declare it confidential, and form sub-groups by columns of categories")
    if not groups.columns:
        return (f"{asked_by}: the file has {workable[0]} usable records, and {limit} are needed. {_spaced(reason)}Use a mask "
                "that needs fewer.")
    return (
        f"{asked_by}: {len(too_small)} of {len(groups)} sub-groups have fewer than {limit} usable records{named}{more}. "
        f"{_spaced(reason)}Pool them (small = \"pool\"), suppress their records (small = \"suppress\"), or drop a sub-group "
        "column."
    )


def _spaced(sentence: str) -> str:
    return f"{sentence} " if sentence else ""


def settings_of(columns: Sequence[str] | SubGroups | None) -> SubGroups:
    """Sub-group settings from column names, or from complete settings."""
    if isinstance(columns, SubGroups):
        return columns
    given: dict[str, Any] = {"columns": columns if columns is not None else ()}
    return SubGroups(**given)
