"""A release from wherever it comes: made here, a frame, or a file masked elsewhere, paired with its original."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from larvatus.core.errors import PairingError, RolesError
from larvatus.data.alignment import check_same_given, in_records_of
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.release import Release
from larvatus.data.roles import Roles, SubGroups


def as_release(
    data: Microdata, other: Any, pairing: str | Path | None = None, must_pair: bool = True, name: str | None = None
) -> Release:
    """A Release as it is; a frame or a file masked elsewhere, paired with the original by row, id or pairing file."""
    if isinstance(other, Release):
        return other
    names = data.engine.names(other)
    roles, groups = _roles_for(data, names)
    label = name or (Path(other).name if isinstance(other, str | Path) else "released")
    table = data.engine.read(other, roles, groups, Path(pairing) if pairing else None)
    released = Microdata(table, roles, groups, data.engine)
    notes = [Note(f"{n} is not in the released file", "warning") for n in data.confidential if n not in names]
    try:
        if pairing is None and roles.record_id is None:
            _check_by_position(data, released, data.engine.keyed(other))
        check_same_given(data, released)
        if pairing is None and roles.record_id is None and not (groups.columns or released.non_confidential):
            notes.append(Note("rows are paired by position, and no column is there to check that by", "warning"))
        return Release(label, (in_records_of(released, data),), notes=tuple(notes))
    except PairingError:
        if must_pair:
            raise
    notes.append(Note("rows are not paired with the original's; compared as two files", "warning"))
    return Release(label, (released,), notes=tuple(notes), paired=False)


def _check_by_position(data: Microdata, released: Microdata, keyed: bool) -> None:
    if data.roles.record_id is not None:
        raise PairingError(
            f"the released file has no column {data.roles.record_id!r} to pair records by. Give its pairing file."
        )
    if keyed:
        raise PairingError(
            "the released file was written in random row order. Give the pairing file that was written with it "
            "(--pairing), or write the release with --row-order keep."
        )
    if released.rows != data.rows:
        raise PairingError(
            f"the released file has {released.rows:,} rows and the original {data.rows:,}: rows cannot be matched by "
            "position. Give a pairing file, or a record_id column that both files have."
        )


def _roles_for(data: Microdata, names: Sequence[str]) -> tuple[Roles, SubGroups]:
    """The original's roles as far as the released file has their columns."""
    roles = data.roles
    there, columns = set(names), data.table.columns
    confidential = tuple(n for n in roles.confidential if n in there)
    if not confidential:
        raise RolesError("the released file has none of the confidential columns "
                         f"({', '.join(roles.confidential[:5])}). Is it the right file?")
    kept = roles.model_copy(update={
        "confidential": confidential,
        "non_confidential": tuple(n for n in roles.non_confidential if n in there),
        "identifiers": (),
        "weight": roles.weight if roles.weight in there else None,
        "record_id": roles.record_id if roles.record_id in there else None,
        "nominal": tuple(n for n in names if n in columns and columns[n].kind == "nominal" and n not in confidential),
        "ordered": {n: v for n, v in roles.ordered.items() if n in there},
    })
    whole = all(c in there for c in data.sub_groups.columns)
    return kept, data.sub_groups if whole else SubGroups()
