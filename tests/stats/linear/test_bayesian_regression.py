"""Posterior draws of a regression: worked by hand, and against what theory and SciPy say of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from larvatus.core.randomness import RecordRandom
from larvatus.stats.linear.bayesian_regression import (
    draws_needed,
    line_of,
    posterior_draw,
    regress,
    spread_basis,
    wishart_root,
)
from larvatus.stats.linear.moments import SampleMoments

FALSE_ALARM = 1e-6
RANDOM = RecordRandom(b"sixteen bytes...")
DRAWS = 5000


def fitted(x: np.ndarray, s: np.ndarray):
    """The regression of all columns of x on all of s, no value missing."""
    moments, p = SampleMoments.of(np.hstack([x, s])), x.shape[1]
    lines = tuple(line_of(moments, j, p) for j in range(p))
    fit = np.array([line.centre + (s - line.at) @ line.slope for line in lines]).T
    return regress(lines, SampleMoments.of(x - fit), spread_basis(moments, p))


def draws(fit, count: int):
    normals, uniforms = draws_needed(fit)
    ids = np.arange(count)
    z, u = RANDOM.normal(ids, normals), RANDOM.uniform(ids, uniforms)
    return [posterior_draw(fit, z[:, i], u[:, i]) for i in range(count)]


def test_one_column_without_terms_by_hand():
    """1 … 6: mean 3.5, sum of squares 17.5 with 5 degrees of freedom; the median of χ²(5) gives σ² = 17.5 / 4.351…"""
    fit = fitted(np.arange(1.0, 7.0)[:, None], np.zeros((6, 0)))
    assert fit.freedom == 5
    assert draws_needed(fit) == (1, 1)
    drawn = posterior_draw(fit, np.array([2.0]), np.array([0.5]))
    variance = 17.5 / stats.chi2(5).median()
    assert float(drawn.root[0, 0]) ** 2 == pytest.approx(variance, rel=1e-12)
    assert abs(drawn.intercept[0] - 3.5) == pytest.approx(2 * np.sqrt(variance / 6), rel=1e-12)


def test_lines_and_residual_covariance_are_those_of_least_squares():
    rng = np.random.default_rng(3)
    s = rng.normal(100, 1, (50, 2))
    x = s @ [[1.0, 0.5], [-2.0, 0.0]] + rng.normal(size=(50, 2))
    fit = fitted(x, s)
    z = np.hstack([np.ones((50, 1)), s])
    b, *_ = np.linalg.lstsq(z, x, rcond=None)
    assert np.vstack([fit.intercept[None], fit.slope]) == pytest.approx(b, rel=1e-8)
    e = x - z @ b
    assert fit.factor @ fit.factor.T == pytest.approx(e.T @ e / 47, rel=1e-9)
    assert fit.basis @ fit.basis.T == pytest.approx(np.linalg.inv(z.T @ z)[1:, 1:], rel=1e-8)


@pytest.mark.parametrize("freedom", [3.0, 7.0, 40.0])
def test_wishart_roots_have_the_law_of_scipys(freedom):
    """Trace, determinant and an off-diagonal entry of A·Aᵀ against as many draws by SciPy."""
    z, u = RANDOM.normal(np.arange(DRAWS), 3), RANDOM.uniform(np.arange(DRAWS), 3)
    roots = [wishart_root(z[:, i], u[:, i], freedom) for i in range(DRAWS)]
    mine = np.array([a @ a.T for a in roots])
    theirs = stats.wishart(freedom, np.eye(3)).rvs(DRAWS, random_state=4)
    for how in (np.linalg.det, lambda w: np.trace(w, axis1=1, axis2=2), lambda w: w[:, 0, 2], lambda w: w[:, 1, 1]):
        assert stats.ks_2samp(how(mine), how(theirs)).pvalue > FALSE_ALARM


def test_coefficients_and_covariance_have_their_posterior_means_and_spread():
    rng = np.random.default_rng(5)
    s = rng.normal(size=(30, 1))
    x = np.hstack([s + rng.normal(size=(30, 1)), rng.normal(size=(30, 1))])
    fit = fitted(x, s)
    found = draws(fit, DRAWS)
    covariance = np.array([d.root.T @ d.root for d in found])
    expected = fit.freedom * fit.factor @ fit.factor.T / (fit.freedom - 3)
    for i, j in ((0, 0), (0, 1), (1, 1)):
        assert stats.ttest_1samp(covariance[:, i, j], expected[i, j]).pvalue > FALSE_ALARM
    slope = np.array([d.slope[0, 0] for d in found])
    se = np.sqrt((fit.factor @ fit.factor.T)[0, 0]) * np.abs(fit.basis[0, 0])
    assert stats.kstest((slope - fit.slope[0, 0]) / se, stats.t(fit.freedom - 1).cdf).pvalue > FALSE_ALARM
    centre = np.array([d.intercept[1] + s.mean() * d.slope[0, 1] for d in found])
    at_mean = np.sqrt((fit.factor @ fit.factor.T)[1, 1] / 30)
    assert stats.kstest((centre - x[:, 1].mean()) / at_mean, stats.t(fit.freedom - 1).cdf).pvalue > FALSE_ALARM


def test_columns_that_depend_on_each_other_stay_so_and_terms_may_too():
    rng = np.random.default_rng(6)
    s = rng.normal(size=(40, 1))
    x = rng.normal(size=(40, 2)) + s
    x = np.hstack([x, x.sum(axis=1, keepdims=True), 3 * s])
    fit = fitted(x, np.hstack([s, 2 * s, np.ones_like(s)]))
    assert fit.fixed.tolist() == [False, False, False, True]
    assert (fit.factor.shape, fit.basis.shape) == ((4, 2), (3, 1))
    drawn = draws(fit, 1)[0]
    assert drawn.root[:, 0] + drawn.root[:, 1] == pytest.approx(drawn.root[:, 2], abs=1e-9)
    assert drawn.intercept[0] + drawn.intercept[1] == pytest.approx(drawn.intercept[2], abs=1e-9)
    assert not drawn.root[:, 3].any()
