"""The household variables of a release with one record per household, as they were masked.

A household variable was masked once per household. What its mask keeps exactly, and the spread of its noise, hold over
households and not over records, so attacks that know the mask also run on this file, and the more successful attack counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from larvatus.data.contracts import Attack, Mask
from larvatus.data.households.household_steps import household_variables, step_for
from larvatus.data.households.record_units import masking_units
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.steps import columns_by_step
from larvatus.data.verbs import take_rows

_OTHER_UNIT = frozenset({"household_linkage", "key_risk", "uniqueness"})  # they count households or keys by themselves


def household_records(data: Microdata, release: Release) -> tuple[Microdata, Release] | None:
    """The original and the release with one record per household; None if there are no masked household variables."""
    households = masking_units(data)
    if households is None:
        return None
    there = [n for n in data.confidential if n in release.data.confidential]
    names = household_variables(data, households, there)
    if not names:
        return None
    record = collect(release.data, ())[0]
    first = np.sort((households if len(record) == len(households.record) else households.of_records(record)).reference)

    def few(whole: Microdata) -> Microdata:
        taken = take_rows(whole, lambda g, b: np.isin(b.record, first), ())
        alone = {"confidential": names, "person": None, "household": None, "household_columns": ()}
        return replace(taken, roles=taken.roles.model_copy(update=alone))

    steps = _steps_of(release.steps, data, names)
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


def more_successful(by_record: Score, by_household: Score) -> Score:
    """The attack with the larger success above its baselines, with both in the details."""
    rows: list[Row] = [
        {"targets": what, "value": s.value, "chance": s.chance, "s_alone": s.s_alone}
        for what, s in (("records, all columns", by_record), ("households, household variables", by_household))
    ]
    best = by_household if _excess(by_household) > _excess(by_record) else by_record
    said = ("targets are households, by their household variables",) if best is by_household else ()
    return replace(best, details={**best.details, "households": Rows.of(rows)}, notes=(*best.notes, *said))


def _excess(score: Score) -> float:
    known = [b for b in (score.chance, score.s_alone) if b is not None and b == b]
    return score.value - max(known, default=0.0)
