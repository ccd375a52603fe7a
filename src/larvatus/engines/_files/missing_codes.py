"""Codes of missing values (-7, 98, .a): taken out of a column when it is read, and put back into the same cells when written.

A cell with such a code is a missing value for every mask, attack and measure. The code is held in a second column, which
stays with its record. The extended missing values of Stata and SAS have no number. In Arrow and Parquet they are NaN with a
tag in their bits, in the layout that R's haven uses; other programs see a missing value. In CSV they are texts such as `.a`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import RolesError
from larvatus.data.contracts import Column
from larvatus.data.dates.date_numbers import dates_of_texts, days_of_text, is_date
from larvatus.data.labelling.labels import CodeValue, FileLabels, MissingCode, code_column
from larvatus.data.text_columns import MISSING
from larvatus.engines._files.texts_in_numbers import has_texts, with_mark

if TYPE_CHECKING:
    import pyarrow as pa

_LETTERS = "_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_TAG = re.compile(r"\.[A-Za-z_]")
_TAGGED, _MARK, _SHIFT = 0x7FF80000000007A2, 0x7FF80000FFFFFFFF, 32
TAGS = b"larvatus.missing"


def is_tag(code: object) -> bool:
    """Whether a code is an extended missing value of Stata or SAS, such as `.a`."""
    return isinstance(code, str) and _TAG.fullmatch(code) is not None


def tagged_nan(code: str) -> np.float64:
    """The NaN that stands for an extended missing value."""
    return np.float64(np.uint64(_TAGGED | ord(code[1]) << _SHIFT).view(np.float64))


def tags_of(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The letter of each tagged NaN as a byte; 0 for all other values."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    tagged = (bits & np.uint64(_MARK)) == np.uint64(_TAGGED)
    return np.where(tagged, (bits >> np.uint64(_SHIFT)) & np.uint64(0xFF), 0).astype(np.uint8)


def flat_array(column: Any) -> Any:
    """A column in one piece."""
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], type=column.type)


def is_text(kind: Any) -> bool:
    """Whether a type is text."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def numbers_of(name: str, texts: Any) -> Any:
    """Numbers from texts, such as those of a CSV file, in which `.a` is an extended missing value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(texts)
    tagged = pc.fill_null(pc.match_substring_regex(trimmed, r"^\.[A-Za-z_]$"), False)
    gone = pc.or_(tagged, pc.is_in(trimmed, value_set=pa.array(MISSING, type=trimmed.type)))
    try:
        numbers = pc.if_else(gone, pa.scalar(None, trimmed.type), trimmed).cast(pa.float64())
    except pa.ArrowInvalid:
        raise RolesError(f"{name!r} has missing codes such as .a, which only columns of numbers have, and contains text. "
                         "Remove these codes, or the text.", subject="missing") from None
    codes: list[CodeValue] = [f".{c}" for c in _LETTERS]
    at = pc.fill_null(pc.index_in(trimmed, value_set=pa.array(codes, type=trimmed.type)), -1)
    return with_codes(numbers, at.to_numpy(zero_copy_only=False).astype(np.int32), codes)


class MissingCodeReader:
    """Takes the stated codes out of a column, batch by batch. `levels` are the codes that occurred, in order of appearance."""

    def __init__(self, name: str, stated: Sequence[MissingCode], mixed: bool = False) -> None:
        self.name, self.levels, self._mixed = name, dict[CodeValue, int](), mixed
        self._tags = [str(c) for c in stated if is_tag(c)]
        self._ranges = [c for c in stated if isinstance(c, tuple)]
        self._single = [c for c in stated if not isinstance(c, tuple) and not is_tag(c)]
        self._texts = [c for c in self._single if isinstance(c, str)] if mixed else []

    @property
    def tagged(self) -> bool:
        """Whether extended missing values may occur, or texts among numbers; whole numbers are read as floats at first."""
        return bool(self._tags) or self._mixed

    def type(self, stored: Any) -> Any:
        """The type of the column without the codes. Texts are numbers if extended missing values may be among them."""
        import pyarrow as pa

        return pa.float64() if self.tagged and is_text(stored) else stored

    def split(self, column: Any) -> tuple[Any, NDArray[np.int32]]:
        """The column with null instead of each code, and the number of each row's code; -1 if it has none."""
        import pyarrow as pa

        flat = flat_array(column)
        if pa.types.is_dictionary(flat.type):
            flat = flat.cast(flat.type.value_type)
        if self._mixed and is_text(flat.type):
            return self._split_mixed(flat)
        if self.tagged and is_text(flat.type):
            flat = numbers_of(self.name, flat)
        return self._split(flat, *self._codes(flat))

    def _split_mixed(self, flat: pa.Array) -> tuple[Any, NDArray[np.int32]]:
        """Numbers among which texts stand for missing values."""
        import pyarrow as pa
        import pyarrow.compute as pc

        seen, codes = self._among(flat, self._texts)
        numbers = numbers_of(self.name, pc.if_else(pa.array(codes < 0), flat, pa.scalar(None, flat.type)))
        more, others = self._numbers(numbers)
        codes = np.where(codes >= 0, codes, np.where(others >= 0, others + len(seen), -1))
        return self._split(numbers, [*seen, *more], codes)

    def _split(self, flat: pa.Array, seen: list[CodeValue], codes: NDArray[np.int64]) -> tuple[Any, NDArray[np.int32]]:
        import pyarrow as pa
        import pyarrow.compute as pc

        place = np.array([*(self.levels.setdefault(v, len(self.levels)) for v in seen), -1], dtype=np.int32)
        return pc.if_else(pa.array(codes < 0), flat, pa.scalar(None, flat.type)), place[codes]

    def _codes(self, flat: pa.Array) -> tuple[list[CodeValue], NDArray[np.int64]]:
        """The codes that occur, and for each row the number of its own; -1 if it has none."""
        import pyarrow as pa

        kind = flat.type
        if is_text(kind):
            return self._among(flat, [str(c) for c in self._single])
        if is_date(kind):
            return self._dates(flat)
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return self._numbers(flat)
        return [], np.full(len(flat), -1)

    def _among(self, flat: pa.Array, wanted: list[str]) -> tuple[list[CodeValue], NDArray[np.int64]]:
        import pyarrow as pa
        import pyarrow.compute as pc

        at = pc.index_in(flat, value_set=pa.array(wanted, type=flat.type), skip_nulls=True)
        return list(wanted), pc.fill_null(at, -1).to_numpy(zero_copy_only=False).astype(np.int64)

    def _dates(self, flat: pa.Array) -> tuple[list[CodeValue], NDArray[np.int64]]:
        """Codes of a column of dates are dates in ISO form, such as 9999-12-31."""
        import pyarrow.compute as pc

        codes = [str(c) for c in self._single]
        if self._ranges or any(days_of_text(c) is None for c in codes):
            raise RolesError(f"{self.name!r} contains dates, and a missing code of it is not a date. Give dates such as "
                             '"9999-12-31".', subject="missing")
        wanted = dates_of_texts(codes, flat.type)
        at = pc.fill_null(pc.index_in(flat, value_set=wanted, skip_nulls=True), -1)
        return list(codes), at.to_numpy(zero_copy_only=False).astype(np.int64)

    def _numbers(self, flat: pa.Array) -> tuple[list[CodeValue], NDArray[np.int64]]:
        import pyarrow as pa

        single = [c for c in self._single if not self._texts or not isinstance(c, str)]
        if any(isinstance(c, str) for c in single):
            raise RolesError(f"{self.name!r} is numeric, and a missing code of it is a text. Give numbers.", subject="missing")
        values = flat.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        tags = tags_of(values)
        coded = np.isin(values, np.array(single, dtype=np.float64))
        for low, high in self._ranges:
            coded |= (values >= low) & (values <= high)
        numbers = np.unique(values[coded])
        seen: list[CodeValue] = [int(v) if v.is_integer() else float(v) for v in numbers]
        out = np.full(len(values), -1)
        out[coded] = np.searchsorted(numbers, values[coded])
        for tag in self._tags:
            here = tags == ord(tag[1])
            if here.any():
                out[here] = len(seen)
                seen.append(tag)
        return seen, out


