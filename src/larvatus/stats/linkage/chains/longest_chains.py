"""Among the guesses that nothing contradicts, the one with the longest chain is the most probable.

Each pair of a chain is tested: no value may move too far, no row may have two records. A wrong pair passes with probability
q < 1, so a wrong guess with a chain of m pairs survives with probability about q^m, and of two survivors the one with the
longer chain is the better guess. Guesses are accepted from the longest chain down, and each takes its rows from the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.linkage.chains.chain_steps import UNKNOWN, follow_chain, settle_chain


@kernel()
def _longest_first(tried: Ints, length: Ints) -> Ints:
    """Records in descending order of the length of their chains, by counting; equal ones stay in their order."""
    most = 0
    for a in tried:
        most = max(most, length[a])
    place, order = np.zeros(most + 2, dtype=np.int64), np.empty(len(tried), dtype=np.int64)
    for a in tried:
        place[most - length[a] + 1] += 1
    for c in range(most + 1):
        place[c + 1] += place[c]
    for a in tried:
        order[place[most - length[a]]] = a
        place[most - length[a]] += 1
    return order


@kernel()
def link_by_length(
    src: Ints, row: Ints, mine: Ints, theirs: Ints, by_kind: Ints, kind_at: Ints, low: Floats, high: Floats, first: Floats,
    last: Floats, tried: Ints, link: Ints, taken: Ints, passes: Any, most: Any,
) -> Any:
    """The rows given to records, and for the others how many rows have the longest chain and whether the own one has.

    `link` and `taken` hold what is certain, and are changed. Work stops after `most` steps.
    """
    n = src.shape[1]
    own, rev = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    own_at, rev_at = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    queue = np.empty((n + 1, 3), dtype=np.int64)
    count, truth = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    length, guess = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    stamp, steps = 0, 0
    for _ in range(passes):
        for a in tried:
            if link[a] >= 0 or steps > most:
                continue
            count[a], truth[a], length[a] = 0, 0, 0
            for i in range(kind_at[mine[a]], kind_at[mine[a] + 1]):
                r = by_kind[i]
                if taken[r] != UNKNOWN:
                    continue
                stamp += 1
                tail, _again, used = follow_chain(
                    a, r, src, row, mine, theirs, low, high, first, last, link, taken, own, rev, own_at, rev_at, stamp, queue,
                )
                steps += used
                if tail == 0 or tail < length[a]:
                    continue
                if tail > length[a]:
                    count[a], truth[a], length[a] = 0, 0, tail
                count[a] += 1
                truth[a] += r == a
                guess[a] = r
        settled = False
        for a in _longest_first(tried, length):
            if link[a] >= 0 or count[a] != 1 or taken[guess[a]] != UNKNOWN:
                continue
            stamp += 1
            tail, _again, used = follow_chain(
                a, guess[a], src, row, mine, theirs, low, high, first, last, link, taken, own, rev, own_at, rev_at, stamp,
                queue,
            )
            steps += used
            if tail > 0:
                settle_chain(tail, src, row, link, taken, queue)
                settled = True
        if not settled or steps > most:
            break
    return link, count, truth
