"""Risk of every record under the fitted log-linear Poisson model, not only of sample uniques (Skinner and Shlomo 2008).

    F_k ~ Poisson(λ_k), of which f_k are sampled:   F_k = f_k + J,   J ~ Poisson(m_k),   m_k = μ_k (1 − p_k) / p_k
    (μ: fitted mean of the sample; p: sampling fraction of the combination, f / Σ w with survey weights)

    risk      r(f, m) = E(1 / F | f) = ∫₀^∞ e^(−f x − m (1 − e^−x)) dx
    square    E(1 / F² | f)          = ∫₀^∞ x e^(−f x − m (1 − e^−x)) dx
    slope     ∂r / ∂m = r(f + 1, m) − r(f, m),      ∂²r / ∂m² = r(f + 2, m) − 2 r(f + 1, m) + r(f, m)

    value     R = Σ f r / n,   n² Var(R̂ − R) = Σ f² Var(1 / F | f) + gᵀ (Xᵀ diag(μ) X)⁻¹ g,   g = Σ f m (∂r / ∂m) x

The interval is about R̂ − A / n, with the bias that the fit makes and l the leverage of the cell,
    A = Σ f l { m (∂r / ∂m) (f − μ) + m² (∂²r / ∂m²) / 2 },
and A² is added to the variance. After a search, B² − Var B is added too, if it is positive: B estimates the bias of a model
that does not hold. If the test missed interactions, the model with them gives the interval, as for τ. Over the law of f,
E f / (f + J) = μ φ(μ + m), φ(s) = (1 − e^−s) / s. So B and Var B are those of τ₂ with μ in the place of μ e^−μ, and λ in that
of m.

Without some of the keys, a class is a union of cells, and its m follows from the sum of their μ: no second fit is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.key_risk.individual_risk import SharedDoubt, sampled_share
from larvatus.stats.key_risk.log_linear import (
    MOST_KEY_CELLS,
    FittedTable,
    cells_of,
    leverages,
    observed_levels,
    shared_variance,
)
from larvatus.stats.key_risk.population_uniques import UniqueEstimate, search_models, undetected_bias

_NODES = 64
_TAIL = 40.0  # exp(−40) is nothing beside 1
_NEWTON = 10
_CHUNK = 50_000


@dataclass(frozen=True, slots=True)
class PoissonRisk:
    """E(1 / F | f), Var(1 / F | f), and the first two derivatives of E(1 / F | f) by m, of each class."""

    risk: Floats
    spread: Floats
    slope: Floats
    curvature: Floats


def poisson_risk(count: Ints, m: Floats) -> PoissonRisk:
    """Risks of classes of `count` records in the sample, with an expected `m` in the rest of the population."""
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    risk, square, slope, curvature = (np.empty(len(m)) for _ in range(4))
    for start in range(0, len(m), _CHUNK):
        part = slice(start, start + _CHUNK)
        f, rest = np.asarray(count[part], dtype=np.float64)[:, None], m[part, None]
        end = _end(f, rest)
        u = (node + 1) / 2  # x = end · u²: most nodes are near zero, where the integrand changes most
        x = end * u**2
        gone = -np.expm1(-x)
        value = np.exp(-f * x - rest * gone) * weight * u * end
        risk[part], square[part], slope[part] = value.sum(axis=1), (value * x).sum(axis=1), -(value * gone).sum(axis=1)
        curvature[part] = (value * gone**2).sum(axis=1)
    return PoissonRisk(risk, np.maximum(square - risk**2, 0.0), slope, curvature)


def _end(f: Floats, m: Floats) -> Floats:
    """An x beyond which the integrands are nothing: f x + m (1 − e^−x) ≥ 40, by Newton's method from the left."""
    x = _TAIL / (f + m)
    for _ in range(_NEWTON):
        x = np.minimum(x + (_TAIL - f * x + m * np.expm1(-x)) / (f + m * np.exp(-x)), _TAIL / f)
    return np.minimum(1.5 * x, _TAIL / f)


