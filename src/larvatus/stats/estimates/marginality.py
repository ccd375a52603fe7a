"""How far a category lies from the centre of its hierarchy (Domingo-Ferrer, Sánchez and Rufian-Torrell 2013; 001 §3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.core.arrays import Floats


def semantic_distances(ancestors: Sequence[frozenset[str]], others: Sequence[frozenset[str]]) -> Floats:
    """log₂(1 + share of the ancestors of two categories, themselves among them, that they do not have in common)."""
    nodes = {node: i for i, node in enumerate(sorted(frozenset().union(*ancestors, *others)))}

    def member(sets: Sequence[frozenset[str]]) -> Floats:
        out = np.zeros((len(sets), len(nodes)))
        for row, one in enumerate(sets):
            out[row, [nodes[n] for n in one]] = 1.0
        return out

    a, b = member(ancestors), member(others)
    common = a @ b.T
    union = a.sum(axis=1)[:, None] + b.sum(axis=1) - common
    return np.asarray(np.log2(1 + (union - common) / union))


def marginality(ancestors: Sequence[frozenset[str]], others: Sequence[frozenset[str]], counts: Floats) -> Floats:
    """Sum of the distances of each category to all values in the data: small at the centre, large at the margin.

    Summed over sorted terms, so that categories in the same place of the hierarchy come out exactly equal.
    """
    return np.asarray(np.sort(semantic_distances(ancestors, others) * counts, axis=1).sum(axis=1))
