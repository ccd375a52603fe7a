"""P(link) under the linkage law: from canonical correlations and numbers of candidates, for sub-groups, samples and curves.

    within S        canonical correlations of X and Y given S; candidates: records with the same S
    sub-groups      Σ_g (n_g / n) P(link; ρ_g, n_g)
    a sample        the target is in it with probability f: f · P(link; f n)
    k guesses       the own record is beaten by fewer than k others
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.stats.linkage_law.equal_correlations import rivals
from larvatus.stats.linkage_law.unequal_correlations import POINTS, sampled_rivals

_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class LinkProbability:
    """The probability, for each number of candidates, and its numerical standard error (0 if all correlations are equal)."""

    value: Floats
    standard_error: Floats


def link_probability(correlations: Floats | Sequence[float], candidates: Floats | Sequence[float],
                     guesses: int = 1, points: int = POINTS) -> LinkProbability:
    """P(link) for columns with these canonical correlations, for each number of candidates (the own record included).

    With unequal correlations the mean over targets takes `points` of each of 16 lattices.
    """
    rho, n = np.asarray(correlations, dtype=np.float64), np.asarray(candidates, dtype=np.float64)
    if np.ptp(rho) <= _SAME:
        value = rivals(float(rho.mean()), len(rho)).link_probability(n, guesses)
        return LinkProbability(value, np.zeros(len(value)))
    value, error = sampled_rivals(rho, points).link_probability(n, guesses)
    return LinkProbability(np.maximum(value, np.minimum(guesses / n, 1.0)), error)  # guessing finds as much


def link_probability_in_groups(
    correlations: Sequence[Floats], candidates: Sequence[Floats], guesses: int = 1, in_release: float = 1.0
) -> tuple[float, float]:
    """The mean of P(link) over all records, and its numerical standard error.

    `candidates` has, for each sub-group, the number of candidates of each of its records. `in_release` is the probability that
    the target is in the release, for an intruder who does not know it.
    """
    total, error, records = 0.0, 0.0, 0
    for rho, counts in zip(correlations, candidates, strict=True):
        sizes, times = np.unique(counts, return_counts=True)
        found = link_probability(rho, sizes, guesses) if len(rho) else LinkProbability(
            np.minimum(guesses / sizes, 1.0), np.zeros(len(sizes)))
        total += float(found.value @ times)
        error += float(found.standard_error @ times)
        records += int(times.sum())
    return in_release * total / max(records, 1), in_release * error / max(records, 1)
