"""Search for an order that satisfies many equations in sub-groups too large to try every order: simulated annealing.

    minimise  E(π) = Σ_e ((Σ_i t_e(i, π(i)) − r_e) / s_e)²

by exchanging two rows at a time, with a temperature that falls from the size of a random change to rounding, from several
starts. With p columns there are p² equations or more, so that an order with E ≈ 0 is the right one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel

_STARTS, _SWEEPS = 20, 600
_COOLED = 1e-7  # last temperature, as a share of the first
_PLACES = 2_000_000  # terms kept at once


def annealed_order(terms: Floats, right: Floats, tolerance: Floats, same: Ints) -> Ints | None:
    """An order of rows, each of its own code, that satisfies every equation to its tolerance; None if none is found."""
    if terms.size > _PLACES or len(same) < 3:
        return None
    size = np.maximum(np.abs(terms).max(axis=(0, 1), initial=0.0), np.maximum(tolerance, 1e-300))
    scaled, goal = terms / size, right / size
    draws = np.random.Generator(np.random.Philox(0))
    for _ in range(_STARTS):
        order = np.arange(len(same))
        for code in np.unique(same):
            rows = np.flatnonzero(same == code)
            order[rows] = draws.permutation(rows)
        seed = int(draws.integers(1, 2**62))
        order = _anneal(np.ascontiguousarray(scaled), goal, order, same, seed, _SWEEPS, _COOLED)
        sums = terms[np.arange(len(same)), order].sum(axis=0)
        if (np.abs(sums - right) <= tolerance).all():
            return np.asarray(order)
    return None


@kernel()
def _anneal(terms: Floats, goal: Floats, order: Ints, same: Ints, seed: Any, sweeps: Any, cooled: Any) -> Any:
    n, many = terms.shape[0], len(goal)
    off, best, energy = np.empty(many), np.empty(n, np.int64), 0.0
    for e in range(many):  # loops: operations on slices take seconds to compile
        off[e] = -goal[e]
        for i in range(n):
            off[e] += terms[i, order[i], e]
        energy += off[e] * off[e]
    for i in range(n):
        best[i] = order[i]
    least, heat = energy, energy / n
    state = np.uint64(seed)
    steps = sweeps * n * n
    fall = cooled ** (1.0 / steps)
    for _ in range(steps):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        i = int(state % np.uint64(n))
        j = int((state >> np.uint64(20)) % np.uint64(n))
        heat *= fall
        if i == j or same[i] != same[j]:
            continue
        a, b = order[i], order[j]
        after = 0.0
        for e in range(many):
            moved = off[e] + terms[i, b, e] + terms[j, a, e] - terms[i, a, e] - terms[j, b, e]
            after += moved * moved
        chance = float(state >> np.uint64(11)) / 9007199254740992.0
        if after <= energy or chance < np.exp((energy - after) / heat):
            for e in range(many):
                off[e] += terms[i, b, e] + terms[j, a, e] - terms[i, a, e] - terms[j, b, e]
            order[i], order[j], energy = b, a, after
            if energy < least:
                least = energy
                for r in range(n):
                    best[r] = order[r]
    return best
