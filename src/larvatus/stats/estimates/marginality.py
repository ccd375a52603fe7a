"""How far a category lies from the centre of its hierarchy (Domingo-Ferrer, Sánchez and Rufian-Torrell 2013; 001 §3).

    d(a, b) = log₂(1 + |A ∪ B − A ∩ B| / |A ∪ B|),   marginality(a) = Σ_b count(b) d(a, b)

A and B are the ancestors of the categories a and b, including themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.core.portable.portable_functions import log1p
from larvatus.stats.linear.portable_algebra import product, total

_PER_LN2 = 1.4426950408889634


def semantic_distances(ancestors: Sequence[frozenset[str]], others: Sequence[frozenset[str]]) -> Floats:
    """log₂(1 + share of the ancestors of two categories, including themselves, that they do not have in common)."""
    nodes = {node: i for i, node in enumerate(sorted(frozenset().union(*ancestors, *others)))}

    def member(sets: Sequence[frozenset[str]]) -> Floats:
        out = np.zeros((len(sets), len(nodes)))
        for row, one in enumerate(sets):
            out[row, [nodes[n] for n in one]] = 1.0
        return out

    a, b = member(ancestors), member(others)
    common = product(a, b.T)
    union = a.sum(axis=1)[:, None] + b.sum(axis=1) - common
    return np.asarray(log1p((union - common) / union) * _PER_LN2)


def marginality(ancestors: Sequence[frozenset[str]], others: Sequence[frozenset[str]], counts: Floats) -> Floats:
    """Sum of the distances of each category to all values in the data: small in the centre, large at the margin.

    Terms are sorted before summation, so that categories in equivalent places of the hierarchy are exactly equal.
    """
    return total(np.sort(semantic_distances(ancestors, others) * counts, axis=1), axis=1)
