"""What a record and a released row must agree in: S, and the codes of missing values, which stay in their cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.exposure.kinds_of_missing import shown_code
from larvatus.data.labelling.labels import code_column
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import with_table

if TYPE_CHECKING:
    from larvatus.attacks.linkage.linkage_keys import Keys


@dataclass(frozen=True, slots=True)
class Agreement:
    """Numbers for the records of a sub-group that agree: in S, in the codes of missing values (`reasons`), and in both."""

    s: Ints
    reasons: Ints
    both: Ints

    @classmethod
    def of(cls, keys: Keys, block: Block) -> Agreement:
        from larvatus.stats.linkage.coordinates import same_rows

        n = len(block)
        s = same_rows([block[c] for c in keys.exact], n)
        if not keys.reasons:
            return cls(s, np.zeros_like(s), s)
        return cls(s, *(same_rows([block[c] for c in names], n) for names in (keys.reasons, (*keys.exact, *keys.reasons))))


def with_reasons(joined: Microdata, original: Microdata, known: Mapping[str, str]) -> tuple[Microdata, tuple[str, ...]]:
    """Add a column with the code of each missing cell, for each column in which all records kept theirs.

    `known` has the column of known values of each released column.
    """
    released, before = joined.table.columns, original.table.columns
    marks = {n: code_column(n) for n in known if code_column(n) in released and code_column(n) in before
             and released[code_column(n)].levels == before[code_column(n)].levels}
    if not marks:
        return joined, ()
    theirs = {n: scratch("known reason", n) for n in marks}
    table = joined.table.pair(original.table, {theirs[n]: mark for n, mark in marks.items()})

    def moved(group: int, block: Block) -> NDArray[np.int64]:
        pairs = [(shown_code(block, n), shown_code(block, known[n], theirs[n])) for n in marks]
        return np.array([np.count_nonzero(a != b) for a, b in pairs], dtype=np.int64)

    read = [c for n in marks for c in (n, marks[n], known[n], theirs[n])]
    off = np.sum(table.reduce(read, moved, np.add), axis=0)
    kept = [n for n, k in zip(marks, off, strict=True) if not k]

    def codes(group: int, block: Block) -> Mapping[str, Array]:
        return {scratch("reason", n): shown_code(block, n) for n in kept}

    out = tuple(scratch("reason", n) for n in kept)
    read = [c for n in kept for c in (n, marks[n])]
    return (with_table(joined, table.map_rows(codes, read, [Column(n, "number") for n in out])) if kept else joined), out
