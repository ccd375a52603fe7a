"""From Arrow columns to arrays and back: numbers as float64, names as codes, what S was kept as it came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import ReadError, RolesError
from larvatus.data.contracts import Array, Column
from larvatus.data.roles import Roles, SubGroups

if TYPE_CHECKING:
    import pyarrow as pa

EXACT = 2**53


def as_array(name: str, column: pa.ChunkedArray, roles: Roles, sub_groups: SubGroups) -> tuple[Column, Array]:
    """A column as numbers or as codes, by its role and its type."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    named = name in sub_groups.columns or name in roles.nominal or name in roles.ordered
    if named or not _numeric(kind):
        return _nominal(name, column, roles)
    return _number(name, column, kind, confidential=name in roles.confidential)


def _numeric(kind: Any) -> bool:
    import pyarrow.types as t

    return bool(
        t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind) or t.is_null(kind)
        or t.is_temporal(kind)
    )


def _number(name: str, column: pa.ChunkedArray, kind: Any, confidential: bool) -> tuple[Column, NDArray[np.float64]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(kind)
    if pa.types.is_temporal(kind):
        if confidential:
            raise RolesError(f"{name!r} holds dates or times; masks need numbers. Convert it, for example to days or a year.")
        if pa.types.is_interval(kind):
            raise ReadError(f"{name!r} holds {kind}, which has no order. Convert it to text first, or give it no role.")
        column = column.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    integer = pa.types.is_integer(kind)
    if integer and confidential:
        bounds = pc.min_max(column)
        largest = max((abs(v) for v in (bounds["min"].as_py(), bounds["max"].as_py()) if v is not None), default=0)
        if largest > EXACT:
            raise ReadError(f"{name!r} holds whole numbers above 2**53, which cannot be masked exactly. Rescale the column.")
    values = column.cast(pa.float64(), safe=False).to_numpy()
    values = np.array(values, dtype=np.float64)
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise ReadError(f"{name!r} holds {infinite} infinite values. Make them missing, or leave those records out.")
    return Column(name, "number", integer=integer, missing=bool(np.isnan(values).any())), values


def _nominal(name: str, column: pa.ChunkedArray, roles: Roles) -> tuple[Column, NDArray[np.int32]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    flat = column.combine_chunks()
    if isinstance(flat, pa.ChunkedArray):
        flat = pa.concat_arrays(flat.chunks) if flat.num_chunks else pa.array([], type=column.type)
    if pa.types.is_dictionary(flat.type):
        flat = flat.cast(flat.type.value_type)
    if pa.types.is_null(flat.type):
        flat = flat.cast(pa.string())
    if pa.types.is_floating(flat.type):
        flat = pc.add(flat.cast(pa.float64()), 0.0)  # -0.0 and 0.0 are one level
        flat = pc.if_else(pc.is_nan(flat), pa.scalar(None, flat.type), flat)
    try:
        coded = pc.dictionary_encode(flat)
    except pa.ArrowNotImplementedError:
        raise ReadError(
            f"{name!r} holds {flat.type}, which is neither numbers nor names. Convert it to text first, or give it no role."
        ) from None
    levels = coded.dictionary.to_pylist()
    order = _order(name, levels, roles)
    place = np.empty(len(levels) + 1, dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    place[-1] = -1
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    plain = tuple(_plain(levels[i]) for i in order)
    return Column(name, "nominal", missing=bool((codes < 0).any()), levels=plain), place[codes]


def _order(name: str, levels: list[Any], roles: Roles) -> NDArray[np.int64]:
    stated = roles.ordered.get(name)
    if stated is None:
        keys = [(isinstance(v, str), v if isinstance(v, str | int | float) else str(v)) for v in levels]
        return np.array(sorted(range(len(levels)), key=lambda i: keys[i]), dtype=np.int64)
    spot = {_plain(v): i for i, v in enumerate(stated)}
    unknown = [v for v in levels if _plain(v) not in spot]
    if unknown:
        raise RolesError(f"ordered: {name!r} has {len(unknown)} levels that the stated order lacks. State every level once.")
    return np.array(sorted(range(len(levels)), key=lambda i: spot[_plain(levels[i])]), dtype=np.int64)


def _plain(level: Any) -> str | int | float | bool:
    """Levels as plain values; whole floats as integers, so that 36.0 and 36 are one level."""
    if isinstance(level, float) and level.is_integer():
        return int(level)
    return level if isinstance(level, str | int | float | bool) else str(level)


def to_arrow(column: Column, values: Array, like: pa.DataType | None) -> pa.Array:
    """A masked column for writing: whole numbers stay whole where every value is, missing becomes null."""
    import pyarrow as pa

    if column.kind == "nominal":
        if like is not None and pa.types.is_dictionary(like):  # levels that no record has any more do not leave
            return to_arrow(column, values, like.value_type).dictionary_encode().cast(like)
        levels = pa.array(list(column.levels), type=like)
        return levels.take(pa.array(values, mask=values < 0))
    missing = np.isnan(values)
    if column.integer and bool(np.all(missing | (values == np.rint(values)))):
        whole = pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)
        return whole.cast(like) if like is not None and pa.types.is_integer(like) and _fits(values, like) else whole
    return pa.array(values, mask=missing)


def _fits(values: Array, kind: pa.DataType) -> bool:
    bounds = np.iinfo(kind.to_pandas_dtype())
    with np.errstate(invalid="ignore"):
        return bool(np.nanmin(values, initial=0) >= bounds.min and np.nanmax(values, initial=0) <= bounds.max)
