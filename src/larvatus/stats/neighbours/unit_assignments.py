"""Link whole units one to one: every released unit is that of one known unit (stats/neighbours/unit_links.py).

    π = arg min Σ_h D(h, π(h))                  the assignment of least total distance
    p(h, k) ∝ exp(−D(h, k) / 2) · r_h · c_k     the most probable unit, with r and c such that rows and columns sum to one
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.neighbours.unit_links import UnitBlocks, unit_distances

_MOST_UNITS = 1_000  # in a block; units of larger blocks are linked to the nearest one
_MOST_PAIRS = 8_000_000  # in all blocks
_TRIES = 3  # assignments of equal cost
_SAME = 1e-9


def assignment_credits(
    blocks: UnitBlocks, records: tuple[Floats, Floats], units: tuple[Floats, Floats], targets: Ints, nearest: Floats
) -> tuple[Floats, Floats]:
    """Credits of the targets by the best assignment and by the most probable unit; `nearest` where a block is too large."""
    best, probable = nearest.copy(), nearest.copy()
    order = np.argsort(blocks.block, kind="stable")
    ends = np.searchsorted(blocks.block[order], np.arange(int(blocks.block.max(initial=-1)) + 2))
    wanted = np.argsort(blocks.block[targets], kind="stable")
    at = np.searchsorted(blocks.block[targets][wanted], np.unique(blocks.block[targets]))
    pairs = 0
    for part in np.split(wanted, at[1:]) if len(wanted) else ():
        b = int(blocks.block[targets[part[0]]])
        every = order[ends[b] : ends[b + 1]]
        pairs += len(every) ** 2
        if len(every) == 1 or len(every) > _MOST_UNITS or pairs > _MOST_PAIRS:
            continue
        distance = unit_distances(blocks, records, units, every, every)
        own = np.searchsorted(every, targets[part])
        best[part], probable[part] = _assigned(distance)[own], _most_probable(distance)[own]
    return best, probable


def _assigned(distance: Floats) -> Floats:
    """For each unit, the share of assignments of least cost that link it to itself; ties are broken by small numbers."""
    from scipy.optimize import linear_sum_assignment

    from larvatus.stats.linkage.assignment import NUDGE, new_nudges

    n = len(distance)
    size = NUDGE * (1.0 + float(distance.max()))
    links = [linear_sum_assignment(distance + size * new_nudges(n, n, k))[1] for k in range(_TRIES)]
    return np.asarray(np.mean([link == np.arange(n) for link in links], axis=0), dtype=np.float64)


def _most_probable(distance: Floats) -> Floats:
    from larvatus.stats.linkage.assignment import balanced_shares

    share = balanced_shares(distance / 2, 0)
    least = share.max(axis=1) * (1 - _SAME)
    return np.where(np.diag(share) >= least, 1.0 / (share >= least[:, None]).sum(axis=1), 0.0)
