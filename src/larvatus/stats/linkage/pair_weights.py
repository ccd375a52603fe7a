"""Weight of a pair of records: the log of how much likelier the released values are for this target than for anyone.

    category  log P(c | k) / P(c),  counted without the target's own pair
    number    −½ log(1 − ρ²) − (ρ²(x² + y²) − 2ρxy) / (2(1 − ρ²)),  in standard deviations, for a correlation ρ
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel

_LEAST = 1e-12  # smallest unexplained share of a number


def category_weights(counts: Floats, x: Ints, y: Ints) -> Floats:
    """Weights of all released categories for each target, targets × categories; 0 if the target's category is missing.

    `counts` are pairs by original and released category. `x` and `y` are the categories of the targets' own pairs, which are
    not counted. The law of a rare category is drawn towards the frequencies of the file, with the weight of one record.
    """
    rows = np.arange(len(x))
    there, own = x >= 0, (x >= 0) & (y >= 0)
    table = np.where(there[:, None], counts[np.where(there, x, 0)], 0.0)
    every = np.repeat(counts.sum(axis=0)[None, :], len(x), axis=0)
    table[rows[own], y[own]] -= 1
    every[rows[own], y[own]] -= 1
    share = (every + _LEAST) / np.maximum(every.sum(axis=1, keepdims=True), 1.0)
    likely = (np.maximum(table, 0.0) + share) / (np.maximum(table.sum(axis=1, keepdims=True), 0.0) + 1)
    return np.asarray(np.where(there[:, None], np.log(likely / share), 0.0))


def number_weights(rho: Floats) -> Floats:
    """Coefficients a, b, c of the weight a + b(x² + y²) + cxy of each column, 3 × columns."""
    rho = np.clip(rho, -np.sqrt(1 - _LEAST), np.sqrt(1 - _LEAST))
    left = np.maximum(1 - rho**2, _LEAST)
    return np.array([-0.5 * np.log(left), -(rho**2) / (2 * left), rho / left])


def weighed_credit(
    x: Floats, y: Floats, form: Floats, tables: Sequence[Floats], codes: Ints, same: Ints, own: Ints, guesses: Sequence[int]
) -> Floats:
    """Probability that the own record is among the `guesses` candidates of the same code with the largest weights.

    `x` are the targets' numbers and `y` the released ones; `tables` are the weights of categories by target, one table for
    each column of the released `codes`.
    """
    from larvatus.stats.linkage.nearest_counts import credit_within

    order = np.argsort(same, kind="stable")
    start = np.searchsorted(same[order], same[own], "left")
    stop = np.searchsorted(same[order], same[own], "right")
    most = max((t.shape[1] for t in tables), default=1)
    packed = np.zeros((len(own), len(tables), most))
    for j, t in enumerate(tables):
        packed[:, j, : t.shape[1]] = t
    heavier, tied = _heavier(x, np.ascontiguousarray(y), form, packed, np.ascontiguousarray(codes), order, start, stop, own,
                             max(guesses))
    return np.array([credit_within(heavier, tied, k) for k in guesses])


@kernel()
def _heavier(
    x: Floats, y: Floats, form: Floats, tables: Floats, codes: Ints, order: Ints, start: Ints, stop: Ints, own: Ints,
    deepest: int,
) -> Floats:
    """Candidates with a larger weight than the own record, counted up to `deepest`, and those with equal weight."""
    out = np.zeros((2, len(own)))
    for i in range(len(own)):
        mine, room = 0.0, 0.0
        for k in range(start[i] - 1, stop[i]):
            row = own[i] if k < start[i] else order[k]
            total = 0.0
            for j in range(codes.shape[1]):
                if codes[row, j] >= 0:
                    total += tables[i, j, codes[row, j]]
            for j in range(y.shape[1]):
                a, b = x[i, j], y[row, j]
                if not (np.isnan(a) or np.isnan(b)):
                    total += form[0, j] + form[1, j] * (a * a + b * b) + form[2, j] * a * b
            if k < start[i]:
                mine, room = total, 1e-9 * (1.0 + abs(total))
            elif total > mine + room:
                out[0, i] += 1
                if out[0, i] >= deepest:
                    break
            elif total >= mine - room:
                out[1, i] += 1
        out[1, i] = max(out[1, i], 1.0)
    return out
