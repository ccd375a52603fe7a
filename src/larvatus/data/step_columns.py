"""Which columns and records a step masks: those it names, or all of the kinds it handles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from larvatus.core.scratch_names import scratch
from larvatus.data.conditions import condition
from larvatus.data.contracts import Array, Column, Mask
from larvatus.data.microdata import Microdata
from larvatus.data.record_selection import record_numbers
from larvatus.data.roles import has_order
from larvatus.data.verbs import map_rows, with_table

TAKEN = scratch("taken")


def columns_of_step(step: Mask, data: Microdata) -> tuple[str, ...]:
    """The confidential columns that a step masks, in role order: those it names, else all of the kinds it handles."""
    asked = step.columns or data.confidential
    return tuple(n for n in data.confidential if n in asked and is_maskable(step, n, data))


def is_maskable(step: Mask, name: str, data: Microdata) -> bool:
    """Whether a step can mask a column: because of its kind, or because it is categorical with an order."""
    kind = data.table.columns[name].kind
    return kind in step.handles or (kind == "nominal" and "ordered" in step.handles and has_order(data.roles, name))


def view_of_step(step: Mask, data: Microdata) -> Microdata:
    """The data as the step sees them, without the confidential columns that it does not mask."""
    return data.with_confidential(columns_of_step(step, data))


def columns_by_step(data: Microdata, masks: Sequence[Mask]) -> list[tuple[str, ...]]:
    """The columns that each step masks, including columns that an earlier step makes categorical."""
    made: set[str] = set()
    out = []
    for step in masks:
        now = columns_of_step(step, data)
        asked = step.columns or data.confidential
        more = {n for n in made if n in asked and "nominal" in step.handles}
        out.append(tuple(n for n in data.confidential if n in now or n in more))
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
