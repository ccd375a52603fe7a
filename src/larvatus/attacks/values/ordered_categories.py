"""Confidential categories with a stated order as numbers, so that attacks on values and ranks see who moved a little only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.data.contracts import Column
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.verbs import map_rows


def with_order_as_numbers(original: Microdata, release: Release) -> tuple[Microdata, Release, list[str]]:
    """Both files with the place in the stated order for each category, and notes on it. Labels without a place are missing."""
    base, order = release.internals.original_columns, original.roles.ordered
    mine = original.table.columns
    names = [n for n in release.data.confidential if base.get(n, n) in order and n in mine and mine[n].kind == "nominal"
             and all(copy.table.columns[n].kind == "nominal" for copy in release.copies)]
    if not names:
        return original, release, []
    levels = {n: order[base.get(n, n)] for n in names}
    copies = tuple(_as_places(copy, levels) for copy in release.copies)
    notes = [f"{n} has an order; its categories count as the numbers 1, 2, 3, …" for n in names if n not in base]
    return _as_places(original, levels), replace(release, copies=copies), notes


def _as_places(data: Microdata, order: Mapping[str, Sequence[object]]) -> Microdata:
    places = {n: _places(data.table.columns[n], levels) for n, levels in order.items()}
    return map_rows(data, lambda g, b: {n: places[n][b[n]] for n in places}, list(places),
                    [Column(n, "number") for n in places])


def _places(column: Column, order: Sequence[object]) -> Floats:
    """The place of each level in the order, from 1; the last entry is for missing values."""
    place = {str(level): float(i) for i, level in enumerate(order, 1)}
    return np.array([*(place.get(str(level), np.nan) for level in column.levels), np.nan])