def split_table(table: pa.Table, stated: Mapping[str, Sequence[MissingCode]]) -> tuple[pa.Table, dict[str, Column], Any]:
    """A table without codes of missing values, and the columns that hold them.

    A column with extended missing values is stored as floats; it becomes whole numbers again if all its values are whole.
    """
    import pyarrow as pa

    described: dict[str, Column] = {}
    held: dict[str, NDArray[np.int32]] = {}
    for name in (n for n in table.column_names if stated.get(n)):
        reader = MissingCodeReader(name, stated[name], has_texts(table.schema.field(name)))
        values, codes = reader.split(table.column(name))
        if reader.tagged and pa.types.is_floating(values.type) and all_whole(values):
            values = values.cast(pa.int64())
        table = table.set_column(table.column_names.index(name), name, values)
        if reader.levels:
            described[code_column(name)] = Column(code_column(name), "nominal", levels=tuple(reader.levels))
            held[code_column(name)] = codes
    return table, described, held


def all_whole(values: pa.Array) -> bool:
    """Whether all numbers that are present are whole, and small enough to be exact."""
    numbers = values.to_numpy(zero_copy_only=False)
    there = numbers[~np.isnan(numbers)]
    return bool(np.all((there == np.rint(there)) & (np.abs(there) <= 2.0**53)))


