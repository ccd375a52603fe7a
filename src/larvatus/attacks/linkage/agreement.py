"""What a record and a released row must agree in: S, and the codes of missing values, which stay in their cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.exposure.kinds_of_missing import code_in_cell
from larvatus.data.labelling.labels import code_column
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import with_table

if TYPE_CHECKING:
    from larvatus.attacks.linkage.linkage_keys import Keys

MOVED = scratch("code not kept")
_FEW = 0.1  # of the codes of a column that are not where they were: the others are compared


@dataclass(frozen=True, slots=True)
class RowAgreement:
    """Numbers for the records of a sub-group that agree: in S, in the codes of missing values (`reasons`), and in both."""

    s: Ints
    reasons: Ints
    both: Ints

    @classmethod
    def of(cls, keys: Keys, block: Block, nearly: bool = False) -> RowAgreement:
        """The numbers; codes of columns in which `nearly` all cells kept theirs count only if asked for."""
        from larvatus.stats.linkage.coordinates import same_rows

        n = len(block)
        s = same_rows([block[c] for c in keys.exact], n)
        reasons = (*keys.reasons.kept, *(keys.reasons.nearly if nearly else ()))
        if not reasons:
            return cls(s, np.zeros_like(s), s)
        return cls(s, *(same_rows([block[c] for c in names], n) for names in (reasons, (*keys.exact, *reasons))))


@dataclass(frozen=True, slots=True)
class Reasons:
    """The columns with codes of missing values: of those in which every cell `kept` its own, or `nearly` every one.

    For the latter, the column `MOVED` is 1 for records of which a cell did not keep it.
    """

    kept: tuple[str, ...] = ()
    nearly: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.kept, *self.nearly, *([MOVED] if self.nearly else []))


def with_reasons(joined: Microdata, original: Microdata, known: Mapping[str, str]) -> tuple[Microdata, Reasons]:
    """Add a column with the code of each missing cell, for each column in which all records kept theirs, or nearly all.

    `known` has the column of known values of each released column.
    """
    released, before = joined.table.columns, original.table.columns
    marks = {n: code_column(n) for n in known if code_column(n) in released and code_column(n) in before
             and released[code_column(n)].levels == before[code_column(n)].levels}
    if not marks:
        return joined, Reasons()
    theirs = {n: scratch("known reason", n) for n in marks}
    table = joined.table.pair(original.table, {theirs[n]: mark for n, mark in marks.items()})
    read = [c for n in marks for c in (n, marks[n], known[n], theirs[n])]

    def pair(block: Block, name: str) -> tuple[Floats, Floats]:
        return code_in_cell(block, name), code_in_cell(block, known[name], theirs[name])

    def count(group: int, block: Block) -> NDArray[np.int64]:
        pairs = [pair(block, n) for n in marks]
        return np.array([[np.count_nonzero(a != b), np.count_nonzero((a >= 0) | (b >= 0))] for a, b in pairs], dtype=np.int64)

    counts = dict(zip(marks, np.sum(table.reduce(read, count, np.add), axis=0).tolist(), strict=True))
    kept = [n for n, (off, _) in counts.items() if not off]
    nearly = [n for n, (off, coded) in counts.items() if 0 < off <= _FEW * coded]
    out = Reasons(*(tuple(scratch("reason", n) for n in names) for names in (kept, nearly)))
    if not out.columns:
        return joined, out

    def codes(group: int, block: Block) -> Mapping[str, Array]:
        pairs = {n: pair(block, n) for n in (*kept, *nearly)}
        made: dict[str, Array] = {scratch("reason", n): a for n, (a, _) in pairs.items()}
        moved = np.any([pairs[n][0] != pairs[n][1] for n in nearly], axis=0) if nearly else None
        return made if moved is None else {**made, MOVED: moved.astype(np.float64)}

    with_codes = table.map_rows(codes, read, [Column(n, "number") for n in out.columns])
    return with_table(joined, with_codes), out
