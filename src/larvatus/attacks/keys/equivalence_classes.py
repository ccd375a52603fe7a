"""Equivalence classes of records that agree in the key variables: their sizes, and the number of values of another column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.exposure.kinds_of_missing import code_columns, with_codes_in_cells
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import add_ranks, map_rows, with_table

_VALUES = scratch("values")


def with_class_size(data: Microdata, names: Sequence[str], size: str, random: RecordRandom) -> Microdata:
    """A new column with the number of records of the sub-group that agree with each in the named columns.

    A missing value counts as a value, and so does each code of one. The column `first_of(size)` holds the first rank of each
    class and identifies it.
    """
    from larvatus.stats.linkage.row_hash import combination

    key, rank = scratch("key", size), scratch("rank", size)
    keyed = map_rows(
        data, lambda group, block: {key: combination(with_codes_in_cells(block, names), len(block))},
        [*names, *code_columns(data.table, names)], [Column(key, "number")],
    )
    ranked = add_ranks(keyed, {rank: key})

    def count(carry: tuple[int, int, float], block: Block) -> tuple[tuple[int, int, float], Mapping[str, Array]]:
        done, first, before = carry
        at = done + np.arange(1, len(block) + 1, dtype=np.float64)
        new = np.concatenate(([block[key][0] != before], np.diff(block[key]) != 0))
        start = np.maximum(np.maximum.accumulate(np.where(new, at, 0.0)), first)
        result = {first_of(size): start, size: 2 * (block[rank] - start) + 1}
        return (done + len(block), int(start[-1]), float(block[key][-1])), result

    made = [Column(first_of(size), "number"), Column(size, "number")]
    return with_table(data, ranked.table.scan(key, [key, rank], (0, 0, -1.0), count, random, made))


def first_of(size: str) -> str:
    """The column that identifies the classes of `with_class_size`."""
    return scratch("first", size)


def diversity(data: Microdata, size: str, name: str, random: RecordRandom) -> list[NDArray[np.int64]]:
    """Per sub-group, the number of records in classes with l different values of a column, at index l.

    Classes are those of `with_class_size`. A missing value counts as a value. All l above twenty share the last index.
    """
    from larvatus.stats.linkage.row_hash import combination

    most = 21
    order = scratch("order", name)

    def place(group: int, block: Block) -> Mapping[str, Array]:
        inside = np.floor(combination([block[name]], len(block)) / 2.0**29) / 2.0**24
        return {order: block[first_of(size)] + inside}

    placed = map_rows(data, place, [name, first_of(size)], [Column(order, "number")])

    def count(carry: tuple[float, int, int], block: Block) -> tuple[tuple[float, int, int], Mapping[str, Array]]:
        before, values, seen = carry
        at, own = block[order], np.floor(block[order])
        fresh = np.concatenate(([at[0] != before], np.diff(at) != 0))
        new = np.concatenate(([own[0] != np.floor(before)], np.diff(own) != 0))
        row = np.arange(len(at))
        begins = np.maximum.accumulate(np.where(new, row, -1))
        total = np.cumsum(fresh)
        there = begins >= 0
        different = np.where(there, total - total[begins] + 1, values + total)
        held = np.where(there, row - begins + 1, seen + row + 1)
        last = held == block[size]
        result = {_VALUES: np.where(last, different, np.nan)}
        return (float(at[-1]), int(different[-1]), int(held[-1])), result

    counted = placed.table.scan(order, [order, size], (-1.0, 0, 0), count, random, [Column(_VALUES, "number")])

    def tally(group: int, block: Block) -> NDArray[np.int64]:
        known = ~np.isnan(block[_VALUES])
        place = np.minimum(block[_VALUES][known], most).astype(np.int64)
        return np.bincount(place, weights=block[size][known], minlength=most + 1).astype(np.int64)

    return counted.reduce([_VALUES, size], tally, np.add)
