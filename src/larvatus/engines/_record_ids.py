"""Record ids from a column of whole numbers or text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import ReadError
from larvatus.data.chosen import text_id

LARGEST_ID = 2**61


def record_ids(name: str, column: Any) -> NDArray[np.int64]:
    """One number for each record; that no two are the same is for the caller to see to."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_nested(column.type):
        raise ReadError(f"record_id: {name!r} holds {column.type}; whole numbers or text are needed.")
    if column.null_count:
        raise ReadError(f"record_id: {name!r} is missing or repeated in some records; it must name each record once.")
    if len(column) == 0:
        return np.zeros(0, dtype=np.int64)
    if pa.types.is_integer(column.type):
        bounds = pc.min_max(column).as_py()
        if max(-bounds["min"], bounds["max"]) >= LARGEST_ID:
            raise ReadError(f"record_id: {name!r} holds numbers of 2**61 and more. Use smaller numbers, or text.")
        return np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False)
                          if isinstance(column, pa.Array) else column.cast(pa.int64()).to_numpy(), dtype=np.int64)
    texts = column.cast(pa.string()).to_pylist()
    return np.array([text_id(t) for t in texts], dtype=np.int64)
