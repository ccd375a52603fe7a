"""What synthesis needs to know of a column: how it divides records, and which of its values are drawn first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.data.contracts import Array
from larvatus.data.microdata import Microdata
from larvatus.stats.trees.tree import Predictor

SPIKE = 0.05  # a column has zeros that are drawn first if at least this share of its values are zero
ABSENT_STAGE = 0


@dataclass(frozen=True, slots=True)
class TreeColumn:
    """A column: the number of its levels (0 for numbers), whether they have an order, and values that are drawn first.

    `spikes` is None if zeros are drawn first wherever there are many.
    """

    name: str
    levels: int
    ordered: bool
    integer: bool
    spikes: tuple[float, ...] | None = None

    @property
    def is_number(self) -> bool:
        return self.levels == 0

    def predictor(self, values: Array) -> Predictor:
        """The column as one by which records are divided."""
        if self.is_number:
            return Predictor.of_numbers(values)
        return Predictor.of_levels(values, self.levels, not self.ordered)

    def stages(self, values: Array, smallest: int) -> tuple[Ints, Floats]:
        """The stage of each value, and the values drawn first: 0 is missing, then those values in order, the last any other.

        Values are drawn first only if at least `smallest` others are left.
        """
        if not self.is_number:  # a missing category is one category more, and drawn with the others
            return np.ones(len(values), dtype=np.int64), np.zeros(0)
        gone = np.isnan(values)
        spikes = np.array(self._spikes(values[~gone]))
        at = np.where(gone, ABSENT_STAGE, len(spikes) + 1)
        for i, spike in enumerate(spikes):
            at[values == spike] = i + 1
        if 0 < int((at > len(spikes)).sum()) < smallest:
            return np.where(gone, ABSENT_STAGE, 1), np.zeros(0)
        return at, spikes

    def _spikes(self, values: Floats) -> tuple[float, ...]:
        if self.spikes is not None:
            return self.spikes
        zeros = int((values == 0).sum())
        return (0.0,) if zeros and zeros >= SPIKE * len(values) else ()


def tree_columns(data: Microdata, names: Sequence[str], spikes: Mapping[str, tuple[float, ...]] | None) -> list[TreeColumn]:
    """The named columns. `spikes` lists values that are drawn first, by column (default: zeros, if there are many)."""
    found = [data.table.columns[n] for n in names]
    return [
        TreeColumn(c.name, 0 if c.kind == "number" else max(len(c.levels), 1), c.name in data.roles.ordered, c.integer,
                   None if spikes is None else tuple(spikes.get(c.name, ())))
        for c in found
    ]
