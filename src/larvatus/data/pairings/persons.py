"""Which records are of the same person."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Ints
from larvatus.data.microdata import Microdata, collect


@dataclass(frozen=True, slots=True)
class PersonsOfRecords:
    """Record ids in increasing order, with the person of each; the person is missing if it is None."""

    record: Ints
    person: tuple[str | None, ...]


def persons_of_records(data: Microdata) -> PersonsOfRecords | None:
    """The person of every record; None if the data have no person column."""
    name = data.roles.person
    if name is None or name not in data.table.columns:
        return None
    record, _, values = collect(data, [name])
    levels = (*(person_text(v) for v in data.table.columns[name].levels), None)
    return PersonsOfRecords(record, tuple(levels[int(code)] for code in values[name]))


def persons_by_records(data: Microdata) -> dict[int, int]:
    """How many persons have how many records; empty if the data have no person column."""
    name = data.roles.person
    if name is None or name not in data.table.columns:
        return {}
    codes = collect(data, [name])[2][name]
    times = np.bincount(codes[codes >= 0])
    return {int(n): int(k) for n, k in enumerate(np.bincount(times)) if n and k}


def person_text(level: object) -> str:
    """A person as text: 7, 7.0 and "7" are the same person."""
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)
