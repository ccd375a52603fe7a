"""A whole number for each combination of keys, by which combinations are counted and looked up without sorting.

    code = (((v₁ − low₁) · width₂ + v₂ − low₂) · width₃ + …        v = low if the key is missing
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import reduce_groups

MOST_CODES = 1 << 24  # combinations that could occur, times sub-groups
MOST_CODED_ROWS = 1 << 25  # rows whose codes are held in memory
_WIDEST = 1 << 20


@dataclass(frozen=True, slots=True)
class KeyCodes:
    """Keys that are categories or whole numbers: the lowest value less one, and the number of values with missing, of each."""

    names: tuple[str, ...]
    low: tuple[int, ...]
    width: tuple[int, ...]

    @property
    def cells(self) -> int:
        """Number of combinations that could occur."""
        return int(np.prod([float(w) for w in self.width]))

    @classmethod
    def of(cls, data: Microdata, names: Sequence[str]) -> KeyCodes | None:
        """Codes for the keys of a file; None if a key has fractions, or if there are too many combinations or rows."""
        columns = data.table.columns
        numbers = data.numeric(names)
        if data.rows > MOST_CODED_ROWS or not all(columns[n].integer for n in numbers):
            return None
        low, width = dict.fromkeys(names, -1), {n: len(columns[n].levels) + 1 for n in names}
        for name, first, last in _ranges(data, numbers):
            if last - first >= _WIDEST:
                return None
            low[name], width[name] = first - 1, last - first + 2
        made = cls(tuple(names), tuple(low[n] for n in names), tuple(width[n] for n in names))
        return made if made.cells * len(data.groups) <= MOST_CODES else None

    def encode(self, block: Block) -> NDArray[np.int32]:
        """The code of each record."""
        code = np.zeros(len(block), dtype=np.int32)
        for name, low, width in zip(self.names, self.low, self.width, strict=True):
            values = block[name]
            if values.dtype.kind == "f":
                values = np.where(np.isnan(values), low, values).astype(np.int32)
            np.multiply(code, np.int32(width), out=code)
            np.add(code, values, out=code, casting="same_kind")
            np.subtract(code, np.int32(low), out=code)
        return code

    def decode(self, codes: NDArray[np.int32], counted: Sequence[bool]) -> tuple[Ints, tuple[int, ...]]:
        """The levels of each key for some codes, −1 if missing, and the number of levels of each key.

        The values of keys that are `counted` (numbers) get the numbers 0, 1, … of the values that occur.
        """
        out = np.empty((len(codes), len(self.names)), dtype=np.int64, order="F")
        levels = []
        for j in reversed(range(len(self.names))):
            codes, value = np.divmod(codes, np.int32(self.width[j]))
            number = np.arange(-1, self.width[j] - 1)
            if counted[j]:
                there = np.zeros(self.width[j], dtype=bool)
                there[value] = True
                there[0] = False
                number = np.where(np.arange(self.width[j]) == 0, -1, np.cumsum(there) - 1)
            out[:, j] = number[value]
            levels.append(max(int(number[-1]) + 1, 1))
        return out, tuple(levels[::-1])


def _ranges(data: Microdata, names: Sequence[str]) -> list[tuple[str, int, int]]:
    """The lowest and the highest value of each column."""
    if not names:
        return []

    def ends(group: int, block: Block) -> Floats:
        values = np.array([block[n] for n in names])
        return np.array([np.fmin.reduce(values, axis=1), -np.fmax.reduce(values, axis=1)])

    found = np.fmin.reduce(reduce_groups(data, names, ends, np.fmin), axis=0)
    first, last = np.nan_to_num(found[0]), np.nan_to_num(-found[1])
    return [(n, int(a), int(b)) for n, a, b in zip(names, first, last, strict=True)]
