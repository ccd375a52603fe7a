"""Apply a step to a file of households so that they stay consistent.

A household variable is a confidential column that is equal within every household of the original. A step masks it in one
record per household, the first one, and every member gets the result. In a file with persons, the same holds for the other
columns that are equal in all records of every person:

    y_i = y_ref(h)   for all i ∈ h,      ref(h) the smallest record id of household (or person) h

Columns that differ within households and persons are masked record by record. A step that removes records removes whole
households; in a file without households, whole persons. Draws of all parts come from different streams.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, get_args, get_origin

import numpy as np

from larvatus.core.arrays import Ints
from larvatus.core.errors import MaskError, RolesError
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.contracts import Array, Block, Column, Mask, Masked
from larvatus.data.exposure.kinds_of_missing import codes_of_draws
from larvatus.data.households.record_units import RecordUnits, columns_equal_within, masking_units, unit_levels
from larvatus.data.microdata import Microdata, collect
from larvatus.data.notes import Note
from larvatus.data.verbs import map_rows, take_rows

Apply = Callable[[Mask, Microdata, Microdata, RecordRandom], Masked]
_SHARED = frozenset({"columns", "where", "scope"})
_STREAMS = ("households", "persons")  # of draws: for the first and the second level of units


def household_variables(original: Microdata, households: RecordUnits, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the columns that are household variables: the stated ones, else those equal within every household."""
    stated = original.roles.household_columns if households.kind == "household" else ()
    asked = [n for n in names if n in stated] if stated else list(names)
    differing = columns_equal_within(original, households, asked) if asked else {}
    wrong = [f"{n!r} in {count:,}" for n, count in differing.items() if count] if stated else []
    if wrong:
        raise RolesError(f"the members of a household must agree in it, and they differ: {', '.join(wrong)} of "
                         f"{len(households.size):,} households. Correct these records, or do not list the column.",
                         subject="household_columns")
    return tuple(n for n in asked if not differing[n])


@dataclass(frozen=True, slots=True)
class SharedColumns:
    """Columns that are equal within every household, or within every person, and the households or persons."""

    units: RecordUnits
    names: tuple[str, ...]


def shared_columns(original: Microdata, levels: Sequence[RecordUnits], names: Sequence[str]) -> list[SharedColumns]:
    """Those of the columns that households share and, of the others, those that the records of a person share."""
    found, left = [], tuple(names)
    for units in levels:
        own = household_variables(original, units, left)
        left = tuple(n for n in left if n not in own)
        found += [SharedColumns(units, own)] if own else []
    return found


