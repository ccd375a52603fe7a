"""What tables on disk and on a cluster share: rows by sub-group, cut into blocks, and columns that replace others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast

from larvatus.core.arrays import Ints
from larvatus.core.errors import EngineError
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Block, Column, RecordTable
from larvatus.data.sub_groups import Groups
from larvatus.engines._layout.chunks import CHUNK, pieces_of

Slice = tuple[int, int, int]  # sub-group, from, to
TIMES_HELD = 4  # a method that receives a whole sub-group holds about this many times the columns that it reads
H = TypeVar("H")


class Space(Protocol):
    """How much data may be held at once."""

    @property
    def memory(self) -> int: ...
    def whole(self, columns: int) -> int: ...


def bytes_of_whole(rows: int, columns: int) -> int:
    """Bytes that a method holds while it has this number of records of `columns` columns."""
    return rows * max(columns, 1) * 8 * TIMES_HELD


def most_whole_records(memory: int, rows: int, columns: int) -> int:
    """How many records of `columns` columns a method may receive at once, if `rows` rows of a column may be sorted.

    More than `rows` if an eighth of half of the memory holds them; never more than all of the memory holds.
    """
    return min(max(rows, int(memory / (2 * 8 * 8 * max(columns, 1)))), memory // bytes_of_whole(1, columns))


class LaidOut:
    """Rows sorted by (sub-group, record id); `starts` holds the first row of each sub-group."""

    __slots__ = ()

    groups: Groups
    starts: Ints
    layout: Any
    columns: Mapping[str, Column]

    @property
    def rows(self) -> int:
        return int(self.layout.rows)

    def block(self, low: int, high: int, names: Sequence[str]) -> Block:
        raise NotImplementedError

    def slices(self, size: int | None = None) -> Iterator[Slice]:
        """Blocks of at most `size` rows, each within one sub-group; whole sub-groups if no size is given."""
        for g in range(len(self.groups)):
            low, high = int(self.starts[g]), int(self.starts[g + 1])
            for a, b in pieces_of(low, high, size or max(high - low, 1)):
                yield g, a, b

    def blocks(self, names: Sequence[str]) -> Iterator[tuple[int, Block]]:
        for g, low, high in self.slices(CHUNK):
            yield g, self.block(low, high, names)

    def in_memory(self, names: Sequence[str]) -> RecordTable:
        """These columns as arrays of this process, in the same sub-groups: for files of moderate size."""
        from larvatus.engines._memory.table import rows_in_memory

        return rows_in_memory(cast(RecordTable, self), names)

    def refuse_larger(self, space: Space, columns: int, who: str) -> None:
        """Raise an error if a sub-group is too large to be handed out whole."""
        most = space.whole(columns)
        for g, size in enumerate(self.groups.sizes):
            if size > most:
                raise EngineError(
                    f"a whole sub-group is needed at once, and ({self.groups.name(g)}) has {size:,} records: at most "
                    f"{most:,} records of these columns fit in the memory that {who} ({space.memory / 1e9:.3g} GB). Allow "
                    "more memory, use finer sub-groups, or use a method that works in blocks (see `larvatus describe`)."
                )


def replace_columns(held: Mapping[str, H], new: Mapping[str, H]) -> dict[str, H]:
    """Columns with new ones added; the exact form of a replaced column is dropped."""
    gone = {*new, *(scratch("exact", n) for n in new)}
    return {**{n: h for n, h in held.items() if n not in gone}, **new}
