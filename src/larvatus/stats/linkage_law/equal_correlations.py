"""P(link) of the best single-target intruder, for normal X, if each column has the same correlation ρ with its masked version.

    X ~ N(0, I_d),  Y = ρX + √(1 − ρ²) ε,  n candidates;  the intruder who knows x links the y nearest to x / ρ:

    P(link) = E[(1 − F(r²))^(n−1)],    r = |y − x/ρ|,    F the noncentral χ² with d degrees of freedom and |x|²/ρ²

Given |x| = a, the distance r of the own record is √(1 − ρ²) times a noncentral χ with noncentrality (1 − ρ²) a² / ρ². So the
mean is an integral over a and r. The nodes do not depend on n, so one set serves every n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from larvatus.core.arrays import Floats
from larvatus.stats.linkage_law.noncentral import density, lower_tail

_MOST_COLUMNS = 300
_OUTER, _STEP, _DEEP = 64, 0.1, 41.0
_REACH = 9.0
_SURE, _NOTHING = 1.0 - 1e-12, 1e-8


@dataclass(frozen=True, slots=True)
class Rivals:
    """The law of the share of other records that beat the own one: `beaten` with probability `weight`."""

    beaten: Floats
    weight: Floats

    def link_probability(self, candidates: Floats, guesses: int = 1) -> Floats:
        """The probability that fewer than `guesses` of the other candidates beat the own record."""
        rivals = np.atleast_1d(np.asarray(candidates, dtype=np.float64))[:, None] - 1
        if guesses == 1:
            missed = np.exp(rivals * np.log1p(-np.minimum(self.beaten, 1 - 1e-16)))
        else:
            few = rivals < guesses
            left = np.maximum(rivals + 1 - guesses, 0.5)
            missed = np.where(few, 1.0, special.betaincc(float(guesses), left, self.beaten))
        return np.asarray((missed * self.weight).sum(axis=1))


def rivals(correlation: float, d: int) -> Rivals:
    """The law for d columns with this correlation."""
    if not 1 <= d <= _MOST_COLUMNS or not 0 <= correlation <= 1:
        raise ValueError(f"the linkage law needs 1 to {_MOST_COLUMNS} columns and a correlation from 0 to 1")
    if correlation >= _SURE:
        return Rivals(np.zeros(1), np.ones(1))
    if correlation <= _NOTHING:  # the linear limit: the own record is one of n
        share = special.expit(np.arange(-_DEEP, _DEEP, _STEP))
        return Rivals(share, share * special.expit(-np.arange(-_DEEP, _DEEP, _STEP)) * _STEP)
    size, outer = _lengths(d)
    noise = np.sqrt(1 - correlation**2)
    r, inner = _distances(noise * size / correlation, d)
    beaten = lower_tail(noise * r, d, np.broadcast_to((size / correlation)[:, None], r.shape))
    weight = outer[:, None] * inner
    return Rivals(beaten.ravel(), weight.ravel() / weight.sum())


def _lengths(d: int) -> tuple[Floats, Floats]:
    """Nodes and weights for |x|, which has the χ distribution."""
    centre = np.sqrt(d)
    low, high = max(0.0, centre - _REACH), centre + _REACH
    nodes, weight = np.polynomial.legendre.leggauss(_OUTER)
    size = low + (1 + nodes) / 2 * (high - low)
    return size, weight * density(size, d, np.zeros(_OUTER))


def _distances(root: Floats, d: int) -> tuple[Floats, Floats]:
    """For each noncentrality, nodes and weights for the own record's distance r = log(1 + e^v), in units of the noise.

    Steps of v are equal. The law of r is smooth on the log scale near zero and on its own scale elsewhere.
    """
    centre = np.sqrt(root**2 + d)
    low = np.where(centre > _REACH, centre - _REACH, -_DEEP / d)[:, None]
    high = (centre + _REACH)[:, None]
    v = low + (high - low) * np.linspace(0.0, 1.0, int(np.ceil(float((high - low).max()) / _STEP)))
    r = np.logaddexp(0.0, v)
    step = (high - low) / (v.shape[1] - 1)
    return r, density(r, d, np.broadcast_to(root[:, None], r.shape)) * special.expit(v) * step
