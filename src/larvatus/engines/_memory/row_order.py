"""The row order of arrays in memory, and columns that are moved to another order when first read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from larvatus.core.arrays import Ints
from larvatus.data.contracts import Array
from larvatus.data.sub_groups import GroupLabel, Groups
from larvatus.engines._layout.result_memory import ResultMemory

_LEAST, _MOST = 1 << 24, 1 << 28  # bytes


class NewOrder(NamedTuple):
    """Rows in another order: the old row of every new one, their record ids and positions. If all stay in place, nothing."""

    rows: Ints | None
    record: Ints
    position: Ints

    @classmethod
    def of(cls, record: Ints, position: Ints, code: Ints) -> NewOrder:
        """The order by (code, record id); rows with code -1 are dropped."""
        kept = np.flatnonzero(code >= 0)
        inside = code[kept]
        if np.all(np.diff(inside) >= 0) and np.all((np.diff(record[kept]) > 0) | (np.diff(inside) != 0)):
            if len(kept) == len(code):
                return cls(None, *np.zeros((2, 0), dtype=np.int64))
        else:
            kept = kept[np.lexsort((record[kept], inside))]
        return cls(kept, record[kept], position[kept])


def groups_of(
    code: Ints, columns: Sequence[str], labels: Sequence[GroupLabel], declared: Sequence[tuple[GroupLabel, ...]]
) -> Groups:
    """The sub-groups of rows with these codes; empty ones are left out."""
    sizes = np.bincount(code[code >= 0], minlength=len(labels)) if len(labels) else np.zeros(0, dtype=np.int64)
    there = np.flatnonzero(sizes) if len(labels) > 1 else np.arange(len(labels))
    return Groups(
        tuple(columns), tuple(labels[int(g)] for g in there), tuple(int(sizes[g]) for g in there),
        tuple(declared[int(g)] for g in there) if declared else (),
    )


class MovedColumns(Mapping[str, Array]):
    """Columns of another row order, each moved when it is first read; and columns that were added in this order."""

    def __init__(
        self, source: Mapping[str, Array], rows: Ints, results: ResultMemory, found: Mapping[str, Array] | None = None,
    ) -> None:
        self._source, self._rows, self._results = source, rows, results
        self._found = dict(found or {})

    def __getitem__(self, name: str) -> Array:
        if name not in self._found:
            old, rows = self._source[name], self._rows
            self._found[name] = self._results.find("moved", [rows, old], lambda: frozen({name: old[rows]})[name])
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._source, *self._found]))

    def __len__(self) -> int:
        return len(set(self._source) | set(self._found))

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)

    def with_columns(self, new: Mapping[str, Array]) -> MovedColumns:
        return MovedColumns(self._source, self._rows, self._results, {**self._found, **new})


def with_columns(values: Mapping[str, Array], new: Mapping[str, Array]) -> Mapping[str, Array]:
    """Columns by name, with new ones added or put in the place of others."""
    return values.with_columns(new) if isinstance(values, MovedColumns) else {**values, **new}


def frozen(values: Mapping[str, Array]) -> dict[str, Array]:
    """The same arrays, made read-only."""
    out = {}
    for name, array in values.items():
        out[name] = array
        if array.flags.writeable:
            out[name] = array.view()
            out[name].flags.writeable = False
    return out


def memory_for(rows: int, columns: int) -> ResultMemory:
    """A memory for what is computed from a file: up to twice its size, within limits."""
    return ResultMemory(min(max(2 * 8 * rows * columns, _LEAST), _MOST))
