"""Detect totals: confidential columns that are sums or differences of others in all records, or in most of them.

They are found in a sample of records (`constraints.total_candidates`), and counted over the whole file.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.constraints.rules import DIFFERENCE, WHERE_HELD
from larvatus.constraints.total_candidates import total_candidates
from larvatus.core.arrays import Ints
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import reduce_groups
from larvatus.stats.linear.total_search import MOST, ColumnSum


@dataclass(frozen=True, slots=True)
class DetectedTotal:
    """A total in the notation of a study, the number of records with all its values, and in how many it does not hold."""

    rule: str
    records: int
    exceptions: int

    @property
    def ways(self) -> tuple[str, str]:
        """The two rules that keep something of a total with exceptions."""
        return f"{self.rule} {WHERE_HELD}", f"{self.rule} {DIFFERENCE}"

    def sentence(self) -> str:
        """What was found, and what can be done about it."""
        share = 1 - self.exceptions / self.records
        return (f"Holds in {share:.1%} of the {self.records:,} records with all values, to 10 digits: {self.rule} "
                f"({self.exceptions:,} exception{'s' * (self.exceptions != 1)}). Masked separately, hardly any record would "
                f"add up. As a rule followed by '{WHERE_HELD}' it is kept in the same records; followed by '{DIFFERENCE}' it "
                "is kept with its difference, which is then released unmasked. Both show which records are exceptions.")


def detect_totals(data: Microdata, derived: Collection[str]) -> tuple[DetectedTotal, ...]:
    """Totals of two or more confidential columns that hold in at least half of the records; columns `derived` are not used."""
    names = [n for n in data.numeric(data.confidential) if n not in derived]
    sums = total_candidates(data, names)
    out = []
    for rule, (records, informative, held, zeros) in zip(sums, _counts(data, names, list(sums.values())), strict=True):
        if held - zeros >= MOST * informative > 0:
            out.append(DetectedTotal(rule, int(records), int(records - held)))
    return tuple(out)


def _counts(data: Microdata, names: Sequence[str], sums: Sequence[ColumnSum]) -> Ints:
    """For each sum, records with all values, those of them that are not all zero, those that hold, and those all zero."""
    if not sums:
        return np.zeros((0, 4), dtype=np.int64)

    def count(group: int, block: Block) -> Ints:
        x = block.matrix(names)
        out = []
        for found in sums:
            there = ~np.isnan(x[:, [found.total, *found.parts]]).any(axis=1)
            telling = found.present(x)
            out.append([there.sum(), telling.sum(), (found.holds(x) & there).sum(), (there & ~telling).sum()])
        return np.array(out, dtype=np.int64)

    return np.asarray(np.sum(reduce_groups(data, names, count, np.add), axis=0), dtype=np.int64)
