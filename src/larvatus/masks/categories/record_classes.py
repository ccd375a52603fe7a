"""Classes of records that agree in some columns, with their sizes, weights and confidential values, on any engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import reduce_groups
from larvatus.stats.grouping.rare_classes import ClassValues, KeyClasses
from larvatus.stats.key_risk.model_risk import model_means
from larvatus.stats.linkage.row_hash import combination

# hash of each class, its values in the columns to suppress and then the others, hash of the others, records, weight
_Sums = tuple[Floats, Floats, Floats, Floats, Floats]


@dataclass(frozen=True, slots=True)
class RecordClasses:
    """The classes in the order of their values, and by sub-group their hashes and the place of each hash."""

    columns: tuple[str, ...]
    classes: KeyClasses
    hashes: tuple[Floats, ...]
    place: tuple[Ints, ...]

    def places(self, group: int, block: Block) -> Ints:
        """The class of each record of a block."""
        own = combination([block[n] for n in self.columns], len(block))
        return np.asarray(self.place[group][np.searchsorted(self.hashes[group], own)])


def record_classes(
    data: Microdata, names: Sequence[str], known: Sequence[str], of: Sequence[str], weight: str | None, fraction: float,
    by_model: bool = False,
) -> RecordClasses:
    """Classes by `names` and `known`, within sub-groups; `of` are columns whose values are counted in each class.

    `by_model` fits a log-linear model to the classes, by which their risk is estimated.
    """
    keys = list(dict.fromkeys([*names, *known]))
    columns = tuple(dict.fromkeys([*known, *names]))

    def count(group: int, block: Block) -> _Sums:
        w = np.asarray(block[weight], dtype=np.float64) if weight else np.zeros(len(block))
        fixed = combination([block[n] for n in known], len(block))
        hashes = combination([block[n] for n in columns], len(block))
        return _summed(hashes, np.nan_to_num(block.matrix(keys), nan=-np.inf), fixed, np.ones(len(block)), np.nan_to_num(w))

    def both(a: _Sums, b: _Sums) -> _Sums:
        return _summed(*(np.concatenate(pair) for pair in zip(a, b, strict=True)))

    read = list(dict.fromkeys([*columns, *((weight,) if weight else ())]))
    found = reduce_groups(data, read, count, both)
    sizes = [len(part[0]) for part in found]
    _, cells, fixed, records, weights = (np.concatenate([part[i] for part in found]) for i in range(5))
    order = np.lexsort((*cells.T[: len(names)][::-1], np.repeat(np.arange(len(found)), sizes)))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    parts = np.unique(np.column_stack((np.repeat(np.arange(len(found)), sizes), fixed)), axis=0, return_inverse=True)[1]
    size, total = np.rint(records[order]).astype(np.int64), weights[order] if weight else None
    mean = None
    if by_model and fraction < 1:
        group = np.repeat(np.arange(len(found)), sizes).astype(np.float64)
        mean = model_means(_codes(np.column_stack((group, cells))[order]), size, fraction)
    classes = KeyClasses(parts.reshape(-1)[order], size, total, fraction, mean=mean)
    ends = np.cumsum([0, *sizes])
    out = RecordClasses(columns, classes, tuple(part[0] for part in found),
                        tuple(place[a:b] for a, b in pairwise(ends.tolist())))
    if not of:
        return out
    values = tuple(_class_values(data, out, n) for n in of)
    return RecordClasses(columns, replace(classes, values=values), out.hashes, out.place)


def _codes(values: Floats) -> Ints:
    """The place of each value among those of its column."""
    return np.column_stack([np.unique(column, return_inverse=True)[1].reshape(-1) for column in values.T])


def _summed(hashes: Floats, values: Floats, fixed: Floats, records: Floats, weight: Floats) -> _Sums:
    own, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    place = place.reshape(-1)
    total = [np.asarray(np.bincount(place, weights=x, minlength=len(own)), dtype=np.float64) for x in (records, weight)]
    return own, values[first], fixed[first], total[0], total[1]


def _class_values(data: Microdata, found: RecordClasses, name: str) -> ClassValues:
    """Pairs of class and value of a column, with their numbers of records."""
    def count(group: int, block: Block) -> tuple[Floats, Ints]:
        x = np.asarray(block[name], dtype=np.float64)
        value = np.where(np.isnan(x), -np.inf, x) if block[name].dtype.kind == "f" else x
        return np.unique(np.column_stack((found.places(group, block), value)), axis=0, return_counts=True)

    parts = reduce_groups(data, list(dict.fromkeys([*found.columns, name])), lambda g, b: [count(g, b)], list.__add__)
    pairs = np.vstack([rows for part in parts for rows, _ in part])
    rows, at = np.unique(pairs, axis=0, return_inverse=True)
    times = np.bincount(at.reshape(-1), weights=np.concatenate([n for part in parts for _, n in part])).astype(np.int64)
    value = np.unique(rows[:, 1], return_inverse=True)[1].reshape(-1).astype(np.int64)
    ordered = data.table.columns[name].kind == "number" or name in data.roles.ordered
    return ClassValues(rows[:, 0].astype(np.int64), value, times, ordered)
