"""Groups of k to 2k - 1 records and their centres: from an order (of equal size or optimal) or by MDAV.

The optimal partition minimises Σ_groups Σ_i (xᵢ − group mean)² (Hansen and Mukherjee 2003).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.linear.portable_algebra import column_mean as mean
from larvatus.stats.linear.portable_algebra import total
from larvatus.stats.ranks.ranks import keyed_order

KeyedWords = Callable[[Ints], NDArray[np.uint64]]
Grouping = Literal["mdav", "fixed", "optimal", "projection"]


def form_groups(x: Floats, record: Ints, words: KeyedWords, grouping: Grouping, k: int, part: int | None = None) -> Ints:
    """The group of each record, rows × columns without missing values; ties are broken by keyed words."""
    if grouping == "mdav":
        from larvatus.stats.grouping.mdav import mdav, mdav_in_parts

        order = np.lexsort((record, words(record)))
        points = np.ascontiguousarray(standardise_columns(x)[order])
        found = mdav(points, k) if part is None else mdav_in_parts(points, k, part)
        group = np.empty(len(x), dtype=np.int64)
        group[order] = found
        return group
    along = x[:, 0] if x.shape[1] == 1 else project(x)
    order = keyed_order(along, record, words)
    starts = least_cost_starts(along[order], k) if grouping == "optimal" else even_starts(len(x), k)
    return _numbered(order, starts)


def standardise_columns(x: Floats) -> Floats:
    """Each column with mean 0 and variance 1; a column that does not vary becomes zeros."""
    if len(x) == 0:
        return x
    varies = x.min(axis=0) < x.max(axis=0)
    d = x - mean(x)
    largest = np.where(varies, np.abs(d).max(axis=0), 1.0)
    d /= largest
    return np.where(varies, d / np.where(varies, d.std(axis=0), 1.0), 0.0)


def project(x: Floats) -> Floats:
    """The sum of standardised columns, used to order the records."""
    return total(standardise_columns(x), axis=1)


def even_starts(n: int, k: int) -> Ints:
    """Where groups of k begin in an order of n, and the end; the last group takes the remainder."""
    return np.append(np.arange(max(n // k, 1)) * k, n)


def least_cost_starts(ordered: Floats, k: int) -> Ints:
    """Where the groups with the smallest total sum of squares begin, and the end (Hansen and Mukherjee 2003).

    Groups of the optimal partition are runs of k to 2k - 1 values, found by a shortest path in n·k steps.
    """
    n = len(ordered)
    if n < 2 * k:
        return np.array([0, n])
    scale = max(abs(ordered[0] - ordered[n // 2]), abs(ordered[-1] - ordered[n // 2])) or 1.0
    came = np.zeros(n + 1, dtype=np.int64)
    _shortest((ordered - ordered[n // 2]) / scale, k, np.full(n + 1, np.inf), came)
    starts = [n]
    while starts[-1] > 0:
        starts.append(int(came[starts[-1]]))
    return np.array(starts[::-1])


@kernel()
def _shortest(x: Floats, k: int, cost: Floats, came: Ints) -> None:
    """For each place, the smallest cost of grouping all before it and the start of its last group (Welford's sums)."""
    cost[0] = 0.0
    for stop in range(k, len(x) + 1):
        mean, square = 0.0, 0.0
        for size in range(1, min(2 * k - 1, stop) + 1):
            step = x[stop - size] - mean
            mean += step / size
            square += step * (x[stop - size] - mean)
            if size >= k and cost[stop - size] + square < cost[stop]:
                cost[stop], came[stop] = cost[stop - size] + square, stop - size


@kernel()
def _numbered(order: Ints, starts: Ints) -> Ints:
    group = np.empty(len(order), dtype=np.int64)
    for g in range(len(starts) - 1):
        for i in range(starts[g], starts[g + 1]):
            group[order[i]] = g
    return group


@kernel()
def run_up(x: Floats, done: int, k: int, last: int, state: Floats, out: Floats) -> None:
    """For sorted values after `done` others: the first value of their group, and the running sum of excesses over it."""
    for i in range(len(x)):
        if (done + i) % k == 0 and (done + i) // k <= last:
            state[0], state[1] = x[i], 0.0
        state[1] += x[i] - state[0]
        out[0, i], out[1, i] = state[0], state[1]


@kernel()
def group_means(x: Floats, group: Ints, count: Ints) -> Floats:
    """The mean of each record's group, always within the group's range."""
    total, low, high = np.zeros(len(count)), np.full(len(count), np.inf), np.full(len(count), -np.inf)
    for i in range(len(x)):
        total[group[i]] += x[i]
        low[group[i]], high[group[i]] = min(low[group[i]], x[i]), max(high[group[i]], x[i])
    for g in range(len(count)):
        total[g] = min(max(total[g] / count[g], low[g]), high[g])
    return total[group]


@kernel()
def group_medians(x: Floats, group: Ints, count: Ints) -> Floats:
    """The median of each record's group; for an even number of values, the mean of the two middle ones."""
    filled, held, middle = np.zeros(len(count), dtype=np.int64), np.empty(len(x)), np.empty(len(count))
    for g in range(1, len(count)):
        filled[g] = filled[g - 1] + count[g - 1]
    for i in range(len(x)):
        held[filled[group[i]]] = x[i]
        filled[group[i]] += 1
    for g in range(len(count)):
        values, half = held[filled[g] - count[g] : filled[g]], count[g] // 2
        for i in range(1, len(values)):
            value, j = values[i], i
            while j > 0 and values[j - 1] > value:
                values[j] = values[j - 1]
                j -= 1
            values[j] = value
        middle[g] = values[half] if count[g] % 2 else values[half - 1] + (values[half] - values[half - 1]) / 2
    return middle[group]
