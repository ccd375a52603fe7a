"""Linkage with missing cells: every target and candidate are compared on the cells that both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.kernels import kernel

_SAME = 1e-9
_DENSE = 2_000_000_000  # number of pairs beyond which each pair of patterns is counted by itself
_OVERHEAD = 1_000_000  # the same per pair of patterns: this many pairs take longer than a count of its own
_PART = 20_000_000  # pairs in one call: below a second


@dataclass(frozen=True, slots=True)
class PatternedPoints:
    """Points of both sides with a code for their pattern of present cells; missing coordinates may hold any finite number.

    The cost of a pair is constant[a, b] + |turn[a, b] (x − y)|², with a and b its patterns; with power 1, the sum of absolute
    values instead. One `turn` may serve all patterns of targets. If it is diagonal, it holds one number per coordinate
    instead of a matrix.
    """

    left: Floats
    right: Floats
    mine: Ints
    theirs: Ints
    turn: Floats
    constant: Floats
    power: int = 2

    def credit(self, own: Ints, same: Ints, guesses: Sequence[int]) -> Floats:
        """Probability that the own record is among the `guesses` records of lowest cost, with ties broken at random."""
        from larvatus.stats.linkage.nearest_counts import credit_within

        if not len(own):
            return np.zeros((len(guesses), 0))
        mine = self._costs_of_own(own)
        pairs = float(np.bincount(same)[same[own]].sum())
        alone = len(np.unique(self.mine[own])) * len(np.unique(self.theirs))
        dense = pairs <= min(_DENSE, _OVERHEAD * alone)
        nearer, tied = self._dense(own, same, mine) if dense else self._by_patterns(own, same, mine, max(guesses))
        return np.array([credit_within(nearer, np.maximum(tied, 1.0), k) for k in guesses])

    def costs(self, a: Ints, b: Ints) -> Floats:
        """The cost of every pair of rows a of `left` and b of `right`."""
        out = np.empty((len(a), len(b)))
        for i in np.unique(self.mine[a]):
            rows = np.flatnonzero(self.mine[a] == i)
            for j in np.unique(self.theirs[b]):
                there = np.flatnonzero(self.theirs[b] == j)
                turn = self.turn[i if len(self.turn) > 1 else 0, j]
                x, y = (v * turn if turn.ndim == 1 else v @ turn.T for v in (self.left[a[rows]], self.right[b[there]]))
                out[np.ix_(rows, there)] = self.constant[i, j] + squared_distances(x, y)
        return out

    def _costs_of_own(self, own: Ints) -> Floats:
        turn = self.turn[self.mine[own] if len(self.turn) > 1 else 0, self.theirs[own]]
        apart = self.left[own] - self.right[own]
        away = turn * apart if turn.ndim == 2 else np.einsum("nij,nj->ni", turn, apart)
        size = (away**2).sum(axis=1) if self.power == 2 else np.abs(away).sum(axis=1)
        return np.asarray(size + self.constant[self.mine[own], self.theirs[own]])

    def _dense(self, own: Ints, same: Ints, mine: Floats) -> tuple[Floats, Floats]:
        order = np.argsort(same, kind="stable")
        start = np.searchsorted(same[order], same[own], "left")
        stop = np.searchsorted(same[order], same[own], "right")
        right, turn = np.ascontiguousarray(self.right), np.ascontiguousarray(self.turn)
        count = _stretched if self.turn.ndim == 3 else _counted
        edges = [0, *(np.flatnonzero(np.diff(np.cumsum(stop - start) // _PART)) + 1), len(own)]
        both = np.empty((2, len(own)))
        for a, b in pairwise(edges):
            rows = own[a:b]
            left = np.ascontiguousarray(self.left[rows])
            both[:, a:b] = count(left, right, self.mine[rows], self.theirs, turn, self.constant, mine[a:b], order, start[a:b],
                                 stop[a:b], rows, self.power)
        return both[0], both[1]

    def _by_patterns(self, own: Ints, same: Ints, mine: Floats, deepest: int) -> tuple[Floats, Floats]:
        """The same for every pair of patterns by itself; exact while fewer than `deepest` cost less."""
        from larvatus.stats.linkage.nearest_counts import count_in_pools

        counts = np.zeros((2, len(own)))
        slack = _SAME * np.maximum(1.0, np.abs(mine))
        for a in np.unique(self.mine[own]):
            for b in np.unique(self.theirs):
                high = mine + slack - self.constant[a, b]
                rows = np.flatnonzero((self.mine[own] == a) & (high >= 0))
                there = np.flatnonzero(self.theirs == b)
                turn = self.turn[a if len(self.turn) > 1 else 0, b]
                x, y = (v * turn if turn.ndim == 1 else v @ turn.T for v in (self.left[own[rows]], self.right[there]))
                ends = [np.maximum(v[rows], 0.0) for v in (high - 2 * slack, high)]
                low, most = (np.sqrt(v) for v in ends) if self.power == 2 else ends
                counts[:, rows] += count_in_pools(x, y, low, most, deepest, self.power, (same[own[rows]], same[there]))
        return counts[0], counts[1]


@kernel()
def _counted(
    left: Floats, right: Floats, mine: Ints, theirs: Ints, turn: Floats, constant: Floats, limit: Floats, order: Ints,
    start: Ints, stop: Ints, own: Ints, power: int,
) -> Floats:
    """Candidates that cost less than the own one, and those that cost the same."""
    width = left.shape[1]
    rows = turn.shape[2]
    out = np.zeros((2, len(own)))
    for i in range(len(own)):
        slack = 1e-9 * max(1.0, abs(limit[i]))
        for k in range(start[i], stop[i]):
            j = order[k]
            if j == own[i]:
                out[1, i] += 1
                continue
            cost = constant[mine[i], theirs[j]]
            t = mine[i] if turn.shape[0] > 1 else 0
            for r in range(rows):
                if cost > limit[i] + slack:
                    break
                z = 0.0
                for c in range(width):
                    z += turn[t, theirs[j], r, c] * (left[i, c] - right[j, c])
                cost += z * z if power == 2 else abs(z)
            if cost < limit[i] - slack:
                out[0, i] += 1
            elif cost <= limit[i] + slack:
                out[1, i] += 1
    return out


@kernel()
def _stretched(
    left: Floats, right: Floats, mine: Ints, theirs: Ints, turn: Floats, constant: Floats, limit: Floats, order: Ints,
    start: Ints, stop: Ints, own: Ints, power: int,
) -> Floats:
    """The same for a diagonal `turn`."""
    width = left.shape[1]
    out = np.zeros((2, len(own)))
    for i in range(len(own)):
        slack = 1e-9 * max(1.0, abs(limit[i]))
        t = mine[i] if turn.shape[0] > 1 else 0
        for k in range(start[i], stop[i]):
            j = order[k]
            if j == own[i]:
                out[1, i] += 1
                continue
            cost = constant[mine[i], theirs[j]]
            for c in range(width):
                if cost > limit[i] + slack:
                    break
                z = turn[t, theirs[j], c] * (left[i, c] - right[j, c])
                cost += z * z if power == 2 else abs(z)
            if cost < limit[i] - slack:
                out[0, i] += 1
            elif cost <= limit[i] + slack:
                out[1, i] += 1
    return out


def squared_distances(x: Floats, y: Floats) -> Floats:
    """Squared Euclidean distances of all rows of x from all rows of y."""
    out = np.zeros((len(x), len(y)))
    for u, v in zip(x.T, y.T, strict=True):
        out += (u[:, None] - v) ** 2
    return out


def patterns_of(present: Bools) -> tuple[Bools, Ints]:
    """The distinct patterns of present cells, and the pattern of each row."""
    if not present.shape[1]:
        return np.ones((1, 0), dtype=bool), np.zeros(len(present), dtype=np.int64)
    patterns, which = np.unique(present, axis=0, return_inverse=True)
    return patterns, np.asarray(which.reshape(-1), dtype=np.int64)


def missing_cost(counts: Floats) -> Floats:
    """−2 log P(known cell missing or not | pattern of released cells), from counts of records.

    Half a record is added to each count, so that nothing is impossible.
    """
    smooth = counts + 0.5
    return np.asarray(-2 * np.log(smooth / smooth.sum(axis=0)))
