"""Pairs of units that exchange their values: alike in what must agree, different in what is exchanged, the riskiest first.

    for unit h in the order (high risk first, random word):   partner(h) = the first free unit k, by random word, with
        profile_k = profile_h   and   value_k ≠ value_h,      until the wanted number of units has a partner
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Bools, Ints

_TIDY = 512


def swap_pairs(profile: Ints, value: Ints, risky: Bools, words: NDArray[np.uint64], wanted: int) -> tuple[Ints, int]:
    """The partner of each unit, itself if it is not swapped, and the number of risky units that found no partner."""
    partner = np.arange(len(profile))
    free = np.ones(len(profile), dtype=bool)
    by_word = np.argsort(words, kind="stable")
    blocks: dict[int, list[int]] = {}
    for u in by_word.tolist():
        blocks.setdefault(int(profile[u]), []).append(u)
    swapped = failed = 0
    for u in np.lexsort((words, ~risky)).tolist():
        if swapped >= wanted:
            break
        if not free[u]:
            continue
        block = blocks[int(profile[u])]
        found = next((v for v in block if free[v] and value[v] != value[u]), None)
        if found is None:
            failed += int(risky[u])
            continue
        partner[u], partner[found] = found, u
        free[u] = free[found] = False
        swapped += 2
        if swapped % _TIDY == 0:  # searches would pass over all units that are no longer free
            blocks = {p: [v for v in own if free[v]] for p, own in blocks.items()}
    return partner, failed
