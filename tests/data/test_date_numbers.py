"""Dates as numbers of days, and back: exact for every date, and for times as far as 64-bit floats reach."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

from larvatus.core.errors import ReadError, WriteError
from larvatus.data.dates.date_numbers import DateKind, dates_from, days_of, days_of_text
from larvatus.data.dates.periods import PERIODS, first_day, period_name

TYPES = [pa.date32(), pa.date64(), *(pa.timestamp(u, z) for u in ("s", "ms", "us") for z in (None, "Europe/Berlin"))]
DAY = datetime.date


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_every_date_comes_back(kind):
    dates = [DAY(1, 1, 1), DAY(1582, 10, 4), DAY(1582, 10, 15), DAY(1900, 2, 28), DAY(2000, 2, 29), None, DAY(9999, 12, 31)]
    column = pa.array(dates, pa.date32()).cast(pa.timestamp("s") if pa.types.is_timestamp(kind) else kind).cast(kind)
    found, days, finer = days_of("x", column, exactly=True)
    assert not finer
    assert found.unit == "day"
    assert dates_from("x", days, found, kind).equals(column)


@pytest.mark.parametrize(("step", "unit"), [
    (1, "microsecond"), (1000, "millisecond"), (10**6, "second"), (60 * 10**6, "minute"), (3600 * 10**6, "hour"),
    (86_400 * 10**6, "day"),
])
def test_the_unit_is_the_coarsest_that_fits(step, unit):
    rng = np.random.default_rng(3)
    span = 60 * 365 * 86_400 * 10**6 // step
    column = pa.array(rng.integers(-span, span, 500) * step).cast(pa.timestamp("us"))
    found, days, finer = days_of("x", column, exactly=True)
    assert not finer
    assert found.unit == unit
    assert dates_from("x", days, found, column.type).equals(column)
    assert np.array_equal(found.round(days), days)


def test_nanoseconds_that_are_whole_seconds_come_back():
    column = pa.array(np.array(["1970-01-01T00:00:01", "2262-01-01T10:00:00", "1677-09-22"], "M8[ns]"))
    found, days, finer = days_of("x", column, exactly=True)
    assert not finer
    assert dates_from("x", days, found, column.type).equals(column)
    with pytest.raises(WriteError, match="nanoseconds"):
        dates_from("x", np.array([200_000.0]), found, column.type)


def test_times_that_are_too_fine_are_refused():
    fine = pa.array([1_700_000_000_000_000_001]).cast(pa.timestamp("ns"))
    with pytest.raises(ReadError, match="too fine"):
        days_of("x", fine, exactly=True)
    far = pa.array([250_000_000_000_000_001]).cast(pa.timestamp("us"))
    with pytest.raises(ReadError, match="too fine"):
        days_of("x", far, exactly=True)
    with pytest.raises(ReadError, match="1 to 9999"):
        days_of("x", pa.array([3_000_000], pa.int32()).cast(pa.date32()), exactly=True)
    _, days, finer = days_of("x", far, exactly=False)
    assert len(days) == 1
    assert finer


@pytest.mark.parametrize("text", ["2024-03-01", "0001-01-01", "9999-12-31", "1969-12-31"])
def test_texts_of_dates(text):
    assert DateKind().text(days_of_text(text)) == text


def test_texts_of_times():
    assert DateKind("minute").text(days_of_text("2024-03-01T10:30")) == "2024-03-01 10:30"
    assert days_of_text("2024-03-01T10:30+01:00") == days_of_text("2024-03-01 09:30")
    assert days_of_text("next week") is None


@pytest.mark.parametrize("period", PERIODS)
def test_periods_against_the_calendar(period):
    """Against the standard library, one day at a time."""
    start = DAY(1967, 12, 25)
    for i in range(3000):
        date = start + datetime.timedelta(i)
        first = first_day(np.array([(date - DAY(1970, 1, 1)).days + 0.7]), period)[0]
        expected = {
            "day": date, "week": date - datetime.timedelta(date.weekday()), "month": date.replace(day=1),
            "quarter": DAY(date.year, (date.month - 1) // 3 * 3 + 1, 1), "year": DAY(date.year, 1, 1),
        }[period]
        assert first == (expected - DAY(1970, 1, 1)).days
    names = {"day": "2024-12-31", "week": "2025-W01", "month": "2024-12", "quarter": "2024-Q4", "year": "2024"}
    last = first_day(np.array([days_of_text("2024-12-31")]), period)
    assert period_name(last[0], period) == names[period]
    assert np.isnan(first_day(np.array([np.nan]), period)).all()
