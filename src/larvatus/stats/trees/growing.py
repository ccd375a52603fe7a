"""Grow a tree: every node is divided by its best cut over all columns, until its pieces would be too small.

Columns with many different values are held in sorted order in every node (Mehta, Agrawal and Rissanen 1996); for the others the
target is counted by level.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.trees.class_cuts import class_counts_by_level, cut_levels_classes, cut_sorted_classes
from larvatus.stats.trees.number_cuts import SURELY_MORE, CutCodes, cut_levels_number, cut_sorted_number, sums_by_level

Flags = NDArray[np.uint8]
LEFT, RIGHT, ABSENT = 0, 1, 2


@kernel()
def _divide(held: CutCodes, low: int, high: int, side: Flags, spare: CutCodes) -> int:
    """Move the rows of the right child behind those of the left one, each in their order; return where the right ones begin."""
    put, back = low, 0
    for q in range(low, high):
        r = held[q]
        if side[r] == LEFT:
            held[put] = r
            put += 1
        else:
            spare[back] = r
            back += 1
    held[put : put + back] = spare[:back]
    return put


@kernel()
def _local_classes(
    rows: CutCodes, classes: CutCodes, low: int, high: int, place: Ints, found: Ints, counts: Ints, local: CutCodes
) -> int:
    """Number the classes of a node from 0 in the order in which they appear; return how many there are."""
    there = 0
    for q in range(low, high):
        c = classes[rows[q]]
        k = place[c]
        if k < 0:
            k = there
            place[c], found[k], counts[k] = k, c, 0
            there += 1
        counts[k] += 1
        local[rows[q]] = k
    for k in range(there):
        place[found[k]] = -1
    return there


@kernel()
def grow(
    codes: CutCodes, levels: Ints, nominal: Bools, order: CutCodes, slot: Ints, rows: CutCodes, y: Floats, classes: CutCodes,
    kinds: int, smallest: int, least: int, deepest: int,
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Floats, Flags]:
    """The node of each of `rows`, and for each node its column, left child, largest code on the left and smallest one on the
    right, place in the table of levels and impurity; then that table, with the side of each level.

    The right child follows the left one. Column −1 marks a leaf. The place is −1 for cuts between codes. `order` has the rows
    in the order of each column j with `slot[j]` ≥ 0; the others are counted by level. The target is `y`, or `classes` below
    `kinds` if that is positive. A node with fewer than `least` rows is not divided.
    """
    m, p = len(rows), len(codes)
    most = 2 * (m // max(smallest, 1)) + 2
    column, child = np.full(most, -1, dtype=np.int64), np.zeros(most, dtype=np.int64)
    at, beyond, place = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64), np.full(most, -1, dtype=np.int64)
    impurity = np.zeros(most)
    low, high, depth = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    sides, used = np.zeros(64, dtype=np.uint8), 0
    held, spare, node = rows.copy(), np.empty(m, dtype=np.int32), np.zeros(codes.shape[1], dtype=np.int64)
    side = np.zeros(codes.shape[1], dtype=np.uint8)
    widest = 1  # the most levels of a column that is counted by level: numbers held in order may have as many values as rows
    for j in range(p):
        if slot[j] < 0:
            widest = max(widest, levels[j])
    where, levels_here = np.full(widest, -1, dtype=np.int64), np.zeros(widest, dtype=np.int64)
    count = np.zeros(widest, dtype=np.int64)
    by, total, chosen = np.zeros(widest, dtype=np.int64), np.zeros(widest), np.zeros(widest, dtype=np.bool_)
    best_side = np.zeros(widest, dtype=np.uint8)
    table = np.zeros((widest, max(kinds, 1)), dtype=np.int64)
    class_place, found = np.full(max(kinds, 1), -1, dtype=np.int64), np.zeros(max(kinds, 1), dtype=np.int64)
    counts, left = np.zeros(max(kinds, 1), dtype=np.int64), np.zeros(max(kinds, 1), dtype=np.int64)
    local = np.zeros(codes.shape[1] if kinds else 1, dtype=np.int32)
    stack, waiting, made = np.zeros(most, dtype=np.int64), 1, 1
    high[0] = m
    while waiting:
        waiting -= 1
        i = stack[waiting]
        a, b = low[i], high[i]
        n = b - a
        mean, width = 0.0, 0
        if kinds:
            width = _local_classes(held, classes, a, b, class_place, found, counts, local)
            square = 0
            for c in range(width):
                square += counts[c] * counts[c]
            impurity[i] = n - square / n if width > 1 else 0.0
        else:
            lowest, highest = np.inf, -np.inf
            for q in range(a, b):
                v = y[held[q]]
                mean += v
                lowest, highest = min(lowest, v), max(highest, v)
            mean /= n
            if lowest < highest:
                for q in range(a, b):
                    impurity[i] += (y[held[q]] - mean) ** 2
        best, chosen_column, code, levels_best = impurity[i] * 1e-12, -1, 0, 0
        if impurity[i] > 0 and n >= least and n >= 2 * smallest and depth[i] < deepest:
            for j in range(p):
                if slot[j] >= 0:
                    own = order[slot[j]]
                    if codes[j, own[a]] == codes[j, own[b - 1]]:
                        continue
                    if kinds:
                        gain, cut = cut_sorted_classes(own, codes[j], local, a, b, counts[:width], left, smallest)
                    else:
                        gain, cut = cut_sorted_number(own, codes[j], y, a, b, mean, smallest)
                    if gain > best * SURELY_MORE:
                        best, chosen_column, code, levels_best = gain, j, cut, 0
                    continue
                if kinds:
                    there = class_counts_by_level(held, codes[j], local, a, b, where, levels_here, count, table, width)
                    gain = 0.0
                    if there > 1:
                        gain = cut_levels_classes(
                            there, n, levels_here, count, table, counts[:width], nominal[j], smallest, by, left, chosen)
                else:
                    there = sums_by_level(held, codes[j], y, a, b, mean, where, levels_here, count, total)
                    gain = 0.0
                    if there > 1:
                        gain, cut = cut_levels_number(there, n, levels_here, count, total, nominal[j], smallest, by)
                        for k in range(there):
                            chosen[by[k]] = k < cut
                if gain > best * SURELY_MORE:
                    best, chosen_column, code, levels_best = gain, j, -1, levels[j]
                    best_side[: levels[j]] = ABSENT
                    for k in range(there):
                        best_side[levels_here[k]] = LEFT if chosen[k] else RIGHT
                        if chosen[k] and not nominal[j]:
                            code = max(code, levels_here[k])
        if chosen_column < 0:
            for q in range(a, b):
                node[held[q]] = i
            continue
        j, right = chosen_column, levels[chosen_column]
        for q in range(a, b):
            r = held[q]
            v = codes[j, r]
            side[r] = best_side[v] if levels_best else LEFT if v <= code else RIGHT
            if side[r] == RIGHT:
                right = min(right, v)
        middle = _divide(held, a, b, side, spare)
        for s in range(len(order)):
            _divide(order[s], a, b, side, spare)
        column[i], child[i], at[i], beyond[i] = j, made, code, right
        if nominal[j]:
            larger = LEFT if middle - a >= b - middle else RIGHT
            while used + levels_best > len(sides):
                more = np.zeros(2 * len(sides), dtype=np.uint8)
                more[:used] = sides[:used]
                sides = more
            for v in range(levels_best):
                sides[used + v] = best_side[v] if best_side[v] != ABSENT else larger
            place[i] = used
            used += levels_best
        low[made], high[made], low[made + 1], high[made + 1] = a, middle, middle, b
        depth[made] = depth[made + 1] = depth[i] + 1
        stack[waiting], stack[waiting + 1] = made + 1, made
        waiting += 2
        made += 2
    return node[rows], column[:made], child[:made], at[:made], beyond[:made], place[:made], impurity[:made], sides[:used]
