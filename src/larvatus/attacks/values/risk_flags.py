"""Targeted swapping exchanges records at risk more often than others: what a category says depends on whether it is at risk.

    flag(i, k)  whether record i would be at risk if its category were k: fewer than `least` records share its keys and k
    P(c | k, flag)  share of the records with original category k and that flag that have released category c, without record i

The intruder knows the other records, and so the flag for each k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.stats.linkage.coordinates import same_rows

_TARGETED = "record_swap"
_MOST_COUNTS = 4_000_000


@dataclass(frozen=True, slots=True)
class RiskFlags:
    """The cell of keys of each record, in record order, categories by cell, and categories before, after and by flag."""

    record: Ints
    cell: Ints
    counts: Ints
    least: int
    table: Ints

    @classmethod
    def of(cls, joined: Microdata, release: Release, name: str, codes: tuple[Ints, Ints], was: str, k: int) -> RiskFlags | None:
        """None if no step swaps records by their risk in this column alone, or if there are too many cells."""
        steps = [s for s in release.steps if s.name() == _TARGETED and name in (s.columns or joined.confidential)]
        if not steps or joined.roles.household or len(steps[0].columns or joined.confidential) > 1:
            return None
        settings = steps[0].settings()
        keys = settings.get("keys") or [*joined.sub_groups.columns, *joined.non_confidential]
        keys = [n for n in keys if n in joined.table.columns]
        record, _, values = collect(joined, list(dict.fromkeys([was, name, *keys])))
        cell = same_rows([values[n] for n in keys], len(record))
        x, y = codes[0][values[was]], codes[1][values[name]]
        if (int(cell.max(initial=0)) + 1) * k > _MOST_COUNTS:
            return None
        there = x >= 0
        counts = np.bincount(cell[there] * k + x[there], minlength=(int(cell.max(initial=0)) + 1) * k).reshape(-1, k)
        flag = counts[cell, np.maximum(x, 0)] < settings["k"]
        both = there & (y >= 0)
        table = np.bincount((flag[both] * k + x[both]) * k + y[both], minlength=2 * k * k).reshape(2, k, k)
        return cls(record, cell, counts, int(settings["k"]), table)

    def likelihood(self, records: Sequence[int] | Ints, x: Ints, y: Ints, own: Floats) -> Floats:
        """P(released category | category k) for each record and k, counted without the record; 1 if there is none."""
        others = self.counts[self.cell[np.searchsorted(self.record, records)]] - own
        flag = (others + 1 < self.least).astype(np.int64)
        k = np.arange(own.shape[1])
        seen = np.maximum(y, 0)[:, None]
        mine = own * (y >= 0)[:, None]
        hits, size = self.table[flag, k, seen] - mine, self.table.sum(axis=2)[flag, k] - mine
        return np.asarray(np.where(y[:, None] >= 0, np.maximum(hits, 0) / np.maximum(size, 1), 1.0))
