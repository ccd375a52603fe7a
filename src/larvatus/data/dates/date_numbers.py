"""Dates and times as numbers of days since 1 January 1970, and back.

    x = whole days + (rest of the day) / (length of a day)

Masks, attacks and measures see these numbers, so that every figure is in days. A released value is rounded to the unit of its
column: the coarsest of day, hour, minute, second, millisecond and microsecond of which all original values are multiples.
Times with a time zone are counted in UTC. The calendar is the Gregorian one throughout, also before 1582.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import ReadError, WriteError

if TYPE_CHECKING:
    import pyarrow as pa

UNITS: Mapping[str, int] = {  # how many of them a day has, coarsest first
    "day": 1, "hour": 24, "minute": 1440, "second": 86_400, "millisecond": 86_400_000, "microsecond": 86_400_000_000,
}
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
_NANOSECONDS = 106_751  # days from 1970 that 64 bits of nanoseconds can represent


@dataclass(frozen=True, slots=True)
class DateKind:
    """What a column of dates is rounded to (`unit`), and how its cells are written in a CSV file (`form`, if it is one)."""

    unit: str = "day"
    form: str = ""

    def __or__(self, other: DateKind) -> DateKind:
        """The kind of both parts of a column: the finer unit."""
        return replace(self, unit=max(self.unit, other.unit, key=list(UNITS).index))

    @property
    def word(self) -> str:
        """What the column contains, for people."""
        return "date" if self.unit == "day" else "date and time"

    def round(self, days: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers of days, rounded to the unit."""
        per_day = UNITS[self.unit]
        if per_day == 1:
            return np.rint(days)
        whole = np.floor(days)
        return np.asarray(whole + np.rint((days - whole) * per_day) / per_day)

    def text(self, days: float) -> str:
        """A number of days as a date in ISO form, with the time if the unit is finer than a day."""
        if not FIRST_DAY <= days < LAST_DAY + 1:
            return f"{days:.0f} days from 1970-01-01"
        whole = int(np.floor(days))
        date = datetime.date(1970, 1, 1) + datetime.timedelta(whole)
        if self.unit == "day":
            return date.isoformat()
        rest = datetime.timedelta(microseconds=round((days - whole) * UNITS["microsecond"]))
        moment = datetime.datetime.combine(date, datetime.time()) + rest
        return moment.isoformat(sep=" ", timespec="minutes" if self.unit in ("hour", "minute") else "auto")


def is_date(kind: Any) -> bool:
    """Whether an Arrow type is a date or a date with a time; times of day and durations are not."""
    import pyarrow.types as t

    return bool(t.is_date(kind) or t.is_timestamp(kind))


