"""Released files as described in a manifest: size, hash, records and columns of each copy, or of the parts of a folder."""

from __future__ import annotations

import csv
import gzip
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from larvatus.core.errors import ReadError
from larvatus.core.files import ZIPPED_CSV, file_suffix
from larvatus.data.csv_files.recognition import FIRST_BYTES, CsvStart, recognise_dialect
from larvatus.data.labelling.labels import LABELLED

_PARQUET = b"PAR1"
COPY = ("copy", "records")  # fields of a copy in a manifest, besides size and hash


def file_descriptions(paths: Sequence[Path], records: Sequence[int]) -> list[dict[str, Any]]:
    """Records, size and hash of each copy; for a folder, of its parts."""
    return [{"copy": i, "records": n, **describe_file(p)} for i, (p, n) in enumerate(zip(paths, records, strict=True), 1)]


def describe_file(path: Path) -> dict[str, Any]:
    """Size and hash of a file, or of every file in a folder."""
    if path.is_dir():
        parts = sorted(p for p in path.rglob("*") if p.is_file())
        return {"parts": [{"name": p.relative_to(path).as_posix(), **describe_file(p)} for p in parts]}
    try:
        with path.open("rb") as file:
            return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror}.") from None


def row_and_column_count(path: Path) -> tuple[int, int] | None:
    """Number of records and columns of a file or a folder of Parquet files; None if it cannot be counted."""
    try:
        if path.suffix.lower() in LABELLED:
            return None
        if path.is_dir():
            parts = [_in_parquet(p) for p in sorted(path.rglob("*.parquet"))]
            return (sum(n for n, _ in parts), parts[0][1]) if parts else None
        with path.open("rb") as file:
            binary = file.read(len(_PARQUET)) == _PARQUET
        return _in_parquet(path) if binary else _in_csv(path)
    except (OSError, ValueError, csv.Error, ReadError):
        return None


def _in_parquet(path: Path) -> tuple[int, int]:
    from pyarrow import parquet

    told = parquet.read_metadata(path)
    return told.num_rows, len(told.schema.to_arrow_schema())


def _in_csv(path: Path) -> tuple[int, int]:
    opened = gzip.open if file_suffix(path) == ZIPPED_CSV else open
    with opened(path, "rb") as start:
        piece = start.read(FIRST_BYTES)
    dialect = recognise_dialect(CsvStart(path.name, piece, len(piece) < FIRST_BYTES))
    encoding = "utf-16" if dialect.encoding.startswith("utf-16") else dialect.encoding
    with opened(path, "rt", encoding=encoding, newline="") as file:
        lines = csv.reader(file, delimiter=dialect.delimiter, quotechar=dialect.quote or None)
        columns = len(next(lines, []))
        return sum(bool(line) or columns == 1 for line in lines), columns
