"""The categories of a column in a table: categories as they are, numbers in classes between quantiles of the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.data.contracts import Array, Block
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import as_one_group, reduce_groups

_FEW = 10


class TableCategories:
    """The categories of a column in a table: the categories of both files, or classes of numbers; then missing."""

    def __init__(self, names: Sequence[str], codes: Sequence[Array], numeric: bool) -> None:
        self.names, self.codes, self.numeric = names, codes, numeric

    @classmethod
    def of(cls, original: Microdata, released: Microdata, name: str, classes: int = 4) -> TableCategories:
        both = [d.table.columns[name] for d in (original, released)]
        if both[0].kind == "number":
            cuts = _cuts(original, name, classes)
            inside = max(len(cuts) - 1, 1)
            named = [f"class {i + 1} of {inside}" for i in range(inside)]
            names = ["below the original range", *named, "above the original range"] if len(cuts) else named
            return cls(names, [cuts, cuts], True)
        levels = {v: i for i, v in enumerate(dict.fromkeys(v for c in both for v in c.levels))}
        return cls([str(v) for v in levels], [np.array([*(levels[v] for v in c.levels), len(levels)]) for c in both], False)

    @property
    def size(self) -> int:
        return len(self.names) + 1

    def name(self, code: int) -> str:
        return [*self.names, "missing"][code]

    def place(self, values: Array, codes: Array) -> Ints:
        """The category of every value; the last is missing."""
        if not self.numeric:
            return np.asarray(codes[values])
        return np.where(np.isnan(values), self.size - 1, np.searchsorted(codes, values, side="left"))


def _cuts(data: Microdata, name: str, classes: int) -> Floats:
    """Upper ends of classes: below the range, one class for each of few values or several by quantiles, and above the range.

    An inner cut lies half-way between two original values, so that no value lies on it. If a quantile is the largest value,
    the cut separates it from the values below, so that a column with one dominant value has a class for the others.
    """
    whole = as_one_group(data)

    def seen(group: int, block: Block) -> Floats:
        return np.unique(block[name][~np.isnan(block[name])])[: _FEW + 1]

    def ends(group: int, block: Block) -> Floats:
        values = block[name][~np.isnan(block[name])]
        return np.array([-values.min(initial=np.inf), values.max(initial=-np.inf)])

    few = reduce_groups(whole, [name], seen, lambda one, other: np.union1d(one, other)[: _FEW + 1])[0]
    if not len(few):
        return np.zeros(0)
    low, high = reduce_groups(whole, [name], ends, np.maximum)[0] * [-1, 1]
    inside = (few[1:] + few[:-1]) / 2 if len(few) <= _FEW else _quantile_cuts(whole, name, high, classes)
    return np.array([np.nextafter(low, -np.inf), *inside, high])


def _quantile_cuts(whole: Microdata, name: str, high: float, classes: int) -> Floats:
    cuts = whole.table.quantiles(name, [i / classes for i in range(1, classes)])[0]

    def around(group: int, block: Block) -> Floats:
        values = block[name]
        lower = [values[(values <= q) & (values < high)].max(initial=-np.inf) for q in cuts]
        return np.array([lower, [values[values > q].min(initial=high) for q in cuts]])

    def nearer(one: Floats, other: Floats) -> Floats:
        return np.array([np.maximum(one[0], other[0]), np.minimum(one[1], other[1])])

    return np.unique(reduce_groups(whole, [name], around, nearer)[0].mean(axis=0))


def table_counts(
    data: Microdata, tables: Sequence[tuple[str, ...]], codes: Sequence[Array], columns: Sequence[str],
    cuts: Mapping[str, TableCategories],
) -> list[list[Ints]]:
    """Per sub-group, the cell counts of every table."""
    def count(group: int, block: Block) -> list[Ints]:
        place = {n: cuts[n].place(block[n], c) for n, c in zip(columns, codes, strict=True)}
        sizes = [[cuts[n].size for n in t] for t in tables]
        return [
            np.bincount(np.ravel_multi_index([place[n] for n in t], s), minlength=int(np.prod(s)))
            for t, s in zip(tables, sizes, strict=True)
        ]

    return reduce_groups(data, columns, count, lambda one, other: [a + b for a, b in zip(one, other, strict=True)])
