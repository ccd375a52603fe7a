"""Correlations inside levels against simulated mixtures with known ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from larvatus.stats.copula.latent_correlation import Ties, latent_matrix
from larvatus.stats.copula.within_levels import LevelTable, inside_covariance, rank_series

FALSE_ALARM = 1e-6
NONE, ZEROS = Ties(np.array([]), np.array([])), Ties(np.array([0.0]), np.array([0.6]))
SHARE = np.array([0.5, 0.3, 0.2])
MEAN = np.array([[0.8, -0.6], [-0.3, 0.9], [-1.55, 0.15]])
VARIANCE = np.array([0.5, 0.7])
DRAWN = 200_000


def drawn(rho: float, ties: list[Ties]) -> np.ndarray:
    """Two columns of the mixture, the lowest values of which are tied as they should be."""
    rng = np.random.default_rng(3)
    level = rng.choice(3, DRAWN, p=SHARE)
    z = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], DRAWN) * np.sqrt(VARIANCE) + MEAN[level]
    out = []
    for column, t in zip(z.T, ties, strict=True):
        rank = stats.rankdata(column)
        out.append(np.where(rank <= t.high[0] * DRAWN, 0.0, rank) if len(t.low) else rank)
    return np.array(out)


@pytest.mark.parametrize("ties", [[NONE, NONE], [ZEROS, NONE], [ZEROS, ZEROS]], ids=["untied", "one tied", "both tied"])
@pytest.mark.parametrize("rho", [-0.7, 0.0, 0.5, 0.9])
def test_the_correlation_inside_levels_is_found(ties, rho):
    """Within the error of a simulated rank correlation over its slope in rho, and a thousandth for the series."""
    levels = LevelTable(SHARE, MEAN, VARIANCE)

    def found(spearman: float) -> float:
        r = np.array([[1.0, spearman], [spearman, 1.0]])
        return float(inside_covariance(r, np.full((2, 2), 1e9), ties, levels, 2)[0, 1] / np.sqrt(VARIANCE.prod()))

    seen = stats.spearmanr(*drawn(rho, ties)).statistic
    slope = (found(seen + 0.005) - found(seen - 0.005)) / 0.01
    assert abs(found(seen) - rho) < slope * stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(DRAWN) + 1e-3


def test_one_level_is_no_mixture():
    r = np.array([[1.0, 0.4, -0.2], [0.4, 1.0, 0.3], [-0.2, 0.3, 1.0]])
    levels = LevelTable(np.ones(1), np.zeros((1, 3)), np.ones(3))
    found = inside_covariance(r, np.full((3, 3), 1e9), [NONE, ZEROS, NONE], levels, 3)
    assert found == pytest.approx(latent_matrix(r, [NONE, ZEROS, NONE]), abs=2e-3)


def test_mean_ranks_at_levels_are_those_of_the_mixture():
    """Without ties the mean rank at a level is the probability of lying above a record drawn from all."""
    series = rank_series(MEAN[:, 0], np.sqrt(VARIANCE[0]), SHARE, NONE)
    apart = (MEAN[:, :1] - MEAN[:, 0]) / np.sqrt(2 * VARIANCE[0])
    assert series[:, 0] == pytest.approx(stats.norm.cdf(apart) @ SHARE, abs=1e-4)


def test_columns_that_vary_at_different_levels_are_left_unrelated():
    """Ninety percent zeros, the others at one level for each column: ranks say nothing of a correlation inside levels."""
    ties = [Ties(np.array([0.0]), np.array([0.9]))] * 2
    levels = LevelTable(np.array([0.5, 0.5]), np.array([[0.95, -0.95], [-0.95, 0.95]]), np.array([0.1, 0.1]))
    found = inside_covariance(np.array([[1, -0.13], [-0.13, 1]]), np.full((2, 2), 4000.0), ties, levels, 2)
    assert abs(found[0, 1]) / 0.1 < 0.1
