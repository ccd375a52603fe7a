"""Link whole units (households, or all rows of a person) to the nearest released unit by all their records.

    D(h, k) = ‖a_h − b_k‖² + min_π Σ_i ‖u_i − v_π(i)‖²

with a, b the points of unit variables, which count once, and u, v those of the records. Candidates k have as many records as h,
with the same codes of S. The permutation π runs over records with the same code; if there are more than 24 permutations, every
record takes its own nearest one instead, a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial, prod

import numpy as np

from larvatus.core.arrays import Floats, Ints

_MOST_PERMUTATIONS = 24
_CHUNK = 1_000_000
_ALIKE = 1e-9


@dataclass(frozen=True, slots=True)
class UnitBlocks:
    """Units with the same number of records and the same codes of S share a block.

    `rows` are the places of all records, unit by unit and sorted by code within; `starts` is where each unit begins in them.
    """

    rows: Ints
    starts: Ints
    block: Ints
    code: Ints

    @classmethod
    def of(cls, unit: Ints, code: Ints) -> UnitBlocks:
        size = np.bincount(unit)
        rows = np.lexsort((code, unit))
        starts = np.concatenate(([0], np.cumsum(size)))
        block = np.empty(len(size), dtype=np.int64)
        count = 0
        for m in np.unique(size):
            own = np.flatnonzero(size == m)
            codes = code[rows[starts[own][:, None] + np.arange(m)]]
            _, place = np.unique(codes, axis=0, return_inverse=True)
            block[own] = count + place.reshape(-1)
            count += int(place.max()) + 1
        return cls(rows, starts, block, code)

    def candidates(self) -> Ints:
        """Number of units in the block of each unit."""
        size: Ints = np.bincount(self.block)[self.block]
        return size

    def records(self, units: Ints) -> Ints:
        """Places of the records of units of one block, units × records."""
        m = int(self.starts[units[0] + 1] - self.starts[units[0]])
        places: Ints = self.rows[self.starts[units][:, None] + np.arange(m)]
        return places


def unit_credits(
    blocks: UnitBlocks, records: tuple[Floats, Floats], units: tuple[Floats, Floats], targets: Ints, guesses: Sequence[int]
) -> Floats:
    """Credit of each target unit, targets × guesses: known points come first in `records` and `units`, then released ones."""
    from larvatus.stats.linkage.nearest_counts import credit_within

    out = np.empty((len(targets), len(guesses)))
    order = np.argsort(blocks.block, kind="stable")
    ends = np.searchsorted(blocks.block[order], np.arange(int(blocks.block.max(initial=-1)) + 2))
    wanted = np.argsort(blocks.block[targets], kind="stable")
    at = np.searchsorted(blocks.block[targets][wanted], np.unique(blocks.block[targets]))
    for part in np.split(wanted, at[1:]) if len(wanted) else ():
        b = int(blocks.block[targets[part[0]]])
        others = order[ends[b] : ends[b + 1]]
        step = max(1, _CHUNK // len(others))
        for start in range(0, len(part), step):
            some = part[start : start + step]
            distance = unit_distances(blocks, records, units, targets[some], others)
            own = distance[np.arange(len(some)), np.searchsorted(others, targets[some])][:, None]
            slack = _ALIKE * (1 + own)
            nearer = (distance < own - slack).sum(axis=1).astype(np.float64)
            tied = (np.abs(distance - own) <= slack).sum(axis=1).astype(np.float64)
            out[some] = np.array([credit_within(nearer, tied, k) for k in guesses]).T
    return out


def unit_distances(
    blocks: UnitBlocks, records: tuple[Floats, Floats], units: tuple[Floats, Floats], targets: Ints, others: Ints
) -> Floats:
    """Distances of target units to other units of their block, targets × others."""
    total = _squares(units[0][targets], units[1][others])
    mine, theirs = blocks.records(targets), blocks.records(others)
    code = blocks.code[mine[0]]
    classes = [np.flatnonzero(code == c) for c in np.unique(code)]
    if not records[0].shape[1]:
        return total
    apart = {(i, j): _squares(records[0][mine[:, i]], records[1][theirs[:, j]]) for own in classes for i in own for j in own}
    if prod(factorial(len(own)) for own in classes) > _MOST_PERMUTATIONS:
        for own in classes:
            for i in own:
                total = total + np.min([apart[i, j] for j in own], axis=0)
        return total
    best: Floats | None = None
    for chosen in product(*(permutations(own) for own in classes)):
        found = np.zeros_like(total)
        for own, to in zip(classes, chosen, strict=True):
            for i, j in zip(own, to, strict=True):
                found += apart[i, j]
        best = found if best is None else np.minimum(best, found)
    return total if best is None else total + best


def _squares(a: Floats, b: Floats) -> Floats:
    """Squared distances between the rows of two matrices."""
    if not a.shape[1]:
        return np.zeros((len(a), len(b)))
    out = np.zeros((len(a), len(b)))
    for j in range(a.shape[1]):
        out += (a[:, j, None] - b[None, :, j]) ** 2
    return out
