"""Zeros that a mask keeps are keys: a record with zeros in certain columns can only be one with zeros in the same columns.

Such zeros are handled like missing cells that stay missing. Records are then compared on the other columns, and a candidate
whose pattern differs from the target's costs more than nearness in the other columns can make up for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from larvatus.attacks.linkage.linkage_keys import Keys
from larvatus.core.arrays import Ints
from larvatus.data.contracts import Array, Block
from larvatus.data.laws import keeps_zeros
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.verbs import map_rows, reduce_groups


def columns_with_kept_zeros(keys: Keys, release: Release) -> tuple[str, ...]:
    """Released numeric columns whose zeros may be those of the known values, in every release that shows the column.

    No step may move values between records, and the number of zeros must be the same on both sides in every sub-group. An
    intruder with an own file cannot compare numbers; then the steps must state that zeros are kept.
    """
    names = [n for n in keys.numbers if _may_keep(n, release, keys.own_file)]
    if not names:
        return ()

    def count(group: int, block: Block) -> Ints:
        return np.array([[np.count_nonzero(block[c] == 0) for c in (keys.known_column(n), n)] for n in names])

    counts = np.array(reduce_groups(keys.joined, list(keys.columns), count, np.add))
    alike = (counts[:, :, 0] == counts[:, :, 1]).all(axis=0) | keys.own_file
    kept = {n for n, same, some in zip(names, alike, counts[:, :, 1].sum(axis=0), strict=True) if same and some}
    whole = {keys.known_column(n) for n in kept} - {keys.known_column(n) for n in keys.numbers if n not in kept}
    return tuple(n for n in names if keys.known_column(n) in whole)


def zeros_as_missing(keys: Keys, original: Microdata, names: Sequence[str]) -> tuple[Keys, Microdata]:
    """The keys and the original with the zeros of these released columns as missing cells."""
    both = list(dict.fromkeys([*names, *(keys.known_column(n) for n in names)]))
    first = [n for n in dict.fromkeys(keys.base.get(n, n) for n in names) if n in original.table.columns]
    return replace(keys, joined=_without_zeros(keys.joined, both)), _without_zeros(original, first)


def has_zeros(data: Microdata, but: Sequence[str]) -> bool:
    """Whether a numeric confidential column other than these has a zero."""
    names = [n for n in data.numeric(data.confidential) if n not in but]
    return bool(names) and any(reduce_groups(data, names, lambda g, b: bool((b.matrix(names) == 0).any()), lambda a, b: a or b))


def _without_zeros(data: Microdata, names: Sequence[str]) -> Microdata:
    def blank(group: int, block: Block) -> Mapping[str, Array]:
        return {n: np.where(block[n] == 0, np.nan, block[n]) for n in names}

    made = [replace(data.table.columns[n], missing=True, integer=False) for n in names]
    return map_rows(data, blank, names, made)


def _may_keep(name: str, release: Release, stated: bool) -> bool:
    """Whether the steps on a column can have kept its zeros in place, or with `stated`, whether they state it."""
    base = release.internals.original_columns.get(name, name)
    own = release if name not in release.internals.original_columns else next(
        (o for o in release.internals.other_releases if name in o.internals.original_columns), release)
    steps = [s for s in own.steps if s.columns is None or base in s.columns]
    if stated:
        return bool(steps) and all(keeps_zeros(s) for s in steps)
    return not any(s.permutes for s in steps)
