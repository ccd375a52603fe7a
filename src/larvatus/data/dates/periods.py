"""Days, weeks, months, quarters and years: the first day of the period of a date, and its name.

    week: from Monday to Sunday, named by its ISO year and number (2024-W09);   quarter: 2024-Q1;   month: 2024-03
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Period = Literal["day", "week", "month", "quarter", "year"]
PERIODS: tuple[str, ...] = get_args(Period)
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def first_day(days: NDArray[np.float64], period: str) -> NDArray[np.float64]:
    """The first day of the period in which each date lies, as a number of days; NaN if missing."""
    gone = np.isnan(days)
    day = np.where(gone, 0, np.floor(days)).astype(np.int64)
    if period == "week":
        out = (day + 3) // 7 * 7 - 3  # 1 January 1970 was a Thursday
    elif period == "day":
        out = day
    else:
        month = day.astype("M8[D]").astype("M8[M]").astype(np.int64)
        out = (month // _MONTHS[period] * _MONTHS[period]).astype("M8[M]").astype("M8[D]").astype(np.int64)
    return np.where(gone, np.nan, out)


def period_name(day: float, period: str) -> str:
    """The name of the period that begins on a day."""
    import datetime

    date = datetime.date(1970, 1, 1) + datetime.timedelta(int(day))
    year, week, _ = date.isocalendar()
    return {"day": date.isoformat(), "week": f"{year:04d}-W{week:02d}", "month": f"{date.year:04d}-{date.month:02d}",
            "quarter": f"{date.year:04d}-Q{(date.month + 2) // 3}", "year": f"{date.year:04d}"}[period]
