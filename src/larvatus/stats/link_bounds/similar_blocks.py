"""Blocks of similar records: cut at a quantile of the widest coordinate, again and again."""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints


def similar_blocks(points: Floats, size: int) -> list[Ints]:
    """Rows of the points in blocks of `size` records; the last blocks may be smaller. Only the points decide."""
    todo, out = [np.arange(len(points), dtype=np.int64)], list[Ints]()
    while todo:
        rows = todo.pop()
        blocks = -(-len(rows) // size)
        if blocks <= 1:
            out.append(rows)
            continue
        here = points[rows]
        widest = int(np.argmax(np.ptp(here, axis=0))) if here.shape[1] else 0
        order = rows[np.argsort(here[:, widest], kind="stable")] if here.shape[1] else rows
        cut = size * (blocks // 2)
        todo += [order[cut:], order[:cut]]
    return out
