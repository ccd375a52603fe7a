"""A step: which columns and records it is for, and how it is applied to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.conditions import condition
from larvatus.data.contracts import Array, Block, Column, Mask, Masked
from larvatus.data.dates.date_numbers import DateKind, out_of_calendar
from larvatus.data.households.household_steps import HouseholdStep, with_whole_households
from larvatus.data.households.record_units import unit_levels
from larvatus.data.microdata import Microdata, collect
from larvatus.data.notes import Note
from larvatus.data.pooling.sub_group_pools import level_nearness
from larvatus.data.record_selection import record_numbers, where_text
from larvatus.data.roles import Roles, Small, has_order
from larvatus.data.sub_groups import GroupSettlement, settle
from larvatus.data.verbs import as_one_group, count_present, map_rows, reduce_groups, settle_groups, take_rows, with_table

TAKEN, _KEPT = scratch("taken"), scratch("kept")


def columns_of_step(step: Mask, data: Microdata) -> tuple[str, ...]:
    """The columns that a step masks, in role order: those it names, else all confidential ones of the kinds it handles."""
    asked = frozenset(step.columns or data.confidential)
    return tuple(n for n in data.changeable if n in asked and is_maskable(step, n, data))


def is_key_step(step: Mask, roles: Roles) -> bool:
    """Whether a step names keys. Such steps run before the others, so that these see the keys as they are released."""
    return any(n in roles.key for n in step.columns or ())


def sentence_of_step(step: Mask, roles: Roles) -> str:
    """The sentence of a step for the public; it speaks of keys if the step names keys."""
    said = step.public_sentence()
    return said.replace("Confidential ", "Key ").replace("confidential ", "key ") if is_key_step(step, roles) else said


def key_steps_first(steps: Sequence[Mask], roles: Roles) -> tuple[Mask, ...]:
    """The steps that name keys, then the others, each in the given order."""
    return tuple(sorted(steps, key=lambda step: not is_key_step(step, roles)))


def is_maskable(step: Mask, name: str, data: Microdata) -> bool:
    """Whether a step can mask a column: because of its kind, or because it is categorical with an order."""
    column = data.table.columns[name]
    kind = column.kind
    if column.dates is not None and kind == "number":
        return "date" in step.handles or ("number" in step.handles and step.takes_dates)
    return kind in step.handles or (kind == "nominal" and "ordered" in step.handles and has_order(data.roles, name))


def view_of_step(step: Mask, data: Microdata) -> Microdata:
    """The data as the step sees them, without the confidential columns that it does not mask."""
    return data.with_confidential(columns_of_step(step, data))


def columns_by_step(data: Microdata, masks: Sequence[Mask]) -> list[tuple[str, ...]]:
    """The columns that each step masks, including columns that an earlier step makes categorical."""
    made: set[str] = set()
    out = []
    for step in masks:
        now = frozenset(columns_of_step(step, data))
        asked = frozenset(step.columns or data.confidential)
        more = {n for n in made if n in asked and "nominal" in step.handles}
        out.append(tuple(n for n in data.changeable if n in now or n in more))
        made |= {n for n in out[-1] if data.table.columns[n].kind == "number" and step.kind_after("number") == "nominal"}
    return out


def mark_records(step: Mask, original: Microdata) -> Microdata:
    """The original with a column that is 1 for the records that the step masks."""
    if isinstance(step.where, str):
        wanted = condition(step.where, original.table.columns)
        return map_rows(
            original, lambda g, b: {TAKEN: wanted.holds(b).astype(np.float64)}, wanted.columns, [Column(TAKEN, "number")]
        )
    ids = record_numbers(step.where or ())
    return map_rows(
        original, lambda g, b: {TAKEN: np.isin(b.record, ids).astype(np.float64)}, (), [Column(TAKEN, "number")]
    )


def mark_chosen_records(masks: Sequence[Mask], original: Microdata) -> Microdata | None:
    """The original with a column that is 1 for records that some step masks; None if a step masks all records."""
    if not masks or any(step.where is None for step in masks):
        return None
    table = original.table
    for i, step in enumerate(masks):
        table = table.pair(mark_records(step, original).table, {scratch("taken", str(i)): TAKEN})
    names = [scratch("taken", str(i)) for i in range(len(masks))]
    return map_rows(
        with_table(original, table), lambda g, b: {TAKEN: np.max([b[n] for n in names], axis=0)}, names,
        [Column(TAKEN, "number")]
    )


def merged_column(before: Column, after: Column, name: str) -> Column:
    """The description of a column in which some records were masked: the levels of both, as text if their types differ."""
    levels = tuple(dict.fromkeys(before.levels + after.levels))
    if len({type(v) for v in levels}) > 1:
        levels = tuple(dict.fromkeys(str(v) for v in levels))
    missing = before.missing or after.missing
    return replace(before, name=name, levels=levels, replaced=after.replaced, missing=missing)


def codes_in(column: Column, other: Column) -> Array:
    """The code of each level of a column in another column; -1 if it has none and, as the last entry, for missing values."""
    place = {level: i for i, level in enumerate(other.levels)}
    found = [place.get(level, place.get(str(level), -1)) for level in column.levels]
    return np.array([*found, -1], dtype=np.int32)


def apply_step(step: Mask, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
    """Apply one mask to the records and within the sub-groups it is set to.

    Only confidential columns, and keys that the step names, may change.
    """
    changeable, now = frozenset(current.changeable), frozenset(columns_of_step(step, current))
    for name in columns_of_step(step, original):
        if name in changeable and name not in now:
            raise MaskError(f"{step.name()}: needs numbers, and an earlier step made {name!r} categorical. Put it before that "
                            "step, or leave the column out of its columns.")
    whole, current = current, view_of_step(step, current)
    beside = _in_same_groups(original, current).with_confidential(current.confidential)
    levels = unit_levels(beside)
    if levels and step.keeps_households and step.where is not None:
        step = with_whole_households(step, _marks(step, beside), levels[0])
    if not levels or step.keeps_households:
        masked = _applied(step, current, beside, random)
    else:
        masked = HouseholdStep(_applied, _workable, _marks).masked(step, current, beside, random, levels)
    masked = with_rounded_dates(step, current, masked)
    return Masked(masked.data.with_confidential(whole.roles.confidential), [*masked.notes, *_notes_on_absence(step, whole)])


def _notes_on_absence(step: Mask, data: Microdata) -> list[Note]:
    """A warning if a step removes only records with a confidential property: to be missing then gives it away."""
    if not (step.drops and isinstance(step.where, str)):
        return []
    used = [n for n in condition(step.where, data.table.columns).columns if n in data.changeable]
    if not used:
        return []
    return [Note(
        f"only records with {where_text(step.where)} were removed. Whoever knows that a person is in the original data and "
        f"cannot be in the release learns that this holds. Use a condition without {' and '.join(used)}", "warning",
    )]


def _marks(step: Mask, original: Microdata) -> Array:
    """1 for each record that the step masks, in record order."""
    marks: Array = collect(mark_records(step, original), [TAKEN])[2][TAKEN]
    return marks


def _date_kinds(before: Microdata, after: Microdata) -> dict[str, DateKind]:
    """The confidential columns that contained dates and still do, with their units."""
    columns, numbers = before.table.columns, after.numeric([n for n in before.confidential if n in after.table.columns])
    return {n: kind for n in numbers if n in columns and (kind := columns[n].dates) is not None}


def round_dates(before: Microdata, after: Microdata) -> Microdata:
    """The data with masked dates rounded to the unit of their column in the data before."""
    kinds = _date_kinds(before, after)
    if not kinds:
        return after
    made = [replace(after.table.columns[n], dates=k, integer=k.unit == "day") for n, k in kinds.items()]
    return map_rows(after, lambda g, b: {n: k.round(b[n]) for n, k in kinds.items()}, list(kinds), made)


def with_rounded_dates(step: Mask, before: Microdata, masked: Masked) -> Masked:
    """The result of a step with its dates rounded to the unit of their column. What rounding breaks is not promised."""
    kinds = _date_kinds(before, masked.data)
    if not kinds:
        return masked
    names = list(kinds)

    def count(group: int, block: Block) -> NDArray[np.int64]:
        found = [(block[n], kinds[n].round(block[n])) for n in names]
        return np.array([[int((~np.isnan(x) & (x != y)).sum()), out_of_calendar(y)] for x, y in found])

    moved = np.sum(reduce_groups(masked.data, names, count, np.add), axis=0)
    for name, (_, outside) in zip(names, moved.tolist(), strict=True):
        if outside:
            raise MaskError(f"{step.name()}: {outside:,} dates of {name!r} would lie outside the years 1 to 9999. If they are "
                            f"codes such as 9999-12-31, state them as missing values (missing = {{ {name} = [...] }}).")
    data = round_dates(before, masked.data)
    changed = [n for n, (some, _) in zip(names, moved.tolist(), strict=True) if some]
    if not changed:
        return Masked(data, masked.notes)
    notes = [n for n in masked.notes if not n.promise]
    units = " and ".join(dict.fromkeys(f"{kinds[n].unit}s" for n in changed))
    return Masked(data, [*notes, Note(f"masked dates of {', '.join(changed)} are rounded to whole {units}")])


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
    small: Small = taken.sub_groups.small if taken.sub_groups.pools else "refuse"
    asked_by = step.name() if step.where is None else f"{step.name()} with where"
    near = level_nearness(taken.roles, taken.table.columns, taken.groups.columns)
    least, reason = step.smallest(taken), step.smallest_reason()
    outcome = settle(taken.groups, count_present(taken).tolist(), least, small, asked_by, reason, near)
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

    codes = {n: (codes_in(current.table.columns[n], merged[n]), codes_in(masked.table.columns[n], merged[n]))
             for n in names if not current.table.columns[n].levels == masked.table.columns[n].levels == merged[n].levels}

    def choose(group: int, block: Block) -> Mapping[str, Array]:
        out = {}
        for n in names:
            before, after = block[n], block[scratch("masked", n)]
            if n in codes:
                before, after = codes[n][0][before], codes[n][1][after]
            out[n] = np.where(block[TAKEN] == 1, after, before)
        return out

    return with_table(current, joined.map_rows(choose, [*names, *new, TAKEN], list(merged.values())))


_KEPT = scratch("kept")
