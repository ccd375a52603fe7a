"""Recoding of keys with suppression of single cells: a heuristic, with a bound of what it may have missed.

    L(v) ≥ G(v) + Σ_{i in a class of fewer than k at v} min_j (suppressed − recoded)_ij

because every record of a rare class loses at least one cell, or stays rare. Nodes are examined in the order of G(v), and cells
are suppressed greedily (`suppression`). The least right-hand side over all nodes bounds the loss of every solution.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.grouping.rare_classes import KeyClasses
from larvatus.stats.grouping.recoding_lattice import Examined, LatticeResult, Node, RecodedKeys
from larvatus.stats.grouping.suppression import suppress

_MOST_SUPPRESSED, _MOST_CLASSED = 200, 3_000
_LEAST_GAIN = 1e-12


def search_with_cells(
    keys: RecodedKeys, k: int, importance: Floats, progress: Callable[[int], None] = lambda examined: None
) -> LatticeResult:
    """The best node found if single cells are suppressed until every combination has k records."""
    own = keys.cell_losses(keys.classes.count)
    start: Node = (0,) * len(keys.levels)
    waiting, met = [(0.0, start)], {start}
    best: Examined | None = None
    bound, tried, classed = np.inf, 0, 0
    totals = np.bincount(keys.classes.part, weights=keys.classes.count)
    if totals.size and totals.min() < k:
        return LatticeResult(None, np.inf, int(np.prod(keys.levels)), 0)
    while waiting:
        lowest, node = heapq.heappop(waiting)
        if best is not None and lowest >= best.loss - _LEAST_GAIN:
            break
        if tried >= _MOST_SUPPRESSED or classed >= _MOST_CLASSED:
            bound = min(bound, lowest)
            break
        place, classes = keys.classes_at(node)
        extra = _extra_losses(keys, node)
        rare = classes.count[place] < k
        least = lowest + float((keys.classes.count * extra.min(axis=1))[rare].sum())
        bound, classed = min(bound, least), classed + 1
        if best is None or least < best.loss - _LEAST_GAIN:
            found = _suppressed(keys, node, place, classes, extra, k, importance, lowest)
            tried += 1
            best = found if best is None or found.loss < best.loss else best
        progress(tried)
        for j, level in enumerate(node):
            above = (*node[:j], level + 1, *node[j + 1 :])
            if level + 1 < keys.levels[j] and above not in met:
                met.add(above)
                heapq.heappush(waiting, (sum(float(own[i][n]) for i, n in enumerate(above)), above))
    nodes = int(np.prod([float(n) for n in keys.levels]))
    return LatticeResult(best, bound if best is None else min(bound, best.loss), nodes, tried)


def _extra_losses(keys: RecodedKeys, node: Node) -> Floats:
    """What the suppression of each cell of a combination adds to its loss at a node: combinations × keys, for one record."""
    return np.column_stack([(loss[-1] - loss[level])[keys.codes[:, j]]
                            for j, (loss, level) in enumerate(zip(keys.loss, node, strict=True))])


def _suppressed(
    keys: RecodedKeys, node: Node, place: Ints, classes: KeyClasses, extra: Floats, k: int, importance: Floats, least: float
) -> Examined:
    first = np.unique(place, return_index=True)[1]
    rows = np.column_stack([keys.new[j][level][keys.codes[first, j]] for j, level in enumerate(node)])
    pieces = suppress(rows, classes.part, classes.count, k, importance)
    count = keys.classes.count
    total = [np.bincount(place, weights=count * extra[:, j], minlength=len(first)) for j in range(len(node))]
    mean = np.column_stack(total) / np.maximum(classes.count, 1)[:, None]
    lost = pieces.blank & (rows[pieces.origin] > 0)
    loss = least + float((pieces.count[:, None] * mean[pieces.origin] * lost).sum())
    return Examined(node, loss, int(pieces.count[lost.any(axis=1)].sum()), np.zeros(len(count), dtype=np.int64))
