"""Probabilistic record linkage (Fellegi and Sunter 1969), with frequency weights and probabilities learnt by EM.

In column j a value stays unchanged with probability a_j; otherwise its level of agreement l has probability q_j(l). With u_j(l)
the probability of level l among all pairs, and f_j(x) the share of the value x in its column,

    weight of a pair = Σ_j log r_j,   r_j = a_j / f_j(x) + (1 − a_j) q_j(0) / u_j(0)   if the values are equal,
                                      r_j = (1 − a_j) q_j(l) / u_j(l)                  at level l > 0.

The probabilities are learnt by EM in one of two ways. If nearness counts, each pair may be a match; as columns are not
independent, pairs that are alike by chance can then form the class of matches. If only equality counts, exactly one candidate
of each target is its match, with a probability proportional to Π_j r_j, and q = u: a changed value may be any value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.linkage.paired_points import canonical_order

_EDGES = np.array([1e-9, 0.01, 0.03, 0.1, 0.3, 1.0])  # distance of two values, in standard deviations
AGREE = len(_EDGES) + 1  # levels of agreement; then: missing on both sides, in x alone, in y alone
AGREEMENT_LEVELS = AGREE + 3
STARTS = (0.5, 0.8, 0.3)  # starting values: ratio of each level's probability to that of the level before, among matching pairs
_UNCHANGED = 0.5  # starting value of the share of unchanged values
FITTED, MOST_PAIRS, _LARGE, _LEAST = 400, 1_000_000, 200, 1e-9
_TRIED, _ROUNDS, _SETTLED = 8, 60, 1e-4
_PRIME = 1_000_003  # numbers of combinations are polynomials in it, modulo 2**64


@dataclass(frozen=True, slots=True)
class Agreement:
    """How matching pairs agree: shares of unchanged values, ratios q / u of levels for the others, weights of missing cells."""

    unchanged: Floats
    ratio: Floats
    missing: Floats

    @property
    def weights(self) -> Floats:
        """The weight of every level, columns × levels; that of level 0 without the part of unchanged values."""
        found = np.log(np.maximum((1 - self.unchanged)[:, None] * self.ratio, _LEAST))
        return np.where(np.arange(AGREEMENT_LEVELS) < AGREE, found, self.missing)

    def equal_weights(self, frequency: Floats) -> Floats:
        """The weight of equality for each target, targets × columns, from the frequencies of its values."""
        return np.asarray(np.log(np.maximum(self.unchanged / frequency + (1 - self.unchanged) * self.ratio[:, 0], _LEAST)))


@dataclass(frozen=True, slots=True)
class PairSample:
    """The pairs of some targets with all their candidates: levels of agreement (pairs × columns), and how often each occurs.

    Pairs of one target follow each other, from `first[i]` to `first[i + 1]`; `frequency` is that of its values in y.
    """

    levels: NDArray[np.int8]
    times: Floats
    first: Ints
    frequency: Floats
    background: Floats

    @classmethod
    def of(
        cls, x: Floats, y: Floats, same: Ints, known: Ints, pairs: int = MOST_PAIRS, often: Floats | None = None
    ) -> PairSample:
        """Pairs with the same code of at most 400 of the known rows of x, spread evenly; about `pairs` pairs at most.

        Values are in standard deviations, categories are codes far apart. `often` are the `frequencies`, if they are at hand.
        """
        rows = known[canonical_order(np.nan_to_num(x[known]))]
        most = min(FITTED, len(rows), max(20, int(pairs / max(float(np.bincount(same)[same[rows]].mean()), 1.0))))
        some = rows[np.unique(np.linspace(0, len(rows) - 1, most).round().astype(np.int64))]
        order = np.argsort(same, kind="stable")
        start, stop = (np.searchsorted(same[order], same[some], side) for side in ("left", "right"))
        every, code = _pair_levels(x[some], np.ascontiguousarray(y), _EDGES, order, start, stop)
        ends = np.cumsum(stop - start)
        parts = [_distinct(every[a:b], code[a:b]) for a, b in zip(ends - (stop - start), ends, strict=True)]
        levels, times = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
        background = np.array([np.bincount(row, weights=times, minlength=AGREEMENT_LEVELS) for row in levels.T])
        often = frequencies(x, y, known) if often is None else often
        return cls(levels, times, np.cumsum([0, *(len(p[1]) for p in parts)]), often[some],
                   background / max(float(times.sum()), 1.0))

    def learn(self, unchanged: Floats | None = None, near: bool = True) -> Agreement:
        """The agreement of matching pairs by EM, from equal and near values, or from equal values alone.

        Nearness is learnt from several starts, of which the most likely is followed. `unchanged` are known shares of unchanged
        values, which are then not learnt.
        """
        p = self.levels.shape[1]
        present = _present(self.background)
        free = np.full(p, _UNCHANGED) if unchanged is None else unchanged
        starts = [(free, present)]
        if near and unchanged is None:
            shapes = [_present(s ** np.arange(1.0, AGREEMENT_LEVELS + 1)[None, :]) for s in STARTS]
            starts = [(free, np.repeat(shape, p, axis=0))
                      for shape in shapes]
        best = max((self._follow(a, q, unchanged is None, near, _TRIED) for a, q in starts), key=lambda f: f[2])
        found = self._follow(best[0], best[1], unchanged is None, near, _ROUNDS)
        return Agreement(found[0], _ratio(found[1], present), self._missing(found[3], found[4]))

    def _follow(
        self, unchanged: Floats, changed: Floats, learn_unchanged: bool, learn_changed: bool, rounds: int
    ) -> tuple[Floats, Floats, float, Floats, float]:
        """EM from one start: shares, levels of changed values, log likelihood, levels of presumed matches, their purity."""
        present = _present(self.background)
        data = self.levels, self.times, self.first, self.frequency
        seen, pure, last = np.zeros_like(changed), 0.0, (unchanged, changed)
        for _ in range(rounds):
            last = unchanged, changed
            stayed, seen, (_, pure) = _expected(
                *data, unchanged, _ratio(changed, present), AGREE, not learn_changed, False)
            there = np.maximum(seen[:, :AGREE].sum(axis=1), _LEAST)
            a = stayed / there if learn_unchanged else unchanged
            left = seen.copy()
            left[:, 0] -= stayed
            q = _present(np.maximum(left, 0.0)) if learn_changed else changed
            moved = max(float(np.abs(a - unchanged).max(initial=0.0)), float(np.abs(q - changed).max(initial=0.0)))
            unchanged, changed = a, np.where(q.sum(axis=1, keepdims=True) > 0, q, changed)
            if moved < _SETTLED:
                break
        likelihood = _expected(*data, last[0], _ratio(last[1], present), AGREE, not learn_changed, True)[2][0]
        return unchanged, changed, likelihood, seen, pure

    def _missing(self, seen: Floats, pure: float) -> Floats:
        """Weights of the levels of missing cells; only some of the presumed matches are matches, the others are like any pair.

        Missing cells do not contribute during EM: otherwise pairs that are both incomplete would appear to match.
        """
        u = self.background
        m = np.clip((seen - (1 - pure) * u) / max(pure, _LEAST), _LEAST, 1.0)
        return np.asarray(np.where(u > 0, np.log(m) - np.log(np.maximum(u, _LEAST)), 0.0))


def frequencies(x: Floats, y: Floats, known: Ints) -> Floats:
    """The share of each value of x among the values of its column, in the `known` rows or in y, whichever is larger.

    `known` are the rows that the intruder has. A mask that removes most values makes each of the others look rare in y,
    although another record may have had the same value.
    """
    from larvatus.stats.linkage.equality import value_codes

    out = np.ones_like(x)
    for j in range(x.shape[1]):
        mine, theirs = value_codes(x[:, j], y[:, j])
        held = mine[known]
        size = int(max(mine.max(initial=-1), theirs.max(initial=-1))) + 1
        shares = [np.bincount(v[v >= 0], minlength=size) / max(int((v >= 0).sum()), 1) for v in (held, theirs)]
        out[:, j] = np.where(mine >= 0, np.append(np.maximum(*shares), 1.0)[mine], 1.0)
    return out


@kernel()
def _expected(
    levels: NDArray[np.int8], times: Floats, first: Ints, frequency: Floats, unchanged: Floats, ratio: Floats, agree: int,
    one: bool, likely: bool,
) -> tuple[Floats, Floats, tuple[float, float]]:
    """The E step: expected numbers of unchanged values and of levels among matches, log likelihood, and purity of matches.

    With `one`, exactly one candidate of each target is a match; otherwise each pair is one with the same probability.
    The likelihood is computed only with `likely`: its logarithms take most of the time.
    """
    p = levels.shape[1]
    stayed, seen = np.zeros(p), np.zeros(ratio.shape)
    likelihood, squares, matches = 0.0, 0.0, 0.0
    weight = np.zeros(len(times))
    equal = np.zeros(p)
    from_rest, share = np.zeros(p), np.zeros(p)
    factor = np.zeros((p, agree))
    for j in range(p):
        for level in range(agree):
            factor[j, level] = max((1.0 - unchanged[j]) * ratio[j, level], 1e-9)
    for i in range(len(first) - 1):
        total, count = 0.0, 0.0
        for j in range(p):
            from_rest[j] = (1.0 - unchanged[j]) * ratio[j, 0]
            equal[j] = max(unchanged[j] / frequency[i, j] + from_rest[j], 1e-9)
            share[j] = 1.0 - from_rest[j] / equal[j]
        for k in range(first[i], first[i + 1]):
            w = 1.0
            for j in range(p):
                level = levels[k, j]
                if level == 0:
                    w *= equal[j]
                elif level < agree:
                    w *= factor[j, level]
            weight[k] = w
            total += times[k] * w
            count += times[k]
        if total <= 0.0:
            continue
        if one and likely:
            likelihood += np.log(total / count)
        for k in range(first[i], first[i + 1]):
            each = weight[k] / (total if one else weight[k] + (count - 1.0))
            if likely and not one:
                likelihood += times[k] * np.log((weight[k] + (count - 1.0)) / count)
            r = times[k] * each
            squares += r * each
            matches += r
            for j in range(p):
                level = levels[k, j]
                seen[j, level] += r
                if level == 0:
                    stayed[j] += r * share[j]
    return stayed / max(matches, 1e-9), seen / max(matches, 1e-9), (likelihood, squares / max(matches, 1e-9))


def _ratio(changed: Floats, present: Floats) -> Floats:
    """q / u for every level; 1 for levels that no pair has."""
    return np.asarray(np.divide(changed, present, out=np.ones_like(present), where=present > 0))


@kernel()
def _pair_levels(
    x: Floats, y: Floats, edges: Floats, order: Ints, start: Ints, stop: Ints
) -> tuple[NDArray[np.int8], Ints]:
    """Levels of agreement of targets with their candidates, pairs × columns, and a number for each combination of levels."""
    agree, p = len(edges) + 1, x.shape[1]
    levels = np.empty(((stop - start).sum(), p), dtype=np.int8)
    code = np.zeros(len(levels), dtype=np.int64)
    at = 0
    for i in range(len(x)):
        for k in range(start[i], stop[i]):
            for j in range(p):
                a, b = x[i, j], y[order[k], j]
                level = 0
                if np.isnan(a):
                    level = agree if np.isnan(b) else agree + 1
                elif np.isnan(b):
                    level = agree + 2
                else:
                    while level < len(edges) and abs(a - b) > edges[level]:
                        level += 1
                levels[at, j] = level
                code[at] = code[at] * _PRIME + level
            at += 1
    return levels, code


def _distinct(levels: NDArray[np.int8], code: Ints) -> tuple[NDArray[np.int8], Floats]:
    """The levels of one target with its candidates; in large files, distinct combinations and their numbers."""
    if len(levels) <= _LARGE:
        return levels, np.ones(len(levels))
    _, first, times = np.unique(code, return_index=True, return_counts=True)
    return levels[first], times.astype(np.float64)


def _present(shares: Floats) -> Floats:
    """Shares of the levels of agreement among the pairs with both values present."""
    there = np.where(np.arange(AGREEMENT_LEVELS) < AGREE, shares, 0.0)
    total = there.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(there, total, out=np.zeros_like(there), where=total > 0))


def linkage_credit(
    x: Floats, y: Floats, weights: Floats, same: Ints, own: Ints, guesses: Sequence[int] = (1,), equal: Floats | None = None
) -> Floats:
    """Probability that the own record is among the `guesses` records of the same code with the largest weights.

    `weights` are those of levels, columns × levels; `equal` those of equality, targets × columns (default: those of level 0).
    """
    from larvatus.stats.linkage.nearest_counts import credit_within

    order = np.argsort(same, kind="stable")
    start = np.searchsorted(same[order], same[own], "left")
    stop = np.searchsorted(same[order], same[own], "right")
    equal = np.repeat(weights[:, 0][None, :], len(x), axis=0) if equal is None else equal
    heavier, tied = _heavier(x, np.ascontiguousarray(y), weights, equal, _EDGES, order, start, stop, own, max(guesses))
    return np.array([credit_within(heavier, tied, k) for k in guesses])


@kernel()
def _heavier(
    x: Floats, y: Floats, weights: Floats, equal: Floats, edges: Floats, order: Ints, start: Ints, stop: Ints, own: Ints,
    deepest: int,
) -> Floats:
    """Candidates with a larger weight than the own record, counted up to `deepest`, and those with equal weight."""
    out = np.zeros((2, len(own)))
    agree = len(edges) + 1
    p = y.shape[1]
    rest, largest = np.zeros(p + 1), np.zeros(p)
    for j in range(p):
        largest[j] = weights[j, 1]
        for level in range(2, weights.shape[1]):
            largest[j] = max(largest[j], weights[j, level])
    for i in range(len(own)):
        for j in range(p - 1, -1, -1):
            rest[j] = rest[j + 1] + max(equal[i, j], largest[j])
        mine = -np.inf
        for k in range(start[i] - 1, stop[i]):
            row = own[i] if k < start[i] else order[k]
            total = 0.0
            for j in range(p):
                a, b = x[i, j], y[row, j]
                if np.isnan(a):
                    level = agree if np.isnan(b) else agree + 1
                elif np.isnan(b):
                    level = agree + 2
                else:
                    apart = abs(a - b)
                    level = 0
                    while level < len(edges) and apart > edges[level]:
                        level += 1
                total += equal[i, j] if level == 0 else weights[j, level]
                if total + rest[j + 1] < mine - 1e-9:
                    total = -np.inf
                    break
            if k < start[i]:
                mine = total
            elif total > mine + 1e-9:
                out[0, i] += 1
                if out[0, i] >= deepest:
                    break
            elif total >= mine - 1e-9:
                out[1, i] += 1
        out[1, i] = max(out[1, i], 1.0)
    return out


def names_apart(values: Floats, named: Sequence[bool]) -> Floats:
    """Codes of categories so far apart that different ones never agree."""
    return np.asarray(values * np.where(np.array(named, dtype=bool), 2 * _EDGES[-1], 1.0))
