"""Columns that households or persons share, with one record for each, as they were masked.

A household variable was masked once per household. What its mask keeps exactly, and the spread of its noise, hold over
households and not over records, so attacks that know the mask also run on this file, and the more successful attack counts.
The same holds for columns that all records of a person share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from larvatus.data.contracts import Attack, Mask
from larvatus.data.households.household_steps import SharedColumns, shared_columns, step_for
from larvatus.data.households.record_units import unit_levels
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.steps import columns_by_step
from larvatus.data.verbs import take_rows

_DETAIL = "households"
_OTHER_UNIT = frozenset({"household_linkage", "key_risk", "uniqueness"})  # they count households or keys by themselves


def household_records(data: Microdata, release: Release) -> list[tuple[str, Microdata, Release]]:
    """The kind of unit, and the original and the release with one record per unit; for each kind with masked shared columns."""
    there = [n for n in data.confidential if n in release.data.confidential]
    return [(part.units.kind, *_one_per_unit(data, release, part)) for part in shared_columns(data, unit_levels(data), there)]


def _one_per_unit(data: Microdata, release: Release, part: SharedColumns) -> tuple[Microdata, Release]:
    units, record = part.units, collect(release.data, ())[0]
    first = np.sort((units if len(record) == len(units.record) else units.of_records(record)).reference)

    def few(whole: Microdata) -> Microdata:
        taken = take_rows(whole, lambda g, b: np.isin(b.record, first), ())
        alone = {"confidential": part.names, "person": None, "household": None, "household_columns": ()}
        return replace(taken, roles=taken.roles.model_copy(update=alone))

    steps = _steps_of(release.steps, data, part.names)
    return few(data), replace(release, copies=tuple(few(c) for c in release.copies), steps=steps)


def _steps_of(steps: Sequence[Mask], data: Microdata, names: Sequence[str]) -> tuple[Mask, ...]:
    """The steps, for the household variables alone."""
    out = []
    for step, every in zip(steps, columns_by_step(data, steps), strict=True):
        own = [n for n in every if n in names]
        if own:
            out.append(step_for(step, own, every))
    return tuple(out)


def by_household_too(method: Attack) -> bool:
    """Whether the attack is run on the households as well."""
    return method.name() not in _OTHER_UNIT


def more_successful(found: Score, by_unit: Score, kind: str) -> Score:
    """The attack with the larger success above its baselines, with both in the details; `kind` is "household" or "person"."""
    def row(what: str, score: Score) -> Row:
        return {"targets": what, "value": score.value, "chance": score.chance, "s_alone": score.s_alone}

    before = found.details.get(_DETAIL, Rows.of([row("records, all columns", found)]))
    rows = Rows.of([*before, row(f"{kind}s, {kind} variables", by_unit)])
    better = _excess(by_unit) > _excess(found)
    said = (f"targets are {kind}s, by their {kind} variables",) if better else ()
    best = by_unit if better else found
    return replace(best, details={**best.details, _DETAIL: rows}, notes=(*best.notes, *said))


def without_units(found: Score, kind: str, why: str) -> Score:
    """The attack on records, with the reason why it was not carried out on households or persons."""
    return replace(found, notes=(*found.notes, f"not run on {kind}s, which may be at more risk: {why}"))


def _excess(score: Score) -> float:
    known = [b for b in (score.chance, score.s_alone) if b is not None and b == b]
    return score.value - max(known, default=0.0)
