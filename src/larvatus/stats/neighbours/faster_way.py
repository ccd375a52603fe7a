"""Choose between matrix products and a k-d tree by timing both on some of the targets.

The data decide: in few columns, or if columns are strongly related, a tree is faster; in many it is slower by up to a hundred
times. Both ways give the same results, so that the choice, which may differ from run to run, changes none.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from time import perf_counter
from typing import TypeAlias

import numpy as np

from larvatus.core.arrays import Ints

_UNTIMED = 20_000_000  # pairs up to which nothing is timed: matrix products take some hundredths of a second
_PROBE = 256  # targets on which each way is timed
_TASTE = 4  # targets on which a tree is timed first: one query among a million points in 20 columns takes a tenth of a second
_SHARE = 32  # one in so many targets is used for the last comparison: the first queries of a tree are slow
_SLOWER = 4.0  # ratio from which a tree is given up
_BUILD = 1e-6  # seconds per point for which a tree is not built

Search: TypeAlias = Callable[[Ints], object]


def search_faster(targets: int, points: int, products: Search, tree: Callable[[], Search]) -> None:
    """Search for every target once, by products or by the tree. A search takes rows of targets and keeps what it finds."""
    if targets * points <= _UNTIMED:
        products(np.arange(targets))
        return
    order = _spread_order(targets)
    _seconds(products, order[:1])  # loads compiled code
    by_products = _seconds(products, order[1:_PROBE])
    at, faster = _PROBE, products
    if by_products * targets > _BUILD * points and at < targets:
        by_tree = tree()
        for rows in (_TASTE, _PROBE, targets // _SHARE):
            took = _seconds(by_tree, order[at : at + rows])
            faster = by_tree if took < by_products else products
            at += rows
            if took > _SLOWER * by_products or at >= targets:
                break
    if at < targets:
        faster(np.sort(order[at:]))


def _spread_order(n: int) -> Ints:
    """An order of 0 … n − 1 whose beginnings are spread evenly: multiples of a golden section of n, modulo n."""
    step = max(1, round(0.618 * n))
    while gcd(step, n) > 1:
        step += 1
    return np.arange(n) * step % n


def _seconds(search: Search, rows: Ints) -> float:
    """Seconds per target."""
    began = perf_counter()
    search(rows)
    return (perf_counter() - began) / max(1, len(rows))
