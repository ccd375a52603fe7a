"""One step of a release: settle the sub-groups before the first step, select records, and check that values changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from larvatus.core.errors import MaskError, SubGroupError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column, Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.record_selection import where_text
from larvatus.data.roles import Small
from larvatus.data.step_columns import (
    TAKEN,
    codes_in,
    columns_by_step,
    columns_of_step,
    is_maskable,
    mark_records,
    merged_column,
    view_of_step,
)
from larvatus.data.sub_groups import GroupSettlement, settle
from larvatus.data.text_columns import texts
from larvatus.data.verbs import as_one_group, count_present, map_rows, reduce_groups, settle_groups, take_rows, with_table

_KEPT = scratch("kept")
_NOTABLE, ALIKE = 0.1, 1e-7










def check_columns(data: Microdata, masks: Sequence[Mask]) -> None:
    """Raise an error for columns that a step cannot mask, and for confidential columns that no step masks."""
    taken = columns_by_step(data, masks)
    for step, names in zip(masks, taken, strict=True):
        for name in step.columns or ():
            if name not in data.confidential:
                raise MaskError(f"{step.name()}.columns: {name!r} is not a confidential column; "
                                f"{nearest_names(name, data.confidential)}")
            if name not in names:
                raise MaskError(_unmaskable(step, name, data))
        if not names:
            raise MaskError(_unmaskable(step, data.confidential[0], data))
    for name in data.confidential:
        if not any(name in names for names in taken):
            able = next((m for m in masks if is_maskable(m, name, data)), None)
            if able is None:
                raise MaskError(_unmaskable(masks[0], name, data))
            raise MaskError(f"mask: {name!r} is confidential, but no step masks it. Add it to the columns of a step, or do "
                            "not declare it confidential.")


def check_orders(data: Microdata, masks: Sequence[Mask]) -> None:
    """Raise an error if a step would weaken the protection of a column that an earlier step has masked."""
    taken = columns_by_step(data, masks)
    for i, step in enumerate(masks):
        for name in taken[i]:
            step.check_order([m for m, names in zip(masks[:i], taken, strict=False) if name in names])


def _unmaskable(step: Mask, name: str, data: Microdata) -> str:
    if data.table.columns[name].kind == "nominal" and "ordered" in step.handles:
        return (f"{step.name()}: needs numeric or ordered categorical columns, and {name!r} is categorical without an "
                "order. State its order (roles.ordered), give a taxonomy (roles.taxonomies), or leave it out of the step.")
    if data.table.columns[name].kind == "nominal":
        why = "".join(f" in {t.stray + t.dressed:,} of {t.cells:,} cells" for t in texts(data, [name]) if t.spoilt)
        return (f"{step.name()}: needs numbers, and {name!r} contains text{why}. Add a step for text columns (larvatus list "
                "masks), remove what is not a number from the column (thousands separators too; only empty cells and NA count "
                "as missing), or do not declare it confidential.")
    return (f"{step.name()}: needs categorical columns (text, or numeric codes declared nominal), and {name!r} is numeric. "
            "Add a step for numbers, declare it nominal, or do not declare it confidential.")


def in_workable_groups(data: Microdata, masks: Sequence[Mask]) -> tuple[Microdata, list[Note]]:
    """Refuse, pool or suppress small sub-groups, as the most demanding step requires."""
    seen = [data.with_confidential(names) for names in columns_by_step(data, masks)]
    needs = [(m.smallest(d) if m.scope == "sub_group" else 1, m.name()) for m, d in zip(masks, seen, strict=True)]
    limit, asked_by = max([(data.sub_groups.smallest, "sub_groups.smallest"), *needs], key=lambda pair: pair[0])
    present = count_present(data).tolist()
    for m, d in zip(masks, seen, strict=True):
        counts, least = count_present(d).sum(axis=0).tolist(), m.smallest(d)
        lacking = [f"{n!r} has {there} values" for n, there in zip(d.confidential, counts, strict=True) if 0 < there < least]
        if lacking:
            raise SubGroupError(
                f"{m.name()}: {', '.join(lacking)} in the whole file, and {least} are needed. Use settings that need fewer (a "
                "larger window or rate, a smaller k), or leave the column out."
            )
    outcome = settle(data.groups, present, limit, data.sub_groups.small, asked_by)
    if outcome.target == tuple(range(len(data.groups))):
        return data, []
    after = settle_groups(data, outcome)
    notes = []
    for g, held in enumerate(outcome.declared):
        if len(held) > 1:
            names = "; ".join(after.groups.holds(g)[:5]) + (" …" if len(held) > 5 else "")
            gone = ", ".join(after.groups.columns[len(after.groups.labels[g]) :])
            pooled = f"{len(held)} sub-groups are pooled into ({after.groups.name(g)})"
            notes.append(Note(f"{pooled}; relations with {gone} are not preserved: {names}", "warning", "sub_groups"))
    lost = data.rows - after.rows
    if lost:
        few = outcome.target.count(-1)
        notes.append(Note(f"{lost:,} records of {few} small sub-groups are not released", "warning", "sub_groups"))
        notes.append(Note("records of small sub-groups are not released", step="sub_groups", public=True))
    if notes and any(m.scope == "sub_group" for m in masks) and any(len(held) > 1 for held in outcome.declared):
        said = _pooled(after.groups.columns, [len(x) for x in after.groups.labels])
        notes.append(Note(said, step="sub_groups", public=True, code="pooled"))
    return after, notes


def _pooled(columns: Sequence[str], told_by: Sequence[int]) -> str:
    """A public note that names no sub-group: the columns whose sub-groups masking was done within, everywhere or in part."""
    least, most = min(told_by), max(told_by)
    in_places, nowhere = ", ".join(columns[least:most]), ", ".join(columns[most:])
    with_them = "relations of masked columns with"
    if not most:
        said = f"all sub-groups were pooled into one: masking was not done within sub-groups of {nowhere}"
    else:
        said = f"masking was done within sub-groups of {', '.join(columns[:most])}, and small ones were pooled"
    if in_places:
        said += f"; {with_them} {in_places} are preserved only in sub-groups that were not pooled"
    return said + (f"; {with_them} {nowhere} are not preserved" if nowhere else "")


def apply_step(step: Mask, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
    """Apply one mask to the records and within the sub-groups it is set to; only confidential columns may change."""
    for name in columns_of_step(step, original):
        if name in current.confidential and name not in columns_of_step(step, current):
            raise MaskError(f"{step.name()}: needs numbers, and an earlier step made {name!r} categorical. Put it before that "
                            "step, or leave the column out of its columns.")
    whole, current = current, view_of_step(step, current)
    beside = _in_same_groups(original, current).with_confidential(current.confidential)
    masked = _applied(step, current, beside, random)
    return Masked(masked.data.with_confidential(whole.roles.confidential), masked.notes)


def _applied(step: Mask, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
    base, beside = current, original
    if step.scope == "file":
        base, beside = as_one_group(current), as_one_group(original)
    if step.where is None:
        masked = step.apply(base, beside, random)
        return Masked(_adopted(current, masked.data), masked.notes)
    still = with_table(base, base.table.pair(beside.table, {n: n for n in beside.table.columns}))
    marked = mark_records(step, beside if beside.rows == base.rows else still)
    chosen = sum(reduce_groups(marked, [TAKEN], lambda g, b: int(b[TAKEN].sum()), int.__add__))
    if chosen == 0:
        raise MaskError(f"{step.name()}: where = {where_text(step.where)} selects no record, so nothing would be masked.")
    taken: Microdata | None = None
    if step.record_wise and not step.alone:
        base = with_table(base, base.table.pair(marked.table, {TAKEN: TAKEN}))
    else:
        taken = take_rows(marked, lambda g, b: b[TAKEN] == 1, [TAKEN])
        taken = taken if step.alone else _workable(taken, step)
        base, beside = (with_table(d, taken.table.pair(d.table, {n: n for n in d.table.columns})) for d in (base, beside))
    masked = step.apply(base, beside, random)
    notes = [*masked.notes, Note(f"{chosen:,} of {current.rows:,} records selected by where")]
    if taken is not None and any(len(held) > 1 for held in taken.groups.declared):
        notes.append(Note("too few records were selected in some sub-groups: these were pooled, and what the step preserves is "
                          "preserved in the pooled sub-groups only", "warning"))
    if isinstance(step.where, tuple) and chosen < len(set(step.where)):
        notes.append(Note(f"{len(set(step.where)) - chosen} of the record ids in where are not in the data", "warning"))
    return Masked(_adopted(current, masked.data, marked), notes)


def _workable(taken: Microdata, step: Mask) -> Microdata:
    """The selected records in sub-groups large enough for the step: pooled if the study allows it, else refused."""
    small: Small = "pool" if taken.sub_groups.small == "pool" else "refuse"
    asked_by = f"{step.name()} with where"
    outcome = settle(taken.groups, count_present(taken).tolist(), step.smallest(taken), small, asked_by)
    return taken if outcome.target == tuple(range(len(taken.groups))) else settle_groups(taken, outcome)






def _in_same_groups(original: Microdata, current: Microdata) -> Microdata:
    """The original without the sub-groups that an earlier step dropped."""
    if original.groups.labels == current.groups.labels:
        return original
    place = {label: i for i, label in enumerate(current.groups.labels)}
    target = tuple(place.get(label, -1) for label in original.groups.labels)
    return settle_groups(original, GroupSettlement(target, current.groups.labels, current.groups.declared))


def _adopted(current: Microdata, masked: Microdata, marked: Microdata | None = None) -> Microdata:
    """The current data with the confidential columns of a mask's result (for the marked records, if records are marked).

    A weight that the mask replaced is taken over too. Records that the mask received and did not return are dropped.
    """
    names = [n for n in current.confidential if n in masked.table.columns]
    weight = current.roles.weight
    if weight in masked.table.columns and weight is not None and masked.table.columns[weight].replaced:
        names.append(weight)
    if marked is None and masked.rows == current.rows:
        return with_table(current, current.table.pair(masked.table, {n: n for n in names}))
    kept = map_rows(masked, lambda g, b: {_KEPT: np.ones(len(b))}, (), [Column(_KEPT, "number")])
    if marked is None:
        joined = current.table.pair(kept.table, {_KEPT: _KEPT}, partly=True).take(lambda g, b: b[_KEPT] == 1, [_KEPT])
        return with_table(current, joined.pair(masked.table, {n: n for n in names}))
    new = {scratch("masked", n): n for n in names}
    joined = current.table.pair(kept.table, {**new, _KEPT: _KEPT}, partly=True).pair(marked.table, {TAKEN: TAKEN})
    joined = joined.take(lambda g, b: (b[_KEPT] == 1) | (b[TAKEN] == 0), [_KEPT, TAKEN])

    merged = {n: merged_column(current.table.columns[n], masked.table.columns[n], n) for n in names}

    def choose(group: int, block: Block) -> Mapping[str, Array]:
        out = {}
        for n in names:
            before, after = block[n], block[scratch("masked", n)]
            if merged[n].levels != current.table.columns[n].levels:
                before = codes_in(current.table.columns[n], merged[n])[before]
                after = codes_in(masked.table.columns[n], merged[n])[after]
            out[n] = np.where(block[TAKEN] == 1, after, before)
        return out

    return with_table(current, joined.map_rows(choose, [*names, *new, TAKEN], list(merged.values())))






def unchanged_notes(released: Microdata, original: Microdata) -> list[Note]:
    """Notes on the share of values that are unchanged (to seven digits). A release equal to the original is refused."""
    names = released.confidential
    joined = released.table.pair(original.table, {scratch("original", n): n for n in names})
    now_columns, was_columns = released.table.columns, original.table.columns

    from larvatus.stats.ranks.ranks import alike

    def count(group: int, block: Block) -> np.ndarray[Any, Any]:
        out = []
        for n in names:
            now, was = block[n], block[scratch("original", n)]
            if now_columns[n].kind != was_columns[n].kind:
                out.append((0, int(np.count_nonzero(~np.isnan(was) if was.dtype.kind == "f" else was >= 0))))
            elif was.dtype.kind == "f":
                out.append(alike(now, was, ALIKE))
            else:
                now = codes_in(now_columns[n], was_columns[n])[now]
                out.append((int(np.count_nonzero((now == was) & (was >= 0))), int(np.count_nonzero(was >= 0))))
        return np.array(out)

    tables = joined.reduce([*names, *(scratch("original", n) for n in names)], count, np.add)
    same, there = np.sum(tables, axis=0).T
    if there.sum() and (same == there).all() and released.rows == original.rows:
        raise MaskError(
            "mask: the release would equal the original: no confidential value was changed. "
            "Use a stronger mask, or do not declare columns confidential that do not vary."
        )
    notes = [_unchanged_note(name, int(same[j]), int(there[j])) for j, name in enumerate(names) if same[j] or not there[j]]
    if there.sum() and not same.sum():
        of = names[0] if len(names) == 1 else f"the {len(names)} confidential columns"
        notes.append(Note(f"all {there.sum():,} values of {of} were changed"))
    return notes


def _unchanged_note(name: str, same: int, there: int) -> Note:
    if not there:
        return Note(f"{name} has no values, so there was nothing to mask", "warning")
    if same == there:
        return Note(f"no value of {name} was changed: all {there:,} are released unchanged", "warning")
    said = f"{same:,} of {there:,} values of {name} ({same / there:.1%}) are unchanged"
    return Note(said, "warning" if same > _NOTABLE * there else "information")
