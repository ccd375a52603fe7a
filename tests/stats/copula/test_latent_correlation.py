"""Latent correlations against quadrature and simulation; the conditional draw against the covariances it must give."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import optimize, stats

from drawn_examples import drawn
from larvatus.stats.copula.latent_correlation import (
    Ties,
    conditional,
    conditionals,
    hermite_weights,
    latent_correlation,
    latent_matrix,
    latent_of_untied,
    latent_with_indicator,
    tied_runs,
)

FALSE_ALARM = 1e-6
NONE = Ties(np.array([]), np.array([]))
CASES = {
    "no ties": NONE, "60 % zeros": Ties(np.array([0.0]), np.array([0.6])), "30 % zeros": Ties(np.array([0.0]), np.array([0.3])),
    "90 % zeros": Ties(np.array([0.0]), np.array([0.9])), "a cap": Ties(np.array([0.8]), np.array([1.0])),
    "counts": Ties(np.array([0.0, 0.2, 0.5, 0.8]), np.array([0.2, 0.5, 0.8, 1.0])),
    "a middle run": Ties(np.array([0.4]), np.array([0.55])),
}


def nodes(ties: Ties) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on the normal scale, split where average rank jumps, and average rank there."""
    cuts = np.unique(np.clip(stats.norm.ppf(np.r_[0.0, ties.low, ties.high, 1.0]), -8.5, 8.5))
    t, w = np.polynomial.legendre.leggauss(120)
    z = np.concatenate([(b - a) / 2 * t + (a + b) / 2 for a, b in pairwise(cuts)])
    weight = np.concatenate([(b - a) / 2 * w for a, b in pairwise(cuts)])
    u = stats.norm.cdf(z)
    rank = u.copy()
    for low, high in zip(ties.low, ties.high, strict=True):
        rank[(u > low) & (u < high)] = (low + high) / 2
    return z, weight, rank


def tied_spearman(rho: float, one: Ties, other: Ties) -> float:
    """The rank correlation of two tied columns of a normal copula, by two-dimensional quadrature."""
    (a, wa, f), (b, wb, g) = nodes(one), nodes(other)
    square = 1 - rho**2
    joint = np.exp(-(a[:, None] ** 2 - 2 * rho * a[:, None] * b + b**2) / (2 * square)) / (2 * np.pi * np.sqrt(square))
    cov = ((f - 0.5) * wa) @ joint @ ((g - 0.5) * wb)
    spread = [(((r - 0.5) ** 2 * w) @ stats.norm.pdf(z)) for z, w, r in (nodes(one), nodes(other))]
    return float(cov / np.sqrt(spread[0] * spread[1]))


@pytest.mark.parametrize("rho", [-0.9, -0.5, 0.0, 0.3, 0.7, 0.95])
def test_quadrature_knows_the_formula_without_ties(rho):
    assert tied_spearman(rho, NONE, NONE) == pytest.approx(6 / np.pi * np.arcsin(rho / 2), abs=1e-8)
    assert latent_of_untied(np.array(6 / np.pi * np.arcsin(rho / 2))) == pytest.approx(rho, abs=1e-14)
    assert latent_correlation(6 / np.pi * np.arcsin(rho / 2), NONE, NONE) == pytest.approx(rho, abs=1e-14)


@pytest.mark.parametrize("rho", [-0.9, -0.5, 0.0, 0.3, 0.7, 0.95])
@pytest.mark.parametrize("other", CASES)
@pytest.mark.parametrize("one", ["60 % zeros", "a cap", "counts"])
def test_latent_correlation_undoes_what_ties_do(one, other, rho):
    """To a thousandth: what 512 jumps and 160 terms leave of the series."""
    seen = tied_spearman(rho, CASES[one], CASES[other])
    assert latent_correlation(seen, CASES[one], CASES[other]) == pytest.approx(rho, abs=1e-3)
    assert latent_correlation(seen, CASES[other], CASES[one]) == pytest.approx(rho, abs=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_variance_and_weights_are_those_of_average_ranks(name):
    z, w, rank = nodes(CASES[name])
    density = w * stats.norm.pdf(z)
    assert CASES[name].variance == pytest.approx(((rank - 0.5) ** 2) @ density, abs=1e-9)
    weights = hermite_weights(CASES[name])
    for k in range(1, 8):
        polynomial = np.polynomial.hermite_e.hermeval(z, [0] * k + [1]) / np.sqrt(float(np.prod(np.arange(1, k + 1))))
        assert weights[k - 1] == pytest.approx((rank * polynomial) @ density, abs=1e-4)


def test_a_correlation_that_no_copula_reaches_becomes_one():
    one, other = CASES["60 % zeros"], CASES["a cap"]
    assert latent_correlation(0.99, one, other) == pytest.approx(1.0)
    assert latent_correlation(-0.99, one, one) == pytest.approx(-1.0)


def test_against_simulation():
    """Simulated zeros: the rank correlation of 60 % and 30 % zeros with latent .8, whose latent correlation is found."""
    n = 200_000
    z = np.random.default_rng(1).multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], n)
    x, y = (np.maximum(z[:, j], stats.norm.ppf(share)) for j, share in ((0, 0.6), (1, 0.3)))
    runs = [tied_runs(np.array([(c + 1) / 2]), np.array([float(c)]), n) for c in ((x == x.min()).sum(), (y == y.min()).sum())]
    found = latent_correlation(stats.spearmanr(x, y).statistic, *runs)
    slope = (tied_spearman(0.82, *runs) - tied_spearman(0.78, *runs)) / 0.04
    assert abs(found - 0.8) < stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(n) / slope + 1e-3


