"""Record ids from a column of whole numbers or text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import PairingError, RecordIdError
from larvatus.data.pairings.pairing_files import PERSON_COLUMN, RECORD_COLUMN, RELEASE_COLUMN
from larvatus.data.record_selection import text_id
from larvatus.engines._files.sources import arrow_table, column_names

LARGEST_ID = 2**61


def record_ids(name: str, column: Any) -> NDArray[np.int64]:
    """One number per record. The caller must check that they are unique."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_nested(column.type) or "binary" in str(column.type):
        raise RecordIdError(f"{name!r} has type {column.type}. Use a column of whole numbers or text.", subject="record_id")
    if column.null_count:
        raise RecordIdError(f"{name!r} is missing or repeated in some records; each record needs a unique value.",
                            subject="record_id")
    if len(column) == 0:
        return np.zeros(0, dtype=np.int64)
    if pa.types.is_integer(column.type):
        bounds = pc.min_max(column).as_py()
        if max(-bounds["min"], bounds["max"]) >= LARGEST_ID:
            raise RecordIdError(f"{name!r} has numbers of 2**61 or more. Use smaller numbers, or text.", subject="record_id")
        return np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False)
                          if isinstance(column, pa.Array) else column.cast(pa.int64()).to_numpy(), dtype=np.int64)
    try:
        texts = column.cast(pa.string()).to_pylist()
    except (pa.ArrowException, UnicodeDecodeError):
        raise RecordIdError(f"{name!r} contains text that is not UTF-8. Convert it.", subject="record_id") from None
    return np.array([text_id(t) for t in texts], dtype=np.int64)


def paired_records(path: Path, rows: int) -> NDArray[np.int64]:
    """The record ids in a pairing file, which must have this number of rows."""
    import pyarrow as pa

    names = [n for n in column_names(path) if n != PERSON_COLUMN]
    if names not in ([RECORD_COLUMN], [RECORD_COLUMN, RELEASE_COLUMN]):
        raise PairingError(f"{path.name} is not a pairing file written by larvatus.")
    table = arrow_table(path, [RECORD_COLUMN])
    if not pa.types.is_integer(table.schema.field("record").type) or table.column("record").null_count:
        raise PairingError(f"{path.name} contains something other than the record ids of a pairing file.")
    if table.num_rows != rows:
        raise PairingError(
            f"{path.name} pairs {table.num_rows} rows and the released file has {rows}. Use the pairing file written with it."
        )
    record = np.asarray(table.column("record").to_numpy(), dtype=np.int64)
    if len(np.unique(record)) != rows:
        raise PairingError(f"{path.name} contains some records twice. Use the pairing file as it was written.")
    return record
