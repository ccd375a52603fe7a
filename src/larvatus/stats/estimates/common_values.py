"""Values that several releases show in the groups to which a record belongs.

    A_i = ∩_k {v : release k shows v in the group g_k(i)},    guess_i = Σ m_i(v) v / Σ m_i(v) over v in A_i

    m_i(v)   how often v can occur: the smallest of its counts in these groups
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.core.arrays import Floats, Ints

_MOST = 20_000_000  # pairs of a value and a combination of groups that are listed


def mean_of_common_values(shown: Sequence[tuple[Floats, Ints]], groups: Sequence[Ints]) -> Floats:
    """The guess for each record; NaN if its groups have no value in common, or if there are too many pairs to list.

    `shown` has the values of each release and their groups, and `groups` the groups of the records in each release: -1 for
    records that it does not have. Missing values are no values.
    """
    values, codes = np.unique(np.concatenate([v for v, _ in shown]), return_inverse=True)
    parts = np.split(codes.ravel(), np.cumsum([len(v) for v, _ in shown])[:-1])
    code = np.flatnonzero(np.isfinite(values))
    count, place = np.full(len(code), np.inf), np.zeros(len(code), dtype=np.int64)
    cell = np.zeros(len(groups[0]), dtype=np.int64)
    for part, (_, within), group in zip(parts, shown, groups, strict=True):
        size = int(max(within.max(initial=0), group.max(initial=0))) + 2
        cells, cell = np.unique(cell * size + group + 1, return_inverse=True)
        pairs, often = np.unique(part * size + within + 1, return_counts=True)
        first = np.searchsorted(pairs, code * size)
        many = np.searchsorted(pairs, (code + 1) * size) - first
        if many.sum() > _MOST:
            return np.full(len(cell), np.nan)
        row = np.repeat(np.arange(len(code)), many)
        at = np.arange(len(row)) + np.repeat(first - np.cumsum(many) + many, many)
        wanted = place[row] * size + pairs[at] % size
        spot = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
        here = cells[spot] == wanted
        code, place, count = code[row][here], spot[here], np.minimum(count[row], often[at])[here]
    total, sums = (np.bincount(place, weights=w, minlength=int(cell.max(initial=0)) + 1) for w in (count, count * values[code]))
    guess = np.divide(sums, total, out=np.full(len(total), np.nan), where=total > 0)
    return np.asarray(guess[cell.ravel()])
