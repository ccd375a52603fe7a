"""What a manifest records for budgets: made from a release and its source, and read from manifests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from larvatus.certificates.budgets.information_of_release import information_of
from larvatus.core.arrays import Ints
from larvatus.core.errors import ManifestError, PairingError, ReadError
from larvatus.core.number_format import quote
from larvatus.core.randomness import SHORTEST_SECRET
from larvatus.data.alignment import in_groups_of, released_records
from larvatus.data.budgets.release_information import BudgetEntry, SourceMarks
from larvatus.data.microdata import Microdata, collect
from larvatus.data.pairings.persons import persons_of_records
from larvatus.data.pairings.released_keys import with_released_keys, without_key_steps
from larvatus.data.privacy.privacy_loss import NO_STATEMENT, PrivacyStatement
from larvatus.data.release import Release
from larvatus.pipeline.budgets.privacy_statements import statement_of

_ENTRY = "budget"


def entry_of(data: Microdata, release: Release, key: bytes, source: str = "", files: Sequence[str] = ()) -> BudgetEntry:
    """The entry of a release made from the data."""
    if not release.is_paired:
        raise PairingError("the release is not paired with the original, so what it tells about records cannot be computed.")
    stated = statement_of(data, release)
    if release.data.rows != data.rows:  # the intruder is told which records are in the file
        data = released_records(data, release.data)
    seen = in_groups_of(with_released_keys(data, release), release.data)
    information, cells = information_of(without_key_steps(release), seen)
    marks = _marks(data, cells.code, cells.group, key, source)
    if release.internals.draws:
        marks = replace(marks, draws=_digest(key, "draws", release.internals.draws), given=_given(data, key))
    return BudgetEntry(release.name, information, marks, tuple(files), stated)


def read_entry(path: str | Path) -> BudgetEntry:
    """The entry in an internal manifest."""
    file = Path(path)
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReadError(f"{file} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise ReadError(f"{file} is not a manifest.") from None
    if not isinstance(manifest, dict) or "files" not in manifest:
        raise ReadError(f"{file} is not a manifest.")
    if not manifest.get(_ENTRY):
        way = "" if manifest.get("internal") else " Give the internal manifest (NAME.internal.json)."
        raise ManifestError(f"{file} records nothing for budgets. Make the release with a key ([budget] key_file).{way}")
    try:
        hashes = tuple(str(f.get("sha256", json.dumps(f, sort_keys=True))) for f in manifest["files"])
        told = manifest.get("differential_privacy")
        said = NO_STATEMENT if told is None else PrivacyStatement.from_plain(told)
        found = BudgetEntry.from_plain(str(manifest.get("name") or file.name), manifest[_ENTRY], hashes, said)
        return in_original_order(found) if manifest.get("row_order") == "keep" else found
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ReadError(f"{file} is damaged: its part {quote(_ENTRY)} cannot be read.") from None


def in_original_order(entry: BudgetEntry) -> BudgetEntry:
    """The entry of a release whose rows are in the original order: it tells which row is whose."""
    return entry.telling_everything("rows in the original order", "its rows are in the original order")


def check_key(key: bytes) -> bytes:
    """The key of fingerprints; short ones can be guessed and are refused."""
    if not isinstance(key, bytes | bytearray) or len(key) < SHORTEST_SECRET:
        raise ManifestError(f"key: at least {SHORTEST_SECRET} bytes are needed. Use the same key for all releases of a source, "
                            "and keep it to yourself.")
    return bytes(key)


def _marks(data: Microdata, cells: Ints, groups: Ints, key: bytes, source: str) -> SourceMarks:
    check_key(key)
    record, _, values = collect(data, list(data.changeable))
    ids = record.tobytes()
    columns = {n: _digest(key, "column", ids, _bytes(data, n, values[n])) for n in data.changeable}
    return SourceMarks(
        _digest(key, "source", source.encode()) if source else "", _units(data, record, key),
        _digest(key, "cells", ids, _canonical(cells).tobytes()), _digest(key, "groups", ids, _canonical(groups).tobytes()),
        columns)


def _given(data: Microdata, key: bytes) -> str:
    """A mark of the values of S that masks may use: sub-groups, non-confidential columns and the weight."""
    weight = data.roles.weight
    names = [*data.sub_groups.columns, *data.non_confidential, *([weight] if weight is not None else [])]
    names = [n for n in dict.fromkeys(names) if n in data.table.columns]
    record, _, values = collect(data, names)
    return _digest(key, "given", record.tobytes(), *(_bytes(data, n, values[n]) for n in names))


def _units(data: Microdata, record: Ints, key: bytes) -> str:
    """A mark of the persons or declared record ids in the file; positions in a file identify nobody."""
    persons = persons_of_records(data)
    if persons is not None:
        return _digest(key, "units", *sorted({p.encode() for p in persons.person if p is not None}))
    return _digest(key, "units", np.sort(record).tobytes()) if data.roles.record_id is not None else ""


def _digest(key: bytes, what: str, *parts: bytes) -> str:
    made = hashlib.blake2b(digest_size=16, key=hashlib.blake2b(key).digest(), person=b"larvatus-budget")
    for part in (what.encode(), *parts):
        made.update(len(part).to_bytes(8, "little"))
        made.update(part)
    return made.hexdigest()


def _bytes(data: Microdata, name: str, values: Any) -> bytes:
    column = data.table.columns[name]
    if column.kind == "nominal":
        levels = [str(level) for level in column.levels]
        return "\0".join(levels[c] if c >= 0 else "\x01" for c in values.tolist()).encode()
    x = np.asarray(values, dtype=np.float64) + 0.0
    return np.where(np.isnan(x), np.nan, x).tobytes()


def _canonical(codes: Ints) -> Ints:
    """Codes numbered in the order in which they first appear."""
    _, first, code = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[code.reshape(-1)], dtype=np.int64)
