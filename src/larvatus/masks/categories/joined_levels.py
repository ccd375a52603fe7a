"""Joining levels of categorical columns under new labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Ints
from larvatus.core.errors import MaskError
from larvatus.data.contracts import Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.sub_groups import Level
from larvatus.data.verbs import reduce_groups


def rename_levels(column: Column, names: Mapping[str, str], asked_by: str) -> list[Level]:
    """The new label of each level: levels in `names` get theirs, others keep their own; an existing label joins that level."""
    own = {str(level): level for level in column.levels}
    unknown = [n for n in names if n not in own]
    if unknown:
        raise MaskError(f"{asked_by}: {column.name!r} has no level {unknown[0]!r}. Use the levels of the file.")
    return [own.get(names.get(str(v), ""), names[str(v)]) if str(v) in names else v for v in column.levels]


def level_counts(data: Microdata, name: str) -> list[Ints]:
    """The count of each level in every sub-group."""
    size = len(data.table.columns[name].levels)

    def count(group: int, block: Block) -> Ints:
        return np.bincount(block[name][block[name] >= 0], minlength=size)

    return reduce_groups(data, [name], count, np.add)


def without_rare(levels: Sequence[Level], counts: Ints, fewest: int, other: str, asked_by: str) -> list[Level]:
    """The levels, with those of fewer than `fewest` records joined under one label.

    A level that already has this label is joined too. If the joined level still has too few records, the next rarest levels
    are added.
    """
    held: dict[Level, int] = {}
    for level, count in zip(levels, counts.tolist(), strict=True):
        held[level] = held.get(level, 0) + count
    order = sorted((level for level in held if held[level]), key=lambda v: (held[v], str(v)))
    joined: list[Level] = []
    pool = held.get(other, 0)
    for level in order:
        if held[level] < fewest or (joined and pool < fewest):
            joined.append(level)
            pool += held[level] if level != other else 0
    if not joined:
        return list(levels)
    if len(joined) == len(order) and len(order) > 1:
        raise MaskError(
            f"{asked_by}: joining the levels of fewer than {fewest} records would leave a single level. Reduce rare, list the "
            "levels to join in levels, or blank rare values with local_suppression."
        )
    if pool < fewest:
        raise MaskError(f"{asked_by}: fewer than {fewest} records have a value. Reduce rare, or leave the column out.")
    return [other if level in joined else level for level in levels]


def recode_levels(column: Column, new: Sequence[Sequence[Level]]) -> tuple[Column, list[NDArray[np.int32]]]:
    """The new column, and the new code of each old code in every sub-group (missing, the last code, stays missing)."""
    levels = tuple(dict.fromkeys(level for group in zip(*new, strict=True) for level in group))
    place = {level: i for i, level in enumerate(levels)}
    codes = [np.array([*(place[level] for level in group), -1], dtype=np.int32) for group in new]
    if len({type(v) for v in levels}) > 1:
        levels = tuple(str(v) for v in levels)
    return replace(column, levels=levels), codes
