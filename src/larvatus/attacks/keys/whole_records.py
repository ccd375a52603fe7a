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

import numpy as np

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


def whole_records(original: Microdata, released: Microdata, names: Sequence[str]) -> tuple[Rows, float]:
    """A row with the number of such records if it is above luck, and the share of records above luck.

    Files of more than ten million records are not looked at.
    """
    mine, theirs = original.table.columns, released.table.columns
    used = [n for n in names if mine[n].kind == theirs[n].kind and mine[n].kind in ("number", "nominal")]
    if len(used) < 2 or max(original.rows, released.rows) > MOST_HELD:
        return Rows(), 0.0
    first, _, x = collect(original, used)
    second, group, y = collect(released, used)
    codes = [_codes(x[n], codes_in(theirs[n], mine[n])[y[n]] if mine[n].kind == "nominal" else y[n], mine[n].kind)
             for n in used]
    codes = _of_different_order(codes, len(first))
    if len(codes) < 2:
        return Rows(), 0.0
    row = _rows(codes)
    was, now = row[: len(first)], row[len(first):]
    times = np.bincount(was, minlength=int(row.max(initial=0)) + 1)
    shown = np.bincount(now, minlength=len(times))
    place = np.minimum(np.searchsorted(second, first), max(len(second) - 1, 0))
    own = (second[place] == first) & (now[place] == was) if len(second) else np.zeros(len(first), dtype=bool)
    count = int(((times[was] == 1) & (shown[was] > own)).sum())
    by_luck = np.maximum(_permuted(codes, first, second, group), _alike([c[: len(first)] for c in codes]))
    luck = float(by_luck[times[was] == 1].sum()) + 2.0 * float((times == 2).sum())
    share = max(0.0, count - luck - _LUCK * float(np.sqrt(luck))) / max(len(first), 1)
    if not share:
        return Rows(), 0.0
    return Rows.of([{"records": WHOLE_ELSEWHERE, "sub_group": None, "count": count, "share": count / len(first),
                     "beyond": 0}]), share


def _codes(before: Floats | Ints, after: Floats | Ints, kind: str) -> Ints:
    """Original and released values of a column, one below the other, as numbers of their different values."""
    both = np.concatenate([before, after])
    if kind == "number":
        spread = float(np.nanstd(before)) if np.isfinite(before).any() else 0.0
        both = np.round(both / (_SAME * spread)) if spread > 0 else both
    return np.asarray(np.unique(both, return_inverse=True)[1], dtype=np.int64).reshape(-1)


def _rows(codes: Sequence[Ints]) -> Ints:
    """The number of each combination of values."""
    return np.asarray(np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1], dtype=np.int64).reshape(-1)


def _permuted(codes: Sequence[Ints], first: Ints, second: Ints, group: Ints) -> Floats:
    """Expected number of rows with all values of each record, if every column is permuted in its sub-group."""
    own = np.zeros(len(first), dtype=np.int64)
    own[np.isin(first, second)] = group[np.isin(second, first)]
    size = np.bincount(own).astype(np.float64)
    out = size[own]
    for column in codes:
        pair = own * (int(column.max(initial=0)) + 1) + column[: len(first)]
        _, place, count = np.unique(pair, return_inverse=True, return_counts=True)
        out = out * count[place.reshape(-1)] / size[own]
    return np.asarray(np.minimum(out, 1.0))


def _alike(codes: Sequence[Ints]) -> Floats:
    """q: how many of the records next to each one in the column with most values agree in all others."""
    anchor = int(np.argmax([len(np.unique(c)) for c in codes]))
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


def _of_different_order(codes: Sequence[Ints], n: int) -> list[Ints]:
    """The columns without constant ones, and without those that have the order of another column, or its reverse."""
    kept: list[tuple[Ints, Floats]] = []
    for column in codes:
        ranks = _standard_ranks(column[:n])
        if ranks.any() and all(abs(float(ranks @ other)) < _ONE_ORDER for _, other in kept):
            kept.append((column, ranks))
    return [column for column, _ in kept]


def _standard_ranks(codes: Ints) -> Floats:
    """Average ranks with mean 0 and length 1; all 0 for a constant column."""
    values, place, count = np.unique(codes, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place.reshape(-1)] if len(values) else np.zeros(0)
    away = ranks - ranks.mean() if len(ranks) else ranks
    length = float(np.sqrt(away @ away))
    return np.asarray(away / length if length > 0 else away, dtype=np.float64)
