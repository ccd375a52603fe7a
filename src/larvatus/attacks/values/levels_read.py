"""Numbers with few different values, read as categories: noise that hides a value on average may still show a rare one.

    P(k | y) ∝ π_k φ((y − v_k) / σ),   v_k the values of the column with shares π_k,  σ² the mean of (y − x)²
    read value  k̂ = arg max_k P(k | y);  if the release shows the values v_k themselves, k̂ is the value shown

A rare yes in a column of zeros and ones adds little to a share of variance. The share of the records read as k that have k is
compared with the limit on the worst category, as for columns that are categories.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Block
from larvatus.data.exposure.rare_categories import TELLING_CATEGORIES
from larvatus.data.microdata import Microdata
from larvatus.data.score import Row, Rows
from larvatus.data.verbs import reduce_groups
from larvatus.stats.estimates.category_posteriors import frequency_baseline, telling_categories

MOST_VALUES = 20
_MOST_SHOWN = 10
_SHOWN = 0.99  # share of released values that are values of the original column, so that they are read as they are


def levels_read(joined: Microdata, names: Sequence[str]) -> dict[str, Rows]:
    """The table of rare values that the release gives away; none if no column has few values."""
    pairs = [(scratch("original", n), n) for n in names]
    found = reduce_groups(joined, [c for pair in pairs for c in pair], _pairs(pairs), _merge) if names else []
    few = {name: [f[j] for f in found] for j, (_, name) in enumerate(pairs)}
    rows = [row for name, parts in few.items() if all(p.few for p in parts) for row in _telling(name, parts)]
    rows.sort(key=lambda row: float(row["low"] or 0.0), reverse=True)
    return {TELLING_CATEGORIES: Rows.of(rows[:_MOST_SHOWN])} if any(all(p.few for p in v) for v in few.values()) else {}


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The different original values of a column, and its original and released values in parts; none if it has too many."""

    values: Floats
    x: tuple[Floats, ...]
    y: tuple[Floats, ...]

    @classmethod
    def of(cls, x: Floats, y: Floats) -> _Pairs:
        there = ~(np.isnan(x) | np.isnan(y))
        return cls(np.unique(x[there]), (x[there],), (y[there],))._checked()

    @property
    def few(self) -> bool:
        return len(self.values) <= MOST_VALUES

    def _checked(self) -> _Pairs:
        return self if self.few else _Pairs(self.values[: MOST_VALUES + 1], (), ())

    def with_more(self, other: _Pairs) -> _Pairs:
        return _Pairs(np.union1d(self.values, other.values), (*self.x, *other.x), (*self.y, *other.y))._checked()


def _pairs(pairs: Sequence[tuple[str, str]]) -> Callable[[int, Block], list[_Pairs]]:
    return lambda group, block: [_Pairs.of(block[was], block[now]) for was, now in pairs]


def _merge(one: list[_Pairs], other: list[_Pairs]) -> list[_Pairs]:
    return [a.with_more(b) for a, b in zip(one, other, strict=True)]


def _telling(name: str, by_group: Sequence[_Pairs]) -> list[Row]:
    x, y = np.concatenate([v for p in by_group for v in p.x]), np.concatenate([v for p in by_group for v in p.y])
    values = np.unique(x)
    if not 1 < len(values) <= MOST_VALUES:
        return []
    group = np.repeat(np.arange(len(by_group)), [sum(map(len, parts.x)) for parts in by_group])
    own, read = np.searchsorted(values, x), _read(values, x, y)
    k = len(values)
    tables = np.zeros((len(by_group), k, k))
    np.add.at(tables, (group, own, read), 1.0)
    table = tables.sum(axis=0)
    return [
        {"variable": name, "released": f"a value read as {values[c]:g}", "original": f"{values[i]:g}",
         "records": int(table[:, c].sum()), "share": float(share), "low": float(low), "baseline": float(base)}
        for (i, c), share, low, base in zip(*telling_categories(table, frequency_baseline(list(tables))), strict=True)
    ]


def _read(values: Floats, x: Floats, y: Floats) -> Ints:
    """The place of the value that each released one is read as."""
    nearest = np.asarray(np.abs(y[:, None] - values).argmin(axis=1), dtype=np.int64)
    if np.mean(values[nearest] == y) >= _SHOWN:
        return nearest
    share = np.bincount(np.searchsorted(values, x), minlength=len(values)) / len(x)
    variance = float(np.mean((y - x) ** 2))
    return np.asarray((np.log(share) - (y[:, None] - values) ** 2 / (2 * variance)).argmax(axis=1), dtype=np.int64)
