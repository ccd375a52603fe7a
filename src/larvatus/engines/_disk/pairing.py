"""Columns of one table in the row order of another, on disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from larvatus.core.errors import PairingError
from larvatus.data.contracts import Column
from larvatus.engines._disk import sorting
from larvatus.engines._disk.layout import MovedColumn, PlacedColumn, RowPlaces, rechunk
from larvatus.engines._layout.stored_columns import StoredColumn, scatter_on_disk
from larvatus.engines._memory.table import dtype_of

if TYPE_CHECKING:
    from larvatus.engines._disk.table import DiskTable


def pair_on_disk(
    mine: DiskTable, theirs: DiskTable, names: Mapping[str, str], columns: Mapping[str, Column], partly: bool
) -> dict[str, PlacedColumn]:
    """Columns of `theirs` in the row order of `mine`: unchanged, by a known move, or joined by record id."""
    here, there = mine.layout, theirs.layout
    dtypes = {n: np.dtype(dtype_of(c)) for n, c in columns.items()}
    if here is there or not names:
        return {n: theirs.held[old] for n, old in names.items()}
    if here.move is not None and here.move.source is there:
        return {n: MovedColumn(theirs.held[old], here.move, dtypes[n]) for n, old in names.items()}
    if there.move is not None and there.move.source is here and (partly or not there.move.drops):
        return {n: RowPlaces(there.move.returned(theirs.held[old], dtypes[n], mine.rows)) for n, old in names.items()}
    if mine.rows == theirs.rows and _same(here.record, there.record):
        return {n: theirs.held[old] for n, old in names.items()}
    out = {n: StoredColumn(mine.room.folder, d, mine.rows) for n, d in dtypes.items()}
    found = sorting.match_rows(mine.room, here.record, there.record, {n: theirs.held[old] for n, old in names.items()}, dtypes)
    found_rows = scatter_on_disk(found, list(out.values()), 0, mine.rows, mine.room.bucket)
    if not partly and found_rows < mine.rows:
        raise PairingError(
            f"{mine.rows - found_rows:,} of {mine.rows:,} records have no counterpart in the other table. "
            "Pair a release with the original it was made from."
        )
    return {n: RowPlaces(c) for n, c in out.items()}


def _same(one: PlacedColumn, other: PlacedColumn) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(rechunk(one.stream()), rechunk(other.stream()), strict=True))
