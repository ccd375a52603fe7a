"""Align an original and a release: the same columns, the same sub-groups, the same records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import MaskError, PairingError, UtilityError, nearest_names
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.design import Design, design_of, with_terms
from larvatus.data.microdata import Microdata
from larvatus.data.sub_groups import GroupLabel, GroupSettlement
from larvatus.data.verbs import reduce_groups, settle_groups, take_rows, with_table

_GROUP = scratch("sub-group")


def common_numbers(original: Microdata, released: Microdata) -> tuple[str, ...]:
    """Numeric confidential columns that the release has, in role order."""
    there = frozenset(released.numeric(released.confidential))
    names = tuple(n for n in original.numeric(original.confidential) if n in there)
    if not names:
        raise UtilityError("the release has no numeric confidential column in common with the original.")
    return names


def common_non_confidential(original: Microdata, released: Microdata) -> tuple[str, ...]:
    """Non-confidential columns that both files have, with the same kind and the same levels."""
    mine, theirs = original.table.columns, released.table.columns
    return tuple(
        n for n in original.non_confidential
        if n in theirs and (mine[n].kind, mine[n].levels) == (theirs[n].kind, theirs[n].levels)
    )


def common_terms(original: Microdata, released: Microdata) -> tuple[Microdata, Microdata, dict[str, str]]:
    """Both files with design terms for their common non-confidential columns, and a name for people of each of these terms."""
    given = common_non_confidential(original, released)
    designs = [design_of(data, given) for data in (original, released)]
    theirs = {t.new_column for t in designs[1].terms}
    shared = {t.new_column: t.name for t in designs[0].terms if t.new_column in theirs}
    before, after = (
        with_terms(data, Design(tuple(t for t in design.terms if t.new_column in shared)))
        for data, design in zip((original, released), designs, strict=True)
    )
    return before, after, shared


def common_groups(original: Microdata, released: Microdata) -> list[tuple[str, int, int]]:
    """Name and both indices of every sub-group that both files have."""
    there = {label: i for i, label in enumerate(released.groups.labels)}
    return [
        (original.groups.name(i), i, there[label]) for i, label in enumerate(original.groups.labels) if label in there
    ]


def in_groups_of(original: Microdata, released: Microdata) -> Microdata:
    """The original in the release's effective sub-groups; sub-groups that the release lacks come last."""
    groups, mine = released.groups, original.groups.labels
    held = {label: g for g, labels in enumerate(groups.declared) for label in labels}
    alone = [label for label in mine if label not in held]
    held |= {label: len(groups) + i for i, label in enumerate(alone)}
    target = tuple(held[label] for label in mine)
    if target == tuple(range(len(groups))):
        return original
    declared = (*groups.declared, *((label,) for label in alone))
    return settle_groups(original, GroupSettlement(target, (*groups.labels, *alone), declared))


def released_records(original: Microdata, released: Microdata) -> Microdata:
    """The original records that were released, in the sub-groups of the original."""
    kept = np.concatenate([block.record for _, block in released.table.blocks(())])
    return take_rows(original, lambda g, block: np.isin(block.record, kept), ())


def in_records_of(released: Microdata, original: Microdata) -> Microdata:
    """A release read from a file, with the sub-groups and S of its records in the original (already checked to be equal)."""
    marked = original.table.map_rows(_group_of, (), [Column(_GROUP, "number")])
    joined = released.table.pair(marked, {_GROUP: _GROUP, **{n: n for n in _given(original, released)}})
    groups = original.groups
    table = joined.regroup(
        lambda g, block: block[_GROUP].astype(np.int64), [_GROUP], groups.columns, groups.labels, groups.declared
    )
    return with_table(released, table)


def _group_of(group: int, block: Block) -> Mapping[str, Array]:
    return {_GROUP: np.full(len(block), float(group))}


def _given(original: Microdata, released: Microdata) -> list[str]:
    """Columns that are the same in both files: S, but no key and no weight that a step changed."""
    columns = released.table.columns
    known = (n for n in original.known if n not in original.keys)
    return [n for n in (*original.sub_groups.columns, *known) if n in columns and not columns[n].replaced]


