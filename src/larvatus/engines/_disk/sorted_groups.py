"""The present values of a column in each sub-group, sorted, on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from larvatus.data.contracts import Array
from larvatus.engines._layout.stored_columns import StoredColumn


@dataclass(frozen=True, slots=True)
class SortedPart:
    """Sorted values in a part of a stored column. The file is read in pieces, and mapped only to search in it."""

    column: StoredColumn
    low: int
    high: int

    def __len__(self) -> int:
        return self.high - self.low

    def read(self, low: int, high: int) -> Array:
        return self.column.read(self.low + low, self.low + high)

    def every(self, step: int) -> Array:
        """Every `step`-th value."""
        return np.array(self._mapped()[::step]) if len(self) else np.zeros(0)

    def find(self, value: float, side: Literal["left", "right"]) -> int:
        """The number of values below `value` (left), or not above it (right)."""
        return int(np.searchsorted(self._mapped(), value, side)) if len(self) else 0

    def _mapped(self) -> Array:
        return np.memmap(self.column.path, self.column.dtype, "r", self.low * self.column.dtype.itemsize, (len(self),))


@dataclass(frozen=True, slots=True)
class SortedGroups:
    """One part for each sub-group."""

    parts: Sequence[SortedPart]

    @property
    def nbytes(self) -> int:
        return self.parts[0].column.nbytes if self.parts else 0
