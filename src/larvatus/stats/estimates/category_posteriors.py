"""How much a released category says about the original one.

    P(k | c) = n_kc / n_c  with n_kc records of original category k and released category c;   baseline  mean of P(k) over these

P(k) is the share of category k among the other records of the sub-group, or its prediction from S.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.core.arrays import Floats, Ints

_Z = 1.959963984540054
_TIMES = 2.0


def frequency_baseline(by_group: Sequence[Floats]) -> Floats:
    """Sums, over the records with a released category, of the shares of each category among the others of the sub-group.

    Each table has the records by original (rows) and released category (columns).
    """
    out = np.zeros_like(by_group[0])
    for table in by_group:
        n = table.sum()
        if n > 1:
            out += (np.outer(table.sum(axis=1), table.sum(axis=0)) - table) / (n - 1)
    return out


def telling_categories(table: Floats, expected: Floats) -> tuple[Ints, Floats, Floats, Floats]:
    """Pairs (original, released) with P(k | c) certainly at least twice its baseline, largest lower end first.

    `table` has the records by original and released category, and `expected` the sums of their baselines. Returns the pairs,
    P(k | c), the lower ends of their intervals (Wilson, 95 %) and the baselines.
    """
    n = np.broadcast_to(np.maximum(table.sum(axis=0), 1.0), table.shape)
    share, base = table / n, expected / n
    low = (share + _Z**2 / (2 * n) - _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))) / (1 + _Z**2 / n)
    low = np.where(table > 0, np.maximum(low, 0.0), 0.0)
    pairs = np.argwhere((low >= _TIMES * base) & (low > 0))
    pairs = pairs[np.argsort(-low[tuple(pairs.T)], kind="stable")]
    at = tuple(pairs.T)
    return pairs, share[at], low[at], base[at]
