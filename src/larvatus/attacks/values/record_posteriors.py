"""Guess all categories of a record at once: every other original record is a candidate, with its combination of categories.

    w_t(i) = Π_l P(y_tl | x_il),   P(x_tj = k | y_t) = Σ {w_t(i) : x_ij = k, i ≠ t} / Σ_i≠t w_t(i)

Categories that go together in persons, such as work, tenure and pension, correct each other: the frequencies of combinations
say more than those of single categories. P(c | k) = (n_kc + 1/m) / (n_k + 1) is counted without the target. In large files a
part of the records are candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata, collect

_MOST, _LEAST = 2000, 200  # candidates
_WORK = 3e8  # targets × candidates × columns
_MOST_LEVELS = 50


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """A categorical column: its name, the codes of its original and released levels, and the counts of original by released."""

    name: str
    before: Ints
    after: Ints
    counts: Floats


@dataclass(frozen=True, slots=True)
class RecordPosteriors:
    """The candidates, and the laws of the columns."""

    columns: Sequence[CodedColumn]
    record: Ints
    values: Sequence[Ints]

    @classmethod
    def of(cls, joined: Microdata, columns: Sequence[CodedColumn]) -> RecordPosteriors | None:
        """None if there are fewer than two columns with few categories, or too many records."""
        used = [c for c in columns if len(c.counts) <= _MOST_LEVELS]
        most = int(min(_MOST, _WORK / max(joined.rows * len(used), 1)))
        if len(used) < 2 or most < min(_LEAST, joined.rows):
            return None
        record, _, values = collect(joined, [scratch("original", c.name) for c in used])
        place = np.unique(np.linspace(0, len(record) - 1, min(most, len(record))).astype(np.int64))
        return cls(used, record[place], [c.before[values[scratch("original", c.name)][place]] for c in used])

    def weights(self, block: Block) -> dict[str, Floats]:
        """For each column, the weight of each category of each record of the block."""
        total = np.zeros((len(block), len(self.record)))
        for column, known in zip(self.columns, self.values, strict=True):
            likely = self._likely(column, block)
            total += np.where(known >= 0, likely[:, np.maximum(known, 0)], likely.min(axis=1, keepdims=True))
        total[block.record[:, None] == self.record] = -np.inf
        weight = np.exp(total - total.max(axis=1, keepdims=True))
        out: dict[str, Floats] = {}
        for column, known in zip(self.columns, self.values, strict=True):
            k = len(column.counts)
            member = (known[:, None] == np.arange(k)).astype(np.float64)
            out[column.name] = np.asarray(weight @ member)
        return out

    @staticmethod
    def _likely(column: CodedColumn, block: Block) -> Floats:
        """log P(y | k) for each record of the block and each category k, without the record; 0 if y is missing."""
        x, y = column.before[block[scratch("original", column.name)]], column.after[block[column.name]]
        k = len(column.counts)
        own = (x[:, None] == np.arange(k)).astype(np.float64)
        shown = y >= 0
        count = np.maximum(column.counts.T[np.where(shown, y, 0)] - own, 0.0)
        size = np.maximum(column.counts.sum(axis=1) - own, 0.0)
        return np.where(shown[:, None], np.log((count + 1.0 / k) / (size + 1.0)), 0.0)
