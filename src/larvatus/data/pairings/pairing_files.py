"""Pairing files: digests of the release are written into them, and compared with a released file.

A pairing file fits a released file if the digest of at least one confidential column agrees. A file that was converted to
another format, or of which some columns were changed later, is therefore still paired.
"""

from __future__ import annotations

import base64
import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import PairingError
from larvatus.core.files import replace_file
from larvatus.data.microdata import Microdata
from larvatus.data.pairings.column_digests import column_digests

RECORD_COLUMN, RELEASE_COLUMN = "record", "release"  # columns of a pairing file; the second is in CSV files only
PERSON_COLUMN = "person"  # present if the original has a person column
_KEY = b"larvatus.release"
_PARQUET = {".parquet", ".pq"}


def add_digests(
    pairing: Path, copies: Sequence[Mapping[str, str]], persons: Mapping[int, str | None] | None = None
) -> None:
    """Write the digests of every copy of a release into its pairing file, and the person of each record if there are any."""
    text = json.dumps({"columns": [dict(c) for c in copies]})
    with replace_file(pairing, private=True) as temporary:
        if pairing.suffix.lower() in _PARQUET:
            _add_to_parquet(pairing, temporary, text, persons)
        else:
            _add_to_csv(pairing, temporary, text, persons)


def _add_to_parquet(source: Path, target: Path, text: str, persons: Mapping[int, str | None] | None) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(source)
    if persons is not None:
        found = [persons[r] for r in table.column(RECORD_COLUMN).to_pylist()]
        table = table.append_column(PERSON_COLUMN, pa.array(found, pa.string()))
    made = pa.BufferOutputStream()  # a writer to a full disk would try again when it is finalised, and print an error
    parquet.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), _KEY: text.encode()}), made)
    target.write_bytes(made.getvalue())


def _add_to_csv(source: Path, target: Path, text: str, persons: Mapping[int, str | None] | None) -> None:
    """Add a column that has the digests in its first row; in base 64, so that the cell needs no quotation marks."""
    cell = base64.urlsafe_b64encode(text.encode()).decode()
    with source.open(encoding="utf-8") as lines, target.open("w", encoding="utf-8") as out:
        for i, line in enumerate(lines):
            more = f'"{RELEASE_COLUMN}"' if i == 0 else f'"{cell}"' if i == 1 else ""
            if persons is not None:
                more += f',"{PERSON_COLUMN}"' if i == 0 else f",{_cell(persons[int(line)])}"
            out.write(f"{line.rstrip()},{more}\n")


def _cell(person: str | None) -> str:
    """A person as a cell of a CSV file; empty if it is missing."""
    return "" if person is None else '"' + person.replace('"', '""') + '"'


def check_pairing(pairing: Path, released: Microdata, order_known: bool = False) -> bool:
    """Refuse a pairing file that was written with another release; False if the file has no digest to tell.

    Without a digest it is refused as well, unless the caller knows that the rows are in its order (`order_known`): a pairing
    file of another release would understate the risk.
    """
    copies = _digests_in(pairing)
    known = {n for columns in copies for n in columns}
    mine = {n: d for n, d in column_digests(released).items() if n in known}
    if not mine and (known or not copies) and not order_known:
        lacking = "has no digest of a column of this file" if known else "has no digest of a release"
        raise PairingError(f"{pairing.name} {lacking}, so nothing shows that it was written with this release. Use the pairing "
                           "file written with the release. If you know that the rows are in its order, state it: "
                           "row_order = \"keep\".")
    if not mine:
        return False
    if any(columns.get(n) == d for columns in copies for n, d in mine.items()):
        return True
    raise PairingError(
        f"{pairing.name} was not written with this release: its digests differ from those of {_columns(mine)}. Use the pairing "
        "file written with the release. If the confidential columns were changed after the release was written, make a pairing "
        f"file that has only the column {RECORD_COLUMN!r}, and state that its order was kept (row_order = \"keep\")."
    )


def _columns(digests: Mapping[str, str]) -> str:
    return f"column {next(iter(digests))}" if len(digests) == 1 else f"all {len(digests)} confidential columns"


def _digests_in(pairing: Path) -> list[dict[str, str]]:
    """The digests in a pairing file by column, one table for each copy; none in a file of an earlier version."""
    try:
        text = _from_parquet(pairing) if pairing.suffix.lower() in _PARQUET else _from_csv(pairing)
        found: Any = json.loads(text)["columns"] if text else []
        return [{str(n): str(d) for n, d in columns.items()} for columns in found]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise PairingError(
            f"{pairing.name}: the digests of its release cannot be read. Use the pairing file as it was written."
        ) from None


def _from_parquet(pairing: Path) -> str:
    from pyarrow import parquet

    return ((parquet.read_schema(pairing).metadata or {}).get(_KEY) or b"").decode()


def _from_csv(pairing: Path) -> str:
    with pairing.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        header, first = next(rows, []), next(rows, [])
    cell = first[1] if header[:2] == [RECORD_COLUMN, RELEASE_COLUMN] and len(first) > 1 else ""
    return base64.urlsafe_b64decode(cell).decode()


def persons_in_pairing(pairing: Path) -> tuple[NDArray[np.int64], list[str | None]] | None:
    """The record ids in a pairing file and the person of each; None if the file has no persons."""
    try:
        if pairing.suffix.lower() in _PARQUET:
            from pyarrow import parquet

            if PERSON_COLUMN not in parquet.read_schema(pairing).names:
                return None
            table = parquet.read_table(pairing, columns=[RECORD_COLUMN, PERSON_COLUMN])
            rows = zip(table.column(RECORD_COLUMN).to_pylist(), table.column(PERSON_COLUMN).to_pylist(), strict=True)
            found = [(int(r), p) for r, p in rows]
        else:
            with pairing.open(encoding="utf-8-sig", newline="") as file:
                lines = csv.DictReader(file)
                if PERSON_COLUMN not in (lines.fieldnames or ()):
                    return None
                found = [(int(line[RECORD_COLUMN]), line[PERSON_COLUMN] or None) for line in lines]
    except (OSError, ValueError, KeyError, TypeError):
        raise PairingError(
            f"{pairing.name}: the persons of its records cannot be read. Use the pairing file as it was written."
        ) from None
    return np.array([r for r, _ in found], dtype=np.int64), [p for _, p in found]


def shows_original_order(pairing: Path) -> bool:
    """Whether a pairing file shows that the released rows are in the order of the original, which gives the links away."""
    before, rows = -1, 0
    for record in _records_in(pairing):
        if record <= before:
            return False
        before, rows = record, rows + 1
    return rows > 1


def _records_in(pairing: Path) -> Iterator[int]:
    if pairing.suffix.lower() in _PARQUET:
        from pyarrow import parquet

        with parquet.ParquetFile(pairing) as file:
            for batch in file.iter_batches(columns=[RECORD_COLUMN]):
                yield from batch.column(0).to_pylist()
        return
    with pairing.open(encoding="utf-8-sig", newline="") as lines:
        yield from (int(line[RECORD_COLUMN]) for line in csv.DictReader(lines))
