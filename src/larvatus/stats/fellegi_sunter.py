"""Record linkage after Fellegi and Sunter (1969): how likely a matching pair agrees so far, found by EM (Winkler 1988)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.kernels import kernel
from larvatus.stats.hashing import combination
from larvatus.stats.sides import canonical_order

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
EDGES = np.array([1e-9, 0.01, 0.03, 0.1, 0.3, 1.0])  # how far apart two values are, in standard deviations
LEVELS = len(EDGES) + 2  # the last: blanked in the release, which says nothing
FITTED, PAIRS, ROUNDS, LEAST = 400, 1_000_000, 100, 1e-9


def weights_of(x: Floats, y: Floats) -> Floats:
    """Columns × levels of agreement: log of how much likelier a level is in a matching pair than in any pair.

    Values come in standard deviations, names as codes far apart. Matching pairs are one in as many as there are candidates;
    what they agree on is found by EM over the pairs of at most 400 targets (fewer in large files), spread evenly over all.
    """
    order = canonical_order(np.nan_to_num(x))
    most = min(FITTED, len(order), max(20, PAIRS // len(y)))
    some = order[np.unique(np.linspace(0, len(order) - 1, most).round().astype(np.int64))]
    pairs = np.array([_levels(x[some, j], y[:, j]).ravel() for j in range(y.shape[1])], dtype=np.int8)
    _, first, times = np.unique(combination(list(pairs), pairs.shape[1]), return_index=True, return_counts=True)
    levels = pairs[:, first]
    u = _shares(levels, times.astype(np.float64))
    guess = 0.5 ** np.arange(1.0, LEVELS + 1)
    m = np.repeat((guess / guess.sum())[None, :], y.shape[1], axis=0)
    share = 1.0 / len(y)
    for _ in range(ROUNDS):
        ratio = np.exp(np.clip(sum(np.log(m[j, row] / u[j, row]) for j, row in enumerate(levels)), -600, 600))
        match = times * share * ratio / (share * ratio + 1 - share)
        new = np.maximum(_shares(levels, match), LEAST)
        new /= new.sum(axis=1, keepdims=True)
        done, m = float(np.abs(new - m).max()) < LEAST, new
        if done:
            break
    out = np.log(m) - np.log(np.maximum(u, LEAST))
    out[:, -1] = 0.0
    return np.asarray(out)


def _shares(levels: NDArray[np.int8], weight: Floats) -> Floats:
    """Columns × levels: how the weight is spread over levels."""
    return np.asarray(np.array([np.bincount(row, weights=weight, minlength=LEVELS) for row in levels]) / weight.sum())


def _levels(x: Floats, y: Floats) -> Ints:
    """How well each x agrees with each y: 0 is equal; missing agrees with missing, a blanked y has a level of its own."""
    out = np.searchsorted(EDGES, np.nan_to_num(np.abs(x[:, None] - y)))
    absent, blank = np.isnan(x)[:, None], np.isnan(y)[None, :]
    out = np.where(blank & ~absent, LEVELS - 1, out)
    return np.where(absent, np.where(blank, 0, LEVELS - 2), out)


def linkage_credit(x: Floats, y: Floats, weights: Floats, same: Ints, own: Ints) -> Floats:
    """For each target, one over the candidates of the same code with the greatest weight, where the own record is one."""
    order = np.argsort(same, kind="stable")
    start = np.searchsorted(same[order], same[own], "left")
    stop = np.searchsorted(same[order], same[own], "right")
    return np.asarray(_credit(x, np.ascontiguousarray(y), weights, EDGES, order, start, stop, own))


@kernel()
def _credit(
    x: Floats, y: Floats, weights: Floats, edges: Floats, order: Ints, start: Ints, stop: Ints, own: Ints
) -> Floats:
    out = np.zeros(len(own))
    levels = len(edges) + 2
    rest = np.zeros(y.shape[1] + 1)
    for j in range(y.shape[1] - 1, -1, -1):
        rest[j] = rest[j + 1] + weights[j].max()
    for i in range(len(own)):
        best, tied, mine = -np.inf, 0, -np.inf
        for k in range(start[i], stop[i]):
            row = order[k]
            total = 0.0
            for j in range(y.shape[1]):
                a, b = x[i, j], y[row, j]
                if np.isnan(a):
                    level = 0 if np.isnan(b) else levels - 2
                elif np.isnan(b):
                    level = levels - 1
                else:
                    apart = abs(a - b)
                    level = 0
                    while level < len(edges) and apart > edges[level]:
                        level += 1
                total += weights[j, level]
                if total + rest[j + 1] < best - 1e-9:
                    total = -np.inf
                    break
            if row == own[i]:
                mine = total
            if total > best:
                best, tied = total, 1
            elif total == best and total > -np.inf:
                tied += 1
        if mine == best:
            out[i] = 1.0 / tied
    return out


def names_apart(values: Floats, named: Sequence[bool]) -> Floats:
    """Codes of names so far apart that different ones never agree."""
    return np.asarray(values * np.where(np.array(named, dtype=bool), 2 * EDGES[-1], 1.0))
