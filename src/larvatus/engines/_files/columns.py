"""Conversion between Arrow columns and arrays: numbers as float64, categories as codes, unmasked columns exactly as read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import ReadError, RolesError
from larvatus.data.contracts import Array, Column
from larvatus.data.dates.date_forms import with_forms
from larvatus.data.dates.date_numbers import dates_from, dates_of_texts, days_of, is_date
from larvatus.data.roles import Roles, SubGroups, changeable_columns
from larvatus.engines._files.csv import is_category
from larvatus.engines._files.missing_codes import with_tag_names

if TYPE_CHECKING:
    import pyarrow as pa

_EXACT = 2**53
_BITS = 64
_MOST_DIGITS = 18  # of a decimal whose digits fit into 64 bits
_APART = 10**15  # decimals of up to 15 digits are different floats


def as_array(name: str, column: pa.ChunkedArray, roles: Roles, sub_groups: SubGroups) -> tuple[Column, Array]:
    """A column as numbers or as codes, depending on its role and type."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    check_type(name, kind)
    if is_named(name, kind, roles, sub_groups):
        return _nominal(name, column, roles)
    changeable = name in changeable_columns(roles, sub_groups)
    return as_number(name, column, kind, changeable, one_zero=name in roles.confidential)


def is_named(name: str, kind: Any, roles: Roles, sub_groups: SubGroups) -> bool:
    """Whether a column is read as categorical, because of its role or because it is not numeric; dates are no weight."""
    import pyarrow as pa

    if name == roles.weight and pa.types.is_temporal(kind):
        raise RolesError(f"{name!r} contains dates or times, and a survey weight must be numeric. Declare another column, or "
                         "none.", subject="weight")
    return is_category(name, roles, sub_groups) or not _numeric(kind)


def check_type(name: str, kind: Any) -> None:
    """Refuse types that no engine can store, so that all engines refuse the same ones."""
    import pyarrow.types as t

    if t.is_binary(kind) or t.is_large_binary(kind) or t.is_fixed_size_binary(kind) or t.is_binary_view(kind):
        raise ReadError(f"{name!r} has type {kind}, which is neither numeric nor text. Convert it to text, or give it no role.")
    if t.is_duration(kind):
        raise ReadError(f"{name!r} contains durations. Convert it, for example to seconds, or give it no role.")


def as_released(name: str, column: Any, roles: Roles, sub_groups: SubGroups) -> Any:
    """A column that is released unmasked, as all engines release it: NaN is missing, and as a category -0.0 is 0.0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if is_dictionary(column.type) and pa.types.is_floating(column.type.value_type):
        plain = column.cast(column.type.value_type)
        return _missing_not_nan(plain).dictionary_encode().cast(column.type) if _nan(plain).any() else column
    if not pa.types.is_floating(column.type):
        return column
    if is_named(name, column.type, roles, sub_groups) and not pa.types.is_float16(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))
    return _missing_not_nan(column)


def _missing_not_nan(column: Any) -> Any:
    """Floats with missing values in place of NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_float16(column.type):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    values = np.array([np.nan if v is None else v for v in column.to_pylist()], dtype=np.float16)
    return pa.chunked_array([pa.array(values, mask=np.isnan(values), type=pa.float16())])


def _nan(column: Any) -> NDArray[np.bool_]:
    """Which values are NaN and not missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return np.asarray(pc.fill_null(pc.is_nan(column.cast(pa.float32())), False).to_numpy(), dtype=bool)


def is_dictionary(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(kind))


def needs_exact(kind: Any) -> bool:
    """Whether float64 may be too imprecise for a column that is released unmasked."""
    import pyarrow.types as t

    return bool((t.is_integer(kind) and kind.bit_width == 64) or t.is_temporal(kind) or t.is_decimal(kind))


def exact_type(kind: Any) -> np.dtype[Any]:
    """The type in which `exact` returns a column: integers of 64 bits, or the bytes of a decimal number with more digits."""
    import pyarrow.types as t

    return np.dtype(f"V{kind.bit_width // 8}" if t.is_decimal(kind) and kind.bit_width > _BITS else np.int64)


def exact(name: str, column: Any, kind: Any) -> Array:
    """Whole numbers, dates and decimals without loss; 0 if missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(kind)
    if pa.types.is_uint64(kind):
        return np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False), dtype=np.uint64).view(np.int64)
    if pa.types.is_decimal(kind):
        return _decimal_bytes(column, kind)
    if pa.types.is_temporal(kind) and kind.bit_width == 32:
        column = column.cast(pa.int32())
    return np.asarray(pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False), dtype=np.int64)


