"""Dates in the settings of masks: texts such as "2024-03-01", used as numbers of days."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from larvatus.core.errors import MaskError
from larvatus.data.contracts import Column
from larvatus.data.dates.date_numbers import days_of_text


def _iso(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime.date | datetime.datetime) else value


def _is_date(value: str) -> str:
    if days_of_text(value) is None:
        raise ValueError("a text must be a date such as 2024-03-01")
    return value


DateText = Annotated[str, BeforeValidator(_iso), AfterValidator(_is_date)]
Number = Annotated[float, Field(ge=-1e300, le=1e300)]
NumberOrDate = Number | DateText


def in_days(what: str, value: Any, columns: Mapping[str, Column], name: str = "") -> Any:
    """A setting with numbers of days for its dates. An error if a column that is not one of dates is compared with a date.

    `columns` are the columns that the setting is for. In a table by name, each value is for its own column.
    """
    if isinstance(value, Mapping):
        return {n: in_days(what, v, columns, n) for n, v in value.items()}
    if isinstance(value, tuple | list):
        return tuple(in_days(what, v, columns, name) for v in value)
    if not isinstance(value, str):
        return value
    other = [n for n, c in columns.items() if c.dates is None and name in ("", n)]
    if other:
        raise MaskError(f"{what}: {value!r} is a date, and {other[0]!r} does not contain dates. Give values by column name.")
    return days_of_text(value)