def days_of(name: str, column: Any, exactly: bool) -> tuple[DateKind, NDArray[np.float64], bool]:
    """A column of dates as numbers of days, NaN if missing; its kind; and whether its times are finer than these numbers.

    `exactly`: refuse dates that would not come back as they are, because they are too fine or too far away.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    per_day = _per_day(column.type)
    stored = column.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date32(column.type) else column.cast(pa.int64())
    gone = np.asarray(pc.is_null(stored).to_numpy(zero_copy_only=False) if isinstance(stored, pa.Array)
                      else pc.is_null(stored).to_numpy())
    whole = pc.fill_null(stored, 0)
    values = np.asarray(whole.to_numpy(zero_copy_only=False) if isinstance(whole, pa.Array) else whole.to_numpy())
    day, rest = np.divmod(values.astype(np.int64), per_day)
    found = DateKind(_unit(rest, per_day))
    days = np.where(gone, np.nan, day + rest / per_day)
    comes_back = np.array_equal(_counts(days[~gone], found, per_day), values[~gone])
    if exactly:
        _check(name, days[~gone], comes_back)
    return found, days, not comes_back


def _per_day(kind: Any) -> int:
    import pyarrow.types as t

    return 1 if t.is_date32(kind) else _PER_DAY["ms" if t.is_date64(kind) else kind.unit]


def _unit(rest: NDArray[np.int64], per_day: int) -> str:
    """The coarsest unit of which all times of day are multiples; microseconds if there is none."""
    for unit, parts in UNITS.items():
        if per_day % parts == 0 and not (rest % (per_day // parts)).any():
            return unit
    return "microsecond"


def _check(name: str, there: NDArray[np.float64], comes_back: bool) -> None:
    if ((there < FIRST_DAY) | (there >= LAST_DAY + 1)).any():
        raise ReadError(f"{name!r} has dates outside the years 1 to 9999, which cannot be masked. Make them missing.")
    if not comes_back:
        raise ReadError(f"{name!r} has times that are too fine to be masked exactly so far from 1970. Round them, for example "
                        "to seconds.")


def _counts(days: NDArray[np.float64], kind: DateKind, per_day: int) -> NDArray[np.int64]:
    """Numbers of days as whole numbers of the parts of a day in which a type counts."""
    parts = UNITS[kind.unit]
    whole = np.floor(days)
    rest = np.rint((days - whole) * parts).astype(np.int64)
    step = per_day // parts if per_day % parts == 0 else 0
    if not step:  # the type is coarser than the unit
        return np.asarray(whole.astype(np.int64) * per_day + np.rint((days - whole) * per_day).astype(np.int64))
    return np.asarray(whole.astype(np.int64) * per_day + rest * step)


def dates_from(name: str, days: NDArray[np.float64], kind: DateKind, like: Any) -> pa.Array:
    """Numbers of days as dates of an Arrow type, rounded to the unit of their kind; null if missing."""
    import pyarrow as pa

    gone = np.isnan(days)
    there = np.where(gone, 0.0, days)
    if pa.types.is_timestamp(like) and like.unit == "ns" and (np.abs(there) > _NANOSECONDS).any():
        raise WriteError(f"{name!r} has dates before 1678 or after 2261, which its type (nanoseconds) cannot represent. "
                         "Convert the column of the source to microseconds.")
    stored = pa.array(_counts(there, kind, _per_day(like)), mask=gone)
    return stored.cast(pa.int32()).cast(like) if pa.types.is_date32(like) else stored.cast(like)


def out_of_calendar(days: NDArray[np.float64]) -> int:
    """How many dates lie outside the years 1 to 9999, which other programs cannot represent."""
    return int(np.count_nonzero((days < FIRST_DAY) | (days >= LAST_DAY + 1)))


def dates_of_texts(texts: Sequence[str], like: Any) -> pa.Array:
    """Dates in ISO form as dates of an Arrow type, to the last nanosecond."""
    import pyarrow as pa

    moments = [_moment_of(text) for text in texts]
    if pa.types.is_timestamp(like) and like.unit == "ns":
        return pa.array([None if m is None else _microseconds(m) * 1000 + _nanoseconds(t)
                         for m, t in zip(moments, texts, strict=True)], type=pa.int64()).cast(like)
    stamps = pa.array([None if m is None else _microseconds(m) for m in moments], type=pa.int64()).cast(pa.timestamp("us"))
    return stamps.cast(like, safe=False)


def _moment_of(text: str) -> datetime.datetime | None:
    """A date in ISO form in coordinated time; None if it is not one."""
    try:
        moment = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment.astimezone(datetime.UTC).replace(tzinfo=None) if moment.tzinfo else moment


def _microseconds(moment: datetime.datetime) -> int:
    return (moment - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)


def _nanoseconds(stamp: str) -> int:
    """The digits after the microseconds, which Python's dates do not have."""
    digits = stamp.partition(".")[2][6:9]
    return int(digits) if len(digits) == 3 and digits.isdigit() else 0


def days_of_text(text: str) -> float | None:
    """A date in ISO form (2024-03-01, 2024-03-01 10:00) as a number of days; None if it is not one."""
    moment = _moment_of(text)
    if moment is None:
        return None
    since = moment - datetime.datetime(1970, 1, 1)
    return since.days + (since.seconds + since.microseconds / 1e6) / 86_400
