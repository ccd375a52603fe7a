"""What is sent to executors with a method's function: the description of a table, without its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from larvatus.core.arrays import Ints
from larvatus.core.errors import EngineError
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.sub_groups import Groups
from larvatus.engines._layout.base_table import Slice
from larvatus.engines._spark.layout import RowCodes
from larvatus.engines._spark.store import Piece, Reader, write_piece


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """What executors know about a table: its columns and sub-groups. Verbs cannot be used inside a function of rows."""

    columns: Mapping[str, Column]
    groups: Groups

    @property
    def rows(self) -> int:
        return sum(self.groups.sizes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise EngineError(f"a function of rows uses {name} of the whole table, which is not available in a task on a cluster.")


def write_made_columns(
    reader: Reader, place: Any, folder: str, function: Any, dtypes: Mapping[str, Any], names: Sequence[str],
    slices: Sequence[Slice],
) -> dict[str, Piece]:
    parts = [function(g, reader.block(low, high, names)) for g, low, high in slices]
    first = slices[0][1]
    return {
        n: write_piece(place, f"{folder}-{n}", "made", first, np.concatenate([p[n] for p in parts]), d) for n,
        d in dtypes.items()
    }


def stack_descriptions(to: Ints, k: int, group: int, block: Block) -> dict[str, Array]:
    n = len(block)
    return {"record": 2 * block.record + k, "code": np.full(n, to[group]), "which": np.full(n, float(k))}


def keep_columns(keep: Callable[[int, Block], Array], group: int, block: Block) -> Array:
    return np.where(np.asarray(keep(group, block), dtype=bool), group, -1)


def encode_description(reader: Reader, assign: Callable[[int, Block], Array], names: Sequence[str],
                       slices: Sequence[Slice]) -> RowCodes:
    blocks = [(g, reader.block(low, high, names)) for g, low, high in slices]
    codes = np.concatenate([np.broadcast_to(np.asarray(assign(g, b), dtype=np.int32), (len(b),)) for g, b in blocks])
    return slices[0][1], codes, np.concatenate([b.record for _, b in blocks])
