"""Linkage by equal values: agreement on a rare value weighs more than agreement on a common one.

    w(i, k) = Σ_j −log(share of x_ij in the known file) · 1{x_ij = y_kj}

For each column, released rows with the same value form a list. A candidate that reaches the weight of the target's own record
must agree with the target in a column whose value is rare enough. Only the lists of those columns are searched.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.linkage.coordinates import same_rows

ULPS = 4.0  # values that differ by at most this many units in the last place are equal


def value_codes(x: Floats, y: Floats) -> tuple[Ints, Ints]:
    """Codes of two columns that are equal for equal values, to the precision of y; missing is a value, and coded -1.

    If y holds single-precision numbers, x is rounded to single precision first.
    """
    there = y[~np.isnan(y)]
    with np.errstate(over="ignore"):
        if len(there) and (there.astype(np.float32) == there).all():
            x = x.astype(np.float32).astype(np.float64)
    both = np.concatenate([x, y])
    present = ~np.isnan(both)
    values, place = np.unique(both[present], return_inverse=True)
    apart = np.diff(values, prepend=-np.inf) > ULPS * np.spacing(np.abs(values))
    codes = np.full(len(both), -1, dtype=np.int64)
    codes[present] = (np.cumsum(apart) - 1)[place]
    return codes[: len(x)], codes[len(x) :]


def rarity(x: Ints, y: Ints) -> Floats:
    """−log of the share of each code among x, in the order of codes; the last element is the weight of missing.

    Masks also make values missing, so for missing the larger of its shares among x and among y counts.
    """
    size = int(max(x.max(initial=-1), y.max(initial=-1))) + 1
    count = np.bincount(x[x >= 0], minlength=size).astype(np.float64)
    gone = max(float((x < 0).mean()) if len(x) else 0.0, float((y < 0).mean()) if len(y) else 0.0)
    share = np.append(np.maximum(count, 1.0) / max(len(x), 1), gone if gone > 0 else 1.0)
    return np.asarray(-np.log(np.minimum(share, 1.0)))


def equality_credit(
    x: Floats, y: Floats, known: Ints, same: Ints, own: Ints, guesses: Sequence[int] = (1,)
) -> Floats:
    """Probability that the own record is among the `guesses` records of the same code with the largest weights.

    Rows of x and y with the same position belong together. `known` lists the rows of x that the intruder has, from which
    shares of values are taken, and `own` the targets. Ties are broken at random. Guesses × targets.
    """
    from larvatus.stats.linkage.nearest_counts import credit_within

    n, p = y.shape
    mine, theirs = np.empty((len(own), p), dtype=np.int64), np.empty((p, n), dtype=np.int64)
    weight = np.zeros((len(own), p))
    order, start, stop = (np.empty(shape, dtype=np.int64) for shape in ((p, n), (len(own), p), (len(own), p)))
    for j in range(p):
        a, b = value_codes(x[:, j], y[:, j])
        weight[:, j] = rarity(a[known], b)[a[own]]
        pair = same_rows([np.concatenate([same, same]), np.concatenate([a, b])], 2 * n)  # value and S together
        mine[:, j], theirs[j] = pair[own], pair[n:]
        order[j] = np.argsort(theirs[j], kind="stable")
        listed = theirs[j][order[j]]
        start[:, j], stop[:, j] = np.searchsorted(listed, mine[:, j], "left"), np.searchsorted(listed, mine[:, j], "right")
    pool = np.bincount(same)[same[own]]
    by_weight, records = np.argsort(-weight, axis=1, kind="stable"), np.ascontiguousarray(theirs.T)
    heavier, tied = _heavier(mine, records, weight, by_weight, order, start, stop, own, pool, max(guesses))
    return np.array([credit_within(heavier, tied, k) for k in guesses])


@kernel()
def _heavier(
    mine: Ints, theirs: Ints, weight: Floats, heaviest: Ints, order: Ints, start: Ints, stop: Ints, own: Ints, pool: Ints,
    deepest: int,
) -> Floats:
    """Candidates with a larger weight than the own record, counted up to `deepest`, and those with equal weight."""
    m, p = mine.shape
    out = np.zeros((2, m))
    for i in range(m):
        limit = 0.0
        for j in range(p):
            if theirs[own[i], j] == mine[i, j]:
                limit += weight[i, j]
        by_weight = heaviest[i]
        light = 0.0  # weight of agreement in all columns that are not searched
        last = p
        while last > 0 and light + weight[i, by_weight[last - 1]] < limit - 1e-9:
            light += weight[i, by_weight[last - 1]]
            last -= 1
        positive = 0  # candidates with a weight above zero
        for c in range(last):
            j = by_weight[c]
            for k in range(start[i, j], stop[i, j]):
                row = order[j, k]
                total = 0.0
                for d in range(p):
                    if theirs[row, by_weight[d]] == mine[i, by_weight[d]]:
                        if d < c:  # counted in an earlier list
                            total = -1.0
                            break
                        total += weight[i, by_weight[d]]
                if total < 0.0:
                    continue
                if total > 1e-9:
                    positive += 1
                if total > limit + 1e-9:
                    out[0, i] += 1
                    if out[0, i] >= deepest:
                        break
                elif total >= limit - 1e-9 and limit > 1e-9:
                    out[1, i] += 1
            if out[0, i] >= deepest:
                break
        if limit <= 1e-9:  # the own record agrees in nothing that weighs: so do all candidates that were not counted
            out[1, i] = pool[i] - positive
        out[1, i] = max(out[1, i], 1.0)
    return out