@dataclass(frozen=True, slots=True)
class ModelRisk:
    """Risk and variance of 1 / F of each combination under the chosen model.

    `doubt` is the error of the mean risk that is due to the fitted parameters and to the choice of the model. `codes` say in
    which cell of the model each combination is.
    """

    risk: Floats
    spread: Floats
    doubt: SharedDoubt
    chosen: UniqueEstimate
    codes: Ints
    fraction: float

    def without(self, key: int, count: Ints, weight: Floats | None) -> tuple[Floats, Ints]:
        """Risk and class size of each combination if a key is not known."""
        left = np.delete(self.codes, key, axis=1)
        mean = self.chosen.fitted.mean.sum(axis=key)
        cell = np.ravel_multi_index(tuple(left.T), mean.shape) if left.shape[1] else np.zeros(len(left), dtype=np.int64)
        own, place = np.unique(cell, return_inverse=True)
        place = place.reshape(-1)
        size = np.rint(np.bincount(place, weights=count)).astype(np.int64)
        total = None if weight is None else np.asarray(np.bincount(place, weights=weight), dtype=np.float64)
        p = sampled_share(size, total, self.fraction)
        return poisson_risk(size, mean.reshape(-1)[own] * (1 - p) / p).risk[place], size[place]


@dataclass(frozen=True, slots=True)
class KeyModels:
    """The models tried, the risk under the chosen one, and why there is none."""

    path: tuple[UniqueEstimate, ...]
    risk: ModelRisk | None
    why_not: str = ""


def model_risk(codes: Ints, count: Ints, weight: Floats | None, fraction: float, model: str = "search") -> KeyModels:
    """Fit log-linear models to the combinations that occur, each once, and give the risk under the chosen one.

    `weight` has the total survey weight of each combination, or is None; `fraction` is the sampling fraction of the file.
    """
    cells, levels = observed_levels(codes)
    if cells_of(levels) > MOST_KEY_CELLS:
        return KeyModels((), None, f"no log-linear model is fitted: the key variables have {cells_of(levels):,} cells, and at "
                         f"most {MOST_KEY_CELLS:,} are allowed. Name fewer keys (keys), or recode them into fewer levels")
    path = tuple(search_models(cells, count, levels, fraction, model))
    if not path[-1].converged:
        return KeyModels(path, None, "no log-linear model has converged")
    return KeyModels(path, _under_model(path[-1], cells, count, weight, fraction, levels, model))


def model_means(codes: Ints, count: Ints, fraction: float) -> Floats | None:
    """The mean of every combination under the model that a search chooses; None if there is none."""
    risk = model_risk(codes, count, None, fraction).risk
    return None if risk is None else np.asarray(risk.chosen.fitted.mean[tuple(risk.codes.T)])


def _under_model(
    chosen: UniqueEstimate, cells: Ints, count: Ints, weight: Floats | None, fraction: float, levels: Sequence[int], model: str
) -> ModelRisk:
    place = np.ravel_multi_index(tuple(cells.T), tuple(levels))
    odds = 1 / sampled_share(count, weight, fraction) - 1

    def fitted_risk(fit: FittedTable) -> tuple[PoissonRisk, float, float]:
        """Risks, the expected number of right matches less the bias that the fit makes, and its variance."""
        mu = fit.mean.reshape(-1)
        m = mu[place] * odds
        found = poisson_risk(count, m)
        gradient, table = np.zeros(mu.size), np.zeros(mu.size)
        gradient[place], table[place] = count * m * found.slope, count
        raised = m * found.slope * (count - mu[place]) + m**2 * found.curvature / 2
        bias = float((count * leverages(fit).reshape(-1)[place] * raised).sum())
        missed = undetected_bias(table, mu, fraction) if model == "search" and fraction < 1 else 0.0
        variance = shared_variance(fit, gradient.reshape(fit.mean.shape)) + missed + bias**2
        return found, float((count * found.risk).sum()) - bias, variance

    found, centre, variance = fitted_risk(chosen.fitted)
    if chosen.richer is not None:
        _, centre, variance = fitted_risk(chosen.richer.fitted)
    expected = max(float((count * found.risk).sum()), 1e-300)
    doubt = SharedDoubt(float(np.sqrt(variance)) / expected, 1 - centre / expected)
    return ModelRisk(found.risk, found.spread, doubt, chosen, cells, fraction)