def _unscaled(column: Any, scale: int) -> NDArray[np.int64]:
    """Decimals of at most 18 digits times 10^scale, 0 if missing: the lower halves of the 128 bits that Arrow stores."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wide = pc.fill_null(column.cast(pa.decimal128(38, scale)), Decimal(0))
    chunks = wide.chunks if isinstance(wide, pa.ChunkedArray) else [wide]
    halves = [np.frombuffer(c.buffers()[1], dtype="<i8")[2 * c.offset : 2 * (c.offset + len(c)) : 2] for c in chunks if len(c)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *halves])


def _decimal_bytes(column: Any, kind: Any) -> Array:
    """Decimal numbers as Arrow stores them; those of 32 bits as integers of 64."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    stored = f"V{kind.bit_width // 8}" if kind.bit_width > _BITS else f"i{kind.bit_width // 8}"
    out = [np.zeros(0, dtype=stored)]
    for part in parts:
        full = pc.fill_null(part, Decimal(0))
        if len(full):
            out.append(np.frombuffer(full.buffers()[1], dtype=stored, count=full.offset + len(full))[full.offset:])
    return np.concatenate(out).astype(exact_type(kind))


def from_exact(values: Array, missing: NDArray[np.bool_], kind: Any) -> Any:
    """The inverse of `exact`."""
    import pyarrow as pa

    if pa.types.is_decimal(kind):
        stored = np.ascontiguousarray(values if kind.bit_width > _BITS else values.astype(f"i{kind.bit_width // 8}"))
        present = pa.array(~missing)  # a bitmap, as Arrow stores it
        return pa.Array.from_buffers(kind, len(values), [present.buffers()[1], pa.py_buffer(stored.tobytes())])
    whole = pa.array(values.view(np.uint64) if pa.types.is_uint64(kind) else values, mask=missing)
    return whole.cast(pa.int32()).cast(kind) if pa.types.is_temporal(kind) and kind.bit_width == 32 else whole.cast(kind)


def _numeric(kind: Any) -> bool:
    import pyarrow.types as t

    return bool(
        t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind) or t.is_null(kind)
        or t.is_temporal(kind)
    )


def as_number(
    name: str, column: Any, kind: Any, confidential: bool, one_zero: bool = False,
) -> tuple[Column, NDArray[np.float64]]:
    """A column as numbers, NaN if missing; with `one_zero`, -0.0 is read as 0.0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(kind)
    if is_date(kind):
        dates, days, rounded = days_of(name, column, exactly=confidential)
        missing = bool(np.isnan(days).any())
        return Column(name, "number", integer=dates.unit == "day", missing=missing, dates=dates, rounded=rounded), days
    if pa.types.is_temporal(kind):
        if confidential:
            raise RolesError(f"{name!r} contains times of day, and masks need numbers or dates. Convert it, for example to "
                             "seconds.")
        if pa.types.is_interval(kind):
            raise ReadError(f"{name!r} has type {kind}, which is not supported. Convert it to text, or give it no role.")
        column = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    integer = pa.types.is_integer(kind)
    if integer and confidential:
        bounds = pc.min_max(column)
        largest = max((abs(v) for v in (bounds["min"].as_py(), bounds["max"].as_py()) if v is not None), default=0)
        if largest > _EXACT:
            raise ReadError(f"{name!r} has whole numbers above 2**53, which cannot be masked exactly. Rescale it.")
    if pa.types.is_decimal(kind):
        return _decimals(name, column, kind, confidential)
    floats = column.cast(pa.float64(), safe=False)
    values = floats.to_numpy() if isinstance(floats, pa.ChunkedArray) else floats.to_numpy(zero_copy_only=False)
    values = np.array(values, dtype=np.float64)
    if one_zero:
        values += 0.0  # -0.0 sorts like 0.0, so that engines could place it anywhere among zeros
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise ReadError(f"{name!r} has {infinite} infinite values. Make them missing, or remove these records.")
    rounded = not pa.types.is_floating(kind) and bool((np.abs(values) >= _EXACT).any())
    return Column(name, "number", integer=integer, missing=bool(np.isnan(values).any()), rounded=rounded), values


def _decimals(name: str, column: Any, kind: Any, confidential: bool) -> tuple[Column, NDArray[np.float64]]:
    """The nearest float64 of each decimal, which Arrow's own conversion may miss by a digit."""
    if kind.precision > _MOST_DIGITS:
        return _wide_decimals(name, column, kind, confidential)
    whole = _unscaled(column, kind.scale)
    if confidential and np.abs(whole).max(initial=0) > _EXACT:
        raise ReadError(f"{name!r} has numbers of more than 15 digits, which cannot be masked exactly. Round it.")
    present = np.asarray(column.is_valid().to_numpy(zero_copy_only=False) if not hasattr(column, "chunks") else
                         column.is_valid().to_numpy(), dtype=bool)
    values = np.where(present, whole / 10.0**kind.scale, np.nan)
    return Column(name, "number", missing=not present.all(), rounded=bool(np.abs(whole).max(initial=0) > _APART)), values


