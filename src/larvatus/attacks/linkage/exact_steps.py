"""Steps of a release that leave exact equations, and the rows and columns for which the equations hold.

They hold in each sub-group, or over the file if the scope of the step is the file, and only for the records that the step
masked. An intruder must be able to see which rows these are, so a condition in `where` may involve columns of S only. Rounding
afterwards moves each value by half the base at most. Any other step on the same columns and records ends the equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RolesError
from larvatus.data.conditions import Condition, condition
from larvatus.data.contracts import Block, Mask
from larvatus.data.design import Design, design_of
from larvatus.data.exposure.leverage import with_pooled_levels
from larvatus.data.laws import ExactNoise
from larvatus.data.microdata import Microdata
from larvatus.data.per_column import per_column
from larvatus.data.record_selection import MARK
from larvatus.data.release import Release
from larvatus.data.steps import view_of_step
from larvatus.data.verbs import as_one_group, take_rows


@dataclass(frozen=True, slots=True)
class ExactStep:
    """An exact step: its columns, what holds exactly, and where.

    `whole` is true if it masked the file as one group, although there are sub-groups. `chosen` is the condition of the records
    that it masked (None for all), and `others` are those of records in which other steps mask the same columns. With
    `rows_known` an intruder can see from S which rows these are. `bases` has the base of rounding by column.
    """

    names: tuple[str, ...]
    noise: ExactNoise
    whole: bool
    chosen: Condition | None = None
    others: tuple[Condition, ...] = ()
    rows_known: bool = True
    bases: Mapping[str, float] = field(default_factory=dict)

    @property
    def condition_columns(self) -> tuple[str, ...]:
        """The columns that decide which rows the step masked."""
        every = [*([self.chosen] if self.chosen is not None else []), *self.others]
        return tuple(dict.fromkeys(n for c in every for n in c.columns))

    def rows(self, block: Block) -> Ints:
        """The rows for which equations hold; none if another step changed some of the rows that the step masked."""
        mine = np.ones(len(block), dtype=bool) if self.chosen is None else self.chosen.holds(block)
        if any((other.holds(block) & mine).any() for other in self.others):
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(mine)

    def data_masked(self, data: Microdata) -> Microdata:
        """The records of the step in the groups in which it masked them."""
        grouped = as_one_group(data) if self.whole else data
        chosen = self.chosen
        return grouped if chosen is None else take_rows(grouped, lambda g, b: chosen.holds(b), chosen.columns)

    def rounding(self, names: Sequence[str]) -> Floats:
        """The base of rounding of each column; 0 if it was not rounded."""
        return np.array([self.bases.get(n, 0.0) for n in names])


def exact_steps(release: Release) -> list[ExactStep]:
    """The steps that leave exact equations; none if copies were averaged, or if a step drops records."""
    if release.internals.copies_averaged > 1 or any(s.drops for s in release.steps):
        return []
    joined = release.internals.original_columns
    names = [tuple(n for n in view_of_step(s, release.data).confidential if n not in joined) for s in release.steps]
    found = (_exact_step(release, names, i) for i in range(len(release.steps)))
    return [step for step in found if step is not None]


def _exact_step(release: Release, names: Sequence[tuple[str, ...]], place: int) -> ExactStep | None:
    step, data = release.steps[place], release.data
    noise = step.exact_noise(names[place])
    if noise is None or not names[place]:
        return None
    bases: dict[str, float] = {}
    others: list[Condition] = []
    chosen = _condition_on_s(step, data)
    for k, other in enumerate(release.steps):
        shared = [n for n in names[k] if n in names[place]]
        if k == place or not shared:
            continue
        if k > place and other.name() == "rounding":
            sizes = per_column("rounding.base", other.settings()["base"], names[k])
            bases |= {n: max(bases.get(n, 0.0), b) for n, b in zip(names[k], sizes.tolist(), strict=True)}
            continue
        beside = _condition_on_s(other, data)
        if beside is None:
            return None
        others.append(beside)
    whole = step.scope == "file" and bool(data.groups.columns)
    return ExactStep(names[place], noise, whole, chosen, tuple(others), step.where is None or chosen is not None, bases)


def _condition_on_s(step: Mask, data: Microdata) -> Condition | None:
    """The condition of a step if it has one and involves columns of S only."""
    if not isinstance(step.where, str) or step.where.startswith(MARK):
        return None
    found = condition(step.where, data.table.columns)
    visible = {*data.sub_groups.columns, *data.known}
    return found if set(found.columns) <= visible else None


def exact_design(data: Microdata, noise: ExactNoise) -> Design | None:
    """The terms of S that the mask used, with rare categories pooled if the study pools."""
    if not noise.with_s:
        return Design(())
    try:
        design = design_of(data, data.non_confidential)
    except RolesError:
        return None
    return with_pooled_levels(data, design, noise.rare)[0] if data.sub_groups.pools else design
