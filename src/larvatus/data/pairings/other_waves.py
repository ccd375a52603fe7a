"""Releases of other waves: other records of the same persons, which an intruder with both releases joins by person.

The partner of a record is the first record of the same person in the other wave. Its released values become a second
observation of the record's own confidential values; S is taken from this wave, so it may differ between waves. A record
without a partner gets nothing from the other wave. The steps of the other wave masked other values than those of this file,
so attacks do not use their settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from larvatus.core.arrays import Bools, Ints
from larvatus.core.errors import PairingError
from larvatus.core.input_paths import paths_read
from larvatus.core.safe_files.source_changes import unchanged
from larvatus.data.contracts import Array, Block
from larvatus.data.microdata import Microdata, collect
from larvatus.data.notes import Note
from larvatus.data.pairing import as_release
from larvatus.data.pairings.pairing_files import check_pairing, persons_in_pairing
from larvatus.data.pairings.persons import PersonsOfRecords, persons_of_records
from larvatus.data.release import Release, ReleaseInternals
from larvatus.data.roles import Roles, SubGroups
from larvatus.data.verbs import map_rows, take_rows

WAVE = "other wave"  # the step of notes on a release that was joined by person
_MOST_CELLS = 20_000_000


def as_other_release(
    data: Microdata, other: Any, pairing: str | Path | None = None, row_order: Literal["checked", "keep"] = "checked"
) -> Release:
    """A further release that the intruder has: of the same records, or of another wave of the same persons.

    It is joined by person if the original has a person column, and the other release has one too: in its file, in its pairing
    file, or inside a Release. A Release of the same records is returned as it is.
    """
    person = data.roles.person
    if person is None or isinstance(other, list | tuple):
        return _of_same_records(data, other, pairing, row_order)
    if isinstance(other, Release):
        mine, theirs = persons_of_records(data), persons_of_records(other.data)
        if not other.is_paired or theirs is None or mine is None or _are_same(mine, theirs):
            return other
        return _joined(data, mine, other.name, other.copies, theirs)
    with unchanged(paths_read(other, pairing)):
        return _read_wave(data, person, other, pairing, row_order)


def _read_wave(
    data: Microdata, person: str, other: Any, pairing: str | Path | None, row_order: Literal["checked", "keep"]
) -> Release:
    label = Path(other).name if isinstance(other, str | Path) else "released"
    names = data.engine.names(other)
    told = persons_in_pairing(Path(pairing)) if pairing else None
    if person not in names and told is None:
        return _of_same_records(data, other, pairing, row_order)
    roles = _roles_of_wave(data, names, person if told is None else None)
    table = data.engine.read(other, roles, SubGroups(), None if told is None else Path(str(pairing)))
    released = Microdata(table, roles, SubGroups(), data.engine, paths_read(other, pairing))
    if told is not None:
        check_pairing(Path(str(pairing)), released, row_order == "keep")
    found = persons_of_records(released) if told is None else _in_order(*told)
    mine = persons_of_records(data)
    assert mine is not None
    assert found is not None
    return _joined(data, mine, label, (released,), found)


def _of_same_records(
    data: Microdata, other: Any, pairing: str | Path | None, row_order: Literal["checked", "keep"]
) -> Release:
    """A release of the same records; if its rows do not match, the error tells how other waves are joined."""
    try:
        return as_release(data, other, pairing, row_order=row_order)
    except PairingError as error:
        needs = "declare the column that identifies persons (roles.person)" if data.roles.person is None else (
            f"give a file with the column {data.roles.person!r}, or a pairing file with persons")
        raise PairingError(f"{error} If it is a release of another wave of the same persons, {needs}.") from None


def _in_order(record: Ints, person: Sequence[str | None]) -> PersonsOfRecords:
    order = np.argsort(record, kind="stable")
    return PersonsOfRecords(record[order], tuple(person[i] for i in order))


def _are_same(mine: PersonsOfRecords, theirs: PersonsOfRecords) -> bool:
    """Whether the other release has records of this file: each with the person that it has here."""
    here = dict(zip(mine.record.tolist(), mine.person, strict=True))
    return all(here.get(r, 0) == p for r, p in zip(theirs.record.tolist(), theirs.person, strict=True))


def _roles_of_wave(data: Microdata, names: Sequence[str], person: str | None) -> Roles:
    """The confidential columns of the other file, and its persons; S is not needed."""
    confidential = tuple(n for n in data.roles.confidential if n in names)
    if not confidential:
        raise PairingError(f"other_releases: none of the confidential columns ({', '.join(data.roles.confidential[:5])}) is in "
                           "the file of the other wave. Check that it is the right file.")
    return Roles(confidential=confidential, person=person, nominal=tuple(n for n in confidential if n in data.roles.nominal))


def _joined(
    data: Microdata, mine: PersonsOfRecords, name: str, copies: Sequence[Microdata], theirs: PersonsOfRecords
) -> Release:
    """The release of another wave as a release of records of this file."""
    place: dict[str, int] = {}
    for i, person in enumerate(theirs.person):
        if person is not None:
            place.setdefault(person, i)
    partner = np.array([-1 if p is None else place.get(p, -1) for p in mine.person], dtype=np.int64)
    found = int((partner >= 0).sum())
    if not found:
        raise PairingError(f"other_releases: {name} has no person of this file ({data.roles.person!r}). Check that it is the "
                           "right file, and that persons have the same codes in both.")
    cells = copies[0].rows * len(copies[0].confidential)
    if cells > _MOST_CELLS:
        raise PairingError(f"other_releases: {name} has {cells:,} confidential values; at most {_MOST_CELLS:,} can be joined "
                           "by person. Give fewer records or columns.")
    text = (f"{name} is another wave, joined by {data.roles.person}: {found:,} of {data.rows:,} records have a partner in it, "
            "and the others are attacked without it. Attacks that start from the settings of steps leave it out")
    joined = tuple(_with_values(data, mine.record, partner, copy) for copy in copies)
    return Release(name, joined, notes=(Note(text, step=WAVE),), internals=ReleaseInternals(whole_wave=tuple(copies)))


def _with_values(data: Microdata, record: Ints, partner: Ints, theirs: Microdata) -> Microdata:
    """The records that have a partner, with the released values of the partner."""
    mine, others = data.table.columns, theirs.table.columns
    names = [n for n in data.confidential if n in others and others[n].kind == mine[n].kind]
    _, _, values = collect(theirs, names)

    def there(group: int, block: Block) -> Bools:
        return np.asarray(partner[np.searchsorted(record, block.record)] >= 0)

    def look_up(group: int, block: Block) -> Mapping[str, Array]:
        rows = partner[np.searchsorted(record, block.record)]
        return {n: values[n][rows] for n in names}

    made = [replace(others[n], missing=True) for n in names]
    joined = map_rows(take_rows(data, there, ()), look_up, (), made).with_confidential(names)
    return replace(joined, inputs=theirs.inputs)