def test_runs_from_ranks_and_counts():
    values = np.array([3.0, 3, 3, 1, 5, 5, 2, 7, 7, 7])
    rank, count = np.unique(stats.rankdata(values), return_counts=True)
    often = count > 1
    ties = tied_runs(rank[often][::-1], count[often][::-1].astype(float), 10)
    assert ties.low == pytest.approx([0.2, 0.5, 0.7])
    assert ties.high == pytest.approx([0.5, 0.7, 1.0])


@drawn(25)
@given(seed=st.integers(0, 10**6), names=st.lists(st.sampled_from(sorted(CASES)), min_size=1, max_size=5))
def test_a_matrix_is_its_pairs(seed, names):
    rng = np.random.default_rng(seed)
    p = len(names)
    r = np.corrcoef(rng.normal(size=(p, p + 2))) if p > 1 else np.ones((1, 1))
    ties = [CASES[n] for n in names]
    found = latent_matrix(0.8 * r + 0.2 * np.eye(p), ties)
    assert found == pytest.approx(found.T, abs=1e-12)
    assert np.array_equal(np.diag(found), np.ones(p))
    for i in range(p):
        for j in range(i):
            assert found[i, j] == pytest.approx(latent_correlation(0.8 * r[i, j], ties[i], ties[j]), abs=1e-12)


def test_a_column_that_does_not_vary_is_unrelated():
    r = np.array([[1.0, np.nan, 0.5], [np.nan, np.nan, np.nan], [0.5, np.nan, 1.0]])
    every = Ties(np.array([0.0]), np.array([1.0]))
    found = latent_matrix(r, [NONE, every, NONE])
    assert found[0, 2] == pytest.approx(2 * np.sin(np.pi / 12))
    assert np.isfinite(found).all()
    assert np.diag(found).tolist() == [1, 1, 1]


def mean_ranks(rho: float, share: float, ties: Ties) -> list[float]:
    """Mean average rank with and without an indicator, by quadrature between the places where rank jumps in the mixture."""
    shift, inside = rho / np.sqrt(share * (1 - share)), np.sqrt(1 - rho**2)
    parts = [stats.norm(shift * (1 - share), inside), stats.norm(-shift * share, inside)]

    def mixed(t: float) -> float:
        return share * parts[0].cdf(t) + (1 - share) * parts[1].cdf(t)

    ends = [min(p.ppf(1e-12) for p in parts), max(p.isf(1e-12) for p in parts)]
    inner = sorted({u for u in (*ties.low, *ties.high) if 0 < u < 1})
    cuts = [ends[0], *(optimize.brentq(lambda t, u=u: mixed(t) - u, *ends, xtol=1e-13) for u in inner), ends[1]]
    t, w = np.polynomial.legendre.leggauss(200)
    out = [0.0, 0.0]
    for a, b in pairwise(cuts):
        z = (b - a) / 2 * t + (a + b) / 2
        u = mixed(z)
        middle = [(low + high) / 2 for low, high in zip(ties.low, ties.high, strict=True) if low < u[100] < high]
        for k in range(2):
            out[k] += float((np.full(200, middle[0]) if middle else u) * parts[k].pdf(z) @ w * (b - a) / 2)
    return out


@pytest.mark.parametrize("rho", [-0.85, -0.2, 0.0, 0.5])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.8])
@pytest.mark.parametrize("name", CASES)
def test_latent_correlation_with_an_indicator(name, share, rho):
    """The latent value given the indicator is normal; thresholds of ties are quantiles of the mixture of both."""
    with_it, without = mean_ranks(rho, share, CASES[name])
    observed = (with_it - without) * np.sqrt(share * (1 - share) / CASES[name].variance)
    found = latent_with_indicator(np.array([observed, 0.0]), np.array([share, 0.5]), CASES[name])
    back = np.subtract(*mean_ranks(found[0], share, CASES[name]))
    assert back == pytest.approx(with_it - without, rel=2e-3, abs=2e-4)
    assert abs(found[0]) < abs(rho) + 2e-3
    assert found[1] == pytest.approx(0.0, abs=1e-6)
    most = np.subtract(*mean_ranks(np.copysign(0.995, rho), share, CASES[name]))
    if abs(with_it - without) < 0.9 * abs(most):
        assert found[0] == pytest.approx(rho, abs=4e-3)