@dataclass(frozen=True, slots=True)
class HouseholdStep:
    """One step on a file of households. `apply` is what applies a step to records, whatever their households."""

    apply: Apply
    workable: Callable[[Microdata, Mask], Microdata]
    mark: Callable[[Mask, Microdata], Array]

    def masked(
        self, step: Mask, current: Microdata, original: Microdata, random: RecordRandom, levels: Sequence[RecordUnits]
    ) -> Masked:
        """The step's result, with every household and every person consistent."""
        if step.drops:
            return self._whole_households(step, current, original, random, levels[0])
        names = current.confidential
        shared = shared_columns(original, levels, names)
        own = tuple(n for n in names if not any(n in part.names for part in shared))
        if not shared:
            return self.apply(step, current, original, random)
        data, notes = current, list[Note]()
        if own:
            part = step_for(step, own, names)
            done = self.apply(part, current.with_confidential(own), original.with_confidential(own), random)
            data, notes = done.data.with_confidential(names), list(done.notes)
        for some in shared:
            draws = _apart(random, _STREAMS[0 if some.units is levels[0] else 1])
            data, said = self._once_per_unit(step_for(step, some.names, names), data, original, draws, some)
            notes += said
        return Masked(data, [*notes, _said(shared, own)])

    def _once_per_unit(
        self, step: Mask, data: Microdata, original: Microdata, random: RecordRandom, some: SharedColumns
    ) -> tuple[Microdata, list[Note]]:
        """The data with the columns masked in one record of each unit, and the notes of the step."""
        now, before = data.with_confidential(some.names), original.with_confidential(some.names)
        few = self._one_per_household(step, now, before, some.units)
        masked = self.apply(few.step, few.data, few.original, random)
        names = (*some.names, *codes_of_draws(masked.data.table, some.names))
        return _spread(data, masked.data, few.households, names), _by_unit(masked.notes, some.units)

    def _whole_households(
        self, step: Mask, current: Microdata, original: Microdata, random: RecordRandom, households: RecordUnits
    ) -> Masked:
        few = self._one_per_household(step, current, original, households)
        weight, columns = current.roles.weight, current.table.columns
        if weight is not None and weight in columns and columns[weight].kind == "number":
            ones = [columns[weight]]
            few = replace(few, data=map_rows(few.data, lambda g, b: {weight: np.ones(len(b))}, [weight], ones))
        masked = self.apply(few.step, few.data, few.original, _apart(random, _STREAMS[0]))
        record, _, values = collect(masked.data, [weight] if weight else [])
        kept = np.zeros(len(few.households.size), dtype=bool)
        kept[few.households.units_of(record)] = True
        after = take_rows(current, lambda g, b: kept[few.households.units_of(b.record)], ())
        if weight and masked.data.table.columns[weight].replaced:
            factor = np.ones(len(kept))
            factor[few.households.units_of(record)] = values[weight]
            made = replace(columns[weight], integer=False, replaced=True)
            after = map_rows(after, lambda g, b: {weight: b[weight] * factor[few.households.units_of(b.record)]}, [weight],
                             [made])
        members = "members of a household" if households.kind == "household" else "records of a person"
        drawn = f"{households.kind}s were drawn whole: all {members} are released, or none"
        notes = [*_by_unit(masked.notes, households), Note(drawn, public=True)]
        return Masked(after, notes)

    def _one_per_household(
        self, step: Mask, current: Microdata, original: Microdata, households: RecordUnits
    ) -> _HouseholdTable:
        """The first record of every household, in sub-groups that are large enough for the step."""
        record, _, _ = collect(current, ())
        here = households if len(record) == len(households.record) else households.of_records(record)
        reference = np.sort(here.reference)
        if step.where is not None:
            ids = _whole(self.mark(step, original), households)
            first = here.reference[np.unique(here.units_of(ids[np.isin(ids, record)]))]
            step = step.model_copy(update={"where": tuple(int(r) for r in first)})
        few = take_rows(current, lambda g, b: _among(b.record, reference), ())
        if step.scope == "sub_group" and not step.alone and step.where is None:
            few = self.workable(few, step)
        beside = replace(original, table=few.table.pair(original.table, {n: n for n in original.table.columns}))
        return _HouseholdTable(step, few, beside, here)


@dataclass(frozen=True, slots=True)
class _HouseholdTable:
    """A step, and the data with one record per household."""

    step: Mask
    data: Microdata
    original: Microdata
    households: RecordUnits


def with_whole_households(step: Mask, marks: Array, households: RecordUnits) -> Mask:
    """The step for all members of the households of which some record is marked."""
    return step.model_copy(update={"where": tuple(int(r) for r in _whole(marks, households))})


def _whole(marks: Array, households: RecordUnits) -> Ints:
    """The records of households of which some record is marked."""
    return households.record[np.isin(households.unit, households.unit[marks == 1])]


def blank_whole_units(data: Microdata, shared: Sequence[SharedColumns]) -> tuple[Microdata, bool]:
    """The data with shared columns missing in all records of a unit if they are in one; and whether that changed some."""
    changed = False
    for part in shared:
        data, more = _blank_whole(data, part.units, part.names)
        changed |= more
    return data, changed


def _blank_whole(data: Microdata, households: RecordUnits, names: Sequence[str]) -> tuple[Microdata, bool]:
    record, _, values = collect(data, names)
    here = households if len(record) == len(households.record) else households.of_records(record)
    gone = {n: np.isnan(v) if v.dtype.kind == "f" else v < 0 for n, v in values.items()}
    every = {n: np.bincount(here.unit, weights=g, minlength=len(here.size)) > 0 for n, g in gone.items()}
    if not any((every[n][here.unit] & ~gone[n]).any() for n in names):
        return data, False

    def blank(group: int, block: Block) -> Mapping[str, Array]:
        unit = here.units_of(block.record)
        missing = {n: np.nan if block[n].dtype.kind == "f" else -1 for n in names}
        return {n: np.where(every[n][unit], missing[n], block[n]) for n in names}

    return map_rows(data, blank, names), True


def with_whole_households_only(data: Microdata, fewer: Microdata) -> Microdata | None:
    """The data without the households of which `fewer` lacks a member; None if it lacks none, or only whole households."""
    households = masking_units(data) if fewer.rows < data.rows else None
    if households is None:
        return None
    gone = ~np.isin(households.record, collect(fewer, ())[0])
    broken = np.bincount(households.unit, weights=gone, minlength=len(households.size)) > 0
    if int(households.size[broken].sum()) == int(gone.sum()):
        return None
    return take_rows(data, lambda g, b: ~broken[households.units_of(b.record)], ())


