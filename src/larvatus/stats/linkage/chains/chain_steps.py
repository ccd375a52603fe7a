"""Follow one guess of a chain of pairwise exchanges through all columns, and accept the pairs that it implies (swap_chains.py).

    r is the row of a   ⇒   row_j(a) is the row of src_j(r), for every column j
"""

from __future__ import annotations

from typing import Any

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel

UNKNOWN, UNHELD = -1, -2  # no use can be made of the value; its owner is not among the known records


@kernel()
def _possible(a: Any, r: Any, low: Floats, high: Floats, first: Floats, last: Floats) -> Any:
    """Whether no value of the record would have moved too far, were the row its own."""
    inside = True
    for j in range(low.shape[1]):
        if first[r, j] > high[a, j] or last[r, j] < low[a, j]:
            inside = False
            break
    return inside


@kernel()
def follow_chain(
    a: Any, r: Any, src: Ints, row: Ints, mine: Ints, theirs: Ints, low: Floats, high: Floats, first: Floats, last: Floats,
    link: Ints, taken: Ints, own: Ints, rev: Ints, own_at: Ints, rev_at: Ints, stamp: Any, queue: Ints,
) -> Any:
    """The number of pairs that a guess implies, how often they were met again, and the steps; no pair if contradicted."""
    p = len(src)
    if not _possible(a, r, low, high, first, last):
        return 0, 0, 1
    own[a], rev[r], own_at[a], rev_at[r] = r, a, stamp, stamp
    queue[0, 0], queue[0, 1], queue[0, 2] = a, r, -1
    head, tail, again, steps = 0, 1, 0, 0
    while head < tail:
        x, y, parent = queue[head, 0], queue[head, 1], queue[head, 2]
        head += 1
        for j in range(p):
            b, q = src[j, y], row[j, x]
            steps += 1
            if q < 0 or b == UNKNOWN or (b == x and q == y):
                continue
            if b == UNHELD:
                if taken[q] >= 0 or (rev_at[q] == stamp and rev[q] >= 0):
                    return 0, 0, steps
                rev[q], rev_at[q] = UNHELD, stamp
                continue
            if mine[b] != theirs[q] or (link[b] >= 0 and link[b] != q) or (taken[q] != UNKNOWN and taken[q] != b):
                return 0, 0, steps
            if own_at[b] == stamp or rev_at[q] == stamp:
                if own_at[b] != stamp or rev_at[q] != stamp or own[b] != q or rev[q] != b:
                    return 0, 0, steps
                if parent >= 0 and queue[parent, 0] == b and queue[parent, 1] == q:
                    continue
                new = True
                for k in range(j):
                    if src[k, y] == b and row[k, x] == q:
                        new = False
                again += new
                continue
            if not _possible(b, q, low, high, first, last):
                return 0, 0, steps
            own[b], rev[q], own_at[b], rev_at[q] = q, b, stamp, stamp
            queue[tail, 0], queue[tail, 1], queue[tail, 2] = b, q, head - 1
            tail += 1
    return tail, again, steps


@kernel()
def settle_chain(tail: Any, src: Ints, row: Ints, link: Ints, taken: Ints, queue: Ints) -> None:
    """Accept all pairs of a chain, and mark the rows of records that the intruder does not hold."""
    for i in range(tail):
        link[queue[i, 0]], taken[queue[i, 1]] = queue[i, 1], queue[i, 0]
    for i in range(tail):
        for j in range(len(src)):
            q = row[j, queue[i, 0]]
            if q >= 0 and src[j, queue[i, 1]] == UNHELD:
                taken[q] = UNHELD