def _wide_decimals(name: str, column: Any, kind: Any, confidential: bool) -> tuple[Column, NDArray[np.float64]]:
    """The same for decimals that may have more than 18 digits, one by one."""
    found = column.to_pylist()
    largest = max((abs(v) for v in found if v is not None), default=Decimal(0))
    if confidential and largest.scaleb(kind.scale) > _EXACT:
        raise ReadError(f"{name!r} has numbers of more than 15 digits, which cannot be masked exactly. Round it.")
    values = np.array([np.nan if v is None else float(v) for v in found], dtype=np.float64)
    return Column(name, "number", missing=None in found, rounded=largest.scaleb(kind.scale) > _APART), values


def _nominal(name: str, column: pa.ChunkedArray, roles: Roles) -> tuple[Column, NDArray[np.int32]]:
    levels, codes = encode_levels(name, column)
    order = level_order(name, levels, roles)
    place = np.empty(len(levels) + 1, dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    place[-1] = -1
    names = tuple(plain_value(levels[i]) for i in order)
    return Column(name, "nominal", missing=bool((codes < 0).any()), levels=names), place[codes]


def encode_levels(name: str, column: Any) -> tuple[list[Any], NDArray[np.int64]]:
    """Levels in order of appearance, and the code of every row, -1 if missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(flat, pa.ChunkedArray):
        flat = pa.concat_arrays(flat.chunks) if flat.num_chunks else pa.array([], type=column.type)
    if pa.types.is_dictionary(flat.type):
        flat = flat.cast(flat.type.value_type)
    if pa.types.is_null(flat.type):
        flat = flat.cast(pa.string())
    if pa.types.is_string(flat.type) or pa.types.is_large_string(flat.type):
        try:
            flat.validate(full=True)
        except pa.ArrowInvalid:
            raise ReadError(f"{name!r} contains text that is not UTF-8. Convert it.") from None
    if pa.types.is_floating(flat.type):
        flat = pc.add(flat.cast(pa.float64()), 0.0)  # -0.0 and 0.0 are one level
        flat = pc.if_else(pc.is_nan(flat), pa.scalar(None, flat.type), flat)
    try:
        encoded = pc.dictionary_encode(flat)
    except pa.ArrowNotImplementedError:
        raise ReadError(
            f"{name!r} has type {flat.type}, which is neither numeric nor categorical. Convert it to text, or give it no role."
        ) from None
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return encoded.dictionary.to_pylist(), codes


def level_order(name: str, levels: list[Any], roles: Roles) -> NDArray[np.int64]:
    """Positions of the levels in the stated order, or else in numerical or alphabetical order."""
    stated = roles.ordered.get(name)
    if stated is None:
        keys = [(isinstance(v, str), v if isinstance(v, str | int | float) else str(v)) for v in levels]
        return np.array(sorted(range(len(levels)), key=lambda i: keys[i]), dtype=np.int64)
    spot = {plain_value(v): i for i, v in enumerate(stated)}
    unknown = [v for v in levels if plain_value(v) not in spot]
    if unknown:
        raise RolesError(f"ordered: {name!r} has {len(unknown)} levels not in the stated order. List every level once.")
    return np.array(sorted(range(len(levels)), key=lambda i: spot[plain_value(levels[i])]), dtype=np.int64)


def plain_value(level: Any) -> str | int | float | bool:
    """A level as a plain value; whole floats become integers, so that 36.0 and 36 are one level."""
    if isinstance(level, float) and level.is_integer():
        return int(level)
    return level if isinstance(level, str | int | float | bool) else str(level)


def to_arrow(column: Column, values: Array, like: pa.DataType | None) -> pa.Array:
    """A masked column as Arrow: integers if every value is whole, null if missing."""
    if column.kind == "nominal":
        return names_array(column, values, like)
    if like is not None and is_dictionary(like):
        like = like.value_type
    if column.dates is not None and like is not None:
        return dates_from(column.name, values, column.dates, like)
    whole, small = fits_integer_type(values, like) if column.integer else (False, False)
    return number_array(values, like if small and whole else None, whole)


def names_array(column: Column, codes: Array, like: Any) -> pa.Array:
    """Categories from codes, in their original type."""
    import pyarrow as pa

    if like is not None and pa.types.is_dictionary(like):  # levels that no record has are not released
        return names_array(column, codes, like.value_type).dictionary_encode().cast(like)
    if like is not None and is_date(like):
        levels = dates_of_texts([str(v) for v in column.levels], like)
    elif like is not None and pa.types.is_floating(like):
        levels = pa.array([None if v is None else float(v) for v in column.levels], type=pa.float64()).cast(like)
    elif like is not None and pa.types.is_time(like):
        levels = pa.array([time.fromisoformat(str(v)) for v in column.levels], type=like)
    elif like is not None and pa.types.is_decimal(like):
        levels = pa.array([Decimal(str(v)) for v in column.levels], type=like)
    else:
        levels = pa.array(list(column.levels), type=like)
    return levels.take(pa.array(codes, mask=codes < 0))


def used_levels(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column whose dictionary has only levels of its own rows: in their stated order, or else as they appear."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if not pa.types.is_dictionary(kind):
        return column
    plain = column.cast(kind.value_type)
    if not kind.ordered:
        return plain.dictionary_encode().cast(kind)
    every = column.unify_dictionaries().chunk(0).dictionary if column.num_chunks else pa.array([], type=kind.value_type)
    levels = every.filter(pc.is_in(every, value_set=plain.unique().drop_null()))
    codes = pc.index_in(plain, value_set=levels).cast(kind.index_type)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(c, levels, ordered=True) for c in codes.chunks], type=kind)


def with_date_form(column: Column, form: str) -> Column:
    """The description of a column, with the form in which its dates are written in CSV."""
    return replace(column, dates=replace(column.dates, form=form)) if column.dates is not None and form else column


def with_marks(schema: Any, columns: Mapping[str, Column]) -> Any:
    """A schema that states what writers need to know: extended missing values, and how dates are written in CSV."""
    forms = {n: c.dates.form for n in schema.names if n in columns for c in [columns[n]]
             if c.dates is not None and c.kind == "number"}
    return with_forms(with_tag_names(schema, columns), forms)


def number_array(values: Array, like: Any, whole: bool) -> pa.Array:
    """Numbers: in the original integer type if all are whole, else as floats."""
    import pyarrow as pa

    missing = np.isnan(values)
    if like is not None and pa.types.is_null(like) and missing.all():
        return pa.nulls(len(values))
    if whole:
        out = pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)
        return out.cast(like) if like is not None and pa.types.is_integer(like) else out
    out = pa.array(values, mask=missing)
    return out.cast(like) if like is not None and pa.types.is_floating(like) else out


def fits_integer_type(values: Array, like: Any) -> tuple[bool, bool]:
    """Whether every value is whole, and whether all fit in an integer type."""
    import pyarrow as pa

    missing = np.isnan(values)
    if not bool(np.all(missing | (values == np.rint(values)))):
        return False, False
    if like is None or not pa.types.is_integer(like):
        return True, True
    bounds = np.iinfo(like.to_pandas_dtype())
    with np.errstate(invalid="ignore"):
        return True, bool(np.nanmin(values, initial=0) >= bounds.min and np.nanmax(values, initial=0) <= bounds.max)
