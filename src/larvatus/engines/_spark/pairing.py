"""Columns of one table in the row order of another, on a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from larvatus.core.errors import PairingError
from larvatus.engines._layout.chunks import pieces_of
from larvatus.engines._layout.stored_columns import blank_value
from larvatus.engines._memory.table import positions_among
from larvatus.engines._spark.exchange import Outgoing, join
from larvatus.engines._spark.jobs import SparkBlocks
from larvatus.engines._spark.layout import SparkColumn, SparkMovedColumn, SparkRowPlaces, ready, spans
from larvatus.engines._spark.store import Piece, Place, SpreadColumn, new_folder, write_piece

if TYPE_CHECKING:
    from larvatus.engines._spark.table import SparkTable


def pair_on_cluster(mine: SparkTable, theirs: SparkTable, names: Mapping[str, str], partly: bool) -> dict[str, SparkColumn]:
    """Columns of `theirs` in the row order of `mine`: unchanged, by a known move, or joined by record id."""
    here, there = mine.layout, theirs.layout
    if here is there or not names:
        return {n: theirs.held[old] for n, old in names.items()}
    if here.move is not None and here.move.source is there:
        return {n: SparkMovedColumn(theirs.held[old], here.move) for n, old in names.items()}
    ready([here.record, there.record, *(theirs.held[old] for old in names.values())])
    given = [theirs.held[old].stored() for old in names.values()]
    if there.move is not None and there.move.source is here and (partly or not there.move.drops):
        return dict(zip(names, map(SparkRowPlaces, there.move.returned(given, mine.rows)), strict=True))
    record, among = here.record.stored(), there.record.stored()
    room = mine.room
    if mine.rows == theirs.rows and all(room.run(partial(_same, record, among), spans(mine.rows, room))):
        return {n: theirs.held[old] for n, old in names.items()}
    columns, found = _joined(mine, record, among, given)
    if not partly and found < mine.rows:
        raise PairingError(
            f"{mine.rows - found:,} of {mine.rows:,} records have no counterpart in the other table. "
            "Pair a release with the original it was made from."
        )
    return dict(zip(names, map(SparkRowPlaces, columns), strict=True))


def _same(one: SpreadColumn, other: SpreadColumn, span: tuple[int, int]) -> bool:
    return np.array_equal(one.read(*span), other.read(*span))


def _joined(mine: SparkTable, record: SpreadColumn, among: SpreadColumn,
            given: Sequence[SpreadColumn]) -> tuple[list[SpreadColumn], int]:
    room = mine.room
    if max(record.rows, among.rows) <= room.rows:
        folders = [new_folder() for _ in given]
        found = room.run(partial(_at_once, room.place, record, among), list(zip(given, folders, strict=True)))
        pieces = [p for p, _ in found]
        return [SpreadColumn.of(room.place, c.dtype, [p], f) for c, p,
                f in zip(given, pieces, folders, strict=True)], found[0][1]
    dtypes = {f"c{i}": c.dtype.name for i, c in enumerate(given)}
    mine_there = Outgoing(partial(_rows, record), spans(record.rows, room), {"record": "int64", "row": "int64"})
    theirs = Outgoing(partial(_values, among, list(given)), spans(among.rows, room), {"record": "int64", **dtypes})
    return join(room, mine_there, theirs, mine.rows, among.rows)


def _at_once(place: Place, record: SpreadColumn, among: SpreadColumn, job: tuple[SpreadColumn, str]) -> tuple[Piece, int]:
    column, folder = job
    rows, found = positions_among(record.read(), among.read())
    out = np.full(record.rows, blank_value(column.dtype), dtype=column.dtype)
    out[found] = column.read()[rows[found]]
    return write_piece(place, folder, "paired", 0, out, column.dtype), int(found.sum())


def _rows(record: SpreadColumn, span: tuple[int, int]) -> SparkBlocks:
    for low, high in pieces_of(*span):
        yield {"record": record.read(low, high), "row": np.arange(low, high)}


def _values(record: SpreadColumn, columns: Sequence[SpreadColumn], span: tuple[int, int]) -> SparkBlocks:
    for low, high in pieces_of(*span):
        yield {"record": record.read(low, high), **{f"c{i}": c.read(low, high) for i, c in enumerate(columns)}}
