"""Weight of a pair of records: the log of how much likelier the released values are for this target than for anyone.

    category  log P(c | k) / P(c),  counted without the target's own pair; or P(c | k) = s if c = k, else (1 − s) r(c), with the
              share s of unchanged categories and r equal for all other categories or proportional to their frequency
    number    −½ log(1 − ρ²) − (ρ²(x² + y²) − 2ρxy) / (2(1 − ρ²)),  in standard deviations, for a correlation ρ
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel

_LEAST = 1e-12  # smallest unexplained share of a number
_SAME = 1e-9


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


def stay_weights(counts: Floats, x: Ints, y: Ints, by_frequency: bool) -> Floats:
    """As `category_weights`, under a law with one parameter, the probability that a category stays as it is.

    The other categories are equally likely, or likely by frequency. In a small file, this is known better than all
    transition probabilities.
    """
    rows, own = np.arange(len(x)), (x >= 0) & (y >= 0)
    every = np.repeat(counts.sum(axis=0)[None, :], len(x), axis=0)
    every[rows[own], y[own]] -= 1
    total = np.maximum(counts.sum() - own, 1.0)
    stay = np.clip((np.trace(counts) - (own & (x == y))) / total, _LEAST, 1 - _LEAST)[:, None]
    used = (counts.sum(axis=0) + counts.sum(axis=1)) > 0
    other = (every + 1.0) * used if by_frequency else np.ones_like(every) * used
    mine = np.zeros(every.shape, dtype=bool)
    mine[rows, np.maximum(x, 0)] = True
    other = np.where(mine, 0.0, other)
    other /= np.maximum(other.sum(axis=1, keepdims=True), _LEAST)
    likely = np.where(mine, stay, np.maximum((1 - stay) * other, _LEAST))
    share = (every + _LEAST) / np.maximum(every.sum(axis=1, keepdims=True), 1.0)
    return np.asarray(np.where((x >= 0)[:, None], np.log(likely / share), 0.0))


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


def one_to_one_credit(weights: Floats, mine: Ints, guesses: Sequence[int]) -> Floats:
    """Probability that the own record is among the most probable ones if each record belongs to one target.

    `weights` are those of all known records × released records, and `mine` the positions of the own records.
    """
    from larvatus.stats.linkage.assignment import balanced_shares
    from larvatus.stats.linkage.nearest_counts import credit_within

    share = balanced_shares(-weights, max(weights.shape[1] - weights.shape[0], 0))
    own = share[np.arange(len(mine)), mine][:, None]
    heavier = (share > own * (1 + _SAME)).sum(axis=1).astype(np.float64)
    tied = ((share >= own * (1 - _SAME)) & (share <= own * (1 + _SAME))).sum(axis=1).astype(np.float64)
    return np.array([credit_within(heavier, np.maximum(tied, 1.0), k) for k in guesses])


def pair_weights(x: Floats, y: Floats, form: Floats, tables: Sequence[Floats], codes: Ints) -> Floats:
    """Weights of all pairs, known × released records; as in `weighed_credit`, but as one matrix."""
    out = np.zeros((len(x), len(y)))
    for table, released in zip(tables, codes.T, strict=True):
        out += np.where(released >= 0, table[:, np.maximum(released, 0)], 0.0)
    for (a, b, c), u, v in zip(form.T, x.T, y.T, strict=True):
        weight = (a + b * u**2)[:, None] + b * v**2 + np.outer(c * u, v)
        out += np.where(np.isnan(weight), 0.0, weight)
    return out


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
