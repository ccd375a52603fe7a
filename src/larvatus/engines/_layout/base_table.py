"""What tables on disk and on a cluster have in common: rows by sub-group, cut into blocks, and columns that replace others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from larvatus.core.arrays import Ints
from larvatus.core.errors import EngineError
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Block
from larvatus.data.sub_groups import Groups
from larvatus.engines._layout.chunks import CHUNK, pieces_of

Slice = tuple[int, int, int]  # sub-group, from, to
H = TypeVar("H")


class Space(Protocol):
    """How much may be held at once."""

    @property
    def memory(self) -> int: ...
    def whole(self, columns: int) -> int: ...


class LaidOut:
    """Rows in the order (sub-group, record id); `starts` holds where each sub-group begins."""

    __slots__ = ()

    groups: Groups
    starts: Ints
    layout: Any

    @property
    def rows(self) -> int:
        return int(self.layout.rows)

    def block(self, low: int, high: int, names: Sequence[str]) -> Block:
        raise NotImplementedError

    def slices(self, size: int | None = None) -> Iterator[Slice]:
        """Blocks of so many rows, none of two sub-groups; whole sub-groups where no size is given."""
        for g in range(len(self.groups)):
            low, high = int(self.starts[g]), int(self.starts[g + 1])
            for a, b in pieces_of(low, high, size or max(high - low, 1)):
                yield g, a, b

    def blocks(self, names: Sequence[str]) -> Iterator[tuple[int, Block]]:
        for g, low, high in self.slices(CHUNK):
            yield g, self.block(low, high, names)

    def refuse_larger(self, space: Space, columns: int, who: str) -> None:
        """Refuse to hand out whole sub-groups where one is too large for it."""
        most = space.whole(columns)
        for g, size in enumerate(self.groups.sizes):
            if size > most:
                raise EngineError(
                    f"a whole sub-group is needed at once, and ({self.groups.name(g)}) has {size:,} records: at most {most:,} "
                    f"of these columns fit in the memory that {who} ({space.memory / 1e9:.3g} GB). Allow more, "
                    "use finer sub-groups, or a method that works in blocks (larvatus describe says which do)."
                )


def replace_columns(held: Mapping[str, H], new: Mapping[str, H]) -> dict[str, H]:
    """Columns with new ones; what a replaced column was exactly is not kept."""
    gone = {*new, *(scratch("exact", n) for n in new)}
    return {**{n: h for n, h in held.items() if n not in gone}, **new}
