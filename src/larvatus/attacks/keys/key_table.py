"""The table of key variables: the combinations that occur, with their records, weights and sub-groups, on any engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.attacks.keys.key_codes import KeyCodes
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import reduce_groups
from larvatus.stats.linkage.row_hash import combination

MOST_COMBINATIONS = 5_000_000


@dataclass(frozen=True, slots=True)
class KeyTable:
    """Combinations of keys that occur.

    They are in the order of their codes, or of their hashes if there are no codes. `codes` has combinations × keys; −1 is
    missing, and other codes count levels (of a categorical key) or different values. `count` and `weight` are totals over the
    records of a combination; weights are None if the file has none. The last three arrays divide the combinations by
    sub-group: sub-group, place in the table, number of records. `distinct` is false if combinations may agree in all keys.
    `order` has the place of every possible code, or the hashes.
    """

    names: tuple[str, ...]
    locator: KeyCodes | None
    order: Floats | Ints
    codes: Ints
    levels: tuple[int, ...]
    count: Ints
    weight: Floats | None
    group: Ints
    place: Ints
    group_count: Ints
    distinct: bool = True

    @property
    def records(self) -> int:
        return int(self.count.sum())

    def places(self, block: Block) -> Ints:
        """Place in the table of each record: by a list of places for all codes, or by search for its hash."""
        if self.locator is None:
            return np.searchsorted(self.order, row_hashes(block, self.names))
        return np.asarray(self.order[self.locator.encode(block)])

    def by_group(self, figure: Floats, groups: int) -> Floats:
        """Sum of a figure of combinations over the records of each sub-group."""
        total = np.bincount(self.group, weights=figure[self.place] * self.group_count, minlength=groups)
        return np.asarray(total, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Distinct:
    """Different rows of a block by hash, each with its values, number of records and total weight."""

    hashes: Floats
    values: Floats
    count: Ints
    weight: Floats

    @classmethod
    def of(cls, hashes: Floats, values: Floats, count: Ints, weight: Floats) -> _Distinct:
        own, first, place = np.unique(hashes, return_index=True, return_inverse=True)
        place = place.reshape(-1)
        total = np.rint(np.bincount(place, weights=count, minlength=len(own))).astype(np.int64)
        _check_combinations(len(own))
        weights = np.asarray(np.bincount(place, weights=weight, minlength=len(own)), dtype=np.float64)
        return cls(own, values[first], total, weights)

    def merge(self, other: _Distinct) -> _Distinct:
        return _Distinct.of(
            np.concatenate((self.hashes, other.hashes)), np.vstack((self.values, other.values)),
            np.concatenate((self.count, other.count)), np.concatenate((self.weight, other.weight)),
        )


def row_hashes(block: Block, names: Sequence[str]) -> Floats:
    """The hash of each record's combination of values."""
    return combination([block[n] for n in names], len(block))


def _distinct_rows(data: Microdata, names: Sequence[str], by: Sequence[str], weight: str | None) -> list[_Distinct]:
    """Different combinations of the columns `by` in each sub-group, with the values of `names`."""
    read = list(dict.fromkeys([*names, *by, *((weight,) if weight else ())]))

    def of(group: int, block: Block) -> _Distinct:
        one = np.ones(len(block))
        w = np.asarray(block[weight], dtype=np.float64) if weight else one
        return _Distinct.of(row_hashes(block, by), block.matrix(names), np.ones(len(block), dtype=np.int64), w)

    return reduce_groups(data, read, of, _Distinct.merge)


def _codes(data: Microdata, names: Sequence[str], values: Floats) -> tuple[Ints, tuple[int, ...]]:
    """Values as codes, −1 if missing, and the number of codes of each column."""
    codes = np.empty(values.shape, dtype=np.int64)
    levels = []
    for j, name in enumerate(names):
        column = data.table.columns[name]
        if column.kind == "nominal":
            codes[:, j] = values[:, j]
            levels.append(max(len(column.levels), 1))
            continue
        seen = ~np.isnan(values[:, j])
        different, place = np.unique(values[seen, j], return_inverse=True)
        codes[:, j] = -1
        codes[seen, j] = place.reshape(-1)
        levels.append(max(len(different), 1))
    return codes, tuple(levels)


def key_table(data: Microdata, names: Sequence[str], weight: str | None = None) -> KeyTable:
    """The combinations of keys of a file: counted by code if possible, else by hash."""
    coded = KeyCodes.of(data, names)
    return _by_hash(data, names, weight) if coded is None else _by_code(data, coded, weight)


