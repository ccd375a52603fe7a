"""The best cut of a node for a categorical target (Breiman et al. 1984):

    gain = Σ_c l_c² / l + Σ_c r_c² / r − Σ_c n_c² / n

l_c and r_c count class c on both sides of the cut. It is the fall of n (1 − Σ (n_c / n)²), n times the Gini index. All sums of
squares are whole numbers, so that a cut does not depend on the order of the rows.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Bools, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.trees.number_cuts import SURELY_MORE, CutCodes

MOST_TRIED = 8  # levels of which every division is tried; more are put in orders, one for each of some classes
_CLASSES = 5


@kernel(error_model="numpy")
def cut_sorted_classes(
    order: CutCodes, codes: CutCodes, classes: CutCodes, low: int, high: int, counts: Ints, left: Ints, smallest: int
) -> tuple[float, int]:
    """Rows in the order of a column: the gain of the best cut and the largest code on its left; gain 0 if there is none.

    `counts` has the frequency of each class in the node. `left` is scratch space.
    """
    n, whole = high - low, 0
    for c in range(len(counts)):
        whole += counts[c] * counts[c]
        left[c] = 0
    mine, others, best, at = 0, whole, 0.0, -1
    alone = whole / n
    for q in range(low, high - smallest):
        r = order[q]
        c = classes[r]
        mine += 2 * left[c] + 1
        others -= 2 * (counts[c] - left[c]) - 1
        left[c] += 1
        below = q - low + 1
        if below < smallest:
            continue
        code = codes[r]
        if codes[order[q + 1]] != code:
            gain = mine / below + others / (n - below) - alone
            if gain > best * SURELY_MORE:
                best, at = gain, code
    return best, at


@kernel()
def class_counts_by_level(
    rows: CutCodes, codes: CutCodes, classes: CutCodes, low: int, high: int, place: Ints, levels: Ints, count: Ints,
    table: Ints, width: int,
) -> int:
    """Fill the levels of a column that occur in a node and their frequencies by class; return their number."""
    there = 0
    for q in range(low, high):
        r = rows[q]
        v = codes[r]
        k = place[v]
        if k < 0:
            k = there
            place[v], levels[k], count[k] = k, v, 0
            table[k, :width] = 0
            there += 1
        count[k] += 1
        table[k, classes[r]] += 1
    for k in range(there):
        place[levels[k]] = -1
    return there


@kernel(error_model="numpy")
def _best_prefix(
    there: int, n: int, count: Ints, table: Ints, counts: Ints, smallest: int, by: Ints, left: Ints
) -> tuple[float, int]:
    """The gain of the best cut between levels in the order `by`, and the number of levels on its left."""
    whole, below, best, at = 0, 0, 0.0, -1
    for c in range(len(counts)):
        whole += counts[c] * counts[c]
        left[c] = 0
    for i in range(there - 1):
        k = by[i]
        below += count[k]
        mine = others = 0
        for c in range(len(counts)):
            left[c] += table[k, c]
            mine += left[c] * left[c]
            others += (counts[c] - left[c]) * (counts[c] - left[c])
        if below < smallest or n - below < smallest:
            continue
        gain = mine / below + others / (n - below) - whole / n
        if gain > best * SURELY_MORE:
            best, at = gain, i + 1
    return best, at


@kernel()
def _order_by_share(there: int, levels: Ints, count: Ints, table: Ints, c: int, by: Ints) -> None:
    """Levels by the share of class c, or by code if c is −1; ties by code."""
    for k in range(there):
        i = k
        while i > 0:
            a, b = by[i - 1], k
            one, other = (table[a, c] * count[b], table[b, c] * count[a]) if c >= 0 else (0, 0)
            if not (one > other or (one == other and levels[a] > levels[b])):
                break
            by[i] = a
            i -= 1
        by[i] = k


@kernel(error_model="numpy")
def _every_division(
    there: int, n: int, count: Ints, table: Ints, counts: Ints, smallest: int, left: Ints
) -> tuple[float, int]:
    """The gain of the best division of few levels, and its levels on the left as bits; the last level is on the right."""
    whole, best, at = 0, 0.0, -1
    for c in range(len(counts)):
        whole += counts[c] * counts[c]
    for bits in range(1, 1 << (there - 1)):
        below = 0
        left[:] = 0
        for k in range(there - 1):
            if bits >> k & 1:
                below += count[k]
                for c in range(len(counts)):
                    left[c] += table[k, c]
        if below < smallest or n - below < smallest:
            continue
        mine = others = 0
        for c in range(len(counts)):
            mine += left[c] * left[c]
            others += (counts[c] - left[c]) * (counts[c] - left[c])
        gain = mine / below + others / (n - below) - whole / n
        if gain > best * SURELY_MORE:
            best, at = gain, bits
    return best, at


@kernel()
def cut_levels_classes(
    there: int, n: int, levels: Ints, count: Ints, table: Ints, counts: Ints, nominal: bool, smallest: int, by: Ints,
    left: Ints, chosen: Bools,
) -> float:
    """The gain of the best division of the levels; `chosen` tells which of them are on the left.

    Numbers are cut in their order. For two classes nominal levels are put in one order, by the share of a class. For more
    classes every division of few levels is tried, and many levels are put in orders by the share of each of the five most
    frequent classes.
    """
    present = 0
    for c in range(len(counts)):
        present += counts[c] > 0
    best = 0.0
    if nominal and present > 2 and there <= MOST_TRIED:
        best, bits = _every_division(there, n, count, table, counts, smallest, left)
        for k in range(there):
            chosen[k] = best > 0 and (bits >> k & 1) == 1
        return best
    orders = (1 if present <= 2 else min(_CLASSES, present)) if nominal else 1
    used = np.zeros(len(counts), dtype=np.bool_)
    for _ in range(orders):
        c = -1
        if nominal:
            for d in range(len(counts)):
                if not used[d] and counts[d] > 0 and (c < 0 or counts[d] > counts[c]):
                    c = d
            used[c] = True
        _order_by_share(there, levels, count, table, c, by)
        gain, at = _best_prefix(there, n, count, table, counts, smallest, by, left)
        if gain > best * SURELY_MORE:
            best = gain
            for i in range(there):
                chosen[by[i]] = i < at
    return best
