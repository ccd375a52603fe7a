"""What each of many nodes loses at least: the records of classes smaller than k, counted at every node by a compiled loop.

    bound(v) = G(v) + Σ_{i in classes of fewer than k at v} (suppressed − recoded)          inf if these are too many records

A node is counted with one pass over the combinations of keys, by a table of hashes of their recoded values. So all nodes of a
lattice can be looked at if few of them can be excluded together.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel

_BATCH = 5_000
_WIDEST = 1 << 62


def can_sweep(codes: Ints, part: Ints, new: tuple[tuple[Ints, ...], ...]) -> bool:
    """Whether a combination of recoded keys fits into one number."""
    widest = prod(max(int(own.max(initial=0)) + 1 for own in by_level) for by_level in new)
    return len(codes) > 0 and widest * (int(part.max(initial=0)) + 1) < _WIDEST


def rare_losses(
    codes: Ints, part: Ints, count: Ints, new: tuple[tuple[Ints, ...], ...], loss: tuple[Floats, ...], k: int, most: int,
    nodes: Ints,
) -> Iterator[Floats]:
    """What suppression of the rare combinations adds to the loss of each node (rows of `nodes`), batch by batch."""
    deepest = max(len(by_level) for by_level in new)
    longest = max(len(own) for by_level in new for own in by_level)
    maps = np.zeros((len(new), deepest, longest), dtype=np.int64)
    extra = np.zeros((len(new), deepest, longest))
    width = np.ones((len(new), deepest), dtype=np.int64)
    for j, by_level in enumerate(new):
        for level, own in enumerate(by_level):
            maps[j, level, : len(own)] = own
            extra[j, level, : loss[j].shape[1]] = loss[j][-1] - loss[j][level]
            width[j, level] = int(own.max(initial=0)) + 1
    slots = 1 << int(np.ceil(np.log2(2 * len(codes) + 2)))
    rows, parts, times = (np.ascontiguousarray(a, dtype=np.int64) for a in (codes, part, count))
    for start in range(0, len(nodes), _BATCH):
        batch = np.ascontiguousarray(nodes[start : start + _BATCH], dtype=np.int64)
        yield np.asarray(_count_rare(rows, parts, times, maps, extra, width, k, most, batch, slots))


@kernel()
def _count_rare(
    codes: Any, part: Any, count: Any, maps: Any, extra: Any, width: Any, k: int, most: int, nodes: Any, slots: int
) -> Any:
    rows, keys = codes.shape
    out = np.zeros(len(nodes))
    where, before = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64)  # before: by all keys but the last
    number = np.empty(slots, dtype=np.int64)
    total = np.empty(slots, dtype=np.int64)
    for v in range(len(nodes)):
        total[:] = 0
        if v == 0 or (nodes[v, : keys - 1] != nodes[v - 1, : keys - 1]).any():
            before[:] = part
            for j in range(keys - 1):
                level = nodes[v, j]
                for i in range(rows):
                    before[i] = before[i] * width[j, level] + maps[j, level, codes[i, j]]
        last = nodes[v, keys - 1]
        for i in range(rows):
            own = before[i] * width[keys - 1, last] + maps[keys - 1, last, codes[i, keys - 1]]
            mixed = own ^ (own >> 31)
            mixed = (mixed * 0x9E3779B97F4A7C1) ^ (mixed >> 17)
            at = mixed & (slots - 1)
            while total[at] > 0 and number[at] != own:
                at = (at + 1) & (slots - 1)
            number[at] = own
            total[at] += count[i]
            where[i] = at
        gone = 0
        lost = 0.0
        for i in range(rows):
            if total[where[i]] < k:
                gone += count[i]
                if gone > most:
                    break
                more = 0.0
                for j in range(keys):
                    more += extra[j, nodes[v, j], codes[i, j]]
                lost += count[i] * more
        out[v] = np.inf if gone > most else lost
    return out
