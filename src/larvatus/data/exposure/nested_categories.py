"""Small differences between categories of two columns of S: if both sums are exact, so is the sum of the difference.

    Σ_A x − Σ_B x = Σ_{A∖B} x − Σ_{B∖A} x        a region less the district that is nearly all of it
    Σ_A x − Σ_{B ⊂ A} Σ_B x                      a county less all towns that lie inside it
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import combinations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import reduce_groups

_Difference = tuple[str, str, int, frozenset[int]]  # columns of A and B, the code of A, and those of B
_Codes = Callable[[Block, str], Ints]
_DENSE = 1_000_000  # pairs of codes that are counted in a table


def small_differences(
    data: Microdata, columns: Sequence[str], groups: Collection[int], most: int, codes: _Codes
) -> list[tuple[int, str, str, Ints, Floats]]:
    """Sub-group, the two columns, record ids and signs of each difference of one to `most` records."""
    pairs = list(combinations(columns, 2))
    if not pairs:
        return []

    def count(group: int, block: Block) -> list[Counter[tuple[int, int]]]:
        own = {c: codes(block, c) for c in columns}
        return [_pair_counts(own[a], own[b]) for a, b in pairs]

    counts = reduce_groups(data, columns, count, lambda x, y: [m + n for m, n in zip(x, y, strict=True)])
    found = [[d for (a, b), table in zip(pairs, here, strict=True) for d in (
        *((a, b, *d) for d in _differences(table, most, single=True)),
        *((b, a, *d) for d in _differences(Counter({(j, i): n for (i, j), n in table.items()}), most)))]
             if g in groups else [] for g, here in enumerate(counts)]
    if not any(found):
        return []

    def members(group: int, block: Block) -> list[tuple[Ints, Floats]]:
        return [_members(block, d, codes) for d in found[group]]

    parts = reduce_groups(data, columns, members, lambda x, y: [
        (np.concatenate([m[0], n[0]]), np.concatenate([m[1], n[1]])) for m, n in zip(x, y, strict=True)])
    return [(g, d[0], d[1], ids, sign) for g, here in enumerate(found) for d, (ids, sign) in zip(here, parts[g], strict=True)]


def _pair_counts(a: Ints, b: Ints) -> Counter[tuple[int, int]]:
    """Records of each pair of codes (−1 if missing) that occurs."""
    width = int(b.max(initial=-1)) + 2
    cell = (a + 1) * width + b + 1
    if (int(a.max(initial=-1)) + 2) * width <= _DENSE:
        n = np.bincount(cell)
        which = np.flatnonzero(n)
        n = n[which]
    else:
        which, n = np.unique(cell, return_counts=True)
    return Counter({(k // width - 1, k % width - 1): m for k, m in zip(which.tolist(), n.tolist(), strict=True)})


def _differences(table: Counter[tuple[int, int]], most: int, single: bool = False) -> list[tuple[int, frozenset[int]]]:
    """Categories A of the first column with those B of the second that leave few records; pairs (A, B) if `single` too."""
    of_a: Counter[int] = Counter()
    of_b: Counter[int] = Counter()
    inside: dict[int, list[int]] = {}
    for (a, b), n in table.items():
        of_a[a] += n
        of_b[b] += n
    out = []
    for (a, b), n in table.items():
        if n == of_b[b]:
            inside.setdefault(a, []).append(b)
        if single and 0 < of_a[a] + of_b[b] - 2 * n <= most:
            out.append((a, frozenset([b])))
    for a, nested in inside.items():
        if len(nested) > 1 and 0 < of_a[a] - sum(of_b[b] for b in nested) <= most:
            out.append((a, frozenset(nested)))
    return out


def _members(block: Block, difference: _Difference, codes: _Codes) -> tuple[Ints, Floats]:
    first, second, a, those = difference
    in_a, in_b = codes(block, first) == a, np.isin(codes(block, second), list(those))
    apart = in_a != in_b
    return block.record[apart], np.where(in_a[apart], 1.0, -1.0)