def _by_code(data: Microdata, coded: KeyCodes, weight: str | None) -> KeyTable:
    """The combinations that occur among all that could, by one count of the codes of all records."""
    def encode(group: int, block: Block) -> list[tuple[NDArray[np.int32], Floats | None]]:
        w = None if weight is None else np.asarray(block[weight], dtype=np.float64)
        return [(coded.encode(block) + np.int32(group * coded.cells), w)]

    read = list(dict.fromkeys([*coded.names, *((weight,) if weight else ())]))
    parts = [part for own in reduce_groups(data, read, encode, lambda a, b: a + b) for part in own]
    codes = np.concatenate([code for code, _ in parts])
    count = np.bincount(codes, minlength=coded.cells * len(data.groups))
    by_group = count.reshape(len(data.groups), -1)
    whole = _over_groups(count, len(data.groups))
    own = np.flatnonzero(whole)
    _check_combinations(len(own))
    order = np.cumsum(whole > 0, dtype=np.int32) - np.int32(1)
    total = None
    if weight is not None:
        weights = np.bincount(codes, weights=np.concatenate([w for _, w in parts if w is not None]), minlength=len(count))
        total = np.asarray(_over_groups(weights, len(data.groups))[own], dtype=np.float64)
    counted = [data.table.columns[n].kind == "number" for n in coded.names]
    values, levels = coded.decode(own.astype(np.int32), counted)
    if len(data.groups) == 1:
        return KeyTable(coded.names, coded, order, values, levels, whole[own], total, np.zeros(len(own), dtype=np.int64),
                        np.arange(len(own)), whole[own])
    group, cell = np.divmod(np.flatnonzero(count), coded.cells)
    return KeyTable(coded.names, coded, order, values, levels, whole[own], total, group, order[cell].astype(np.int64),
                    by_group[group, cell])


def _over_groups(amount: Any, groups: int) -> Any:
    """Sums over sub-groups; the amounts themselves if there is one, which a sum would copy slowly."""
    return amount if groups == 1 else amount.reshape(groups, -1).sum(axis=0)


def _check_combinations(found: int) -> None:
    if found > MOST_COMBINATIONS:
        raise RiskError(f"more than {MOST_COMBINATIONS:,} combinations of the key variables occur. Name fewer keys, or recode "
                        "them into fewer levels.", subject="key_risk.keys")


def _by_hash(data: Microdata, names: Sequence[str], weight: str | None) -> KeyTable:
    parts = _distinct_rows(data, names, names, weight)
    hashes = np.concatenate([p.hashes for p in parts])
    values = np.vstack([p.values for p in parts])
    count = np.concatenate([p.count for p in parts])
    whole = _Distinct.of(hashes, values, count, np.concatenate([p.weight for p in parts]))
    codes, levels = _codes(data, names, whole.values)
    group = np.concatenate([np.full(len(p.hashes), g, dtype=np.int64) for g, p in enumerate(parts)])
    return KeyTable(tuple(names), None, whole.hashes, codes, levels, whole.count, whole.weight if weight else None, group,
                    np.searchsorted(whole.hashes, hashes), count)


def class_values(data: Microdata, table: KeyTable, name: str) -> tuple[Ints, Ints, Ints]:
    """Place in the table, code of a column and number of records, for each pair of combination and value that occurs."""
    def of(group: int, block: Block) -> _Distinct:
        both = np.column_stack((table.places(block).astype(np.float64), np.asarray(block[name], dtype=np.float64)))
        return _Distinct.of(combination([both[:, 0], block[name]], len(block)), both, np.ones(len(block), dtype=np.int64),
                            np.ones(len(block)))

    parts = reduce_groups(data, list(dict.fromkeys([*table.names, name])), of, _Distinct.merge)
    values = np.vstack([p.values for p in parts])
    codes, _ = _codes(data, [name], values[:, 1:])
    place, value = values[:, 0].astype(np.int64), codes[:, 0]
    pair = place * (int(value.max(initial=0)) + 2) + value + 1
    _, first, number = np.unique(pair, return_index=True, return_inverse=True)
    count = np.bincount(number.reshape(-1), weights=np.concatenate([p.count for p in parts])).astype(np.int64)
    return place[first], value[first], count


def record_figures(data: Microdata, table: KeyTable, figure: Floats) -> Floats:
    """A figure of combinations for every record, in record order."""
    parts = [(block.record, figure[table.places(block)]) for _, block in data.table.blocks(table.names)]
    record, found = (np.concatenate(side) for side in zip(*parts, strict=True))
    if (record[1:] > record[:-1]).all():
        return np.asarray(found)
    return np.asarray(found[np.argsort(record, kind="stable")])


def without_key(table: KeyTable, key: int) -> KeyTable:
    """The table with one key fewer; combinations that now agree stay apart."""
    return replace(table, names=table.names[:key] + table.names[key + 1 :], codes=np.delete(table.codes, key, axis=1),
                   distinct=False)
