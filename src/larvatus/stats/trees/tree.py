"""A tree that was grown and pruned: the leaf of any row, and the records of each leaf.

    a branch stays if the impurity that it removes is more than complexity · (impurity of the whole) per division

(cost-complexity pruning, Breiman et al. 1984). Values between two cut ones go left if they are below the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.trees.growing import RIGHT, Flags, grow
from larvatus.stats.trees.number_cuts import CutCodes

_DEEPEST = 30  # as rpart
_COUNTED = 256  # a column with at most this number of values is counted by level, and not held in order


@dataclass(frozen=True, slots=True)
class Predictor:
    """A column by which records are divided: its codes 0, 1, … in the order of its values.

    `values` has the number of each code; −∞ stands for a missing number, which is below all others. For a column of levels it
    has the codes. Levels are divided in any way if `nominal`, else in their order.
    """

    codes: CutCodes
    levels: int
    nominal: bool
    values: Floats

    @classmethod
    def of_numbers(cls, x: Floats) -> Predictor:
        order = np.argsort(x, kind="stable")  # missing values come last
        there = int(np.count_nonzero(~np.isnan(x)))
        ranked = x[order[:there]]
        new = np.empty(there, dtype=bool)
        new[:1] = True
        np.not_equal(ranked[1:], ranked[:-1], out=new[1:])
        gap = there < len(x)
        codes = np.zeros(len(x), dtype=np.int32)
        codes[order[:there]] = np.cumsum(new) - (not gap)
        values = np.concatenate([[-np.inf] if gap else [], ranked[new]])
        return cls(codes, len(values), False, values)

    @classmethod
    def of_levels(cls, codes: NDArray[np.int32], levels: int, nominal: bool) -> Predictor:
        """CutCodes of levels, −1 if missing. A missing value is a level of its own, the lowest one if there is an order."""
        return cls((codes + 1).astype(np.int32), levels + 1, nominal, np.arange(levels + 1.0))


def tree_values(column: NDArray[np.float64] | NDArray[np.int32]) -> Floats:
    """Numbers, or codes of levels with −1 for missing, as a tree compares them."""
    return np.asarray(column if column.dtype.kind == "f" else column + 1, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Leaves:
    """The records in each leaf: `rows[starts[l] : starts[l + 1]]` for leaf l, in increasing order."""

    rows: Ints
    starts: Ints

    @property
    def sizes(self) -> Ints:
        return np.diff(self.starts)


@dataclass(frozen=True, slots=True)
class Tree:
    """Nodes of a tree: the column that divides each (−1: a leaf), its left child (the right one is next) and how it divides."""

    column: Ints
    child: Ints
    threshold: Floats
    place: Ints
    sides: Flags
    leaf: Ints
    leaves: Leaves

    def leaf_of(self, values: Sequence[Floats], rows: int) -> Ints:
        """The leaf of each row, given the values of the predictors (see `tree_values`)."""
        if self.leaf[0] == 0:
            return np.zeros(rows, dtype=np.int64)
        table = np.array(values).reshape(len(values), rows)
        return np.asarray(_walk(table, self.column, self.child, self.threshold, self.place, self.sides, self.leaf))


def fit_tree(
    predictors: Sequence[Predictor], target: Floats | CutCodes, kind: Literal["number", "classes"], rows: Ints, smallest: int,
    complexity: float = 0.0, least: int = 0, deepest: int = _DEEPEST,
) -> Tree:
    """Fit a tree to some rows. `target` has a number, or a class 0, 1, …, for each row.

    Each leaf has at least `smallest` rows. A node with fewer than `least` is not divided (default: three leaves, as rpart).
    """
    here = np.array(rows, dtype=np.int32)
    n = len(target)
    codes = np.array([p.codes for p in predictors], dtype=np.int32).reshape(len(predictors), n)
    levels = np.array([p.levels for p in predictors], dtype=np.int64)
    nominal = np.array([p.nominal for p in predictors], dtype=bool)
    sort = [j for j, p in enumerate(predictors) if not p.nominal and p.levels > _COUNTED]
    slot = np.full(len(predictors), -1, dtype=np.int64)
    slot[sort] = np.arange(len(sort))
    order = np.empty((len(sort), len(here)), dtype=np.int32)
    for s, j in enumerate(sort):
        order[s] = here[np.argsort(codes[j, here], kind="stable")]
    if kind == "classes":
        y, classes = np.zeros(1), np.asarray(target, dtype=np.int32)
        kinds = int(classes[rows].max(initial=0)) + 1
    else:
        y, classes, kinds = _scaled(np.asarray(target, dtype=np.float64), rows), np.zeros(1, dtype=np.int32), 0
    node, column, child, at, beyond, place, impurity, sides = grow(
        codes, levels, nominal, order, slot, here, y, classes, kinds, smallest, least or 3 * smallest, deepest)
    top = _pruned(column, child, impurity, complexity * impurity[0])
    threshold = np.zeros(len(column))
    for j, predictor in enumerate(predictors):
        cuts = np.flatnonzero((column == j) & (place < 0))
        threshold[cuts] = _middles(predictor.values[at[cuts]], predictor.values[beyond[cuts]])
    own = top[node]
    reached, number = np.unique(own, return_inverse=True)
    leaf = np.full(len(column), -1, dtype=np.int64)
    leaf[reached] = np.arange(len(reached))
    starts = np.concatenate([[0], np.cumsum(np.bincount(number))])
    return Tree(column, child, threshold, place, sides, leaf, Leaves(rows[np.argsort(number, kind="stable")], starts))


def _scaled(y: Floats, rows: Ints) -> Floats:
    """The target times a power of two that brings it below one, so that no square overflows. No bit is lost."""
    largest = float(np.abs(y[rows]).max(initial=0.0))
    return np.ldexp(y, -int(np.frexp(largest)[1])) if largest > 0 else y.copy()


def _middles(low: Floats, high: Floats) -> Floats:
    """The middle of two values; the lower one if the middle is not below the upper one, or the lower one is missing."""
    middle = np.where(np.isinf(low), low, low / 2 + high / 2)
    return np.where((middle >= low) & (middle < high), middle, low)


@kernel()
def _pruned(column: Ints, child: Ints, impurity: Floats, price: float) -> Ints:
    """For each node, the leaf of the pruned tree in which it ends; the node itself if it is on the way to several."""
    n = len(column)
    cost, stays, top = impurity.copy(), np.zeros(n, dtype=np.bool_), np.arange(n)
    for i in range(n - 1, -1, -1):
        if column[i] >= 0:
            below = cost[child[i]] + cost[child[i] + 1] + price
            stays[i] = below < impurity[i]
            cost[i] = below if stays[i] else impurity[i]
    for i in range(n):
        if column[i] >= 0 and not (stays[i] and top[i] == i):
            top[child[i]] = top[child[i] + 1] = top[i]
    return top


@kernel()
def _walk(
    values: NDArray[np.float64], column: Ints, child: Ints, threshold: Floats, place: Ints, sides: Flags, leaf: Ints
) -> Ints:
    out = np.empty(values.shape[1], dtype=np.int64)
    for r in range(values.shape[1]):
        i = 0
        while leaf[i] < 0:
            v = values[column[i], r]
            right = sides[place[i] + int(v)] == RIGHT if place[i] >= 0 else v > threshold[i]
            i = child[i] + 1 if right else child[i]
        out[r] = leaf[i]
    return out