def test_a_level_that_nothing_more_is_known_of_takes_the_least_correlation():
    """All records of the level are zero, as 60 % of all are: perfect separation fits no better than a moderate one."""
    zeros = CASES["60 % zeros"]
    without = (0.5 - 0.1 * 0.3) / 0.9
    observed = (0.3 - without) * np.sqrt(0.1 * 0.9 / zeros.variance)
    found = latent_with_indicator(np.array([observed, 1.0]), np.array([0.1, 0.5]), zeros)
    assert -0.8 < found[0] < -0.4
    assert np.subtract(*mean_ranks(found[0], 0.1, zeros)) == pytest.approx(0.3 - without, rel=2e-3)
    assert found[1] < 0.99


@drawn(40)
@given(p=st.integers(1, 5), q=st.integers(0, 4), seed=st.integers(0, 10**6))
def test_the_conditional_draw_has_the_correlations_it_was_made_for(p, q, seed):
    r = np.corrcoef(np.random.default_rng(seed).normal(size=(p + q, p + q + 3))).reshape(p + q, p + q)
    latent, cross, given = r[:p, :p], r[:p, p:], r[p:, p:]
    left = latent - (cross @ np.linalg.solve(given, cross.T) if q else 0.0)
    assume(np.linalg.eigvalsh(left).min() > 0.01)  # S that explains nearly all is repaired: see below
    weights, root, repaired = conditional(latent, cross, given)
    assert repaired < 1e-12
    assert weights.shape == (q, p)
    assert root.T @ root + weights.T @ given @ weights == pytest.approx(latent, abs=1e-8)
    assert given @ weights == pytest.approx(cross.T, abs=1e-8)
    assert root == pytest.approx(root.T, abs=1e-12)


def test_a_matrix_that_is_no_correlation_is_repaired_and_said():
    """Negative eigenvalues set to zero, every variance as it was, and the largest change of a correlation told."""
    latent = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    _, root, repaired = conditional(latent, np.zeros((3, 0)), np.zeros((0, 0)))
    values, vectors = np.linalg.eigh(latent)
    nearest = (vectors * np.maximum(values, 0)) @ vectors.T
    scale = np.sqrt(np.diag(nearest))
    assert root @ root == pytest.approx(nearest / np.outer(scale, scale), abs=1e-12)
    assert repaired == pytest.approx(np.abs(root @ root - latent).max())
    assert repaired == pytest.approx(0.4)


def test_s_never_explains_more_than_nearly_all():
    """Correlations with S that do not fit together: variances stay, some noise is left, and the change is told."""
    given = np.array([[1.0, -0.5], [-0.5, 1.0]])
    latent, cross = np.array([[1.0, 0.3], [0.3, 1.0]]), np.array([[0.9, 0.9], [0.2, 0.1]])
    weights, root, repaired = conditional(latent, cross, given)
    found = root @ root + weights.T @ given @ weights
    assert np.diag(found) == pytest.approx([1.0, 1.0], abs=1e-12)
    assert 1e-4 < (root @ root)[0, 0] < 0.01
    assert (given @ weights)[:, 1] == pytest.approx(cross[1])
    moved = max(np.abs(found - latent).max(), np.abs(given @ weights - cross.T).max())
    assert repaired == pytest.approx(moved)
    assert repaired > 0.1


def test_a_stack_is_its_matrices():
    """Sound ones, one to be repaired, and one with repeated columns of S, which has no inverse."""
    rng = np.random.default_rng(7)
    whole = np.array([np.corrcoef(rng.normal(size=(5, 9))) for _ in range(4)])
    latent, cross, given = whole[:, :3, :3].copy(), whole[:, :3, 3:].copy(), whole[:, 3:, 3:].copy()
    latent[1] = [[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]]
    given[2], cross[2, :, 1] = np.ones((2, 2)), cross[2, :, 0]
    found = conditionals(latent, cross, given)
    for g in range(4):
        for one, other in zip(conditional(latent[g], cross[g], given[g]), found, strict=True):
            assert other[g] == pytest.approx(one, abs=1e-14)


def test_repeated_columns_of_s_are_no_problem():
    given = np.ones((2, 2))
    weights, root, _ = conditional(np.eye(1), np.array([[0.6, 0.6]]), given)
    assert weights[:, 0] == pytest.approx([0.3, 0.3])
    assert root[0, 0] == pytest.approx(0.8)
