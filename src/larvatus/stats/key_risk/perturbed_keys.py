"""Probability of a right match if the keys were perturbed with known probabilities (Shlomo and Skinner 2010).

    A population unit v with true key k is in the sample with probability π, and is then released with key j with probability
    M_kj, independently of the others. So it is the source of a released record with key j with probability π M_kj. If exactly
    one released record has key j, then

        P(its source is v) ∝ π M_kj / (1 − π M_kj) · Π_w (1 − π M_wj)

    The product over all units w is the same for every v. The intruder links the record to one of the F_j units with true key j:

        P(right match) = [M_jj / (1 − π M_jj)] / Σ_k F_k M_kj / (1 − π M_kj)

With several released records of key j the formula is an approximation: it ignores that two records have two sources. It is
exact again for keys that do not change, where it is 1 / F_j. M is the product of the transition matrices of the single keys.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.core.arrays import Floats, Ints, Matrix

MOST_KEY_PAIRS = 300_000_000
_CERTAIN = 1e-12  # keeps the odds of a certain transition finite
_CHUNK = 4_000_000


def right_match(
    released: Ints, own_group: Ints, true: Ints, group: Ints, population: Floats, moves: Sequence[Sequence[Matrix | None]],
    fraction: float,
) -> Floats:
    """P(right match) of each released combination of keys.

    `released` and `true` hold codes, combinations × keys (−1: missing, which does not change); `own_group` and `group` their
    sub-groups; `population` has F of each true combination. `moves` has, for each key, its transition matrix in every
    sub-group, or None if the key does not change there.
    """
    out = np.empty(len(released))
    step = max(1, _CHUNK // max(len(true), 1))
    for start in range(0, len(released), step):
        rows = slice(start, start + step)
        odds = _odds(_moved(true[None, :, :], released[rows, None, :], group[None, :], moves), fraction)
        mine = _odds(_moved(released[rows, None, :], released[rows, None, :], own_group[rows, None], moves), fraction)[:, 0]
        every = odds @ population
        out[rows] = np.divide(mine, every, out=np.zeros(len(mine)), where=every > 0)
    return np.minimum(out, 1.0)


def _odds(moved: Floats, fraction: float) -> Floats:
    return np.asarray(moved / (1 - fraction * moved + _CERTAIN))


def _moved(true: Ints, seen: Ints, group: Ints, moves: Sequence[Sequence[Matrix | None]]) -> Floats:
    """M_kj for true combinations k and released combinations j, broadcast against each other."""
    shape = np.broadcast_shapes(true.shape[:2], seen.shape[:2])
    out = np.ones(shape)
    for key, by_group in enumerate(moves):
        k, j = np.broadcast_to(true[..., key], shape), np.broadcast_to(seen[..., key], shape)
        same = (k == j).astype(np.float64)
        if all(m is None for m in by_group):
            out *= same
            continue
        tables = np.stack([_padded(m, max(x.shape[0] for x in by_group if x is not None)) for m in by_group])
        present = (k >= 0) & (j >= 0)
        out *= np.where(present, tables[np.broadcast_to(group, shape), np.maximum(k, 0), np.maximum(j, 0)], same)
    return out


def _padded(matrix: Matrix | None, size: int) -> Matrix:
    return np.eye(size) if matrix is None else matrix
