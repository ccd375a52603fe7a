"""Log-linear fits against independent oracles, τ₁ and τ₂ against simulated populations, and the test of the model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import poisson

from larvatus.stats.key_risk import population_uniques
from larvatus.stats.key_risk.log_linear import (
    cell_table,
    fit_margins,
    leverages,
    main_effects,
    missed_interactions,
    two_way_margins,
)
from larvatus.stats.key_risk.population_uniques import estimate_uniques, inverse_square, search_models

LEVELS = (6, 8, 5, 4)
CELLS = np.array(np.unravel_index(np.arange(np.prod(LEVELS)), LEVELS)).T
FALSE_ALARM = 1e-6
SIGMA = 4.9  # two-sided


def rates(rng: np.random.Generator, interaction: float, total: float = 4000.0) -> np.ndarray:
    eta = sum(rng.normal(0, 0.6, n).reshape([-1 if i == j else 1 for j in range(4)]) for i, n in enumerate(LEVELS))
    eta = eta + interaction * rng.normal(size=(6, 8, 1, 1))
    rate = np.exp(eta)
    return (rate * total / rate.sum()).reshape(-1)


def test_independence_is_the_product_of_margins():
    rng = np.random.default_rng(0)
    table = rng.poisson(3.0, (3, 4, 2)).astype(float)
    n = table.sum()
    wanted = np.einsum("i,j,k->ijk", table.sum((1, 2)), table.sum((0, 2)), table.sum((0, 1))) / n**2
    assert fit_margins(table, main_effects(3)).mean == pytest.approx(wanted)


def test_two_way_fit_solves_the_likelihood_equations():
    """All two-way margins are those of the data, and log μ has no three-way interaction (2 × 2 × 2: the odds ratios agree)."""
    table = np.random.default_rng(1).poisson(20.0, (2, 2, 2)).astype(float)
    fit = fit_margins(table, [*main_effects(3), *two_way_margins(3)])
    for axis in range(3):
        assert fit.mean.sum(axis) == pytest.approx(table.sum(axis), rel=1e-7)
    odds = fit.mean[:, 0, 0] * fit.mean[:, 1, 1] / (fit.mean[:, 0, 1] * fit.mean[:, 1, 0])
    assert odds[0] == pytest.approx(odds[1], rel=1e-6)
    assert fit.converged


def test_tables_from_combinations():
    table = cell_table(np.array([[0, 1], [1, 0], [0, 1]]), np.array([2, 3, 4]), (2, 2))
    assert table.tolist() == [[0, 6], [3, 0]]


def test_by_hand():
    """Counts 1, 1, 1, 1 in a 2 × 2 table, π = ½: μ = 1, λ = 2, m = 1. τ₁ = 4 e^−1, τ₂ = 4 (1 − e^−1)."""
    table = np.ones((2, 2))
    found = estimate_uniques(table, fit_margins(table, main_effects(2)), 0.5)
    assert found.tau1 == pytest.approx(4 * np.exp(-1))
    assert found.tau2 == pytest.approx(4 * (1 - np.exp(-1)))


def test_the_statistic_by_hand():
    """In that table e = 0 and e² − f = −1. With h = e^(−λ/2): h″ = ¼ e^−1, and once = μ e^−μ = e^−1.

    B = 4 · e^−1 · ¼ e^−1 · (−1) / (2 · ¼) = −2 e^−2.
    Var B = 4 · e^−2 · { ¼ e^−2 · 1 / ¼ + (1/16) e^−2 · 1 / (2 · 1/16) } = 4 e^−4 · (1 + ½) = 6 e^−4.   B / sd = −2 / √6.
    """
    table = np.ones((2, 2))
    found = estimate_uniques(table, fit_margins(table, main_effects(2)), 0.5)
    assert found.test1 == pytest.approx(-2 / np.sqrt(6))


@pytest.mark.parametrize("m", [0.0, 1e-4, 0.01, 1.0, 30.0, 400.0, 600.0])
def test_mean_inverse_square(m):
    j = np.arange(0, 3000)
    wanted = (poisson.pmf(j, m) / (1.0 + j) ** 2).sum()
    assert inverse_square(np.array([m]))[0] == pytest.approx(wanted, rel=1e-2 if m > 500 else 1e-6)


@pytest.mark.parametrize(("interaction", "model", "most"), [
    (0.0, "independence", 1e9), (0.0, "search", 1e9), (0.9, "search", 1e9), (0.9, "search", 0),
])
def test_estimates_on_simulated_populations(monkeypatch, interaction, model, most):
    """Errors of 120 samples are centred at zero up to 8 % of τ (plug-in bias), and the 95 % intervals cover; also if the table
    counts as large.

    If they cover with probability .95, fewer than 100 of 120 happens with a probability of 4e-6. If they cover with .93, with a
    probability of 2e-4. Intervals that are twice as wide as needed cover all.
    """
    monkeypatch.setattr(population_uniques, "_MOST_SEARCHED", most)
    rng = np.random.default_rng(3)
    rate = rates(rng, interaction)
    errors, truths, hits = [], [], np.zeros(2)
    for _ in range(120):
        population = rng.poisson(rate)
        f = rng.binomial(population, 0.1)
        alone, seen = f == 1, f > 0
        found = search_models(CELLS[seen], f[seen], LEVELS, 0.1, model)[-1]
        truth = np.array([(population[alone] == 1).sum(), (1 / population[alone]).sum()])
        errors.append(np.array([found.tau1, found.tau2]) - truth)
        truths.append(truth)
        hits += [low <= t <= high for t, (low, high) in zip(truth, (found.interval1, found.interval2), strict=True)]
    limit = SIGMA * np.std(errors, axis=0) / np.sqrt(120) + 0.08 * np.mean(truths, axis=0)
    assert (np.abs(np.mean(errors, axis=0)) <= limit).all()
    assert (hits >= 100).all()
    assert (hits < 120).all()


def test_the_statistic_is_standard_normal_if_the_model_holds():
    """Mean of 300 statistics within 4.9 / √300, apart from the effect of estimated parameters (at most .3); sd at most 1.2."""
    rng = np.random.default_rng(4)
    rate = rates(rng, 0.0)
    tests = []
    for _ in range(300):
        table = rng.poisson(0.1 * rate).reshape(LEVELS).astype(float)
        found = estimate_uniques(table, fit_margins(table, main_effects(4)), 0.1, errors=False)
        tests.append((found.test1, found.test2))
    assert (np.abs(np.mean(tests, axis=0)) <= SIGMA / np.sqrt(300) + 0.3).all()
    assert (np.std(tests, axis=0) <= 1.2).all()


@pytest.mark.parametrize("most", [0, 1e9])
def test_the_search_finds_a_strong_interaction(monkeypatch, most):
    """Keys 0 and 1 are nearly the same. Independence is refused, and the pair (0, 1) is the first to be added."""
    monkeypatch.setattr(population_uniques, "_MOST_SEARCHED", most)
    rng = np.random.default_rng(5)
    a = rng.integers(0, 12, 4000)
    codes = np.column_stack((a, (a + (rng.random(4000) < 0.1)) % 12, rng.integers(0, 10, 4000)))
    seen, count = np.unique(codes, axis=0, return_counts=True)
    path = search_models(seen, count, (12, 12, 10), 0.2, "search")
    assert not path[0].accepted
    assert path[0].test1 > 1.96
    assert path[1].margins[3:] == ((0, 1),)
    assert path[-1].distance < path[0].distance


def test_a_large_table_is_searched_and_not_fitted_by_all_interactions(monkeypatch):
    """1,000 records in 38,400 cells, three populations in which two pairs interact: τ₂ is 879 in all. With all pairs, the model
    follows the sample and gives 593; the search gives 895. Models before the last have no errors.
    """
    monkeypatch.setattr(population_uniques, "_MOST_SEARCHED", 0)
    shape = (2, 40, 6, 8, 10)
    cells = np.array(np.unravel_index(np.arange(np.prod(shape)), shape)).T
    true = searched = every = 0.0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        single = sum(rng.normal(0, 0.5, n)[cells[:, j]] for j, n in enumerate(shape))
        pairs = rng.normal(0, 1, (40, 6))[cells[:, 1], cells[:, 2]] + rng.normal(0, 1, (40, 10))[cells[:, 1], cells[:, 4]]
        rate = np.exp(single + pairs)
        population = rng.poisson(rate * 50_000 / rate.sum())
        f = rng.binomial(population, 0.02)
        path = search_models(cells[f > 0], f[f > 0], shape, 0.02, "search")
        assert {(1, 2), (1, 4)} >= set(path[-1].margins[5:]) > set()
        assert [np.isfinite(e.error2) for e in path[1:]] == [False] * (len(path) - 2) + [True]
        true += float((1 / population[f == 1]).sum())
        searched += path[-1].tau2
        every += search_models(cells[f > 0], f[f > 0], shape, 0.02, "two_way")[-1].tau2
    assert searched == pytest.approx(true, rel=0.15)
    assert every < 0.75 * true


def test_models_that_are_named():
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    count = np.array([3, 1, 1, 5])
    assert [len(e.margins) for e in search_models(codes, count, (2, 2), 0.3, "independence")] == [2]
    assert [len(e.margins) for e in search_models(codes, count, (2, 2), 0.3, "two_way")] == [2, 3]


def test_a_file_that_is_the_population():
    codes = np.array([[0, 0], [0, 1], [1, 0]])
    found = search_models(codes, np.array([1, 1, 4]), (2, 2), 1.0, "search")[-1]
    assert (found.tau1, found.tau2, found.error1) == (2.0, 2.0, 0.0)


@pytest.mark.parametrize("pairs", [(), ((0, 1),), ((0, 1), (1, 2)), ((0, 1), (1, 2), (0, 2))])
def test_leverages_against_the_design_matrix(pairs):
    """xᵀ (Xᵀ diag(μ) X)⁻¹ x by a dense inverse: exact for decomposable models, and in the sum for the last one."""
    table = np.random.default_rng(8).poisson(4.0, (3, 4, 2)).astype(float) + 1
    fit = fit_margins(table, [*main_effects(3), *pairs])
    cells = np.array(np.unravel_index(np.arange(table.size), table.shape)).T
    blocks = []
    for margin in fit.margins:
        code = np.ravel_multi_index(tuple(cells[:, margin].T), [table.shape[a] for a in margin])
        blocks.append(np.eye(int(code.max()) + 1)[code])
    x, mu = np.hstack(blocks), fit.mean.reshape(-1)
    wanted = np.einsum("ij,jk,ik->i", x, np.linalg.pinv(x.T @ (mu[:, None] * x)), x)
    found = leverages(fit).reshape(-1)
    assert (mu * found).sum() == pytest.approx((mu * wanted).sum())
    if len(pairs) < 3:
        assert found == pytest.approx(wanted)


def test_interactions_that_the_likelihood_shows():
    rng = np.random.default_rng(9)
    a, b, c = rng.integers(0, 5, (3, 2000))
    table = np.zeros((5, 5, 5))
    np.add.at(table, (a, np.where(rng.random(2000) < 0.3, a, b), c), 1)
    assert missed_interactions(table, fit_margins(table, main_effects(3))) == ((0, 1),)
    assert missed_interactions(table, fit_margins(table, [*main_effects(3), (0, 1)])) == ()


def test_the_interval_allows_for_interactions_that_the_test_missed():
    """400 records in 960 cells: the test accepts independence in half of the samples, although the keys interact strongly."""
    rng = np.random.default_rng(3)
    rate = rates(rng, 0.9)
    richer = 0
    for _ in range(12):
        f = rng.binomial(rng.poisson(rate), 0.1)
        found = search_models(CELLS[f > 0], f[f > 0], LEVELS, 0.1, "search")[-1]
        if found.richer is not None:
            richer += 1
            assert set(found.margins) < set(found.richer.margins)
            assert found.interval1[0] <= found.tau1 <= found.interval1[1]
            assert found.interval1[0] <= found.richer.interval1[0]
    assert richer
