"""Types for the columns of a query's result: one type for all batches, with all digits of decimal numbers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from larvatus.core.errors import ReadError

if TYPE_CHECKING:
    import pyarrow as pa

EXACT_DIGITS, _MOST_DIGITS, _LARGEST_WHOLE = 18, 38, 2**53


def array_of(name: str, values: Sequence[Any]) -> pa.Array:
    """Values of a column, as a program returns them, in the type that fits all of them."""
    import pyarrow as pa

    kinds = {type(v) for v in values if v is not None}
    if uuid.UUID in kinds:
        return array_of(name, [str(v) if isinstance(v, uuid.UUID) else v for v in values])
    try:
        if kinds == {int, float}:
            _check_whole(name, max(abs(v) for v in values if type(v) is int))
            return pa.array([None if v is None else float(v) for v in values], pa.float64())
        if kinds == {int, Decimal}:
            return pa.array([Decimal(v) if type(v) is int else v for v in values])
        if len(kinds) > 1:
            raise _mixed(name)
        if kinds and not kinds <= {int, float, str, bool, bytes, Decimal, date, datetime, time}:
            raise ReadError(f"the values of column {name!r} have the type {next(iter(kinds)).__name__}, which is not "
                            "supported. Convert it in the query (CAST), or leave it out.")
        return pa.array(values)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        raise ReadError(f"the values of column {name!r} have no type that holds all of them. Convert it in the query (CAST), "
                        "or leave it out.") from None


def plain_column(column: pa.Array, is_decimal_text: bool) -> pa.Array:
    """A column without extension types, which a Parquet file can hold: identifiers and intervals are text."""
    import pyarrow as pa

    if isinstance(column.type, pa.BaseExtensionType):
        named = getattr(column.type, "extension_name", "")
        column = column.storage
        if named == "arrow.uuid":
            return pa.array([None if v is None else str(uuid.UUID(bytes=v)) for v in column.to_pylist()], pa.string())
    if pa.types.is_interval(column.type):  # a Parquet file has no such type
        texts = [None if v is None else f"{v.months} months {v.days} days {v.nanoseconds} ns" for v in column.to_pylist()]
        return pa.array(texts, pa.string())
    return column.cast(pa.string()) if is_decimal_text else column


class ColumnType:
    """The type of one column over all batches."""

    def __init__(self, name: str, is_decimal_text: bool = False) -> None:
        self.name, self._is_decimal_text = name, is_decimal_text
        self._types: list[Any] = []
        self._whole, self._scale, self._largest = 0, 0, 0

    def take(self, column: pa.Array) -> None:
        """Note the type of a batch, and how many digits its numbers have."""
        import pyarrow as pa

        if column.type not in self._types:
            self._types.append(column.type)
        if self._is_decimal_text:
            self._take_text(column)
        elif pa.types.is_decimal(column.type):
            largest = _largest(column)
            self._scale = max(self._scale, column.type.scale)
            self._whole = max(self._whole, len(str(int(largest))) if largest >= 1 else 0)
        elif pa.types.is_integer(column.type):
            self._largest = max(self._largest, int(_largest(column)))

    def _take_text(self, column: pa.Array) -> None:
        """Digits of numbers such as -12.50, as PostgreSQL writes a numeric."""
        import pyarrow.compute as pc

        texts = column.drop_null()
        if not len(texts):
            return
        if pc.any(pc.match_substring_regex(texts, "[^-0-9.]")).as_py():
            raise ReadError(f"column {self.name!r} contains NaN or infinite numbers. Make them NULL in the query.")
        digits = pc.ascii_ltrim(texts, "-")
        point, length = pc.find_substring(digits, "."), pc.utf8_length(digits)
        after = pc.if_else(pc.less(point, 0), 0, pc.subtract(pc.subtract(length, point), 1))
        before = pc.if_else(pc.less(point, 0), length, point)
        self._scale, self._whole = max(self._scale, pc.max(after).as_py()), max(self._whole, pc.max(before).as_py())

    def result(self) -> Any:
        """The type that holds the values of all batches."""
        import pyarrow as pa

        types = [t for t in self._types if not pa.types.is_null(t)]
        if self._is_decimal_text or any(pa.types.is_decimal(t) for t in types):
            if not all(pa.types.is_decimal(t) or pa.types.is_integer(t) or self._is_decimal_text for t in types):
                raise _mixed(self.name)
            plain = len(types) == 1 and pa.types.is_decimal(types[0]) and types[0].precision <= EXACT_DIGITS
            return types[0] if plain else self._decimal()
        if len(types) <= 1:
            return types[0] if types else pa.null()
        if all(pa.types.is_integer(t) for t in types):
            return pa.int64()
        if all(pa.types.is_integer(t) or pa.types.is_floating(t) for t in types):
            _check_whole(self.name, self._largest)
            return pa.float64()
        raise _mixed(self.name)

    def _decimal(self) -> Any:
        import pyarrow as pa

        whole = max(self._whole, len(str(self._largest)) if self._largest else 0)
        digits = max(whole + self._scale, 1)
        if digits > _MOST_DIGITS:
            raise ReadError(f"column {self.name!r} has numbers with {digits} digits, and at most {_MOST_DIGITS} can be stored. "
                            "Round it in the query, or convert it to double precision.")
        return pa.int64() if self._scale == 0 and digits <= EXACT_DIGITS else pa.decimal128(digits, self._scale)


def caster(wanted: Any) -> Callable[[pa.Array], pa.Array]:
    """Converts a batch of a column into its final type."""
    import pyarrow as pa

    def cast(column: pa.Array) -> pa.Array:
        if pa.types.is_integer(wanted) and pa.types.is_string(column.type):
            column = column.cast(pa.decimal128(EXACT_DIGITS, 0))
        if pa.types.is_decimal(wanted) and pa.types.is_integer(column.type):
            column = column.cast(pa.decimal128(20, 0))
        return column if column.type == wanted else column.cast(wanted)

    return cast


def _largest(column: pa.Array) -> Any:
    import pyarrow.compute as pc

    bounds = pc.min_max(column).as_py()
    return 0 if bounds["min"] is None else max(abs(bounds["min"]), abs(bounds["max"]))


def _check_whole(name: str, largest: int) -> None:
    if largest > _LARGEST_WHOLE:
        raise ReadError(f"column {name!r} contains decimal numbers and whole numbers above 2**53, which have no common type. "
                        "Convert it in the query (CAST).")


def _mixed(name: str) -> ReadError:
    return ReadError(f"column {name!r} contains values of several types. Convert it in the query (CAST), or leave it out.")
