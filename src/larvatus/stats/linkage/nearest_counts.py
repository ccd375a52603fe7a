"""The number a of candidates nearer to a target than its own record, and t as near, by k-d tree or by matrix products.

    credit with k guesses = min(1, max(0, (k − a) / t))

A k-d tree is fast in few columns, matrix products are in many; `neighbours.faster_way` chooses. Both give the same counts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from larvatus.core.arrays import Floats, Ints

_SAME = 1e-12
_SMALL = 256  # candidates up to which every pair is measured
_SHORT_CODES = 1 << 16
_LARGEST = 2.0**500  # coordinates beyond which squares may overflow


def nearer_and_tied(
    targets: Floats, candidates: Floats, deepest: int, own: Ints | None = None, power: int = 2, pools: Ints | None = None
) -> tuple[Floats, Floats]:
    """For target i: candidates strictly nearer than its own one, and candidates equally near (itself included).

    The own candidate of target i is the i-th, or the one whose row `own` names. If `pools` gives a code for each candidate,
    only candidates with the code of the own one count. Distances are Euclidean, or with power 1 sums of absolute differences.
    Counts are exact while fewer than `deepest` are nearer; beyond that they are `deepest` and 1. Distances that agree to twelve
    digits count as equal.
    """
    own = np.arange(len(targets)) if own is None else own
    targets, candidates = _without_overflow(targets, candidates)
    apart = np.abs(targets - candidates[own])
    reach = np.sqrt((apart**2).sum(axis=1)) if power == 2 else apart.sum(axis=1)
    low, high = reach * (1 - _SAME), reach * (1 + _SAME)
    codes = None if pools is None else (pools[own], pools)
    nearer, tied = count_in_pools(targets, candidates, low, high, deepest, power, codes)
    beyond = nearer >= deepest
    return np.where(beyond, float(deepest), nearer), np.where(beyond, 1.0, np.maximum(tied, 1.0))


def count_in_pools(
    targets: Floats, candidates: Floats, low: Floats, high: Floats, deepest: int, power: int = 2,
    pools: tuple[Ints, Ints] | None = None,
) -> tuple[Floats, Floats]:
    """Candidates nearer than `low`, and those from `low` to `high`; exact while fewer than `deepest` are nearer.

    `pools` gives codes of targets and of candidates: only candidates with the code of the target count.
    """
    points, start, stop = _by_pool(candidates, len(targets), pools)
    counts = np.zeros((2, len(targets)))
    small = np.flatnonzero(stop - start <= _SMALL)
    if len(small):
        from larvatus.stats.neighbours.blocked_counts import count_directly

        counts[:, small] = count_directly(targets[small], points, np.ones(len(points)), start[small], stop[small], low[small],
                                          high[small], deepest, power)
    large = np.flatnonzero(stop - start > _SMALL)
    large = large[np.argsort(start[large], kind="stable")]
    for rows in np.split(large, np.flatnonzero(np.diff(start[large])) + 1) if len(large) else ():
        inside = points[start[rows[0]] : stop[rows[0]]]
        counts[:, rows] = _count_in_one(targets[rows], inside, low[rows], high[rows], deepest, power)
    return counts[0], counts[1]


def _by_pool(candidates: Floats, targets: int, pools: tuple[Ints, Ints] | None) -> tuple[Floats, Ints, Ints]:
    """Candidates sorted by pool, and where the pool of each target starts and stops."""
    if pools is None or (len(pools[1]) and all((codes == pools[1][0]).all() for codes in pools)):
        return candidates, np.zeros(targets, dtype=np.int64), np.full(targets, len(candidates))
    few = len(pools[1]) and pools[1].min() >= 0 and pools[1].max() < _SHORT_CODES
    codes = pools[1].astype(np.uint16) if few else pools[1]  # short codes are counted, not compared
    order = np.argsort(codes, kind="stable")
    start, stop = (np.searchsorted(pools[1][order], pools[0], side) for side in ("left", "right"))
    return candidates[order], start, stop


def _count_in_one(
    targets: Floats, candidates: Floats, low: Floats, high: Floats, deepest: int, power: int = 2
) -> tuple[Floats, Floats]:
    """The counts in one pool, by the faster way."""
    from larvatus.stats.neighbours.blocked_counts import BlockedCounts
    from larvatus.stats.neighbours.faster_way import search_faster
    from larvatus.stats.neighbours.tree_counts import TreeCounts

    points, copies = merge_repeats(candidates)
    if power != 2:
        return TreeCounts.of(points, copies, power).count(targets, low, high, deepest)
    counts = np.empty((2, len(targets)))

    def count_by(way: BlockedCounts | TreeCounts) -> Callable[[Ints], None]:
        def search(rows: Ints) -> None:
            counts[:, rows] = way.count(targets[rows], low[rows], high[rows], deepest)

        return search

    search_faster(len(targets), len(points), count_by(BlockedCounts.of(points, copies)),
                  lambda: count_by(TreeCounts.of(points, copies)))
    return counts[0], counts[1]


def merge_repeats(points: Floats) -> tuple[Floats, Floats]:
    """Points without repeated rows and their frequencies. Repeats that escape are harmless: each is counted by itself.

    The points lie record by record in memory, so that no search copies them.
    """
    mixed = points @ np.sqrt(np.arange(2.0, points.shape[1] + 2.0))
    order = np.argsort(mixed)
    new = np.ones(len(points), dtype=bool)
    same = np.flatnonzero(np.diff(mixed[order]) == 0)
    new[1 + same] = (points[order[same]] != points[order[same + 1]]).any(axis=1)
    if new.all():
        return np.ascontiguousarray(points), np.ones(len(points))
    del mixed, same
    first = np.flatnonzero(new)
    kept = np.ascontiguousarray(points[order[first]])
    return kept, np.diff(np.append(first, len(points))).astype(np.float64)


def _without_overflow(targets: Floats, candidates: Floats) -> tuple[Floats, Floats]:
    """Both in a unit in which squared distances are finite."""
    if all(v.max(initial=0.0) <= _LARGEST and v.min(initial=0.0) >= -_LARGEST for v in (targets, candidates)):
        return targets, candidates
    return targets * 2.0**-550, candidates * 2.0**-550


def credit_within(nearer: Floats, tied: Floats, guesses: int) -> Floats:
    """Probability that the own record is among the `guesses` nearest if ties are broken at random."""
    return np.clip((guesses - nearer) / tied, 0.0, 1.0)
