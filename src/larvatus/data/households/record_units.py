"""Which records belong together: the members of a household, or the rows of a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.data.contracts import Array
from larvatus.data.microdata import Microdata, collect


@dataclass(frozen=True)
class RecordUnits:
    """Records in increasing order of their ids, and the unit (household or person) of each, numbered from 0.

    Units are in the order of their first record. A record without a household is a unit of its own.
    """

    record: Ints
    unit: Ints
    kind: str = "household"

    @cached_property
    def size(self) -> Ints:
        """Number of records of each unit."""
        return np.bincount(self.unit)

    @cached_property
    def first(self) -> Ints:
        """Place of the first record of each unit."""
        return np.unique(self.unit, return_index=True)[1]

    @cached_property
    def members(self) -> Ints:
        """Places of all records, those of a unit together, in record order."""
        return np.argsort(self.unit, kind="stable")

    @cached_property
    def starts(self) -> Ints:
        """Where each unit starts in `members`, and the end."""
        return np.concatenate(([0], np.cumsum(self.size)))

    @property
    def reference(self) -> Ints:
        """The id of the first record of each unit."""
        return self.record[self.first]

    def places(self, record: NDArray[np.int64]) -> Ints:
        """Place of each of these records; they must all be present."""
        return np.searchsorted(self.record, record)

    def units_of(self, record: NDArray[np.int64]) -> Ints:
        """Unit of each of these records."""
        return self.unit[self.places(record)]

    def of_records(self, record: NDArray[np.int64]) -> RecordUnits:
        """The same for some of the records, given in increasing order."""
        return units_from(record, self.units_of(record), self.kind)

    def differing(self, values: Array) -> Bools:
        """Whether each unit has records with different values; missing values are equal to each other."""
        first = values[self.first][self.unit]
        same = values == first
        if values.dtype.kind == "f":
            same |= np.isnan(values) & np.isnan(first)
        return np.asarray(np.bincount(self.unit, weights=~same, minlength=len(self.size)) > 0)


def units_from(record: Ints, label: Ints, kind: str = "household") -> RecordUnits:
    """Units from a label of each record; a negative label marks a record that is alone."""
    own = np.where(label < 0, label.max(initial=0) + 1 + np.arange(len(label)), label)
    _, first, place = np.unique(own, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first, kind="stable")] = np.arange(len(first))
    return RecordUnits(record, number[place.reshape(-1)], kind)


def record_units(data: Microdata, name: str | None, kind: str = "household") -> RecordUnits | None:
    """The units that a column (the role `household` or `person`) forms; None if it forms none with two records or more.

    Holds the record ids and the units of all records in memory.
    """
    if name is None or name not in data.table.columns:
        return None
    record, _, values = collect(data, [name])
    units = units_from(record, values[name].astype(np.int64), kind)
    return units if len(units.size) < len(record) else None


def household_units(data: Microdata) -> RecordUnits | None:
    """The households of a file; None if it has none with two members or more."""
    return record_units(data, data.roles.household)


def unit_levels(data: Microdata) -> tuple[RecordUnits, ...]:
    """The units whose shared values are masked once: households first, then persons; each if some have two records or more."""
    found = (household_units(data), record_units(data, data.roles.person, "person"))
    return tuple(units for units in found if units is not None)


def masking_units(data: Microdata) -> RecordUnits | None:
    """The units that are dropped, swapped and selected as a whole: households, or persons if the file has no households."""
    return next(iter(unit_levels(data)), None)


def columns_equal_within(data: Microdata, units: RecordUnits, names: Sequence[str]) -> dict[str, int]:
    """For each column, the number of units whose records differ in it."""
    record, _, values = collect(data, list(names))
    units = units if len(record) == len(units.record) else units.of_records(record)
    return {n: int(units.differing(values[n]).sum()) for n in names}


def sums_by_unit(units: RecordUnits, figure: Floats) -> Floats:
    """Sum of a figure of records over the records of each unit."""
    return np.asarray(np.bincount(units.unit, weights=figure, minlength=len(units.size)))
