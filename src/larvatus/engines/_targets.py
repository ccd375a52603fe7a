"""Writing a release: CSV or Parquet by the path's ending, at full precision."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from larvatus.core.errors import WriteError
from larvatus.core.files import check_free, moved_in_place

if TYPE_CHECKING:
    import pyarrow as pa

ROW_ORDER = b"larvatus.row_order"


def check_target(path: Path, force: bool) -> None:
    """Refuse early what could not be written later."""
    if path.suffix.lower() not in {".csv", ".parquet", ".pq"}:
        raise WriteError(f"{path.name}: releases are written as .csv or .parquet. Change the ending.")
    check_free(path, force)


def write_table(table: pa.Table, path: Path, row_order: str = "keep") -> None:
    """CSV or Parquet by the path's ending, at full precision."""
    with moved_in_place(path) as temporary:
        _fill(temporary, table, path, row_order)


def write_with_pairing(table: pa.Table, path: Path, row_order: str, pairs: pa.Table, pairing: Path) -> None:
    """A release and its pairing file, readable by the owner only: both or neither."""
    with moved_in_place(pairing, private=True) as inside, moved_in_place(path) as outside:
        _fill(inside, pairs, pairing, row_order)
        _fill(outside, table, path, row_order)


def _fill(file: Path, table: pa.Table, path: Path, row_order: str) -> None:
    from pyarrow import csv, parquet

    if path.suffix.lower() == ".csv":
        csv.write_csv(table, file)
    else:
        parquet.write_table(table.replace_schema_metadata({ROW_ORDER: row_order.encode()}), file)
