"""Link units (persons, households or records) whose dates were all shifted by the same number of days.

    Unit k is a candidate for unit i if all dates of k are the dates of i plus one number of whole days d, 0 < |d| ≤ days,
    and S agrees row by row. Every candidate is equally probable, because every shift is.

The dates of a unit are described by its earliest date and by what does not change: the intervals to that date.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.linkage.coordinates import same_rows

_DAY = 86_400_000  # milliseconds


def interval_credit(x: Floats, y: Floats, same: Ints, unit: Ints, days: int, unshifted: bool) -> Floats:
    """For each record, the probability that the intruder finds it. x and y are records × columns in days, NaN if missing.

    `same` is S as a code, `unit` tells which rows belong together on both sides. With `unshifted`, a shift of 0 is possible. If
    values were made missing in the release, records are compared one by one, in the columns that the released one has.
    """
    gone = np.isnan(y)
    guess = 1.0 / np.bincount(same)[same]
    if (gone & ~np.isnan(x)).any():
        own, found = np.zeros(len(x), dtype=bool), np.zeros(len(x), dtype=np.int64)
        patterns, which = np.unique(gone, axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            rows = np.flatnonzero(which.ravel() == k)
            sides = _UnitDates.of([x[:, ~pattern], y[rows][:, ~pattern]], [same, same[rows]],
                                  [np.arange(len(x)), np.arange(len(rows))])
            found += _candidates(sides[0], sides[1], days, unshifted)
            own[rows] = sides[0].taken(rows).fits(sides[1], days, unshifted)
        return np.where(found > 0, own / np.maximum(found, 1), guess)
    mine, theirs = _UnitDates.of([x, y], [same, same], [unit, unit])
    found = _candidates(mine, theirs, days, unshifted)
    credit = mine.fits(theirs, days, unshifted) / np.maximum(found, 1)
    return np.where(found[unit] > 0, credit[unit] / _alike_in_unit(mine.rows, unit), guess)


@dataclass(frozen=True, slots=True)
class _UnitDates:
    """Units of one side: the day of the earliest date, a number for all that a shift does not change, and codes of rows."""

    day: Ints
    sign: Ints
    rows: Ints

    @classmethod
    def of(cls, values: Sequence[Floats], same: Sequence[Ints], unit: Sequence[Ints]) -> list[_UnitDates]:
        """Both sides, with numbers that are equal if what they stand for is equal."""
        first = [_earliest(v, u) for v, u in zip(values, unit, strict=True)]
        tables = [np.column_stack([s, f[u] % _DAY, _from_first(v, f, u)])
                  for v, s, f, u in zip(values, same, first, unit, strict=True)]
        rows = np.concatenate(tables)
        codes = np.split(same_rows(rows.T, len(rows)), [len(tables[0])])
        signs: dict[bytes, int] = {}
        return [cls(f // _DAY, _signatures(c, u, len(rows), signs), c) for c, u, f in zip(codes, unit, first, strict=True)]

    def taken(self, units: Ints) -> _UnitDates:
        return _UnitDates(self.day[units], self.sign[units], self.rows)

    def fits(self, other: _UnitDates, days: int, unshifted: bool) -> NDArray[np.bool_]:
        """Whether each unit can be the one in the same place on the other side."""
        moved = np.abs(other.day - self.day)
        return np.asarray((self.sign == other.sign) & (moved <= days) & (unshifted | (moved > 0)))


def _earliest(values: Floats, unit: Ints) -> Ints:
    """The earliest date of each unit in milliseconds; 0 if it has none."""
    least = np.full(int(unit.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, unit, np.where(np.isnan(values), np.inf, values).min(axis=1, initial=np.inf))
    return np.asarray(np.rint(np.where(np.isfinite(least), least, 0.0) * _DAY), dtype=np.int64)


def _from_first(values: Floats, first: Ints, unit: Ints) -> Ints:
    """The intervals from the unit's earliest date in milliseconds; -1 if missing."""
    stamps = np.rint(np.nan_to_num(values) * _DAY).astype(np.int64) - first[unit][:, None]
    return np.where(np.isnan(values), -1, stamps)


def _signatures(code: Ints, unit: Ints, codes: int, signs: dict[bytes, int]) -> Ints:
    """A number for each unit that depends on its rows, in any order. For a unit with one row it is the code of that row.

    Other units get numbers from `codes` on, one for each combination of rows in `signs`.
    """
    rows = np.lexsort((code, unit))
    size = np.bincount(unit)
    cuts = np.concatenate([[0], np.cumsum(size)])
    out = code[rows[cuts[:-1]]]
    for u in np.flatnonzero(size > 1):
        out[u] = signs.setdefault(code[rows[cuts[u] : cuts[u + 1]]].tobytes(), codes + len(signs))
    return np.asarray(out)


def _candidates(mine: _UnitDates, theirs: _UnitDates, days: int, unshifted: bool) -> Ints:
    """How many units of the other side have the signature of each unit, and an earliest date within the window."""
    out = np.zeros(len(mine.sign), dtype=np.int64)
    by_mine, by_theirs = np.argsort(mine.sign, kind="stable"), np.lexsort((theirs.day, theirs.sign))
    numbers = np.unique(mine.sign)
    ends = [np.searchsorted(side, numbers, side=at) for side in (mine.sign[by_mine], theirs.sign[by_theirs])
            for at in ("left", "right")]
    for a, b, c, d in zip(*ends, strict=True):
        targets, dates = by_mine[a:b], theirs.day[by_theirs[c:d]]
        day = mine.day[targets]
        inside = np.searchsorted(dates, day + days, side="right") - np.searchsorted(dates, day - days)
        at_zero = 0 if unshifted else np.searchsorted(dates, day, side="right") - np.searchsorted(dates, day)
        out[targets] = inside - at_zero
    return out


def _alike_in_unit(code: Ints, unit: Ints) -> Ints:
    """How many rows of its unit have the same dates and S as a row."""
    place = same_rows([unit, code], len(unit))
    return np.asarray(np.bincount(place)[place])
