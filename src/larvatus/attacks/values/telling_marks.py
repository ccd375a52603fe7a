"""Marks that a step leaves on the values it changed: missing or zero, whole, multiples of 5, 10, 50, 100 or 7, repeated.

    mark of y:  0 finer than .01;  1 … 13 the coarsest unit of .01, .1, 1, 5, 10, 50, 100, 500, … 1,000,000 that divides y;
                14 zero;  15 missing
    codes of missing values, such as -8 for refused, one by one
    odd units of a column: 2 … 100 finest units; those are tried of which more than 1/b of the values are multiples
    repeated values: those that three or more records have, and the most frequent ones: bounds of top coding, means of classes

If a step was restricted by a condition on a confidential column, the mark tells whether the condition holds, however well that
column is masked. The same is true of missing cells that are more frequent among some persons. A mark is used only if it is
clearly related to an original column, so that it changes no score by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from larvatus.attacks.scoring.outlying_records import MOST_HELD
from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Column
from larvatus.data.exposure.kinds_of_missing import with_code_columns
from larvatus.data.microdata import Microdata, collect
from larvatus.data.verbs import map_rows

_UNITS = (0.01, 0.1, 1, 5, 10, 50, 100, 500, 1e3, 5e3, 1e4, 1e5, 1e6)  # each divides the next
_ZERO, MISSING_MARK = len(_UNITS) + 1, len(_UNITS) + 2
MARKS = len(_UNITS) + 3
_EXACT, _ROUNDING = 1e-6, 1e-12
_LEVEL = 1e-6  # probability that any mark is used although none is related to an original column
_MOST = 40  # released columns of which marks are looked at
_ODDEST, _ODD = 100, 6  # largest odd unit, in finest ones; odd units that are tried
_CLEAR, _TIMES = 2.0, 10  # standard errors above 1/b; least multiple of an odd unit that the largest value must be
_SHARED, _FREQUENT, _MOST_FREQUENT = 3, 5, 3  # records that share a value; those of a frequent one, and how many are tried
_ON_GRID, _LEAST_VALUES, _SAMPLE = 0.99, 50, 100_000  # share of values that the finest unit divides; values that are counted


def marks_of(values: Floats) -> Ints:
    """The mark of each value."""
    out = np.zeros(len(values), dtype=np.int64)
    there = ~np.isnan(values)
    known = values[there]
    count = np.zeros(len(known), dtype=np.int64)
    largest = float(np.abs(known).max(initial=0.0))
    for unit in (u for u in _UNITS if np.rint(largest / u) != 0):  # a smaller value is no multiple of the unit
        count += are_multiples(known, unit)
    out[there] = np.where(known == 0, _ZERO, count)
    out[~there] = MISSING_MARK
    return out


def are_multiples(values: Floats, unit: float) -> Bools:
    """Which values are multiples of the unit, other than zero; no missing one is."""
    times = values / unit
    whole = np.rint(times)
    return np.asarray((whole != 0) & (np.abs(times - whole) <= _EXACT + _ROUNDING * np.abs(times)))


def odd_units(values: Floats) -> list[float]:
    """Units such as 7 or 12 that divide more values than chance would, the clearest first."""
    known = values[np.isfinite(values) & (values != 0)]
    known = known[:: max(1, len(known) // _SAMPLE)]
    fine = [u for u in _UNITS if len(known) >= _LEAST_VALUES and are_multiples(known, u).mean() >= _ON_GRID]
    if not fine:
        return []
    whole = np.rint(known / fine[-1])
    found: list[tuple[float, float]] = []
    for b in range(2, min(_ODDEST, int(np.abs(whole).max() / _TIMES)) + 1):
        clear = (float((whole % b == 0).mean()) - 1 / b) * float(np.sqrt(len(whole) / (1 / b * (1 - 1 / b))))
        if clear > _CLEAR and not np.isclose(b * fine[-1], _UNITS, rtol=1e-9, atol=0.0).any():
            found.append((clear, b * fine[-1]))
    return [unit for _, unit in sorted(found, reverse=True)[:_ODD]]


def repeated_values(values: Floats) -> list[Floats]:
    """Values other than zero that several records share: all of them, then the most frequent ones one by one."""
    there = values[np.isfinite(values) & (values != 0)]
    known, count = np.unique(there[:: max(1, len(there) // _SAMPLE)], return_counts=True)
    often = np.argsort(-count, kind="stable")[: int((count >= _FREQUENT).sum())][:_MOST_FREQUENT]
    shared = known[count >= _SHARED]
    alone = [known[[k]] for k in often] if len(shared) > 1 else []
    return [those for those in (shared, *alone) if 0 < len(those) < len(known)]


def with_telling_marks(joined: Microdata, released: Sequence[str], before: Sequence[str]) -> tuple[Microdata, dict[str, str]]:
    """The data with columns for telling marks: 1 if the value has it; and the released column that each belongs to.

    The marks of missing values and of their codes are taken if they tell something. Of the other marks of a column, the most
    telling one is taken: a unit that divides the value, zero or repeated.
    Repeated values need to tell something about another column: about its own, the values themselves say as much. Files of more
    than ten million records are not looked at.
    """
    if joined.rows > MOST_HELD:
        return joined, {}
    record, group, _ = collect(joined, ())
    originals: dict[str, tuple[Floats, Floats]] = {}
    used = list(released)[:_MOST] if before else []
    coded, codes = with_code_columns(joined, used)
    kinds = {n: len(coded.table.columns[c].levels) for n, c in codes.items()}
    made: dict[str, Floats] = {}
    named: dict[str, str] = {}
    limit = _quantile(len(before) * (len(used) * (MARKS + _ODD + 1 + _MOST_FREQUENT) + sum(kinds.values())))
    for name in used:
        values = collect(joined, [name])[2][name]
        marks = marks_of(values) if values.dtype.kind == "f" else np.where(values < 0, MISSING_MARK, 0)
        best, flag, blank = 0.0, None, marks == MISSING_MARK
        flags = [(has, before) for has in _flags(marks)]
        if values.dtype.kind == "f":
            others = [b for b in before if b != scratch("original", name)]
            flags += [(are_multiples(values, unit), before) for unit in odd_units(values)]
            flags += [(np.isin(values, those), others) for those in (repeated_values(values) if others else [])]
        if flags and not originals:
            originals = {b: _centred_ranks(collect(joined, [b])[2][b], group) for b in before}
        reason = collect(coded, [codes[name]])[2][codes[name]] if flags and name in codes else None
        for k in range(kinds[name]) if reason is not None else ():
            has = np.asarray(reason == k)
            if (has != blank).any() and _tells(has, group, originals, before) > limit:
                own = scratch(f"code {k}", name)
                made[own], named[own] = has.astype(np.float64), name
        for has, related in flags:
            strength = _tells(has, group, originals, related)
            if strength > limit and (has == blank).all():
                made[scratch("blank", name)], named[scratch("blank", name)] = has.astype(np.float64), name
            elif strength > max(best, limit) and not (has != blank).all():
                best, flag = strength, has.astype(np.float64)
        if flag is not None:
            made[scratch("mark", name)], named[scratch("mark", name)] = flag, name
    if not made:
        return joined, {}
    return map_rows(joined, lambda g, b: {n: v[np.searchsorted(record, b.record)] for n, v in made.items()}, (),
                    [Column(n, "number") for n in made]), named


def _flags(marks: Ints) -> list[Bools]:
    """Which values have at least a mark, are zero, or are missing; without those that all or no values have."""
    unit = np.where(marks == MISSING_MARK, -1, marks)
    every = [*(unit >= k for k in range(1, len(_UNITS) + 1)), marks == _ZERO, marks == MISSING_MARK]
    return [f for f in every if 0 < f.sum() < len(f)]


def telling_table(table: Floats) -> bool:
    """Whether some mark is clearly more frequent in some category: table of categories by marks, each cell tested exactly."""
    from scipy.stats import hypergeom

    total, rows, columns = int(table.sum()), table.sum(axis=1).astype(int), table.sum(axis=0).astype(int)
    if (rows > 0).sum() < 2 or (columns > 0).sum() < 2:
        return False
    chance = hypergeom.sf(table - 1, total, rows[:, None], columns[None, :])
    return bool((chance[table > 0].min() if (table > 0).any() else 1.0) * table.size <= _LEVEL)


def _quantile(tests: int) -> float:
    from scipy.stats import norm

    return float(norm.isf(_LEVEL / max(2 * tests, 1)))


def _tells(has: Bools, group: Ints, originals: Mapping[str, tuple[Floats, Floats]], related: Sequence[str]) -> float:
    """How clearly a mark is related to one of these original columns, in standard errors."""
    away = _centred(has.astype(np.float64), group)
    return max(_strength(away, originals[b]) for b in related)


def _strength(away: Floats, ranks: tuple[Floats, Floats]) -> float:
    """The correlation of a mark with the ranks of an original column within sub-groups, in standard errors."""
    values, there = ranks
    a = away * there
    length = float(np.sqrt((a @ a) * (values @ values)))
    return abs(float(a @ values)) / length * float(np.sqrt(there.sum())) if length > 0 else 0.0


def _centred_ranks(values: Floats, group: Ints) -> tuple[Floats, Floats]:
    """Ranks in the file, centred in each sub-group, 0 if missing; and which values there are."""
    from scipy.stats import rankdata

    there = ~np.isnan(values)
    ranks = np.zeros(len(values))
    ranks[there] = rankdata(values[there])
    return _centred(ranks, group, there), there.astype(np.float64)


def _centred(values: Floats, group: Ints, there: Bools | None = None) -> Floats:
    used = np.ones(len(values)) if there is None else there.astype(np.float64)
    count, total = (np.bincount(group, weights=w, minlength=int(group.max(initial=0)) + 1) for w in (used, values * used))
    return np.asarray(np.where(used > 0, values - (total / np.maximum(count, 1))[group], 0.0))
