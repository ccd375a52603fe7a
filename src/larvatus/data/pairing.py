"""Releases from any origin: made here, or read from a data frame or file masked elsewhere, and paired with the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from larvatus.core.errors import PairingError, RolesError, nearest_names
from larvatus.core.input_paths import paths_read
from larvatus.core.safe_files.file_sets import settle_sets
from larvatus.core.safe_files.source_changes import unchanged
from larvatus.data.alignment import check_same_given, in_records_of, mark_changed_weight
from larvatus.data.csv_files.dialect import file_like
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.pairings.pairing_files import check_pairing, shows_original_order
from larvatus.data.release import Release, ReleaseInternals
from larvatus.data.roles import Roles, SubGroups, released_columns
from larvatus.data.text_columns import texts
from larvatus.data.verbs import as_one_group, moments_by_group


def as_release(
    data: Microdata, other: Any, pairing: str | Path | None = None, must_pair: bool = True, name: str | None = None,
    row_order: Literal["checked", "keep"] = "checked", paired: bool = True,
) -> Release:
    """A release from a Release (returned as it is), or from a data frame or file masked elsewhere.

    Rows are paired with the original by position, record id or pairing file. A list of frames or files is one release with
    several copies; one pairing file serves all copies. A pairing file of another release is refused. A CSV file does not tell
    whether its rows were shuffled. It is paired by position only if an unmasked column confirms the order, or if the caller
    states that the order was kept. With `paired=False` the rows are said to be no records of the original, such as those of a
    synthetic file: nothing is paired, and the file may have any number of rows.
    """
    if isinstance(other, Release):
        return other
    if isinstance(other, list | tuple):
        return _of_copies([as_release(data, o, pairing, must_pair, name, row_order, paired) for o in other])
    for folder in {Path(p).parent for p in paths_read(other, pairing)}:
        settle_sets(folder)
    with unchanged(paths_read(other, pairing)):
        return _read_release(data, other, pairing, must_pair, name, row_order, paired)


def _read_release(
    data: Microdata, other: Any, pairing: str | Path | None, must_pair: bool, name: str | None,
    row_order: Literal["checked", "keep"], paired: bool,
) -> Release:
    file = file_like(other, data.dialect)
    names = data.engine.names(file)
    roles, groups = _roles_for(data, names)
    label = name or (Path(other).name if isinstance(other, str | Path) else "released")
    beside = Path(pairing) if pairing else None
    if not paired:
        _check_unpaired(beside, row_order)
        roles = roles.model_copy(update={"record_id": None})
    try:
        table = data.engine.read(file, roles, groups, beside)
    except RolesError:
        if not roles.ordered:
            raise
        roles = _without_orders(roles)  # joined levels have no place in the stated order
        table = data.engine.read(file, roles, groups, beside)
    if not paired:
        return _unpaired_release(label, data, Microdata(table, roles, groups, data.engine, paths_read(other)), names)
    known = {"person": data.roles.person, "household": data.roles.household}  # by record id; the file has no such columns
    released = Microdata(table, roles.model_copy(update=known), groups, data.engine, paths_read(other, pairing))
    notes = _absent_columns(data, names) + _recoded_columns(data, released)
    if pairing and not check_pairing(Path(pairing), released, row_order == "keep"):
        notes.append(Note(f"{Path(pairing).name} has no digest of a release: whether it was written with this release is not "
                          "checked", "warning"))
    try:
        if pairing is None and roles.record_id is None:
            _check_by_position(data, released, data.engine.has_random_order(other))
        else:
            released = mark_changed_weight(data, released)
        check_same_given(data, released)
        if pairing is None and roles.record_id is None and row_order == "checked" and not _confirms(released):
            _check_order_is_known(other)
            notes.append(Note("rows are paired by position, and no unmasked column is available to check this", "warning"))
        kept = shows_original_order(beside) if beside is not None else roles.record_id is None
        told = ReleaseInternals(kept_order=kept, undeclared=_undeclared(names, data))
        return Release(label, (in_records_of(released, data),), notes=tuple(notes), internals=told)
    except PairingError:
        if must_pair:
            raise
    counts = f"{released.rows:,} rows against {data.rows:,}"
    notes.append(Note(f"rows are not paired with the original; the files are compared as a whole ({counts})", "warning"))
    return Release(label, (released,), notes=tuple(notes), is_paired=False)


def _undeclared(names: Sequence[str], data: Microdata) -> tuple[str, ...]:
    """Columns of a file that have no role, or that are never released."""
    declared = {*released_columns(data.roles, data.sub_groups), data.roles.record_id}
    return tuple(n for n in names if n not in declared)


def _absent_columns(data: Microdata, names: Sequence[str]) -> list[Note]:
    """A note for each column that could be masked and that the released file lacks."""
    absent = [n for n in data.changeable if n not in names]
    return [Note(f"{n} is not in the released file; {nearest_names(n, names)}", "warning") for n in absent]


def _check_unpaired(pairing: Path | None, row_order: str) -> None:
    if pairing is not None or row_order == "keep":
        given = f"the pairing file {pairing.name}" if pairing is not None else "row_order=\"keep\""
        raise PairingError(f"the file is said to be not paired, and {given} is given. Keep one of the two.")


def _unpaired_release(label: str, data: Microdata, released: Microdata, names: Sequence[str]) -> Release:
    """A release whose rows are no records of the original."""
    counts = f"{released.rows:,} rows, {data.rows:,} records in the original"
    notes = [*_absent_columns(data, names), *_recoded_columns(data, released)]
    notes.append(Note(f"the rows are not paired with the original ({counts})"))
    return Release(label, (released,), notes=tuple(notes), is_paired=False)


def _without_orders(roles: Roles) -> Roles:
    """The roles with categories that have no order."""
    return roles.model_copy(update={"ordered": {}, "nominal": tuple(dict.fromkeys((*roles.nominal, *roles.ordered)))})


def _recoded_columns(data: Microdata, released: Microdata) -> list[Note]:
    """A note for each column of numbers that is released as categories; one in which most cells are numbers is refused."""
    changed = [n for n in released.changeable
               if (released.table.columns[n].kind, data.table.columns[n].kind) == ("nominal", "number")]
    for text in texts(released, changed):
        if text.spoilt:
            raise RolesError(
                f"the released file: {text.name!r} contains text, but is numeric in the original. Remove what is not a number "
                "from the column (only empty cells and NA count as missing)."
            )
    return [Note(f"{n} is numeric in the original and categorical in the released file, so it was recoded") for n in changed]


def _of_copies(copies: Sequence[Release]) -> Release:
    """Files read separately as the copies of one release. They must have the same columns and, if paired, the same records."""
    if not copies:
        raise PairingError("no released file is given. Give at least one.")
    first = copies[0]
    paired = all(c.is_paired for c in copies)
    for other in copies[1:]:
        if (other.data.confidential, other.data.rows) != (first.data.confidential, first.data.rows):
            raise PairingError(
                f"{other.name} and {first.name} are not copies of one release: {other.data.rows:,} and {first.data.rows:,} "
                f"records, confidential columns {', '.join(other.data.confidential)} and {', '.join(first.data.confidential)}. "
                "Give the copies of one release, or score the files one at a time."
            )
        if paired:
            first.data.table.pair(other.data.table, {n: n for n in other.data.confidential})
    notes = dict.fromkeys(n for c in copies for n in c.notes)
    label = first.name if len(copies) == 1 else f"{first.name} and {len(copies) - 1} more"
    undeclared = tuple(dict.fromkeys(n for c in copies for n in c.internals.undeclared))
    told = ReleaseInternals(kept_order=any(c.internals.kept_order for c in copies), undeclared=undeclared)
    return Release(label, tuple(c for one in copies for c in one.copies), notes=tuple(notes), is_paired=paired, internals=told)


def _confirms(released: Microdata) -> bool:
    """Whether some unmasked column varies, so that a different row order would have been noticed."""
    columns = released.table.columns
    given = [n for n in (*released.sub_groups.columns, *released.known) if n in columns and n not in released.keys]
    names = [n for n in given if columns[n].kind == "nominal" and len(columns[n].levels) > 1]
    numbers = [n for n in given if columns[n].kind == "number"]
    varies = not all(m.constant.all() for m in moments_by_group(as_one_group(released), numbers)) if numbers else False
    return bool(names) or varies


def _check_order_is_known(other: Any) -> None:
    if isinstance(other, str | Path) and Path(other).suffix.lower() not in {".parquet", ".pq"}:
        raise PairingError(
            "the rows of the released file can only be paired by position, and no unmasked column confirms their "
            "order. Give its pairing file (--pairing), or state that the order was kept (--row-order keep)."
        )


def in_declared_groups(data: Microdata, release: Release) -> Release | None:
    """A release with pooled sub-groups, in the declared ones; None if no sub-groups were pooled."""
    groups = release.data.groups
    if not release.is_paired or all(len(held) <= 1 for held in groups.declared):
        return None
    return replace(release, copies=tuple(in_records_of(copy, data) for copy in release.copies))


def _check_by_position(data: Microdata, released: Microdata, keyed: bool) -> None:
    if data.roles.record_id is not None:
        raise PairingError(
            f"the released file has no column {data.roles.record_id!r}, which is needed to pair records. Give its pairing file."
        )
    if keyed:
        raise PairingError(
            "the released file was written in random row order. Give the pairing file that was written with it "
            "(--pairing), or write the release with --row-order keep."
        )
    if released.rows != data.rows:
        raise PairingError(
            f"the released file has {released.rows:,} rows and the original {data.rows:,}: rows cannot be paired by "
            "position. Give a pairing file, or a record_id column that both files have."
        )


def _roles_for(data: Microdata, names: Sequence[str]) -> tuple[Roles, SubGroups]:
    """The roles of the original, for the columns that the released file has."""
    roles = data.roles
    there, columns = set(names), data.table.columns
    confidential = tuple(n for n in roles.confidential if n in there)
    if not any(n in there for n in data.changeable):
        what = "confidential columns" if roles.confidential else "keys"
        raise RolesError(f"the released file has none of the {what} "
                         f"({', '.join((roles.confidential or roles.key)[:5])}). Check that it is the right file.")
    kept = roles.model_copy(update={
        "confidential": confidential,
        "non_confidential": tuple(n for n in roles.non_confidential if n in there),
        "key": tuple(n for n in roles.key if n in there),
        "identifiers": (), "person": None, "household": None, "household_columns": (),
        "weight": roles.weight if roles.weight in there else None,
        "record_id": roles.record_id if roles.record_id in there else None,
        "nominal": tuple(n for n in names if n in columns and columns[n].kind == "nominal"),
        "ordered": {n: v for n, v in roles.ordered.items() if n in there and n not in data.keys},
        "taxonomies": {n: v for n, v in roles.taxonomies.items() if n not in data.keys},
        "missing": {n: v for n, v in roles.missing.items() if n in there},
        "numeric": tuple(n for n in roles.numeric if n in there),
    })
    whole = all(c in there for c in data.sub_groups.columns)
    return kept, data.sub_groups if whole else SubGroups()
