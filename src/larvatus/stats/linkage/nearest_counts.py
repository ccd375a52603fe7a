"""The number a of candidates nearer to a target than its own record, and t as near, by k-d tree.

    credit with k guesses = min(1, max(0, (k − a) / t))
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats

_SAME = 1e-12


def nearer_and_tied(
    targets: Floats, candidates: Floats, deepest: int, own: NDArray[np.int64] | None = None, power: int = 2
) -> tuple[Floats, Floats]:
    """For target i: candidates strictly nearer than its own one, and candidates equally near (itself included).

    The own candidate of target i is the i-th, or the one whose row `own` names. Distances are Euclidean, or with power 1
    sums of absolute differences. Counts are exact while fewer than `deepest` are nearer; beyond that `nearer` is at least
    `deepest`. Distances that agree to twelve digits count as equal.
    """
    from scipy.spatial import cKDTree

    points, copies = _distinct(candidates)
    apart = np.abs(targets - (candidates if own is None else candidates[own]))
    reach = np.sqrt((apart**2).sum(axis=1)) if power == 2 else apart.sum(axis=1)
    tree = cKDTree(points, balanced_tree=False)
    depth = min(deepest + 1, len(points))
    found, index = (np.asarray(a).reshape(len(targets), depth) for a in tree.query(targets, k=depth, p=power, workers=-1))
    low, high = reach * (1 - _SAME), reach * (1 + _SAME)
    weight = copies[index]
    nearer = (weight * (found < low[:, None])).sum(axis=1)
    tied = (weight * ((found >= low[:, None]) & (found <= high[:, None]))).sum(axis=1)
    unsettled = np.flatnonzero((nearer < deepest) & (found[:, -1] <= high) & (depth < len(points)))
    if len(unsettled):
        tied[unsettled] = _inside(tree, copies, targets[unsettled], high[unsettled], power) - nearer[unsettled]
    return nearer, np.maximum(tied, 1.0)


def _inside(tree: object, copies: Floats, targets: Floats, reach: Floats, power: int) -> Floats:
    """The number of candidates within reach; targets that are the same point with the same reach are queried once."""
    asked, which = np.unique(np.column_stack([targets, reach]), axis=0, return_inverse=True)
    near = tree.query_ball_point(  # type: ignore[attr-defined]
        asked[:, :-1], asked[:, -1] + np.finfo(float).tiny, p=power, workers=-1
    )
    return np.array([copies[members].sum() for members in near])[which.reshape(-1)]


def _distinct(points: Floats) -> tuple[Floats, Floats]:
    """Distinct rows and their frequencies; rows without repeats are returned unchanged."""
    mixed = points @ np.sqrt(np.arange(2.0, points.shape[1] + 2.0))
    if len(np.unique(mixed)) == len(points):
        return points, np.ones(len(points))
    rows, copies = np.unique(points, axis=0, return_counts=True)
    return rows, copies.astype(float)


def credit_within(nearer: Floats, tied: Floats, guesses: int) -> Floats:
    """Probability that the own record is among the `guesses` nearest if ties are broken at random."""
    return np.clip((guesses - nearer) / tied, 0.0, 1.0)
