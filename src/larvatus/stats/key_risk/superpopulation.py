"""Number of population uniques from the sizes of the classes in the sample: Pitman, Zayatz and slide negative binomial models.

    s_j: number of classes of size j in the sample,   u = Σ s_j,   n = Σ j s_j,   π = n / N

    Zayatz (1991)      P(F = 1 | f = 1) = s_1 P(1 | 1) / Σ_j s_j P(1 | j),   P(1 | j) = j C(N − j, n − 1) / C(N, n)
                       uniques = s_1 / π · P(F = 1 | f = 1)
    Pitman (1995)      likelihood  Π_{i<u} (θ + i α) · Π_j [Π_{i<j} (i − α)]^(s_j) / Π_{i<n} (θ + i),     0 < α < 1, θ > −α
                       uniques = N Γ(θ + 1) Γ(θ + α + N − 1) / (Γ(θ + α) Γ(θ + N))     (Hoshino 2001, before his approximation)
    slide negative     F − 1 ~ NB(α, β),   f = Bernoulli(π) + NB(α, β / (β + π (1 − β)))   by thinning, observed if f > 0
    binomial           uniques = K β^α,   K = u / P(f > 0)                            (Chen and Keller-McNulty 1998)

Parameters are maximum likelihood estimates. ARX solves estimating equations for the slide negative binomial model instead, so
its figures differ. A model whose likelihood has no maximum inside its range has not converged: it gives no estimate.

Interval: log U ± 1.96 √Var(Û − U) / U. For Zayatz and the slide negative binomial model the s_j are taken as Poisson numbers,
and the s_1 share π U classes with the U population uniques, so that with g_j = ∂Û / ∂s_j
    Var(Û − U) = Σ s_j g_j² + U − 2 g_1 π U.
For Pitman it is ∇ᵀ H⁻¹ ∇ + Var(U | sample), plus what the unknown N adds if the sample was drawn person by person (H: curvature
of the likelihood, by differences; ∇: slopes of E(U | sample), `pitman_prediction`). `benchmarks/key_risk_coverage.py` measures
the coverage in populations that obey the models.

Decision rule (Dankar, El Emam, Neisa and Roffey 2012): if π ≤ .1, Pitman, and Zayatz if it has not converged; otherwise the
smaller of Zayatz and slide negative binomial, and Zayatz if the latter has not converged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.key_risk.pitman_prediction import SampleClasses, predicted_uniques

PITMAN, ZAYATZ, SLIDE = "Pitman", "Zayatz", "slide negative binomial"
_SMALL_FRACTION = 0.1
_EDGE = 1e-4  # an estimate this close to the end of its range is no maximum inside it


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """Estimated number of population uniques under one model; `uniques` is NaN if it has not converged."""

    model: str
    uniques: float
    converged: bool
    chosen: bool = False
    error: float = np.nan  # standard error of prediction

    @property
    def ends(self) -> tuple[float, float] | None:
        """The 95 % interval, on the log scale; None without an estimate or an error."""
        if not self.converged or not np.isfinite(self.error):
            return None
        if self.uniques <= 0:
            return 0.0, 0.0
        factor = float(np.exp(min(1.96 * self.error / self.uniques, 50.0)))
        return self.uniques / factor, self.uniques * factor


def class_sizes(count: Ints) -> tuple[Ints, Ints]:
    """Sizes of classes that occur, and the number of classes of each size."""
    return np.unique(count, return_counts=True)


def zayatz(size: Ints, times: Ints | Floats, fraction: float) -> float:
    """Population uniques by Zayatz's conditional probability."""
    from scipy.special import gammaln

    alone = float(times[size == 1].sum())
    if not alone:
        return 0.0
    n = float((size * times).sum())
    population = n / fraction
    j = size.astype(np.float64)
    possible = population - j >= n - 1 - 1e-9
    log_once = np.full(len(j), -np.inf)
    k = j[possible]
    log_once[possible] = (
        np.log(k) + gammaln(population - k + 1) - gammaln(n) - gammaln(np.maximum(population - k - n + 2, 1e-9))
        - gammaln(population + 1) + gammaln(n + 1) + gammaln(population - n + 1)
    )
    once = np.exp(log_once)
    return float(alone / fraction * alone * fraction / float((times * once).sum()))


