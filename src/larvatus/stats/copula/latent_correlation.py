"""Latent correlations r of a normal copula that give the observed rank correlations ρ, with ties.

    without ties   r = 2 sin(πρ/6)
    with ties      solve ρ = Σ_k a_k b_k rᵏ / (σ_a σ_b)

a_k and b_k are the Hermite coefficients of the two columns' average ranks as functions of a normal variable, and σ_a and σ_b
the standard deviations of these ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Matrix
from larvatus.core.portable.portable_functions import small_sine
from larvatus.stats.linear.portable_algebra import cholesky, inverse_of, product, pseudo_inverse, symmetric_eigen, total

_TERMS = 160
FLAT = 1e-6
_GRID = 512
_PLACES = np.linspace(-6.0, 6.0, 121)
_LARGEST, NEARLY_ALL = 0.999, 0.999
HALVINGS = 48


def latent_of_untied(spearman: Matrix) -> Matrix:
    """2 sin(πρ/6): the latent correlation behind a rank correlation without ties (Pearson 1907)."""
    return np.asarray(2.0 * small_sine(np.pi / 6.0 * spearman))


@dataclass(frozen=True, slots=True)
class Ties:
    """Runs of equal values of a column: where each begins and ends, as shares of the records in (0, 1)."""

    low: Matrix
    high: Matrix

    @property
    def variance(self) -> float:
        """Variance of average ranks / n: 1/12 minus the reduction by ties."""
        run = self.high - self.low
        return float(1.0 - total(run * run * run)) / 12.0


def tied_runs(rank: Matrix, count: Matrix, n: int) -> Ties:
    """Runs from the average rank and the frequency of each tied value."""
    order = np.argsort(rank)
    rank, count = rank[order], count[order]
    return Ties((rank - (count - 1) / 2 - 1) / n, (rank + (count - 1) / 2) / n)


def step_edges(ties: Ties, grid: int) -> tuple[Matrix, Matrix]:
    """The positions and sizes of the jumps of average rank / n as a function of the share of records.

    It jumps at both ends of every run by half the run's length. Elsewhere it equals the share itself, approximated by a grid
    of small jumps.
    """
    cuts = np.unique(np.concatenate([np.linspace(0.0, 1.0, grid + 1), ties.low, ties.high]))
    middle = (cuts[1:] + cuts[:-1]) / 2
    inside = np.searchsorted(ties.low, middle, side="right") - 1
    ends = np.append(ties.high, 0.0)[inside] if len(ties.low) else np.zeros(len(middle))
    covered = (inside >= 0) & (middle < ends)
    half = (ties.high - ties.low) / 2
    place = np.concatenate([middle[~covered], ties.low, ties.high])
    rise = np.concatenate([np.diff(cuts)[~covered], half, half])
    real = (place > 0) & (place < 1)
    return place[real], rise[real]


def hermite_weights(ties: Ties) -> Matrix:
    """Coefficients 1, 2, … of average rank, as a function of a normal variable, in normalised Hermite polynomials."""
    from larvatus.core.portable.portable_normal import normal_quantile
    from larvatus.stats.copula.hermite import coefficients

    place, rise = step_edges(ties, _GRID)
    out = np.zeros((1, _TERMS))
    coefficients(normal_quantile(place)[None], rise, out)
    return np.asarray(out[0])


def latent_with_indicator(observed: Matrix, share: Matrix, ties: Ties) -> Matrix:
    """Correlation of a latent value with indicators, from the correlations of average ranks with them.

    Within a level, the latent value is normal with a shifted mean. Over all records it is a mixture of two normals, and ranks
    and ties are those of the mixture. A level that lies entirely within ties, or entirely apart from the others, fits any
    large correlation: the smallest that gives nearly the same rank correlation is used.
    """
    spread = np.sqrt(np.maximum(share * (1 - share), 1e-300))
    low, high = -np.full(len(share), _LARGEST), np.full(len(share), _LARGEST)

    def difference(rho: Matrix) -> Matrix:
        return _rank_difference(rho / spread / np.sqrt(1 - rho * rho), share, ties)

    target = NEARLY_ALL * np.clip(observed * np.sqrt(ties.variance) / spread, difference(low), difference(high))
    for _ in range(HALVINGS // 2 - 4):
        rho = (low + high) / 2
        above = difference(rho) > target
        high, low = np.where(above, rho, high), np.where(above, low, rho)
    return np.asarray((low + high) / 2)


def _rank_difference(apart: Matrix, share: Matrix, ties: Ties) -> Matrix:
    """Difference of mean average rank / n between two normals of variance 1 with means `apart` apart, mixed in these shares."""
    from larvatus.core.portable.portable_normal import normal_cdf

    own, apart, share = normal_cdf(_PLACES), apart[:, None], share[:, None]
    with_it = _mean_rank(share * own + (1 - share) * normal_cdf(_PLACES + apart), np.diff(own), ties)
    without = _mean_rank(share * normal_cdf(_PLACES - apart) + (1 - share) * own, np.diff(own), ties)
    return with_it - without


def _mean_rank(below: Matrix, weight: Matrix, ties: Ties) -> Matrix:
    """Mean average rank / n of records in cells of these weights, from the share of all records below each edge."""
    step = np.diff(below)
    rank = np.divide(np.diff(_summed_rank(below, ties)), step, out=np.zeros_like(step), where=step > 0)
    return np.asarray(product(rank, weight))


def _summed_rank(share: Matrix, ties: Ties) -> Matrix:
    """Average rank / n summed over the lowest share of the records."""
    total = share * share / 2
    if len(ties.low) == 0:
        return total
    run = np.maximum(np.searchsorted(ties.low, share, side="right") - 1, 0)
    low, high = ties.low[run], ties.high[run]
    inside = (share > low) & (share < high)
    return np.where(inside, low * low / 2 + (low + high) / 2 * (share - low), total)


def latent_correlation(spearman: float, one: Ties, other: Ties) -> float:
    """The latent correlation whose tied rank correlation is the observed one; ±1 if none is large enough."""
    if len(one.low) == 0 and len(other.low) == 0:
        return float(latent_of_untied(np.array(spearman)))
    product = hermite_weights(one) * hermite_weights(other)
    return float(solve_latent(np.array([spearman]), product[None], np.sqrt(one.variance * other.variance))[0])


def solve_latent(spearman: Matrix, products: Matrix, scale: Matrix | float) -> Matrix:
    """For each pair, the latent correlation that gives the rank correlation; rows of `products` are the series coefficients."""
    low, high = -np.ones(len(spearman)), np.ones(len(spearman))
    target, powers = spearman * scale, np.empty(products.shape)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        powers[:] = middle[:, None]
        np.cumprod(powers, axis=1, out=powers)
        value = total(products * powers, axis=1)
        above = value > target
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    return np.asarray((low + high) / 2)


def latent_matrix(spearman: Matrix, ties: list[Ties]) -> Matrix:
    """Latent correlations for all pairs of columns; 0 if a column does not vary."""
    p = len(ties)
    r = np.where(np.isnan(spearman), 0.0, spearman)
    out = latent_of_untied(r)
    tied = np.array([len(t.low) > 0 for t in ties])
    i, j = np.triu_indices(p, 1)
    chosen = tied[i] | tied[j]
    if chosen.any():
        i, j = i[chosen], j[chosen]
        weights = np.array([hermite_weights(t) for t in ties])
        scale = np.sqrt(np.array([t.variance for t in ties]))
        found = solve_latent(r[i, j], weights[i] * weights[j], scale[i] * scale[j])
        varies = (scale[i] > FLAT) & (scale[j] > FLAT)
        out[i, j] = out[j, i] = np.where(varies, found, 0.0)
    np.fill_diagonal(out, 1.0)
    return out


def inverse(r: Matrix) -> Matrix:
    """The inverse of a correlation matrix, or of a stack; generalised if columns are linearly dependent."""
    try:
        root = cholesky(r)
        if np.diagonal(root, axis1=-2, axis2=-1).min(initial=1.0) > 1e-3:
            return inverse_of(r)
    except np.linalg.LinAlgError:
        pass
    if r.ndim > 2:
        return np.array([inverse(one) for one in r])
    return pseudo_inverse(r, 1e-10)


def fit_weights(cross: Matrix, given: Matrix, variance: Matrix) -> tuple[Matrix, Matrix]:
    """Weights of S for each column of X, and the variance they explain, limited to nearly all of it.

    Pairwise correlations may be inconsistent, and S then seems to explain more than the whole variance.
    """
    weights = product(inverse(given), cross.swapaxes(-1, -2))
    explained = np.maximum(total(cross.swapaxes(-1, -2) * weights, axis=-2), 0.0)
    most = _LARGEST**2 * variance
    shrink = np.sqrt(np.where(explained > most, most / np.where(explained > most, explained, 1.0), 1.0))
    return weights * shrink[..., None, :], np.minimum(explained, most)


def conditional(latent: Matrix, cross: Matrix, given: Matrix) -> tuple[Matrix, Matrix, float]:
    """Weights of S, a symmetric factor of the conditional covariance of X, and the largest change of a correlation by repair.

    `latent` contains the latent covariances of X, `cross` those of X with the columns that represent S, `given` the
    covariances of these columns. Every column of X keeps its variance.
    """
    weights, root, moved = conditionals(latent[None], cross[None], given[None])
    return weights[0], root[0], float(moved[0])


def conditionals(latent: Matrix, cross: Matrix, given: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """The same for a stack of matrices."""
    each = np.arange(latent.shape[-1])
    variance = latent[:, each, each]
    weights, explained = fit_weights(cross, given, variance)
    by_s = product(weights.swapaxes(-1, -2), given, weights)
    rest = latent - by_s
    rest[:, each, each] = variance - explained
    values, vectors = symmetric_eigen((rest + rest.swapaxes(-1, -2)) / 2)
    root = _factor(values, vectors)
    broken = values.min(axis=-1, initial=0.0) < 0
    if broken.any():
        root[broken] = _rescaled(root[broken], (variance - explained)[broken])
    spread = np.sqrt(np.where(variance > 0, variance, 1.0))
    moved = np.abs(product(root, root) + by_s - latent) / (spread[:, :, None] * spread[:, None, :])
    moved[:, each, each] = 0.0
    strayed = np.abs(product(given, weights) - cross.swapaxes(-1, -2)) / spread[:, None, :]
    return weights, root, np.maximum(moved.max(axis=(1, 2), initial=0.0), strayed.max(axis=(1, 2), initial=0.0))


def _factor(values: Matrix, vectors: Matrix) -> Matrix:
    """The symmetric factor of matrices with these eigenvalues; negative ones count as zero."""
    return np.asarray(product(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :], vectors.swapaxes(-1, -2)))


def _rescaled(root: Matrix, variance: Matrix) -> Matrix:
    """Symmetric factors of the same correlations with these variances."""
    found = product(root, root)
    now = np.diagonal(found, axis1=-2, axis2=-1)
    scale = np.sqrt(np.maximum(variance, 0.0) / np.where(now > 0, now, 1.0))
    return _factor(*symmetric_eigen(found * scale[:, :, None] * scale[:, None, :]))
