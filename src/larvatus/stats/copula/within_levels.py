"""Correlations within the levels of categorical columns that give the observed rank correlations over all levels.

Within each level, latent values are normal with their own mean. Over all records they are a mixture, and ranks and ties are
those of the mixture. Average rank as a function of the latent value is expanded in Hermite polynomials at every level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Matrix
from larvatus.core.portable.portable_functions import exp, interpolate
from larvatus.stats.copula.latent_correlation import FLAT, NEARLY_ALL, Ties, solve_latent, step_edges
from larvatus.stats.linear.portable_algebra import least_squares_solution, product, total

_TERMS, _GRID, _PLACES = 80, 128, 300
_THINNEST = 1e-4
NEWTON, _CLOSE, _SURE, FARTHEST = 30, 1e-7, 1e-4, 10.0


@dataclass(frozen=True, slots=True)
class LevelTable:
    """Shares of the levels, latent means (levels × columns), and variances within levels."""

    share: Matrix
    mean: Matrix
    variance: Matrix


def _standing(place: Matrix, mean: Matrix, spread: float, share: Matrix) -> Matrix:
    """Quantiles of the mixture on the scale of each level, levels × places."""
    from larvatus.core.portable.portable_normal import normal_cdf

    t = np.linspace(mean.min() - 7 * spread, mean.max() + 7 * spread, _PLACES)
    below = product(share, normal_cdf((t - mean[:, None]) / spread))
    return np.asarray((interpolate(place, below, t) - mean[:, None]) / spread)


def level_effects(target: Matrix, rows: Matrix, share: Matrix, ties: Ties) -> Matrix:
    """The effect of each indicator on the latent mean, with variance 1 within levels, that gives the observed mean ranks.

    `rows` contains the indicators of every level. `target` is the excess of mean average rank / n of the records with each
    indicator over that of all records. A level that lies entirely within ties, or entirely apart from the others, fits any
    large effect: one that gives nearly the same is used.
    """
    from larvatus.core.portable.portable_normal import normal_cdf

    place, rise = step_edges(ties, _GRID)
    effect = np.zeros(rows.shape[1])
    held = rows.T * share
    wanted = NEARLY_ALL * target * total(held, axis=1)
    for _ in range(NEWTON):
        z = _standing(place, product(rows, effect), 1.0, share)
        mean = product(normal_cdf(-z), rise)
        left = wanted - product(held, mean - product(share, mean))
        if np.abs(left).max(initial=0.0) < _CLOSE:
            break
        density = exp(-0.5 * z * z)
        local = product(held, density) / np.maximum(product(share, density), 1e-300)
        weighted = rise * density / np.sqrt(2 * np.pi)
        slope = product(held * total(weighted, axis=1), rows) - product(held, weighted, local.T)
        slope += _SURE * np.diag(total(held, axis=1))
        effect += np.clip(least_squares_solution(slope, left, 1e-9), -1.0, 1.0)
    return np.clip(effect, -FARTHEST, FARTHEST)


def rank_series(mean: Matrix, spread: float, share: Matrix, ties: Ties) -> Matrix:
    """Levels × (mean average rank up to a constant, then its coefficients 1, 2, … in normalised Hermite polynomials)."""
    from larvatus.core.portable.portable_normal import normal_cdf
    from larvatus.stats.copula.hermite import coefficients

    place, rise = step_edges(ties, _GRID)
    z = _standing(place, mean, spread, share)
    found = np.zeros((len(mean), _TERMS))
    coefficients(z, rise, found)
    return np.hstack([product(normal_cdf(-z), rise)[:, None], found])


def column_series(levels: LevelTable, column: int, ties: Ties) -> Matrix:
    """The rank series of one column."""
    spread = np.sqrt(np.maximum(levels.variance[column], _THINNEST**2))
    return rank_series(levels.mean[:, column], spread, levels.share, ties)


def inside_covariance(
    spearman: Matrix, count: Matrix, ties: list[Ties], levels: LevelTable, masked: int, known: Sequence[Matrix] = ()
) -> Matrix:
    """Covariances within levels that give the rank correlations of the first `masked` columns with all columns.

    If columns vary in different levels, ranks contain almost no information on their correlation within levels. The estimate
    is therefore shrunk towards zero according to its precision with `count` records. `known` are the rank series of the first
    columns, if there are any.
    """
    share, columns = levels.share, len(ties)
    series = [*known, *(column_series(levels, j, ties[j]) for j in range(len(known), columns))]
    scale = np.sqrt(np.array([t.variance for t in ties]))
    out = np.diag(levels.variance)
    i, j = np.triu_indices(columns, 1)
    i, j = i[i < masked], j[i < masked]
    products = np.array([product(share, series[a] * series[b]) for a, b in zip(i, j, strict=True)]).reshape(len(i), _TERMS + 1)
    centre = np.array([product(share, s[:, 0]) for s in series])
    between = products[:, 0] - centre[i] * centre[j]
    varies = (scale[i] > FLAT) & (scale[j] > FLAT)
    both = np.where(varies, scale[i] * scale[j], 1.0)
    found = solve_latent(spearman[i, j] * both - between, products[:, 1:], 1.0)
    powers = np.cumprod(np.hstack([np.ones((len(found), 1)), np.repeat(found[:, None], _TERMS - 1, axis=1)]), axis=1)
    moves = total(products[:, 1:] * powers, axis=1) / both
    sure = moves**2 / (moves**2 + 1 / np.maximum(count[i, j], 1.0))
    out[i, j] = out[j, i] = np.where(varies, sure * found, 0.0) * np.sqrt(levels.variance[i] * levels.variance[j])
    return out