def zayatz_estimate(size: Ints, times: Ints, fraction: float) -> ModelEstimate:
    """Zayatz's estimate with its error."""
    value = zayatz(size, times, fraction)
    slope = np.empty(len(size))
    for i in range(len(size)):
        more = times.astype(np.float64).copy()
        step = max(0.01 * float(times[i]), 1e-3)
        more[i] += step
        slope[i] = (zayatz(size, more, fraction) - value) / step
    return ModelEstimate(ZAYATZ, value, True, error=_error_of_counts(value, size, times, fraction, slope))


def pitman(size: Ints, times: Ints, fraction: float) -> ModelEstimate:
    """Population uniques under the Ewens–Pitman model."""
    from scipy.special import gammaln

    n, u = float((size * times).sum()), float(times.sum())
    if u <= 1 or u >= n:
        return ModelEstimate(PITMAN, 0.0 if u <= 1 and n > 1 else np.nan, u <= 1 and n > 1)
    j = size.astype(np.float64)

    def likelihood(alpha: float, theta: float) -> float:
        first = (u - 1) * np.log(alpha) + gammaln(theta / alpha + u) - gammaln(theta / alpha + 1)
        last = gammaln(theta + n) - gammaln(theta + 1)
        return float(first - last + (times * (gammaln(j - alpha) - gammaln(1 - alpha))).sum())

    def at(z: Floats) -> tuple[float, float]:
        alpha = 1 / (1 + np.exp(-np.clip(z[0], -30.0, 30.0)))
        return float(alpha), float(np.exp(np.clip(z[1], -30.0, 40.0)) - alpha)

    found = _largest(lambda z: likelihood(*at(z)), [(0.0, np.log(u)), (-2.0, np.log(u)), (1.0, 0.0)])
    if found is None:
        return ModelEstimate(PITMAN, np.nan, False)
    alpha, theta = at(found)
    if not _EDGE < alpha < 1 - _EDGE or theta > 1e3 * n:
        return ModelEstimate(PITMAN, np.nan, False)
    population = n / fraction

    def uniques(z: Floats) -> float:
        alpha, theta = at(z)
        return float(np.exp(np.log(population) + gammaln(theta + 1) + gammaln(theta + alpha + population - 1)
                            - gammaln(theta + alpha) - gammaln(theta + population)))

    sample = SampleClasses(n, u, float(times[size == 1].sum()))

    def given_sample(z: Floats, persons: float = population) -> float:
        return predicted_uniques(*at(z), sample, persons)[0]

    by_size = (given_sample(found, 1.01 * population) - given_sample(found)) / 0.01  # slope in log N
    own = predicted_uniques(alpha, theta, sample, population)[1] + by_size**2 * (1 - fraction) / n
    return ModelEstimate(PITMAN, uniques(found), True, error=_error(lambda z: likelihood(*at(z)), given_sample, found, own))


def slide_negative_binomial(size: Ints, times: Ints, fraction: float) -> ModelEstimate:
    """Population uniques under the slide negative binomial model."""
    from scipy.special import gammaln, xlogy

    def negative_binomial(k: Floats, alpha: float, p: float) -> Floats:
        log_mass = gammaln(alpha + k) - gammaln(k + 1) - gammaln(alpha) + alpha * np.log(p) + xlogy(k, 1 - p)
        return np.asarray(np.exp(log_mass))

    def shares(alpha: float, beta: float) -> tuple[Floats, float]:
        thinned = beta / (beta + fraction * (1 - beta))
        j = size.astype(np.float64)
        mass = (1 - fraction) * negative_binomial(j, alpha, thinned) + fraction * negative_binomial(j - 1, alpha, thinned)
        return mass, 1 - (1 - fraction) * float(thinned**alpha)

    def at(z: Floats) -> tuple[float, float]:
        return float(np.exp(min(z[0], 20.0))), float(1 / (1 + np.exp(-np.clip(z[1], -30.0, 30.0))))

    def likelihood(z: Floats) -> float:
        mass, there = shares(*at(z))
        return float(xlogy(times, np.maximum(mass, 1e-300)).sum() - times.sum() * np.log(max(there, 1e-300)))

    found = _largest(likelihood, [(0.0, 0.0), (-2.0, -3.0), (1.0, -5.0), (-4.0, -6.0)]) if len(size) > 2 else None
    if found is None:
        return ModelEstimate(SLIDE, np.nan, False)
    alpha, beta = at(found)
    if not _EDGE**2 < beta < 1 - _EDGE or not _EDGE**2 < alpha < 1e4:
        return ModelEstimate(SLIDE, np.nan, False)

    def uniques(z: Floats) -> float:
        alpha, beta = at(z)
        return float(times.sum() / shares(alpha, beta)[1] * beta**alpha)

    def log_share(z: Floats) -> Floats:
        mass, there = shares(*at(z))
        return np.asarray(np.log(np.maximum(mass, 1e-300)) - np.log(max(there, 1e-300)))

    steps = 1e-3 * np.eye(2)
    score = np.array([(log_share(found + e) - log_share(found - e)) / 2e-3 for e in steps])
    bent, slope = _curvature(likelihood, found), _slope(uniques, found)
    value = uniques(found)
    if bent is None:
        return ModelEstimate(SLIDE, value, True)
    by_count = value / times.sum() + slope @ np.linalg.solve(bent, score)
    return ModelEstimate(SLIDE, value, True, error=_error_of_counts(value, size, times, fraction, by_count))


