"""Digests in a pairing file that show which release it was written with.

For record r with released value v, let h(r, v) be a 64-bit hash. The digest of a column is the sum of h(r, v) over all records,
modulo 2^64. It does not depend on the order of the rows, on the engine or on the format of the file, but a pairing that gives
values to other records changes it. A pairing file fits a released file if the digest of at least one confidential column agrees.
Constant columns are left out, because every pairing fits them.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import PairingError
from larvatus.core.files import replace_file
from larvatus.data.microdata import Microdata

RECORD, RELEASE = "record", "release"  # columns of a pairing file; the second is in CSV files only
_KEY = b"larvatus.release"
_PARQUET = {".parquet", ".pq"}
_MISSING = np.uint64(0x9E3779B97F4A7C15)

Words = NDArray[np.uint64]


def column_digests(data: Microdata) -> dict[str, str]:
    """The digest of every confidential column that is not constant, by name."""
    names = [n for n in data.confidential if n in data.table.columns]
    levels = {n: _level_words(c.levels) for n in names if (c := data.table.columns[n]).kind == "nominal"}
    sums = dict.fromkeys(names, 0)
    seen: dict[str, set[int]] = {n: set() for n in names}
    for _, block in data.table.blocks(names):
        record = _mixed(np.asarray(block.record, dtype=np.int64).view(np.uint64))
        for name in names:
            words = _code_words(block[name], levels[name]) if name in levels else _number_words(block[name])
            sums[name] = (sums[name] + int(np.add.reduce(_mixed(record ^ words), dtype=np.uint64))) % 2**64
            if len(words) and len(seen[name]) < 2:
                seen[name] |= {int(words.min()), int(words.max())}
    return {n: f"{s:016x}" for n, s in sums.items() if len(seen[n]) > 1}


def add_digests(pairing: Path, copies: Sequence[Mapping[str, str]]) -> None:
    """Write the digests of every copy of a release into its pairing file."""
    text = json.dumps({"columns": [dict(c) for c in copies]})
    with replace_file(pairing, private=True) as temporary:
        if pairing.suffix.lower() in _PARQUET:
            _add_to_parquet(pairing, temporary, text)
        else:
            _add_to_csv(pairing, temporary, text)


def _add_to_parquet(source: Path, target: Path, text: str) -> None:
    from pyarrow import parquet

    table = parquet.read_table(source)
    parquet.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), _KEY: text.encode()}), target)


def _add_to_csv(source: Path, target: Path, text: str) -> None:
    """Add a column that has the digests in its first row; in base 64, so that the cell needs no quotation marks."""
    cell = base64.urlsafe_b64encode(text.encode()).decode()
    with source.open(encoding="utf-8") as lines, target.open("w", encoding="utf-8") as out:
        for i, line in enumerate(lines):
            more = f'"{RELEASE}"' if i == 0 else f'"{cell}"' if i == 1 else ""
            out.write(f"{line.rstrip()},{more}\n")


def check_pairing(pairing: Path, released: Microdata) -> bool:
    """Refuse a pairing file that was written with another release; False if the file has no digest to tell."""
    copies = _digests_in(pairing)
    known = {n for columns in copies for n in columns}
    mine = {n: d for n, d in column_digests(released).items() if n in known}
    if not mine:
        return False
    if any(columns.get(n) == d for columns in copies for n, d in mine.items()):
        return True
    raise PairingError(
        f"{pairing.name} was not written with this release: its digests differ from those of {_columns(mine)}. Use the pairing "
        "file written with the release. If the confidential columns were changed after the release was written, make a pairing "
        f"file that has only the column {RECORD!r}; it is used without this check."
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
    cell = first[1] if header == [RECORD, RELEASE] and len(first) > 1 else ""
    return base64.urlsafe_b64decode(cell).decode()


def _mixed(words: Words) -> Words:
    """A 64-bit permutation in which every bit of the result depends on every bit given (the finaliser of SplitMix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _number_words(values: Any) -> Words:
    """Numbers in single precision, so that a file in another format, which may round the last digit, has the same digest."""
    with np.errstate(over="ignore", invalid="ignore"):
        short = np.asarray(values, dtype=np.float64).astype(np.float32) + np.float32(0)  # -0 becomes 0
    return np.where(np.isnan(short), _MISSING, short.view(np.uint32).astype(np.uint64))


def _level_words(levels: Sequence[Any]) -> Words:
    """One word for each level; a level that is a number in text counts as the number."""
    words = [_level_word(level) for level in levels]
    return np.array([*words, int(_MISSING)], dtype=np.uint64)


def _level_word(level: Any) -> int:
    text = str(level).strip().lower()
    try:
        return int(_number_words(np.array([float(text)]))[0])
    except ValueError:
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _code_words(codes: Any, levels: Words) -> Words:
    return levels[np.asarray(codes).astype(np.int64)]  # code -1, a missing value, is the last word