def with_codes(array: Any, codes: NDArray[np.int32], levels: Sequence[Any]) -> pa.Array:
    """Codes put back into the cells that are still missing. A cell that a mask has filled stays filled."""
    import pyarrow as pa
    import pyarrow.compute as pc

    flat = flat_array(array)
    kind = flat.type
    if pa.types.is_dictionary(kind):
        return with_codes(flat.cast(kind.value_type), codes, levels).dictionary_encode().cast(kind)
    back = np.asarray(pc.is_null(flat).to_numpy(zero_copy_only=False)) & (codes >= 0)
    if is_date(kind):
        dates = dates_of_texts([str(v) for v in levels], kind)
        return pc.if_else(pa.array(back), dates.take(pa.array(np.where(back, codes, 0))), flat)
    if is_text(kind):
        texts = pa.array([str(v) for v in levels], type=kind)
        return pc.if_else(pa.array(back), texts.take(pa.array(np.where(back, codes, 0))), flat)
    if any(isinstance(v, str) and not is_tag(v) for v in levels):
        codes_as_text = pa.array([str(v) for v in levels]).take(pa.array(np.where(back, codes, 0)))
        return pc.if_else(pa.array(back), codes_as_text, flat.cast(pa.string()))
    if any(is_tag(v) for v in levels):
        numbers = np.array([tagged_nan(v) if isinstance(v, str) else float(v) for v in levels])
        values = flat.cast(pa.float64()).to_numpy(zero_copy_only=False).copy()
        values[back] = numbers[codes[back]]
        return pa.array(values, mask=np.isnan(values) & ~back, from_pandas=False)
    return pc.if_else(pa.array(back), pa.array(list(levels), type=kind).take(pa.array(np.where(back, codes, 0))), flat)


def with_tag_names(schema: pa.Schema, columns: Mapping[str, Column]) -> pa.Schema:
    """The schema, with a mark on each column that has extended missing values, its codes, or texts among its numbers."""
    for i, field in enumerate(schema):
        levels = columns[code_column(field.name)].levels if code_column(field.name) in columns else ()
        if is_text(field.type) and levels and columns[field.name].kind == "number":
            schema = with_mark(schema, [field.name])
            continue
        if any(is_tag(v) for v in levels):
            schema = schema.set(i, field.with_metadata({TAGS: " ".join(str(v) for v in levels if is_tag(v)).encode()}))
    return schema


def tags_as_text(column: pa.Array) -> pa.Array:
    """Numbers as text, with `.a` for each tagged NaN; for files that cannot hold a tag."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = column.to_numpy(zero_copy_only=False)
    tags = tags_of(values)
    texts = pa.array(values, mask=np.isnan(values)).cast(pa.string())
    letters = pa.array([f".{chr(t)}" if t else None for t in tags], type=pa.string())
    return pc.coalesce(texts, letters)


def with_tags(batch: pa.RecordBatch, labels: FileLabels) -> pa.RecordBatch:
    """A batch of a released file in which columns with extended missing values are numbers again, and marked as such."""
    for name in batch.schema.names:
        tags = [c for c in labels[name].missing if is_tag(c)]
        if tags:
            place = batch.schema.get_field_index(name)
            cells = flat_array(batch.column(place))
            numbers = numbers_of(name, cells) if is_text(cells.type) else cells
            field = batch.schema.field(place).with_type(numbers.type).with_metadata({TAGS: " ".join(map(str, tags)).encode()})
            batch = batch.set_column(place, field, numbers)
    return batch
