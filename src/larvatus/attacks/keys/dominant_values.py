"""Giants: values so far from all others that everyone knows whose they are, and that a release shows all the same.

    x₍₁₎ is a giant       if  x₍₁₎ − median ≥ max(3, 2 √G) (x₍₂₎ − median),   G the number of parts that are looked at
    and                       ln(d₁/d₂) ≥ 2.5 · mean of j ln(dⱼ/dⱼ₊₁) over j = 2 … 9,  d = x − median (Hill)
    read as the largest   if  |y₍₁₎ − x₍₁₎| ≤ (x₍₁₎ − x₍₂₎) / 10
    read from moments     if  |ȳ + s (n − 1)/√n − x₍₁₎| ≤ (x₍₁₎ − x₍₂₎) / 10,   the largest value that mean and SD allow

The k ≤ 5 largest values x₍₁₎ … x₍ₖ₎ are giants together if x₍ₖ₎ stands out in the same way from x₍ₖ₊₁₎ and its tail. They are
read if |y₍ᵢ₎ − x₍ᵢ₎| ≤ (x₍ₖ₎ − x₍ₖ₊₁₎) / 10 for all of them, or if the first one alone is read as above.

If x₍₂₎ is the median, as in a column of zeros with one claim, x₍₁₎ is a giant. So are two such values together, because each of
the two persons knows the own one. Columns are left out whose values other than the median repeat, if there are fewer than 20:
a category says less.

Nobody needs to find the record of the giant. A mask that permutes values shows the largest one in another record. If one value
makes up nearly all of the variance, the mean and the standard deviation give it away. Smallest values are treated likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from larvatus.core.arrays import Bools, Floats
from larvatus.data.contracts import Block
from larvatus.data.exposure.unchanged_records import GIANT
from larvatus.data.microdata import Microdata
from larvatus.data.score import Row, Rows
from larvatus.data.verbs import as_one_group, moments_by_group, reduce_groups

_FURTHER, _BY_PART = 3.0, 2.0  # times as far from the median as the next value, and times √G if there are many parts
_CLOSE = 0.1  # of the gap to the next value
_TAIL, _OUTERMOST = 2.5, 10  # times the mean gap of the tail; values by which it is measured
_TOGETHER = 5  # values that may be far from all others together: the few large firms of an industry
_LEAST = 10  # values; among fewer, one is often far from the others
_ALONE = 2  # values that are giants if all others on their side are equal to the median
_LEVELS = 20  # different values of a column that is a category rather than an amount


def dominant_values(original: Microdata, released: Microdata, names: Sequence[str]) -> Rows:
    """One row for each giant that the release shows: in the file, and in each sub-group if its column has none in the file."""
    numbers = [n for n in original.numeric(names) if n in released.numeric(released.confidential)]
    found = _giants(as_one_group(original), as_one_group(released), numbers) if numbers else {}
    rest = [n for n in numbers if n not in found]
    if len(original.groups) > 1 and rest:
        found |= _giants(original, released, rest)
    rows: list[Row] = [{"records": GIANT, "sub_group": which, "count": k, "share": k / max(released.rows, 1), "beyond": k}
                       for giants in found.values() for which, k in giants]
    return Rows.of(rows)


def _giants(original: Microdata, released: Microdata, names: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
    """The giants that are read, by column: which they are, and how many."""
    far = max(_FURTHER, _BY_PART * float(np.sqrt(len(original.groups))))
    place = {label: g for g, label in enumerate(original.groups.labels)}
    middle = np.array([original.table.quantiles(n, [0.5])[:, 0] for n in names]).T
    ends = reduce_groups(original, names, _ends(names), _merge_ends)
    shown, moments = reduce_groups(released, names, _ends(names), _merge_ends), moments_by_group(released, names)
    amounts = _amounts(original, names)
    out: dict[str, list[tuple[str, int]]] = {}
    for g, label in enumerate(released.groups.labels):
        m, own = moments[g], place[label]
        reach = np.sqrt(np.nan_to_num(m.variance)) * (m.present - 1) / np.sqrt(np.maximum(m.present, 1))
        for side, word in ((1, "largest"), (-1, "smallest")):
            first, second = side * ends[own][side][:2]
            there = np.isfinite(first) & np.isfinite(second)  # a column without values has no ends
            gap, from_middle = np.where(there, first, 0.0) - np.where(there, second, 0.0), side * middle[own]
            outer = np.where(there, side * ends[own][side] - np.nan_to_num(from_middle), 0.0)
            giant = there & (m.present >= _LEAST) & (_stand_out(outer, far) | _alone(outer, 1) & amounts)
            guesses = np.where(there, np.array([side * shown[g][side][0], side * m.mean + reach]), 0.0)
            error = np.abs(guesses - np.where(there, first, 0.0)).min(axis=0)
            for j in np.flatnonzero(giant & (error <= _CLOSE * gap)).tolist():
                out.setdefault(names[j], []).append((f"the {word} value of {names[j]}{_where(released, g)}", 1))
            several = there & (m.present >= _LEAST) & ~giant
            for j in np.flatnonzero(several).tolist():
                k = _read_together(outer[:, j], side * shown[g][side][:, j] - from_middle[j], far, bool(amounts[j]))
                if k:
                    out.setdefault(names[j], []).append((f"the {k} {word} values of {names[j]}{_where(released, g)}", k))
    return out


def _where(released: Microdata, g: int) -> str:
    return f" in ({released.groups.name(g)})" if len(released.groups) > 1 else ""


def _amounts(data: Microdata, names: Sequence[str]) -> Bools:
    """Which columns have more than a few different values, or at least one for two records that differ from the median."""
    whole = as_one_group(data)
    middle = np.array([whole.table.quantiles(n, [0.5])[0, 0] for n in names])

    def seen(group: int, block: Block) -> list[tuple[Floats, int]]:
        others = [v[~np.isnan(v) & (v != c)] for v, c in zip(block.matrix(names).T, middle, strict=True)]
        return [(np.unique(v)[:_LEVELS], len(v)) for v in others]

    def merge(one: list[tuple[Floats, int]], other: list[tuple[Floats, int]]) -> list[tuple[Floats, int]]:
        return [(np.union1d(a, b)[:_LEVELS], n + m) for (a, n), (b, m) in zip(one, other, strict=True)]

    found = reduce_groups(whole, names, seen, merge)[0]
    return np.array([len(v) >= min(_LEVELS, n / 2) for v, n in found])


def _alone(away: Floats, count: int) -> Bools:
    """Whether the first `count` values differ from the median and the next one does not; rows are distances in order."""
    return np.asarray((away[count - 1] > 0) & np.isfinite(away[count - 1]) & (away[count] == 0), dtype=bool)


def _read_together(away: Floats, shown: Floats, far: float, amount: bool) -> int:
    """The number of values that stand out together and are shown; 0 if there are none. Distances from the median, in order."""
    for k in range(2, _TOGETHER + 1):
        alone = amount and k <= _ALONE and bool(_alone(away[:, None], k)[0])
        if np.isfinite(away[k]) and (alone or _stand_out(away[k - 1:, None], far, k)[0]):
            return k if np.all(np.abs(shown[:k] - away[:k]) <= _CLOSE * (away[k - 1] - away[k])) else 0
    return 0


def _stand_out(away: Floats, far: float, place: int = 1) -> Bools:
    """Whether the first of these distances from the median, in order, stands out; rows are distances from `place` on."""
    d = np.log(np.where((away > 0) & np.isfinite(away), away, np.nan))
    gaps = -np.diff(d, axis=0)
    tail = np.nan_to_num(gaps[1:] * np.arange(place + 1, place + len(gaps))[:, None])
    there = np.maximum((~np.isnan(gaps[1:])).sum(axis=0), 1)
    return np.asarray(np.nan_to_num(gaps[0]) >= np.maximum(np.log(far), _TAIL * tail.sum(axis=0) / there), dtype=bool)


_Ends = dict[int, Floats]  # by side: 1 for the largest values of each column, −1 for the smallest, in order


def _ends(names: Sequence[str]) -> Callable[[int, Block], _Ends]:
    def of(group: int, block: Block) -> _Ends:
        values = block.matrix(names)
        return {side: _outermost(np.where(np.isnan(values), -side * np.inf, values), side) for side in (1, -1)}

    return of


def _merge_ends(one: _Ends, other: _Ends) -> _Ends:
    return {side: _outermost(np.vstack([one[side], other[side]]), side) for side in one}


def _outermost(values: Floats, side: int) -> Floats:
    padded = np.vstack([side * values, np.full((_OUTERMOST, values.shape[1]), -np.inf)])
    return np.asarray(side * -np.sort(np.partition(-padded, _OUTERMOST - 1, axis=0)[:_OUTERMOST], axis=0))