def _among(record: Ints, some: Ints) -> Array:
    place = np.minimum(np.searchsorted(some, record), len(some) - 1)
    return np.asarray(some[place] == record)


def _apart(random: RecordRandom, stream: str) -> RecordRandom:
    """The stream of draws for households, or for persons in households."""
    common = None if random.common is None else stream_key(random.common, stream)
    return RecordRandom(stream_key(random.key, stream), common)


def _spread(data: Microdata, masked: Microdata, households: RecordUnits, names: Sequence[str]) -> Microdata:
    """The data with the columns of the household table copied to all members; households that it lacks are dropped."""
    record, _, values = collect(masked, names)
    unit = households.units_of(record)
    place = np.full(len(households.size), -1, dtype=np.int64)
    place[unit] = np.arange(len(record))
    if len(record) < len(households.size):
        data = take_rows(data, lambda g, b: place[households.units_of(b.record)] >= 0, ())

    def copy(group: int, block: Block) -> Mapping[str, Array]:
        at = place[households.units_of(block.record)]
        return {n: values[n][at] for n in names}

    made: list[Column] = [masked.table.columns[n] for n in names]
    return map_rows(data, copy, (), made)


def _by_unit(notes: Sequence[Note], households: RecordUnits) -> list[Note]:
    return [replace(n, text=f"counted by {households.kind}: {n.text}") for n in notes]


def _said(shared: Sequence[SharedColumns], own: Sequence[str]) -> Note:
    every = {"household": "its members", "person": "records of the person"}
    text = "; ".join(f"{', '.join(part.names)}: one value per {part.units.kind}, masked once for all {every[part.units.kind]}"
                     for part in shared)
    if own:
        text += f"; {', '.join(own)}: masked separately, by record"
    return Note(text, public=True)


def step_for(step: Mask, names: Sequence[str], every: Sequence[str]) -> Mask:
    """A step with the settings of some of its columns; lists and tables by column are cut to these columns."""
    if tuple(names) == tuple(every):
        return step
    cut: dict[str, Any] = {"columns": tuple(names)}
    for field, info in type(step).model_fields.items():
        value = getattr(step, field)
        if field in _SHARED or isinstance(value, str) or not isinstance(value, tuple | Mapping):
            continue
        cut[field] = _cut(f"{step.name()}.{field}", value, names, every, _takes_number(info.annotation))
    return step.model_copy(update=cut)


def _takes_number(annotation: Any) -> bool:
    """Whether a setting may be one number, so that a list of numbers gives one per column."""
    parts = (annotation, *get_args(annotation))
    return any((get_args(p)[0] if get_origin(p) is Annotated else p) in (float, int) for p in parts)


def _cut(what: str, value: Any, names: Sequence[str], every: Sequence[str], numbers: bool) -> Any:
    if isinstance(value, Mapping):
        return {k: v for k, v in value.items() if k in names or k not in every}
    if numbers and len(value) == len(every):
        keep = [i for i, n in enumerate(every) if n in names]
        rows = [value[i] for i in keep]
        return tuple(tuple(r[i] for i in keep) if isinstance(r, tuple) else r for r in rows)
    lists = [v for v in value if isinstance(v, tuple)] or [value]
    for one in lists:
        if {n in names for n in one if n in every} == {True, False}:
            raise MaskError(f"{what}: {', '.join(map(str, one))} are masked together, and only some of them are household "
                            "variables, which are masked once per household. List household variables apart from the others.")
    if any(isinstance(v, tuple) for v in value):
        return tuple(v for v in value if not any(n in every and n not in names for n in v))
    return tuple(n for n in value if n in names or n not in every)


def check_households(original: Microdata, released: Microdata) -> None:
    """Raise an error if members of a household, or records of a person, differ in a released column that they share."""
    changed = [n for n in (*original.confidential, *original.keys) if n in released.table.columns]
    for shared in shared_columns(original, unit_levels(original), changed):
        found = {n: c for n, c in columns_equal_within(released, shared.units, shared.names).items() if c}
        if found:
            raise MaskError(_difference(found, shared.units))


def _difference(found: Mapping[str, int], units: RecordUnits) -> str:
    worst = ", ".join(f"{n} in {c:,}" for n, c in found.items())
    of, every = ("members of a household", "households") if units.kind == "household" else ("records of a person", "persons")
    return (f"mask: {of} would differ in a column that is equal within {every} ({worst} of {len(units.size):,} {every}). A "
            "rule that joins household variables and other columns repairs single records: state rules for each kind apart, or "
            "list the household variables that must stay equal (roles.household_columns). record_swap exchanges whole "
            "households: name only columns that are equal within households.")
