"""The weights of a file by unit: a household if its members share one weight, else a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import MaskError
from larvatus.data.contracts import Masked
from larvatus.data.exposure.singled_out import count_singled_out
from larvatus.data.households.record_units import RecordUnits, unit_levels
from larvatus.data.microdata import Microdata, collect
from larvatus.data.notes import Note
from larvatus.data.verbs import map_rows
from larvatus.stats.estimates.calibration import design_effect


@dataclass(frozen=True, slots=True)
class WeightUnits:
    """The weight of each unit, the sub-group of its first record, and the number of its records, in the order of units."""

    name: str
    units: RecordUnits
    group: Ints
    weight: Floats

    @property
    def size(self) -> Ints:
        return self.units.size

    @property
    def are_households(self) -> bool:
        """Whether households share a weight."""
        return len(self.units.size) < len(self.units.record)


def weight_units(data: Microdata, what: str) -> WeightUnits:
    """The weights by unit; an error if there is no weight, or if a weight is missing or negative."""
    name = data.roles.weight
    if name is None or name not in data.table.columns:
        raise MaskError("no column has the role weight. Declare one (roles.weight), or remove the step.", subject=what)
    if data.table.columns[name].kind != "number":
        raise MaskError(f"the weight {name!r} is not numeric. Declare another column.", subject=what)
    record, group, values = collect(data, [name])
    w = values[name]
    wrong = int((~(w >= 0)).sum())
    if wrong:
        raise MaskError(f"{wrong:,} weights in {name!r} are missing or negative. Correct or remove these records.",
                        subject=what)
    single = RecordUnits(record, np.arange(len(record)))
    units = next((u for u in unit_levels(data) if not u.differing(w).any()), single)
    return WeightUnits(name, units, group[units.first], w[units.first])


def with_weights(
    data: Microdata, before: WeightUnits, weight: Floats, notes: Sequence[Note] = (), noisy: bool = False
) -> Masked:
    """The data with new weights of the units, and notes on what they reveal and on the design effect, before and after.

    `noisy` is true if the new weights have random noise.
    """
    name, units = before.name, before.units
    if not np.isfinite(weight).all():
        raise MaskError(f"the new weights of {name!r} are not finite. Use other settings.")
    whole = bool((weight == np.rint(weight)).all())
    column = data.table.columns[name]
    made = replace(column, integer=whole, replaced=True, noisy=column.noisy or noisy)
    after = map_rows(data, lambda g, b: {name: weight[units.units_of(b.record)]}, (), [made])
    old, new = before.weight[units.unit], weight[units.unit]
    total = (float(old.sum()), float(new.sum()))
    told = [
        Note(f"total of {name}: {total[0]:.10g} before and {total[1]:.10g} after; design effect by Kish (1 + cv²): "
             f"{design_effect(old):.4g} before and {design_effect(new):.4g} after"),
        _noise(data, name) if made.noisy else _power(data, after, name),
    ]
    return Masked(after, [*notes, *told])


def _power(before: Microdata, after: Microdata, name: str) -> Note:
    """How many records the weight singles out, alone and with the other unmasked columns, before and after."""
    others = tuple(n for n in (*before.sub_groups.columns, *before.non_confidential) if n != name)
    alone = [count_singled_out(d, (name,)) for d in (before, after)]
    text = f"{name} alone singles out {alone[0]:,} of {before.rows:,} records before and {alone[1]:,} after"
    if others:
        joint = [count_singled_out(d, (*others, name)) for d in (before, after)]
        text += f"; with {', '.join(others)}: {joint[0]:,} before and {joint[1]:,} after"
        text += f" ({count_singled_out(before, others):,} without the weight)"
    return Note(text, "warning" if alone[1] else "information")


def _noise(before: Microdata, name: str) -> Note:
    alone = count_singled_out(before, (name,))
    return Note(f"{name} alone singles out {alone:,} of {before.rows:,} records before; the released weights have noise, and "
                "attacks compare them with the original ones by distance")
