"""Linkage if missing cells stay missing: the candidates of a target are the records with the same pattern of missing cells.

    k* = arg min_k ‖u_i − v_k‖  over the released records k with the pattern of target i, on the columns that both have
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.stats.linkage.missing_patterns import patterns_of

PatternPoints = Callable[[Bools, Ints], tuple[Floats, Floats]]
PatternLink = Callable[[Ints, Ints, Sequence[int]], Floats]


def patterns_agree(held: Bools, shown: Bools, wanted: Bools) -> bool:
    """Whether every target has the same cells (records × columns) in its released record, and some cell is missing."""
    if held.shape != shown.shape or not wanted.any() or (held[wanted].all() and shown.all()):
        return False
    return bool((held[wanted] == shown[wanted]).all())


def link_within_patterns(shown: Bools, points: PatternPoints, power: int = 2) -> PatternLink:
    """A link to the nearest records among those with the same pattern.

    `shown` marks the cells of released records, records × columns. `points` gives known and released values of some rows as
    points, from the columns marked in a pattern. The link takes target rows, codes of S and numbers of guesses.
    """
    from larvatus.stats.linkage.coordinates import link_nearest

    patterns, code = patterns_of(shown)
    order = np.argsort(code, kind="stable")
    ends = np.cumsum(np.bincount(code, minlength=len(patterns)))

    def link(own: Ints, same: Ints, guesses: Sequence[int]) -> Floats:
        out = np.zeros((len(guesses), len(own)))
        for c in np.unique(code[own]):
            rows = order[ends[c - 1] if c else 0 : ends[c]]
            asked = np.flatnonzero(code[own] == c)
            place = np.searchsorted(rows, own[asked])
            u, v = points(patterns[c], rows)
            pools = np.unique(same[rows], return_inverse=True)[1].reshape(-1)
            out[:, asked] = link_nearest(u[place], v, place, pools, guesses, power)
        return out

    return link
