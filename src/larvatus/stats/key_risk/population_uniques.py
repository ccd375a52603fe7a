"""Sample uniques that are unique in the population, under a log-linear Poisson model (Skinner and Shlomo 2008).

    F_k ~ Poisson(λ_k),   f_k | F_k ~ Binomial(F_k, π),   λ = μ / π   with μ from the log-linear fit,   m_k = (1 − π) λ_k

    τ₁ = Σ 1(f_k = 1) P(F_k = 1 | f_k = 1) = Σ 1(f_k = 1) e^(−m_k)                   sample uniques that are population uniques
    τ₂ = Σ 1(f_k = 1) E(1 / F_k | f_k = 1) = Σ 1(f_k = 1) (1 − e^(−m_k)) / m_k       expected right matches of sample uniques

    With h the summand of τ and e_k = f_k − μ_k, the error of a model is estimated by
        B = Σ μ_k e^(−μ_k) { −h′(λ_k) e_k / π + h″(λ_k) (e_k² − f_k) / (2 π²) }
        Var B = Σ (μ_k e^(−μ_k))² { h′² μ_k / π² + h″² μ_k² / (2 π⁴) }               if the model holds

B / √Var B is about standard normal for a model that fits, and large and positive for a model with too few interactions. The
forward search starts with independence and adds the interaction that brings |B₁| / √Var B₁ + |B₂| / √Var B₂ down most, until
both are below 1.96. In a large table only the five interactions with the largest likelihood are compared, after the first step
of their fits, and the best one is fitted.

The prediction variance of τ̂ − τ is Σ 1(f_k = 1) Var(h of F_k | f_k = 1) plus gᵀ (Xᵀ diag(μ) X)⁻¹ g with
g = Σ 1(f_k = 1) h′(λ_k) λ_k x_k. A record raises the fitted mean of its own cell by its leverage l_k, and h is curved, so that
    A = Σ 1(f_k = 1) l_k { h′(λ_k) λ_k (1 − μ_k) + h″(λ_k) λ_k² / 2 }
is the bias of τ̂ that the fit makes. The interval is about τ̂ − A, and A² is added to the variance: it is only the first term
of a series. If the model was searched, B² − Var B is added too, if it is positive: it estimates the square of the bias of a
model that does not hold. The test can miss interactions that the likelihood shows. The interval is then that of the model with
them, extended to τ̂.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.key_risk.log_linear import (
    FittedTable,
    Margin,
    cell_table,
    fit_margins,
    leverages,
    likelihood_gain,
    main_effects,
    missed_interactions,
    shared_variance,
    two_way_margins,
    with_first_step,
)

ACCEPTED = 1.96
_MOST_SEARCHED = 4_000_000  # cells × pairs of keys; in a larger table, interactions are compared after one step of their fits
_MOST_COMPARED = 5
_SMALL = 1e-4


@dataclass(frozen=True, slots=True)
class UniqueEstimate:
    """τ₁ and τ₂ under one model, their standard errors of prediction, and the statistics of its test.

    Standard errors are NaN if they were not asked for.
    """

    tau1: float
    tau2: float
    error1: float
    error2: float
    test1: float
    test2: float
    fitted: FittedTable
    bias1: float = 0.0
    bias2: float = 0.0
    richer: UniqueEstimate | None = None  # with the interactions that the test missed

    @property
    def interval1(self) -> tuple[float, float]:
        """The 95 % interval of τ₁; NaN if no errors were asked for."""
        own = self.richer or self
        return _around(own.tau1 - own.bias1, own.error1, self.tau1)

    @property
    def interval2(self) -> tuple[float, float]:
        """The 95 % interval of τ₂; NaN if no errors were asked for."""
        own = self.richer or self
        return _around(own.tau2 - own.bias2, own.error2, self.tau2)

    @property
    def margins(self) -> tuple[Margin, ...]:
        return self.fitted.margins

    @property
    def converged(self) -> bool:
        return self.fitted.converged

    @property
    def accepted(self) -> bool:
        return abs(self.test1) < ACCEPTED and abs(self.test2) < ACCEPTED

    @property
    def distance(self) -> float:
        return abs(self.test1) + abs(self.test2)


def _around(centre: float, error: float, value: float) -> tuple[float, float]:
    """The interval about the centre, extended to the value; NaN without an error."""
    if not np.isfinite(error):
        return np.nan, np.nan
    return min(max(centre - 1.96 * error, 0.0), value), max(centre + 1.96 * error, value)


@dataclass(frozen=True, slots=True)
class _Summand:
    """h, h′ and h″ of τ₁ or τ₂ at λ, with c = 1 − π."""

    value: Floats
    slope: Floats
    curvature: Floats

    def scaled(self, c: float) -> _Summand:
        """As a function of a rate of which a part c varies."""
        return _Summand(self.value, c * self.slope, c**2 * self.curvature)


def _unique_probability(rate: Floats, c: float) -> _Summand:
    value = np.exp(-c * rate)
    return _Summand(value, -c * value, c**2 * value)


def _match_probability(rate: Floats, c: float) -> _Summand:
    m = c * rate
    safe = np.where(m > _SMALL, m, 1.0)
    decay = np.exp(-safe)
    value = np.where(m > _SMALL, -np.expm1(-safe) / safe, 1 - m / 2)
    slope = np.where(m > _SMALL, (decay * (1 + safe) - 1) / safe**2, -0.5 + m / 3)
    bend = np.where(m > _SMALL, (2 - decay * (safe**2 + 2 * safe + 2)) / safe**3, 1 / 3 - m / 4)
    return _Summand(value, c * slope, c**2 * bend)


def inverse_square(m: Floats) -> Floats:
    """The mean of 1 / F² given f = 1, that is E(1 / (1 + J)²) for J ~ Poisson(m).

        e^(−m) Σ_j m^j / (j! (1 + j)²) = e^(−m) / m · Σ_{i ≥ 1} m^i / (i! i) = e^(−m) / m · (Ei(m) − γ − log m)
    """
    from scipy.special import expi

    small, large = m < 1e-3, m > 500
    middle = np.where(small | large, 1.0, m)
    out = np.exp(-middle) / middle * (expi(middle) - np.euler_gamma - np.log(middle))
    out = np.where(small, 1 - 0.75 * m, out)
    return np.where(large, (1 / np.where(large, m, 1.0)) ** 2, out)


def estimate_uniques(
    table: Floats, fitted: FittedTable, fraction: float, errors: bool = True, is_searched: bool = False
) -> UniqueEstimate:
    """τ₁ and τ₂ of a fitted table, with tests and, if `errors`, standard errors; `fraction` is the sampling fraction π.

    `is_searched` tells that the model was chosen by its test, so that the standard errors allow for a bias that passes it.
    Intervals are about τ less the bias that the fit makes.
    """
    f, mu = table.reshape(-1), fitted.mean.reshape(-1)
    alone = np.flatnonzero(f == 1)
    c, rate = 1 - fraction, mu / fraction
    tests, sums, spreads, biases = [], [], [], []
    leverage = leverages(fitted).reshape(-1)[alone] if errors else np.zeros(len(alone))
    for number, of in enumerate((_unique_probability, _match_probability)):
        h = of(rate, c)
        bias, doubt = _bias(f, mu, h, fraction, mu * np.exp(-mu))
        tests.append(bias / doubt if doubt > 0 else 0.0)
        own = _Summand(h.value[alone], h.slope[alone], h.curvature[alone])
        spread = own.value * (1 - own.value) if number == 0 else inverse_square(c * rate[alone]) - own.value**2
        gradient = np.zeros(len(f))
        gradient[alone] = own.slope * rate[alone]
        shared = shared_variance(fitted, gradient.reshape(table.shape)) if errors else np.nan
        sums.append(float(own.value.sum()))
        at = rate[alone]
        biases.append(float((leverage * (own.slope * at * (1 - mu[alone]) + own.curvature * at**2 / 2)).sum()))
        missed = max(bias**2 - doubt**2, 0.0) if is_searched else 0.0
        spreads.append(float(np.sqrt(np.maximum(spread, 0).sum() + shared + missed + biases[-1] ** 2)))
    return UniqueEstimate(sums[0], sums[1], spreads[0], spreads[1], tests[0], tests[1], fitted, biases[0], biases[1])


def _bias(f: Floats, mu: Floats, h: _Summand, fraction: float, once: Floats) -> tuple[float, float]:
    """B and √Var B; `once` is the probability of a sample unique, or what takes its place."""
    rest = f - mu
    b = once * (-h.slope * rest / fraction + h.curvature * (rest**2 - f) / (2 * fraction**2))
    v = once**2 * (h.slope**2 * mu / fraction**2 + h.curvature**2 * mu**2 / (2 * fraction**4))
    return float(b.sum()), float(np.sqrt(v.sum()))


def undetected_bias(f: Floats, mu: Floats, fraction: float) -> float:
    """Variance B² − Var B, or 0, of the bias that the test may have missed in the sum of the risks of all records."""
    bias, doubt = _bias(f, mu, _match_probability(mu / fraction, 1.0).scaled(1 - fraction), fraction, mu)
    return max(bias**2 - doubt**2, 0.0)


def search_models(codes: Ints, count: Ints, levels: Sequence[int], fraction: float, model: str) -> list[UniqueEstimate]:
    """Estimates under the models tried; the last one is chosen.

    `model` is "independence", "two_way" (all interactions) or "search" (forward search). A search never chooses a model that
    has not converged. In a large table, models before the last one have no standard errors.
    """
    table = cell_table(codes, count, levels)
    path = _path(table, levels, fraction, model)
    return path if model != "search" or fraction >= 1 else [*path[:-1], _with_missed(path[-1], table, fraction)]


def _with_missed(chosen: UniqueEstimate, table: Floats, fraction: float) -> UniqueEstimate:
    """The chosen model with the estimate by the interactions that its test missed, if there are any."""
    missed = missed_interactions(table, chosen.fitted)
    fit = fit_margins(table, [*chosen.margins, *missed], chosen.fitted.mean) if missed else chosen.fitted
    if not missed or not fit.converged:
        return chosen
    return replace(chosen, richer=estimate_uniques(table, fit, fraction, is_searched=True))


def _path(table: Floats, levels: Sequence[int], fraction: float, model: str) -> list[UniqueEstimate]:
    keys = len(levels)
    base = fit_margins(table, main_effects(keys))
    path = [estimate_uniques(table, base, fraction, is_searched=model == "search" and fraction < 1)]
    pairs = [p for p in two_way_margins(keys) if levels[p[0]] > 1 and levels[p[1]] > 1]
    if model == "independence" or not pairs or fraction >= 1:
        return path
    if model == "two_way":
        return [*path, estimate_uniques(table, fit_margins(table, [*main_effects(keys), *pairs]), fraction)]
    is_large, fitted = table.size * len(pairs) > _MOST_SEARCHED, base
    while pairs and not path[-1].accepted:
        fit = (_compared if is_large else _fitted)(table, fitted, pairs, fraction)
        found = None if fit is None else estimate_uniques(table, fit, fraction, not is_large, is_searched=True)
        if fit is None or found is None or found.distance >= path[-1].distance:
            break
        path.append(found)
        pairs.remove(fit.margins[-1])
        fitted = fit
    return [*path[:-1], estimate_uniques(table, fitted, fraction, is_searched=True)] if is_large else path


def _fitted(table: Floats, fitted: FittedTable, pairs: Sequence[Margin], fraction: float) -> FittedTable | None:
    """The best fit with one interaction more; None if none converges."""
    tried = [fit_margins(table, [*fitted.margins, p], fitted.mean) for p in pairs]
    return min((fit for fit in tried if fit.converged), key=lambda fit: _distance(table, fit, fraction), default=None)


def _compared(table: Floats, fitted: FittedTable, pairs: Sequence[Margin], fraction: float) -> FittedTable | None:
    """The same for a large table: the interactions with the largest likelihood are compared after one step of their fits."""
    likely = sorted(pairs, key=lambda p: -likelihood_gain(table, fitted.mean, p))[:_MOST_COMPARED]
    likely.sort(key=lambda p: _distance(table, with_first_step(table, fitted, p), fraction))
    fits = (fit_margins(table, [*fitted.margins, p], fitted.mean) for p in likely)
    return next((fit for fit in fits if fit.converged), None)


def _distance(table: Floats, fitted: FittedTable, fraction: float) -> float:
    return estimate_uniques(table, fitted, fraction, errors=False).distance
