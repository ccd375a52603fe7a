"""Probabilistic record linkage (Fellegi and Sunter 1969), with agreement probabilities estimated by EM (Winkler 1988).

    weight of a pair = Σⱼ log(mⱼ(levelⱼ) / uⱼ(levelⱼ)),   P(match | levels) = p eʷ / (p eʷ + 1 − p)

m and u are the probabilities of a level of agreement among matching pairs and among all pairs, and p the share of matching
pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.linkage.paired_points import canonical_order
from larvatus.stats.linkage.row_hash import combination

_EDGES = np.array([1e-9, 0.01, 0.03, 0.1, 0.3, 1.0])  # distance of two values, in standard deviations
AGREE = len(_EDGES) + 1  # levels of agreement; then: missing on both sides, in x alone, in y alone
AGREEMENT_LEVELS = AGREE + 3
STARTS = (0.5, 0.8, 0.3)  # starting values: ratio of each level's probability to that of the level before, among matching pairs
FITTED, _PAIRS, _ROUNDS, _LEAST = 400, 1_000_000, 100, 1e-9


def weights_of(x: Floats, y: Floats) -> Floats:
    """Log of m / u, columns × levels of agreement.

    Values are in standard deviations, categories are codes far apart. The share of matching pairs is 1 / (number of
    candidates). m is estimated by EM over the pairs of at most 400 targets (fewer in large files), spread evenly.
    """
    order = canonical_order(np.nan_to_num(x))
    most = min(FITTED, len(order), max(20, _PAIRS // len(y)))
    some = order[np.unique(np.linspace(0, len(order) - 1, most).round().astype(np.int64))]
    pairs = np.array([_levels(x[some, j], y[:, j]).ravel() for j in range(y.shape[1])], dtype=np.int8)
    _, first, times = np.unique(combination(list(pairs), pairs.shape[1]), return_index=True, return_counts=True)
    levels = pairs[:, first]
    u = _shares(levels, times.astype(np.float64))
    return max((_fitted(levels, times, u, 1.0 / len(y), start) for start in STARTS), key=lambda found: found[1])[0]


def _fitted(levels: NDArray[np.int8], times: Ints, u: Floats, share: float, start: float) -> tuple[Floats, float]:
    """The weight of every level by EM from one start, and the log likelihood.

    Missing values do not contribute during EM: otherwise pairs that are both incomplete would appear to match. The weights of
    missing values are then estimated from the pairs that agree.
    """
    m = np.repeat(_present(start ** np.arange(1.0, AGREEMENT_LEVELS + 1)[None, :]), len(levels), axis=0)
    base = np.maximum(_present(u), _LEAST)
    match, likelihood = np.zeros(levels.shape[1]), -np.inf
    weight = np.zeros_like(u)
    for _ in range(_ROUNDS):
        weight = np.where(_present(u) > 0, np.log(np.maximum(m, _LEAST)) - np.log(base), 0.0)
        ratio = np.exp(np.clip(sum(weight[j, row] for j, row in enumerate(levels)), -600, 600))
        match = share * ratio / (share * ratio + 1 - share)
        likelihood = float((times * np.log(share * ratio + 1 - share)).sum())
        new = _present(np.maximum(_shares(levels, times * match), _LEAST))
        done, m = float(np.abs(new - m).max()) < _LEAST, new
        if done:
            break
    return np.where(np.arange(AGREEMENT_LEVELS) < AGREE, weight, _of_missing(levels, times, match, u)), likelihood


def _of_missing(levels: NDArray[np.int8], times: Ints, match: Floats, u: Floats) -> Floats:
    """Weights of the levels of missing cells; only some of the presumed matches are matches, the others are like any pair."""
    total = max(float((times * match).sum()), _LEAST)
    true = float((times * match**2).sum()) / total
    seen = _shares(levels, times * match)
    m = np.clip((seen - (1 - true) * u) / max(true, _LEAST), _LEAST, 1.0)
    return np.asarray(np.where(u > 0, np.log(m) - np.log(np.maximum(u, _LEAST)), 0.0))


def _present(shares: Floats) -> Floats:
    """Shares of the levels of agreement among the pairs with both values present."""
    there = np.where(np.arange(AGREEMENT_LEVELS) < AGREE, shares, 0.0)
    total = there.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(there, total, out=np.zeros_like(there), where=total > 0))


def _shares(levels: NDArray[np.int8], weight: Floats) -> Floats:
    """Distribution of the weight over levels, columns × levels."""
    return np.asarray(np.array([np.bincount(row, weights=weight, minlength=AGREEMENT_LEVELS) for row in levels]) / weight.sum())


def _levels(x: Floats, y: Floats) -> Ints:
    """The level of agreement of each x with each y: 0 is equal; missing values have their own levels."""
    out = np.searchsorted(_EDGES, np.nan_to_num(np.abs(x[:, None] - y)))
    absent, blank = np.isnan(x)[:, None], np.isnan(y)[None, :]
    out = np.where(blank & ~absent, AGREE + 2, out)
    return np.where(absent, np.where(blank, AGREE, AGREE + 1), out)


def linkage_credit(x: Floats, y: Floats, weights: Floats, same: Ints, own: Ints, guesses: Sequence[int] = (1,)) -> Floats:
    """Probability that the own record is among the `guesses` records of the same code with the largest weights."""
    from larvatus.stats.linkage.nearest_counts import credit_within

    order = np.argsort(same, kind="stable")
    start = np.searchsorted(same[order], same[own], "left")
    stop = np.searchsorted(same[order], same[own], "right")
    heavier, tied = _heavier(x, np.ascontiguousarray(y), weights, _EDGES, order, start, stop, own, max(guesses))
    return np.array([credit_within(heavier, tied, k) for k in guesses])


@kernel()
def _heavier(
    x: Floats, y: Floats, weights: Floats, edges: Floats, order: Ints, start: Ints, stop: Ints, own: Ints, deepest: int
) -> Floats:
    """Candidates with a larger weight than the own record, counted up to `deepest`, and those with equal weight."""
    out = np.zeros((2, len(own)))
    agree = len(edges) + 1
    p = y.shape[1]
    rest = np.zeros(p + 1)
    for j in range(p - 1, -1, -1):
        rest[j] = rest[j + 1] + weights[j].max()
    for i in range(len(own)):
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
                total += weights[j, level]
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
