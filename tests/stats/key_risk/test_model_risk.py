"""Risk of all records under the log-linear model: against sums, a dense solution, and simulated populations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson

from larvatus.attacks.keys.class_risk import mean_with_interval
from larvatus.stats.key_risk import log_linear
from larvatus.stats.key_risk.individual_risk import individual_risk
from larvatus.stats.key_risk.log_linear import fit_margins, main_effects, shared_variance, two_way_margins
from larvatus.stats.key_risk.model_risk import model_risk, poisson_risk
from larvatus.stats.key_risk.population_uniques import search_models

LEVELS = (6, 8, 5)
CELLS = np.array(np.unravel_index(np.arange(np.prod(LEVELS)), LEVELS)).T
FALSE_ALARM = 1e-5
SIGMA = 4.5  # two-sided
SAMPLES = 120


@pytest.mark.parametrize("f", [1, 2, 7, 60, 2000])
@pytest.mark.parametrize("m", [0.0, 1e-6, 0.4, 3.0, 40.0, 41.5, 900.0, 2e5])
def test_moments_are_those_of_the_sums(f, m):
    j = np.arange(max(0, int(m - 14 * np.sqrt(m)) - 10), int(m + 14 * np.sqrt(m)) + 60)
    p = poisson.pmf(j, m)
    found = poisson_risk(np.array([f]), np.array([m]))
    mean, after = (p / (f + j)).sum(), (p / (f + 1.0 + j)).sum()
    assert found.risk[0] == pytest.approx(mean, rel=1e-8)
    assert found.slope[0] == pytest.approx(after - mean, rel=1e-6)
    assert found.spread[0] == pytest.approx((p * (1 / (f + j) - mean) ** 2).sum(), rel=1e-5, abs=1e-12)


def test_the_variance_of_parameters_is_that_of_a_dense_solution():
    """gᵀ (Xᵀ diag(μ) X)⁻ g with a matrix X of indicators and a pseudo-inverse."""
    rng = np.random.default_rng(0)
    fit = fit_margins(rng.poisson(2.0, LEVELS).astype(float), [*main_effects(3), (0, 1), (1, 2)])
    g = rng.normal(size=LEVELS)
    blocks = []
    for margin in fit.margins:
        code = np.ravel_multi_index([CELLS[:, a] for a in margin], [LEVELS[a] for a in margin])
        blocks.append(code[:, None] == np.arange(code.max() + 1))
    x = np.hstack(blocks).astype(float)
    sums = g.reshape(-1) @ x
    dense = sums @ np.linalg.pinv((x * fit.mean.reshape(-1)[:, None]).T @ x, hermitian=True) @ sums
    assert shared_variance(fit, g) == pytest.approx(dense, rel=1e-4)


def _rates(rng: np.random.Generator, interaction: float, total: float) -> np.ndarray:
    eta = sum(rng.normal(0, 0.6, n).reshape([-1 if i == j else 1 for j in range(3)]) for i, n in enumerate(LEVELS))
    rate = np.exp(eta + interaction * rng.normal(size=(6, 8, 1)))
    return (rate * total / rate.sum()).reshape(-1)


@pytest.mark.parametrize(("interaction", "model", "unequal"), [
    (0.0, "independence", False), (0.0, "independence", True), (0.8, "search", False),
])
def test_estimates_on_simulated_populations(interaction, model, unequal):
    """Errors of 120 samples are centred at zero up to 5 % of the risk (the fit is nonlinear), and 95 % intervals cover.

    If they cover with probability .95, fewer than 100 of 120 do with a probability of 4e-6. With unequal sampling fractions, by
    the first key, survey weights say which. The estimate by weights alone is further from the truth.
    """
    rng = np.random.default_rng(5)
    rate = _rates(rng, interaction, 3000.0)
    chance = np.where(CELLS[:, 0] % 2 == 0, 0.05, 0.2) if unequal else np.full(len(CELLS), 0.1)
    errors, by_weights, truths, hits = [], [], [], 0
    for _ in range(SAMPLES):
        population = rng.poisson(rate)
        f = rng.binomial(population, chance)
        seen = f > 0
        own, weight = f[seen], f[seen] / chance[seen]
        found = model_risk(CELLS[seen], own, weight if unequal else None, own.sum() / weight.sum(), model).risk
        value, low, high = mean_with_interval(own, found.risk, found.spread, float(own.sum()), found.doubt)
        truth = (own / population[seen]).sum() / own.sum()
        errors.append(value - truth)
        truths.append(truth)
        by_weights.append((own * individual_risk(own, chance[seen])).sum() / own.sum() - truth)
        hits += low <= truth <= high
    assert abs(np.mean(errors)) <= SIGMA * np.std(errors) / np.sqrt(SAMPLES) + 0.05 * np.mean(truths)
    assert abs(np.mean(errors)) < abs(np.mean(by_weights))
    assert hits >= 100


def test_a_fit_on_the_boundary_converges_to_a_hundredth_of_a_record():
    """Two levels never meet, and a third cell is empty: some μ tend to zero, and margins approach like one over the rounds."""
    table = np.ones((2, 2, 2))
    table[0, 0, 0] = table[1, 1, 1] = 0
    fit = fit_margins(table, [*main_effects(3), *two_way_margins(3)])
    assert fit.converged
    for axis in range(3):
        assert np.abs(fit.mean.sum(axis) - table.sum(axis)).max() <= 0.02


def test_a_search_does_not_choose_a_model_that_has_not_converged(monkeypatch):
    rng = np.random.default_rng(2)
    a = rng.integers(0, 8, 2000)
    codes = np.column_stack((a, (a + (rng.random(2000) < 0.2)) % 8, (a + rng.integers(0, 3, 2000)) % 8))
    own, count = np.unique(codes, axis=0, return_counts=True)
    assert len(search_models(own, count, (8, 8, 8), 0.1, "search")) > 1
    monkeypatch.setattr(log_linear, "_ROUNDS", 1)
    monkeypatch.setattr(log_linear, "_MORE_ROUNDS", 0)
    assert all(e.converged for e in search_models(own, count, (8, 8, 8), 0.1, "search"))
    assert not search_models(own, count, (8, 8, 8), 0.1, "two_way")[-1].converged
    assert model_risk(own, count, None, 0.1, "two_way").risk is None


def test_without_a_key_the_classes_are_sums_of_cells():
    """2 × 2 cells with counts 3, 1, 2, 0 and p = ½: without the second key, classes 4 and 2, and m is the sum of the fit."""
    codes, count = np.array([[0, 0], [0, 1], [1, 0]]), np.array([3, 1, 2])
    found = model_risk(codes, count, None, 0.5, "independence").risk
    risk, size = found.without(1, count, None)
    assert size.tolist() == [4, 4, 2]
    wanted = poisson_risk(np.array([4, 2]), np.array([4.0, 2.0])).risk
    assert risk == pytest.approx(wanted[[0, 0, 1]])


@pytest.mark.parametrize(("file", "keys"), [
    ("households.csv", ["urbrur", "relat", "sex", "age", "hhcivil"]),
    ("survey.csv", ["SEX", "AGE", "MARSTAT", "ETNI", "EDUC1"]),
])
def test_a_model_of_real_files_converges(real_files, file, keys):
    codes = pd.read_csv(real_files / file)[keys].apply(lambda c: pd.factorize(c, sort=True)[0]).to_numpy()
    own, count = np.unique(codes, axis=0, return_counts=True)
    found = model_risk(own, count, None, 0.01)
    assert found.path[-1].converged
    assert found.path[-1].accepted
    assert found.risk is not None
