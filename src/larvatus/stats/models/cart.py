"""A classification tree for two classes (Breiman et al. 1984) over coded columns.

    gain of a split = ab/(a + b) − a₁b₁/(a₁ + b₁) − a₂b₂/(a₂ + b₂)

a and b are the counts of the two classes in a node and in its two children (half the Gini gain). Branches that gain too little
per split are pruned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel

DEEPEST = 40


@dataclass(frozen=True, slots=True)
class ClassTree:
    """The pruned tree: the leaf of each row, and the gain of splits by column, in units of N·U_p."""

    share: Floats
    departure: float
    gain: Floats
    leaves: int


def grow_tree(codes: NDArray[np.int32], first: Ints, second: Ints, smallest: int, price: float) -> ClassTree:
    """Grow on columns × rows of codes 0, 1, … with counts of both classes per row, and prune.

    Every split is the best one (cuts between codes, at least `smallest` counts on either side). A branch is retained if it
    gains more than `price` per split. `share` is the share of the second class in the leaf of each row.
    """
    rows = np.flatnonzero(first + second)
    levels = int(codes.max(initial=0)) + 1
    node, column, left, counts = _grow(codes, first, second, rows, levels, smallest, DEEPEST)
    total = counts[0].sum()
    c = counts[0, 1] / total
    alone = np.where(counts.sum(axis=1) > 0, counts[:, 0] * counts[:, 1] / np.maximum(counts.sum(axis=1), 1), 0.0)
    cost, split = alone.copy(), np.zeros(len(column), dtype=bool)
    for i in range(len(column) - 1, -1, -1):
        if left[i] > 0:
            below = cost[left[i]] + cost[left[i] + 1] + price
            split[i] = below < alone[i] * (1 - 1e-12)
            cost[i] = below if split[i] else alone[i]
    top = np.zeros(len(column), dtype=np.int64)
    gain, leaves, departure = np.zeros(len(codes)), 0, 0.0
    for i in range(len(column)):
        reached = top[i] == i
        if reached and split[i]:
            gain[column[i]] += alone[i] - alone[left[i]] - alone[left[i] + 1]
            top[left[i]], top[left[i] + 1] = left[i], left[i] + 1
            continue
        if reached:
            leaves += 1
            n = counts[i].sum()
            departure += float((counts[i, 1] - c * n) ** 2 / n)
        if left[i] > 0:
            top[left[i]] = top[left[i] + 1] = top[i]
    leaf = top[node]
    size = counts.sum(axis=1)
    return ClassTree((counts[:, 1] / np.maximum(size, 1))[leaf], departure if leaves > 1 else 0.0, gain, leaves)


@kernel()
def _grow(
    codes: NDArray[np.int32], first: Ints, second: Ints, rows: Ints, levels: int, smallest: int, deepest: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """The node of each row; for each node its split column, its left child (the right one is next), and its counts."""
    p, n = codes.shape
    most = 2 * len(rows) + 1
    column, left = np.full(most, -1, dtype=np.int64), np.zeros(most, dtype=np.int64)
    counts = np.zeros((most, 2), dtype=np.int64)
    low, high = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    depth = np.zeros(most, dtype=np.int64)
    node = np.zeros(n, dtype=np.int64)
    order, spare = rows.copy(), np.empty(len(rows), dtype=np.int64)
    high[0] = len(rows)
    for r in rows:
        counts[0, 0] += first[r]
        counts[0, 1] += second[r]
    table = np.zeros((levels, 2), dtype=np.int64)
    made, i = 1, 0
    while i < made:
        a, b = counts[i, 0], counts[i, 1]
        here = a * b / (a + b) if a + b > 0 else 0.0
        best, at, by = here * 1e-12, -1, -1
        if a > 0 and b > 0 and a + b >= 2 * smallest and depth[i] < deepest:
            for j in range(p):
                lo, hi = levels, -1
                for q in range(low[i], high[i]):
                    r = order[q]
                    v = codes[j, r]
                    table[v, 0] += first[r]
                    table[v, 1] += second[r]
                    lo, hi = min(lo, v), max(hi, v)
                la = lb = 0
                for v in range(lo, hi):
                    if table[v, 0] + table[v, 1] == 0:
                        continue
                    la += table[v, 0]
                    lb += table[v, 1]
                    ra, rb = a - la, b - lb
                    if la + lb < smallest or ra + rb < smallest:
                        continue
                    gain = here - la * lb / (la + lb) - ra * rb / (ra + rb)
                    if gain > best * (1 + 1e-12):
                        best, at, by = gain, v, j
                for v in range(lo, hi + 1):
                    table[v, 0] = table[v, 1] = 0
        if by >= 0:
            column[i], left[i] = by, made
            put, back = low[i], 0
            for q in range(low[i], high[i]):
                r = order[q]
                side = made + 1 if codes[by, r] > at else made
                node[r] = side
                counts[side, 0] += first[r]
                counts[side, 1] += second[r]
                if side == made:
                    order[put] = r
                    put += 1
                else:
                    spare[back] = r
                    back += 1
            for q in range(back):
                order[put + q] = spare[q]
            low[made], high[made], low[made + 1], high[made + 1] = low[i], put, put, high[i]
            depth[made] = depth[made + 1] = depth[i] + 1
            made += 2
        i += 1
    return node, column[:made], left[:made], counts[:made]
