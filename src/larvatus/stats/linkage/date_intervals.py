"""Link units (persons, households or records) whose dates were all shifted by the same number of days.

    Unit k is a candidate for unit i if all dates of k are the dates of i plus one number of whole days d, 0 < |d| ≤ days,
    and S agrees row by row. Every candidate is equally probable, because every shift is.

The dates of a unit are described by its earliest date and by what does not change: the intervals to that date.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints

_DAY = 86_400_000  # milliseconds


def interval_credit(x: Floats, y: Floats, same: Ints, unit: Ints, days: int, unshifted: bool) -> Floats:
    """For each record, the probability that the intruder finds it. x and y are records × columns in days, NaN if missing.

    `same` is S as a code, `unit` tells which rows belong together on both sides. With `unshifted`, a shift of 0 is possible.
    """
    count = int(unit.max(initial=-1)) + 1
    (known, first), (released, second) = (_earliest(v, unit, count) for v in (x, y))
    rows = _row_codes([_from_first(v, start, unit) for v, start in ((x, first), (y, second))], same)
    order = np.argsort(unit, kind="stable")
    signs: dict[tuple[bytes, int], int] = {}
    mine, theirs = (
        _signatures(code, unit, order, count, start, signs) for code, start in zip(rows, (first, second), strict=True)
    )
    found = _candidates(mine, known, theirs, released, days, unshifted)
    moved = released - known
    own = (mine == theirs) & (np.abs(moved) <= days) & (unshifted | (moved != 0))
    credit = np.where(found > 0, own / np.maximum(found, 1), 0.0)
    alike = _alike_in_unit(rows[0], unit)
    guess = 1.0 / np.bincount(same)[same]
    return np.where(found[unit] > 0, credit[unit] / alike, guess)


def _earliest(values: Floats, unit: Ints, count: int) -> tuple[Ints, Ints]:
    """The day of each unit's earliest date, and that date in milliseconds; 0 if it has none."""
    least = np.full(count, np.inf)
    np.minimum.at(least, unit, np.where(np.isnan(values), np.inf, values).min(axis=1))
    first = np.rint(np.where(np.isfinite(least), least, 0.0) * _DAY).astype(np.int64)
    return first // _DAY, first


def _from_first(values: Floats, first: Ints, unit: Ints) -> Ints:
    """The intervals from the unit's earliest date in milliseconds; -1 if missing."""
    stamps = np.rint(np.nan_to_num(values) * _DAY).astype(np.int64) - first[unit][:, None]
    return np.where(np.isnan(values), -1, stamps)


def _row_codes(sides: list[Ints], same: Ints) -> tuple[Ints, Ints]:
    """A code of each row: its intervals and its S; equal on both sides if they are equal."""
    both = np.concatenate([np.column_stack([same, side]) for side in sides])
    code = np.unique(both, axis=0, return_inverse=True)[1].ravel()
    return code[: len(same)], code[len(same) :]


def _signatures(code: Ints, unit: Ints, order: Ints, count: int, first: Ints, signs: dict[tuple[bytes, int], int]) -> Ints:
    """A number for each unit that depends on its rows, in any order, and on the time of day of its earliest date."""
    rows = order[np.lexsort((code[order], unit[order]))]
    cuts = np.searchsorted(unit[rows], np.arange(count + 1))
    out = np.empty(count, dtype=np.int64)
    for u in range(count):
        key = code[rows[cuts[u] : cuts[u + 1]]].tobytes(), int(first[u] % _DAY)
        out[u] = signs.setdefault(key, len(signs))
    return out


def _candidates(mine: Ints, known: Ints, theirs: Ints, released: Ints, days: int, unshifted: bool) -> Ints:
    """How many released units have the signature of each unit and an earliest date within the window."""
    out = np.zeros(len(mine), dtype=np.int64)
    by_mine, by_theirs = np.argsort(mine, kind="stable"), np.lexsort((released, theirs))
    numbers = np.unique(mine)
    mine_at, theirs_at = (
        (np.searchsorted(side, numbers), np.searchsorted(side, numbers, side="right"))
        for side in (mine[by_mine], theirs[by_theirs])
    )
    for a, b, c, d in zip(*mine_at, *theirs_at, strict=True):
        targets, dates = by_mine[a:b], released[by_theirs[c:d]]
        day = known[targets]
        inside = np.searchsorted(dates, day + days, side="right") - np.searchsorted(dates, day - days)
        at_zero = 0 if unshifted else np.searchsorted(dates, day, side="right") - np.searchsorted(dates, day)
        out[targets] = inside - at_zero
    return out


def _alike_in_unit(code: Ints, unit: Ints) -> Ints:
    """How many rows of its unit have the same dates and S as a row."""
    _, place, times = np.unique(np.column_stack([unit, code]), axis=0, return_inverse=True, return_counts=True)
    return np.asarray(times[place.ravel()])
