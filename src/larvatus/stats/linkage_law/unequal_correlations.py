"""P(link) of the best single-target intruder if the canonical correlations ρ_i of X and Y differ.

    log f(y | x) / f(y) = const − ½ Q(y),   Q(y) = Σ ρ_i² / (1 − ρ_i²) (y_i − x_i / ρ_i)²

Given x, Q of another record is a generalised χ² (`weighted_squares`). The mean over the target and its own record is taken over
points of a lattice with random shifts; the shifts give a standard error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from larvatus.core.arrays import Floats
from larvatus.stats.linkage_law.equal_correlations import Rivals
from larvatus.stats.linkage_law.weighted_squares import lower_tail_of_squares

_SHIFTS, _POINTS = 16, 1024
_SURE, _NOTHING = 1.0 - 1e-12, 1e-6


@dataclass(frozen=True, slots=True)
class SampledRivals:
    """As `Rivals`, for each random shift of the lattice."""

    shifts: tuple[Rivals, ...]

    def link_probability(self, candidates: Floats, guesses: int = 1) -> tuple[Floats, Floats]:
        """The probability and its standard error."""
        each = np.array([r.link_probability(candidates, guesses) for r in self.shifts])
        return each.mean(axis=0), each.std(axis=0, ddof=1) / np.sqrt(len(each))


def sampled_rivals(correlations: Floats, points: int = _POINTS) -> SampledRivals:
    """The law of the share of other records that beat the own one, for columns with these canonical correlations."""
    rho = np.asarray(correlations, dtype=np.float64)
    if (rho < 0).any() or (rho > 1).any():
        raise ValueError("canonical correlations lie between 0 and 1")
    if (rho >= _SURE).any():
        return SampledRivals((Rivals(np.zeros(1), np.ones(1)),) * 2)
    rho = rho[rho > _NOTHING]
    if not len(rho):
        even = Rivals((np.arange(points) + 0.5) / points, np.full(points, 1 / points))
        return SampledRivals((even,) * 2)
    return SampledRivals(tuple(_rivals(rho, z) for z in _shifted_lattices(points, 2 * len(rho))))


def _rivals(rho: Floats, z: Floats) -> Rivals:
    d = len(rho)
    x, y = z[:, :d], rho * z[:, :d] + np.sqrt(1 - rho**2) * z[:, d:]
    weight = rho**2 / (1 - rho**2)
    q = (weight * (y - x / rho) ** 2).sum(axis=1)
    return Rivals(lower_tail_of_squares(q, weight, -x / rho), np.full(len(z), 1 / len(z)))


def _shifted_lattices(points: int, dimensions: int) -> list[Floats]:
    """Normal points of a Kronecker lattice (powers of the generalised golden ratio), with random shifts."""
    ratio = 2.0
    for _ in range(60):
        ratio = (1 + ratio) ** (1 / (dimensions + 1))
    steps = ratio ** -np.arange(1.0, dimensions + 1)
    base = np.arange(1, points + 1)[:, None] * steps
    shift = np.random.default_rng(20_260_101)
    out = [(base + shift.random(dimensions)) % 1 for _ in range(_SHIFTS)]
    return [special.ndtri(np.clip(u, 1e-15, 1 - 1e-15)) for u in out]
