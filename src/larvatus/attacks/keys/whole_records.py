"""Records that are released whole in another row: all confidential values together, wherever S or the pairing has them.

    count = #{i : x_i occurs once in the original, and as the values of a released row other than i}
    luck  = Σ_i max(n_g Π_j f_j(x_ij), q_i) + 2 · #{different x that occur twice}
    found = count − luck − 3 √luck,    as a share of the records

    f_j  share of a value in its column,  n_g  records of the sub-group,
    q_i  share of the 20 records next to i in the column with most values that agree with i in all other columns

A mask may move values to other records. If it moves them together, the row is the record of a person: whoever knows one value
finds it and reads the others. Luck is the expected number if the columns were permuted one by one in each sub-group, or drawn
for records that are alike; its second term is the number of records to which a fresh sample would have a twin (Good and
Turing). Of columns with the same order, such as wages per month and per year, one counts. Nothing is found in a single column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from larvatus.attacks.scoring.outlying_records import MOST_HELD
from larvatus.core.arrays import Floats, Ints
from larvatus.data.exposure.unchanged_records import WHOLE_ELSEWHERE
from larvatus.data.microdata import Microdata, collect
from larvatus.data.score import Rows
from larvatus.data.steps import codes_in

_SAME = 1e-9  # of the standard deviation of the column
_ONE_ORDER = 0.999  # rank correlation from which two columns count as one
_LUCK = 3.0  # standard deviations
_NEXT = 10  # records to either side
_PIECE = 1 << 16  # values that are compared at once
ColumnCodes: TypeAlias = NDArray[np.int32]


def whole_records(original: Microdata, released: Microdata, names: Sequence[str]) -> tuple[Rows, float]:
    """A row with the number of such records if it is above luck, and the share of records above luck.

    Files of more than ten million records are not looked at.
    """
    mine, theirs = original.table.columns, released.table.columns
    used = [n for n in names if mine[n].kind == theirs[n].kind and mine[n].kind in ("number", "nominal")]
    if len(used) < 2 or max(original.rows, released.rows) > MOST_HELD:
        return Rows(), 0.0
    first, own = collect(original, ())[0], _own_group(original, released)
    second = collect(released, ())[0]
    codes = _of_different_order([_codes(original, released, n) for n in used], len(first))
    if len(codes) < 2:
        return Rows(), 0.0
    row = _rows(codes)
    was, now = row[: len(first)], row[len(first):]
    times = np.bincount(was, minlength=int(row.max(initial=0)) + 1)
    shown = np.bincount(now, minlength=len(times))
    place = np.minimum(np.searchsorted(second, first), max(len(second) - 1, 0))
    kept = (second[place] == first) & (now[place] == was) if len(second) else np.zeros(len(first), dtype=bool)
    once = times[was] == 1
    count, twice = int((once & (shown[was] > kept)).sum()), int((times == 2).sum())
    del row, was, now, times, shown, place, kept
    if count <= 2 * twice:  # no more than by luck
        return Rows(), 0.0
    by_luck = np.maximum(_permuted(codes, own), _alike([c[: len(first)] for c in codes]))
    luck = float(by_luck[once].sum()) + 2.0 * float(twice)
    share = max(0.0, count - luck - _LUCK * float(np.sqrt(luck))) / max(len(first), 1)
    if not share:
        return Rows(), 0.0
    return Rows.of([{"records": WHOLE_ELSEWHERE, "sub_group": None, "count": count, "share": count / len(first),
                     "beyond": 0}]), share


def _own_group(original: Microdata, released: Microdata) -> Ints:
    """The sub-group of each original record, in record order; 0 if it is not released."""
    first, (second, group, _) = collect(original, ())[0], collect(released, ())
    own = np.zeros(len(first), dtype=np.int64)
    own[np.isin(first, second)] = group[np.isin(second, first)]
    return own


def _codes(original: Microdata, released: Microdata, name: str) -> ColumnCodes:
    """Original and released values of a column, one below the other in record order, as numbers of their different values."""
    mine, theirs = original.table.columns[name], released.table.columns[name]
    before, after = collect(original, [name])[2][name], collect(released, [name])[2][name]
    after = codes_in(theirs, mine)[after] if mine.kind == "nominal" else after
    spread = float(np.nanstd(before)) if mine.kind == "number" and np.isfinite(before).any() else 0.0
    both = np.concatenate([before, after])
    del before, after
    if spread > 0:
        both /= _SAME * spread
        np.round(both, out=both)
    return _numbered(both)


def _numbered(values: NDArray[Any]) -> ColumnCodes:
    """The numbers of the different values, in their order. As `numpy.unique` with half its memory: missing numbers are one."""
    order = np.argsort(values)
    fresh = np.zeros(len(values), dtype=bool)
    for low in range(1, len(values), _PIECE):  # sorted values are compared in pieces, so that no copy of all is made
        part = values[order[low - 1 : low + _PIECE]]
        fresh[low : low + _PIECE] = (part[1:] != part[:-1]) & ~((part[1:] != part[1:]) & (part[:-1] != part[:-1]))
    out = np.empty(len(values), dtype=np.int32)
    out[order] = np.cumsum(fresh, dtype=np.int32)
    return out


def _rows(codes: Sequence[ColumnCodes]) -> ColumnCodes:
    """The number of each combination of values."""
    out = codes[0]
    for column in codes[1:]:
        pair = out.astype(np.int64)
        pair *= int(column.max(initial=0)) + 1
        pair += column
        out = _numbered(pair)
    return out


def _permuted(codes: Sequence[ColumnCodes], own: Ints) -> Floats:
    """Expected number of rows with all values of each record, if every column is permuted in its sub-group."""
    size = np.bincount(own).astype(np.float64)
    out = size[own]
    for column in codes:
        place = _rows([own.astype(np.int32), column[: len(own)]])
        out = out * np.bincount(place)[place] / size[own]
    return np.asarray(np.minimum(out, 1.0))


def _alike(codes: Sequence[ColumnCodes]) -> Floats:
    """q: how many of the records next to each one in the column with most values agree in all others."""
    anchor = int(np.argmax([np.count_nonzero(np.bincount(c)) for c in codes]))
    order = np.argsort(codes[anchor], kind="stable")
    rest = _rows([c for j, c in enumerate(codes) if j != anchor])[order]
    same, there = np.zeros(len(rest)), np.zeros(len(rest))
    for step in range(1, min(_NEXT, len(rest) - 1) + 1):
        equal = rest[step:] == rest[:-step]
        for side in (slice(step, None), slice(None, -step)):
            same[side] += equal
            there[side] += 1
    out = np.zeros(len(rest))
    out[order] = same / np.maximum(there, 1)
    return out


def _of_different_order(codes: Sequence[ColumnCodes], n: int) -> list[ColumnCodes]:
    """The columns without constant ones, and without those that have the order of another column, or its reverse."""
    kept: list[ColumnCodes] = []
    for column in codes:
        ranks = _standard_ranks(column[:n])
        if ranks.any() and all(abs(float(ranks @ _standard_ranks(other[:n]))) < _ONE_ORDER for other in kept):
            kept.append(column)
    return kept


def _standard_ranks(codes: ColumnCodes) -> Floats:
    """Average ranks with mean 0 and length 1; all 0 for a constant column."""
    count = np.bincount(codes)
    ranks = (np.cumsum(count) - (count - 1) / 2)[codes]
    away = ranks - ranks.mean() if len(ranks) else ranks
    length = float(np.sqrt(away @ away))
    return np.asarray(away / length if length > 0 else away, dtype=np.float64)
