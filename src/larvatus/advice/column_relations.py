"""Relations between confidential numeric columns: linear, monotone but curved, or not monotone.

    linear:  |ρ_Spearman − (6/π) arcsin(ρ_Pearson / 2)| ≤ 0.1

which holds for normal pairs. A non-monotone relation shows in the partial correlation of one score with the square of another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import add_ranks, as_one_group, map_rows, moments_by_group

BENT, _TURNS, _ENOUGH = 0.1, 0.2, 20
_RANK, _SCORE, _SQUARE = "rank of", "score of", "square of"


@dataclass(frozen=True, slots=True)
class Relation:
    """Two columns, with the shape of their relation: linear ("line"), monotone ("one way") or not monotone ("turns")."""

    first: str
    second: str
    shape: str
    pearson: float
    spearman: float
    gap: float


def find_relations(data: Microdata) -> tuple[Relation, ...]:
    """Relations between confidential numeric columns, from Pearson's and Spearman's correlations and normal scores.

    In a linear relation with normal errors Pearson's correlation implies Spearman's; otherwise the relation is curved or the
    columns are skewed. A non-monotone relation shows between a score and the square of another, given the other score.
    """
    from scipy.special import ndtri

    whole = as_one_group(data)
    names = whole.numeric(whole.confidential)
    if len(names) < 2:
        return ()
    ranked = add_ranks(whole, {scratch(_RANK, n): n for n in names})
    there = np.diag(moments_by_group(whole, names)[0].count)

    def score(group: int, block: Block) -> Mapping[str, Array]:
        z = {n: ndtri(block[scratch(_RANK, n)] / (k + 1)) for n, k in zip(names, there, strict=True)}
        return {**{scratch(_SCORE, n): z[n] for n in names}, **{scratch(_SQUARE, n): z[n] ** 2 for n in names}}

    made = [Column(scratch(kind, n), "number") for kind in (_SCORE, _SQUARE) for n in names]
    scored = map_rows(ranked, score, [scratch(_RANK, n) for n in names], made)
    pearson, spearman = _correlations(whole, names), _correlations(scored, [scratch(_RANK, n) for n in names])
    both = _correlations(scored, [scratch(kind, n) for kind in (_SCORE, _SQUARE) for n in names])
    out = []
    for i, j in combinations(range(len(names)), 2):
        if min(there[i], there[j]) < _ENOUGH or np.isnan([pearson[i, j], spearman[i, j]]).any():
            continue
        straight = 6 / np.pi * np.arcsin(pearson[i, j] / 2)
        gap = abs(float(spearman[i, j] - straight))
        shape = "line" if gap <= BENT else "one way"
        found = [_turning(both, len(names), a, b) for a, b in ((i, j), (j, i))]
        if max(found) > max(_TURNS, 5 / np.sqrt(min(there[i], there[j]))):
            shape = "turns"
        out.append(Relation(names[i], names[j], shape, float(pearson[i, j]), float(spearman[i, j]), gap))
    return tuple(out)


def _turning(found: Floats, count: int, i: int, j: int) -> float:
    """Absolute partial correlation of one score with the square of another, given that other score.

    Zero if the fitted parabola has its vertex more than one standard deviation from the centre: it is nearly monotone.
    """
    with_own, with_other, plain = found[i, count + i], found[j, count + i], found[i, j]
    left = (1 - with_own**2) * (1 - plain**2)
    curved, sloped = with_other - with_own * plain, plain - with_own * with_other
    if left <= 1e-9 or abs(sloped) > np.sqrt(2) * abs(curved):
        return 0.0
    return abs(float(curved / np.sqrt(left)))


def _correlations(data: Microdata, names: Sequence[str]) -> Floats:
    found = moments_by_group(data, names)[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(found.scatter / np.sqrt(found.square * found.square.T))
