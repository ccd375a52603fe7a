"""Records that are released whole in another row: all confidential values together, wherever S or the pairing has them.

    count = #{i : x_i occurs once in the original, and as the values of a released row other than i}
    luck  = Σ_i n_g(i)^(1 − c) + 2 · #{different x that occur twice},    c columns, those with the same order counted once
    found = count − luck − 3 √luck,    as a share of the records; 0 if c < 2

A mask may move values to other records. If it moves them together, the row is the record of a person: whoever knows one value
finds it and reads the others. The first term of luck is the expected number under separate permutations of the columns in
each sub-group, the second the number of records to which a fresh sample would have a twin (Good and Turing).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.data.exposure.unchanged_records import WHOLE_ELSEWHERE
from larvatus.data.microdata import Microdata, collect
from larvatus.data.score import Rows
from larvatus.data.steps import codes_in

_SAME = 1e-9  # of the standard deviation of the column
_ONE_ORDER = 0.999  # rank correlation from which two columns count as one
_LUCK = 3.0  # standard deviations


def whole_records(original: Microdata, released: Microdata, names: Sequence[str]) -> tuple[Rows, float]:
    """A row with the number of such records if it is above luck, and the share of records above luck."""
    mine, theirs = original.table.columns, released.table.columns
    used = [n for n in names if mine[n].kind == theirs[n].kind and mine[n].kind in ("number", "nominal")]
    if len(used) < 2:
        return Rows(), 0.0
    first, _, x = collect(original, used)
    second, group, y = collect(released, used)
    codes = [_codes(x[n], codes_in(theirs[n], mine[n])[y[n]] if mine[n].kind == "nominal" else y[n], mine[n].kind)
             for n in used]
    columns = _different(codes, len(first))
    if columns < 2:
        return Rows(), 0.0
    _, row = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
    row = np.asarray(row, dtype=np.int64).reshape(-1)
    was, now = row[: len(first)], row[len(first):]
    times = np.bincount(was, minlength=int(row.max(initial=0)) + 1)
    shown = np.bincount(now, minlength=len(times))
    place = np.minimum(np.searchsorted(second, first), max(len(second) - 1, 0))
    own = (second[place] == first) & (now[place] == was) if len(second) else np.zeros(len(first), dtype=bool)
    count = int(((times[was] == 1) & (shown[was] > own)).sum())
    size = np.bincount(group).astype(np.float64)
    luck = float((size[size > 0] ** (2.0 - columns)).sum()) + 2.0 * float((times == 2).sum())
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


def _different(codes: Sequence[Ints], n: int) -> int:
    """The number of columns; columns with the same order, or its reverse, count once, and constant ones not at all."""
    kept: list[Floats] = []
    for column in codes:
        ranks = _standard_ranks(column[:n])
        if ranks.any() and all(abs(float(ranks @ other)) < _ONE_ORDER for other in kept):
            kept.append(ranks)
    return len(kept)


def _standard_ranks(codes: Ints) -> Floats:
    """Average ranks with mean 0 and length 1; all 0 for a constant column."""
    values, place, count = np.unique(codes, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place.reshape(-1)] if len(values) else np.zeros(0)
    away = ranks - ranks.mean() if len(ranks) else ranks
    length = float(np.sqrt(away @ away))
    return np.asarray(away / length if length > 0 else away, dtype=np.float64)
