"""P(link) of the best single-target intruder if the canonical correlations ρ_i of X and Y differ.

    log f(y | x) / f(y) = log c(x) − ½ Q(y),   Q(y) = Σ ρ_i² / (1 − ρ_i²) (y_i − x_i / ρ_i)²
    c(x) = Π (1 − ρ_i²)^(−1/2) e^(|x|²/2)

Given x, Q of another record is a generalised χ² (`weighted_squares`) with distribution function F. The own record has density
f(y | x), so the distribution of its Q is c(x) e^(−q/2) dF(q), and

    P(link | x) = c(x) ∫ e^(−q/2) (1 − F(q))^(n−1) dF(q)

by the trapezoid rule. The mean over x is taken over points of a lattice with random shifts; the shifts give a standard
error. Targets far from the mean are found most often, so points are drawn from N(0, 1 + ρ_i²) and weighted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from larvatus.core.arrays import Floats
from larvatus.stats.linkage_law.equal_correlations import Rivals
from larvatus.stats.linkage_law.weighted_squares import tail_and_density_of_squares

POINTS = 64
_SHIFTS, _STEP = 16, 0.4
_SURE, _NOTHING = 1.0 - 1e-12, 1e-6
_SPREADS, _DEEP, _NEAR = 8.0, 28.0, 4.5


@dataclass(frozen=True, slots=True)
class SampledRivals:
    """As `Rivals`, for each random shift of the lattice."""

    shifts: tuple[Rivals, ...]

    def link_probability(self, candidates: Floats, guesses: int = 1) -> tuple[Floats, Floats]:
        """The probability and its standard error."""
        each = np.array([r.link_probability(candidates, guesses) for r in self.shifts])
        return np.minimum(each.mean(axis=0), 1.0), each.std(axis=0, ddof=1) / np.sqrt(len(each))


def sampled_rivals(correlations: Floats, points: int = POINTS) -> SampledRivals:
    """The law of the share of other records that beat the own one, for columns with these canonical correlations.

    It takes a third of a second, and a certificate, a budget and its check ask for the same one, so the last few are kept.
    """
    rho = np.asarray(correlations, dtype=np.float64)
    if (rho < 0).any() or (rho > 1).any():
        raise ValueError("canonical correlations lie between 0 and 1")
    return _sampled_rivals(tuple(rho.tolist()), points)


@lru_cache(16)
def _sampled_rivals(correlations: tuple[float, ...], points: int) -> SampledRivals:
    rho = np.array(correlations)
    if (rho >= _SURE).any():
        return SampledRivals((Rivals(np.zeros(1), np.ones(1)),) * 2)
    rho = rho[rho > _NOTHING]
    if not len(rho):
        even = Rivals((np.arange(points) + 0.5) / points, np.full(points, 1 / points))
        return SampledRivals((even,) * 2)
    return SampledRivals(tuple(_rivals(rho, z) for z in _shifted_lattices(points, len(rho))))


def _rivals(rho: Floats, z: Floats) -> Rivals:
    wide = 1 + rho**2
    x = np.sqrt(wide) * z
    given = np.exp(0.5 * (np.log(wide) - rho**2 * z**2).sum(axis=1)) / len(z)
    at, width = _distances(rho, x)
    q, nodes = at.ravel(), at.shape[1]
    beaten, density = tail_and_density_of_squares(q, rho**2 / (1 - rho**2), np.repeat(-x / rho, nodes, axis=0))
    log_c = 0.5 * (x**2 - np.log1p(-(rho**2))).sum(axis=1)
    own = (np.exp(np.repeat(log_c, nodes) - q / 2) * density).reshape(-1, nodes) * width
    return Rivals(beaten, (own / own.sum(axis=1, keepdims=True) * given[:, None]).ravel())


def _distances(rho: Floats, x: Floats) -> tuple[Floats, Floats]:
    """For each target, values of the own record's Q = Σ (ρ_i ε_i − √(1 − ρ_i²) x_i)², and the widths of their intervals.

    Q = near + σ log(1 + e^v) with equal steps of v: near is below every Q that is likely, and σ is the standard deviation of Q.
    The law of Q is smooth on the log scale close to `near`, and on its own scale elsewhere.
    """
    middle = (rho**2 + (1 - rho**2) * x**2).sum(axis=1)
    spread = np.sqrt((2 * rho**4 + 4 * rho**2 * (1 - rho**2) * x**2).sum(axis=1))
    dimensions = (rho**2).sum() / (rho**2).max()
    near = (np.maximum(np.sqrt(1 - rho**2) * np.abs(x) - _NEAR * rho, 0.0) ** 2).sum(axis=1)
    least = (middle - near) * np.exp(-_DEEP / dimensions)
    low = _log_scale(np.maximum(middle - _SPREADS * spread - near, least) / spread)
    high = _log_scale((middle + _SPREADS * spread + 2 * _SPREADS * (rho**2).max() - near) / spread)
    nodes = int(np.ceil((high - low).max() / _STEP)) + 1
    v = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, nodes)
    steps = (spread * (high - low) / (nodes - 1))[:, None]
    return near[:, None] + spread[:, None] * np.logaddexp(0.0, v), steps * special.expit(v)


def _log_scale(t: Floats) -> Floats:
    """v with t = log(1 + e^v)."""
    return np.asarray(t + np.log(-np.expm1(-t)))


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
