"""Columns of numbers among which texts stand for missing values, such as `k.A.` or `refused`, if these texts are stated.

Files hold such a column as text. It is marked in its schema: engines read it as numbers, and writers write numbers and texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from larvatus.data.csv_files.number_notation import Notation
from larvatus.engines._files.looks import Looks, plain_numbers

if TYPE_CHECKING:
    import pyarrow as pa

_TEXTS, _SHEET = b"larvatus.texts", b"larvatus.sheet"
_NUMBER = r"^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?$"


def _without(column: Any, texts: Sequence[str]) -> Any:
    """A column of texts in which the given ones are empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    there = pc.is_in(pc.utf8_trim_whitespace(column), value_set=pa.array(list(texts), type=column.type))
    return pc.if_else(there, pa.scalar("", column.type), column)


def usual_cells(column: Any, texts: Sequence[str], notation: Notation) -> Any:
    """A column of texts with its numbers in the usual notation, and the stated texts without surrounding blanks."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    there = pc.is_in(trimmed, value_set=pa.array(list(texts), type=column.type))
    return pc.if_else(there, trimmed, plain_numbers(trimmed, notation))


def has_texts(field: pa.Field) -> bool:
    """Whether a column is marked as numbers with texts among them."""
    return _TEXTS in (field.metadata or {})


def with_mark(schema: pa.Schema, names: Iterable[str], mark: bytes = _TEXTS) -> pa.Schema:
    """The schema with a mark on these columns."""
    for name in names:
        at = schema.get_field_index(name)
        given = schema.field(at)
        schema = schema.set(at, given.with_metadata({**(given.metadata or {}), mark: b"1"}))
    return schema


def with_sheet_mark(schema: pa.Schema) -> pa.Schema:
    """The schema of a spreadsheet: its columns of text may be numbers apart from some texts."""
    import pyarrow as pa

    return with_mark(schema, [f.name for f in schema if pa.types.is_string(f.type)], _SHEET)


def is_sheet_text(field: pa.Field) -> bool:
    """Whether a column is text in a spreadsheet."""
    return _SHEET in (field.metadata or {})


def are_numbers(columns: Iterable[tuple[Any, Notation]], texts: Sequence[str], masked: bool) -> bool:
    """Whether all parts of a column are numbers apart from the given texts, and none of their digits is lost."""
    import pyarrow.compute as pc

    look = Looks()
    for column, notation in columns:
        look |= Looks.of(_without(pc.fill_null(column, ""), texts), notation=notation, exact=not masked)
    return look.keeps_numbers and not look.blank and not look.needs_decimals and (masked or not look.inexact)


def which_are_numbers(texts: Any) -> Any:
    """Which cells of a marked column are numbers."""
    import pyarrow.compute as pc

    return pc.fill_null(pc.match_substring_regex(texts, _NUMBER), False)
