"""Cells that a spreadsheet program would run as a formula: =, +, -, @, a tab or a carriage return at the start of a text.

Released data are written as they are by default. With `inert_formulas()` an apostrophe goes in front of such texts in CSV
files, and spreadsheet programs show them as text. Numbers stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_INERT: ContextVar[bool] = ContextVar("larvatus_inert_formulas", default=False)


def inert(cell: Any) -> Any:
    """A cell with an apostrophe in front if it is a text that a spreadsheet program would run."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_STARTS) else cell


@contextmanager
def inert_formulas(wanted: bool = True) -> Iterator[None]:
    """Write CSV files for spreadsheet programs while this lasts."""
    before = _INERT.set(wanted)
    try:
        yield
    finally:
        _INERT.reset(before)


def formulas_are_inert() -> bool:
    """Whether CSV files are written for spreadsheet programs now."""
    return _INERT.get()


def for_spreadsheets(batch: Any) -> Any:
    """A batch of a CSV file: texts and column names made inert if that is asked for."""
    if not formulas_are_inert():
        return batch
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column in batch.columns:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            risky = pc.match_substring_regex(column, "^[=+\\-@\t\r]")
            marked = pc.binary_join_element_wise(pa.scalar("'", column.type), column, pa.scalar("", column.type))
            column = pc.if_else(risky, marked, column)
        columns.append(column)
    names = [inert(name) for name in batch.schema.names]
    fields = [pa.field(n, c.type, metadata=f.metadata) for n, c, f in zip(names, columns, batch.schema, strict=True)]
    return pa.record_batch(columns, schema=pa.schema(fields, metadata=batch.schema.metadata))
