"""The present values of a column in each sub-group, sorted, where the engine keeps its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from larvatus.data.contracts import Array

ONE_IN = 1 << 12  # one in so many values is held, so that a search reads so many values once


class ReadColumn(Protocol):
    """A column that is read in parts."""

    def read(self, low: int = 0, high: int | None = None) -> Array: ...


@dataclass(frozen=True, slots=True)
class SortedPart:
    """Sorted values in the rows of a column from `first` on; `sample` holds every ONE_IN-th of them."""

    column: ReadColumn
    first: int
    count: int
    sample: Array

    def __len__(self) -> int:
        return self.count

    def read(self, low: int, high: int) -> Array:
        return self.column.read(self.first + low, self.first + high)

    def all(self) -> Array:
        """Every value, of a sub-group that fits in memory."""
        return self.read(0, self.count)

    def every(self, step: int) -> Array:
        """About every `step`-th value."""
        return np.asarray(self.sample[:: max(step // ONE_IN, 1)])

    def find(self, value: float, side: Literal["left", "right"]) -> int:
        """The number of values below `value` (left), or not above it (right)."""
        i = int(np.searchsorted(self.sample, value, side))
        if i == 0:
            return 0
        low = (i - 1) * ONE_IN
        return low + int(np.searchsorted(self.read(low, min(low + ONE_IN, self.count)), value, side))


@dataclass(frozen=True, slots=True)
class SortedGroups:
    """One part for each sub-group; together they take `nbytes`."""

    parts: Sequence[SortedPart]
    nbytes: int


def sorted_present(x: Array) -> tuple[Array, int]:
    """The values in ascending order, missing ones at the end, and how many are present. The array given is sorted itself."""
    x.sort()
    return x, len(x) - int(np.count_nonzero(np.isnan(x)))
