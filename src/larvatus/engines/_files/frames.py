"""Data frames of pandas, polars and pyarrow: their kinds and types, and conversion of Arrow tables to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from larvatus.data.contracts import Column

if TYPE_CHECKING:
    import pyarrow as pa



def _cannot_be_missing(dtype: Any, column: pa.ChunkedArray) -> bool:
    """Whether a column has missing values that its type in the data frame (a NumPy integer type) cannot represent."""
    return isinstance(dtype, np.dtype) and dtype.kind in "iub" and column.null_count > 0


def as_read(column: Column, columns: Mapping[str, Column]) -> bool:
    """Whether the column still has the kind with which it was read, and no new level. Only then does its Arrow type fit."""
    read = columns.get(column.name, column)
    return column.kind == read.kind and set(column.levels) <= set(read.levels)


def as_frame(
    table: pa.Table, kind: str, types: Mapping[str, pa.DataType], dtypes: Mapping[str, Any], index: Any
) -> Any:
    """An Arrow table as the kind of data frame of the source, with its column types; only categories in use are listed."""
    if kind == "pyarrow":
        return table
    import narwhals as nw

    frame: Any = nw.from_arrow(table, backend=cast(Any, kind)).to_native()
    same = {
        n: d for n, d in dtypes.items()
        if table.schema.field(n).type == types[n] and not _cannot_be_missing(d, table.column(n))
    }
    frame = _with_used_levels(_retyped(frame, table, same))
    if index is not None:
        frame.index = index
    return frame


def frame_kind(source: Any) -> str:
    library = type(source).__module__.partition(".")[0]
    return library if library in {"pandas", "polars"} else "pyarrow"


def frame_dtypes(source: Any, names: Sequence[str]) -> dict[str, Any]:
    """The data frame's own types, some of which Arrow cannot represent."""
    kind = frame_kind(source)
    if kind == "pyarrow":
        return {}
    return {n: source[n].dtype for n in names}


def _retyped(frame: Any, table: pa.Table, dtypes: Mapping[str, Any]) -> Any:
    """Columns in the types of the source: nullable integers and booleans of pandas, enumerations of polars."""
    for name in (n for n, dtype in dtypes.items() if frame[n].dtype != dtype):
        if hasattr(frame, "with_columns"):
            frame = frame.with_columns(frame[name].cast(dtypes[name]))
        elif hasattr(dtypes[name], "__from_arrow__"):
            frame[name] = dtypes[name].__from_arrow__(table.column(name))
        else:
            frame[name] = frame[name].astype(dtypes[name])
    return frame


def _with_used_levels(frame: Any) -> Any:
    """Categoricals of pandas and enumerations of polars without the categories that no row has."""
    for name in frame.columns:
        column = frame[name]
        if hasattr(frame, "with_columns"):
            if type(column.dtype).__name__ == "Enum":
                used = set(column.unique().to_list())
                narrow = type(column.dtype)([c for c in column.dtype.categories.to_list() if c in used])
                frame = frame.with_columns(column.cast(narrow))
        elif hasattr(column, "cat") and hasattr(column.cat, "remove_unused_categories"):
            frame[name] = column.cat.remove_unused_categories()
    return frame


def plain_index(frame: Any) -> Any:
    """The index if it only numbers rows. An index with a name or other values is treated as a column without a role."""
    index = frame.index.copy(deep=True)
    return index if index.nlevels == 1 and index.name is None and index.dtype.kind in "iu" else None