def mark_changed_weight(original: Microdata, released: Microdata) -> Microdata:
    """A release read from a file, with its weight marked as replaced if it is numeric and differs from the original one."""
    name = original.roles.weight
    if name is None or name not in released.table.columns or released.table.columns[name].kind != "number":
        return released
    joined = released.table.pair(original.table, {scratch("original", name): name}, partly=True)
    if not sum(joined.reduce([name, scratch("original", name)], _differing(name, ((), ())), int.__add__)):
        return released
    made = replace(released.table.columns[name], replaced=True)
    return with_table(released, released.table.map_rows(lambda g, b: {name: b[name]}, [name], [made]))


def check_same_given(original: Microdata, released: Microdata) -> None:
    """Raise an error if a column that should be released unchanged differs between the two files."""
    names = _given(original, released)
    mine, theirs = original.table.columns, released.table.columns
    for name in names:
        if mine[name].kind != theirs[name].kind:
            what = {"number": "numeric", "nominal": "categorical"}
            raise PairingError(
                f"{name!r} is {what[mine[name].kind]} in the original and {what[theirs[name].kind]} in the released file. "
                f"Give it the same type in both. If it was masked too, declare it confidential."
            )
    joined = released.table.pair(original.table, {scratch("original", n): n for n in names})
    for name in names:
        levels = (mine[name].levels, theirs[name].levels)
        differ = sum(joined.reduce([name, scratch("original", name)], _differing(name, levels), int.__add__))
        if differ:
            raise PairingError(
                f"the rows of the released file do not match those of the original: {name!r}, which is not masked, differs "
                f"in {differ:,} of {released.rows:,} rows. If the file was written in random row order, give its pairing "
                f"file. If {name!r} was masked too, declare it confidential."
            )


def _as_text(level: object) -> str:
    """A level as a CSV file shows it: there, text codes may be read back as numbers."""
    return str(level).lower() if isinstance(level, bool) else str(level)


def _differing(name: str, levels: tuple[tuple[object, ...], tuple[object, ...]]) -> Callable[[int, Block], int]:
    theirs = {v: i for i, v in enumerate(levels[1])}
    written = {_as_text(v): i for i, v in enumerate(levels[1])} | {"": -1}
    code = np.array([*(theirs.get(v, written.get(_as_text(v), -2)) for v in levels[0]), -1])

    def count(group: int, block: Block) -> int:
        now, was = block[name], block[scratch("original", name)]
        if now.dtype.kind == "f":
            same = (now == was) | (np.isnan(now) & np.isnan(was)) | (np.abs(now - was) <= 1e-12 * np.abs(was))
            return int((~same).sum())
        return int((now != code[was]).sum())

    return count


def by_period(data: Microdata, period: str, asked_by: str) -> Microdata:
    """The data in sub-groups crossed with the periods. Records with no period form a period of their own, the last."""
    columns = data.table.columns
    known = [n for n in (*data.sub_groups.columns, *data.non_confidential) if n in columns]
    if period not in known:
        raise MaskError(f"{asked_by}: {period!r} is not a non-confidential column; {nearest_names(period, known)}")
    seen = reduce_groups(data, [period], lambda g, b: np.unique(_keys(b, period)), np.union1d)
    found = [(g, key) for g, keys in enumerate(seen) for key in keys.tolist()]
    levels = columns[period].levels

    def label(key: float) -> str | float | None:
        return None if np.isinf(key) else levels[int(key)] if levels else key

    labels: list[GroupLabel] = [(*data.groups.labels[g], label(key)) for g, key in found]
    first = np.concatenate([[0], np.cumsum([len(h) for h in seen])]).astype(np.int64)

    def assign(group: int, block: Block) -> NDArray[np.int64]:
        return np.asarray(first[group] + np.searchsorted(seen[group], _keys(block, period)))

    return with_table(data, data.table.regroup(assign, [period], (*data.groups.columns, period), labels))


def _keys(block: Block, period: str) -> NDArray[np.float64]:
    """Periods as numbers; infinite if missing."""
    values = block[period].astype(np.float64)
    gone = np.isnan(values) if block[period].dtype.kind == "f" else block[period] < 0
    return np.where(gone, np.inf, values)