def _error_of_counts(uniques: float, size: Ints, times: Ints, fraction: float, slope: Floats) -> float:
    """Standard error of Û − U, with Û a function of the Poisson numbers s_j that has these slopes."""
    own = uniques * (1 - 2 * fraction * float(slope[size == 1].sum()))
    return float(np.sqrt(max(float(times @ slope**2) + own, 0.0)))


def _error(likelihood: Callable[[Floats], float], uniques: Callable[[Floats], float], at: Floats, own: float) -> float:
    """Standard error of the number of uniques; NaN if the likelihood is not curved downwards."""
    bent, slope = _curvature(likelihood, at), _slope(uniques, at)
    return float("nan") if bent is None else float(np.sqrt(slope @ np.linalg.solve(bent, slope) + own))


def _slope(function: Callable[[Floats], float], at: Floats) -> Floats:
    steps = 1e-3 * np.eye(2)
    return np.array([(function(at + e) - function(at - e)) / 2e-3 for e in steps])


def _curvature(likelihood: Callable[[Floats], float], at: Floats) -> Floats | None:
    """Minus the second derivatives; None if they are not positive definite."""
    step = 1e-3 * np.eye(2)

    def second(i: int, j: int) -> float:
        signs = [(a, b) for a in (1, -1) for b in (1, -1)]
        return sum(a * b * likelihood(at + a * step[i] + b * step[j]) for a, b in signs) / (4 * 1e-6)

    h = -np.array([[second(i, j) for j in (0, 1)] for i in (0, 1)])
    return h if np.isfinite(h).all() and np.linalg.eigvalsh(h).min() > 0 else None


def _largest(function: Callable[[Floats], float], starts: list[tuple[float, float]]) -> Floats | None:
    """Where a function of two parameters is largest, from several starts; None if no search ends."""
    from scipy.optimize import minimize

    best, found = -np.inf, None
    for start in starts:
        done = minimize(lambda z: -function(z), np.array(start), method="Nelder-Mead",
                        options={"xatol": 1e-7, "fatol": 1e-9, "maxiter": 2000})  # type: ignore[call-overload]
        if done.success and np.isfinite(done.fun) and -done.fun > best:
            best, found = -float(done.fun), np.asarray(done.x, dtype=np.float64)
    return found


def population_uniques(count: Ints, fraction: float) -> list[ModelEstimate]:
    """The estimates of all three models; `chosen` marks the one that the decision rule takes."""
    size, times = class_sizes(count)
    alone = float(times[size == 1].sum())
    if fraction >= 1 or not alone:
        return [ModelEstimate(m, alone, True, m == ZAYATZ, 0.0) for m in (PITMAN, ZAYATZ, SLIDE)]
    own = {
        PITMAN: pitman(size, times, fraction), ZAYATZ: zayatz_estimate(size, times, fraction),
        SLIDE: slide_negative_binomial(size, times, fraction),
    }
    chosen = decision_rule(own[PITMAN], own[ZAYATZ], own[SLIDE], fraction)
    return [replace(e, chosen=m == chosen) for m, e in own.items()]


def decision_rule(pitman: ModelEstimate, zayatz: ModelEstimate, slide: ModelEstimate, fraction: float) -> str:
    """The model to use, by the rule of Dankar and others."""
    if fraction <= _SMALL_FRACTION:
        return PITMAN if pitman.converged else ZAYATZ
    return SLIDE if slide.converged and slide.uniques <= zayatz.uniques else ZAYATZ
