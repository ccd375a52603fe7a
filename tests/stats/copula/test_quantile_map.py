"""From shares to values: knots apart, frequent values kept, ends never reached; and Iman and Conover's exact identity."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.copula.iman_conover import as_correlation, re_pairing
from larvatus.stats.copula.quantile_map import knot_probabilities, quantile_map

NONE = np.zeros((0, 3))


def map_of(x: np.ndarray, smooth: int = 1, atoms: np.ndarray = NONE):
    p = knot_probabilities()
    return quantile_map(p, np.quantile(x, p), float(len(x)), atoms, smooth)


def test_knots_are_as_many_records_apart_as_asked():
    for smooth in (1, 3, 10):
        share = map_of(np.arange(100.0), smooth).share
        assert (np.diff(share) >= smooth / 100 - 1e-12).all()
        assert (share[0], share[-1]) == (0, 1)
    assert len(map_of(np.arange(1e6), 1).share) > len(map_of(np.arange(100.0), 1).share)


def test_values_at_the_middle_of_a_record_are_its_own_on_a_line_and_the_ends_are_not_reached():
    found = map_of(np.arange(9.0), 1)
    assert found.at((np.arange(2, 7) + 0.5) / 9) == pytest.approx(np.arange(2.0, 7.0), rel=1e-9)
    inside = found.at(np.array([1e-9, 1 - 1e-9]))
    assert 0 < inside[0] < inside[1] < 8
    assert np.isnan(found.at(np.array([np.nan]))).all()


@pytest.mark.parametrize(("n", "smooth"), [(30, 3), (100, 10), (5000, 5)])
def test_smoothing_keeps_the_mean_of_a_skewed_column(n, smooth):
    x = np.exp(np.random.default_rng(7).normal(size=n))
    y = map_of(x, smooth).at((np.arange(100_000) + 0.5) / 100_000)
    assert y.mean() == pytest.approx(x.mean(), rel=3e-3), "up to the grid that the means are integrated on"


def test_frequent_values_keep_their_share_exactly():
    x = np.sort(np.concatenate([np.zeros(30), np.linspace(5, 10, 50), np.full(20, 12.0)]))
    found = map_of(x, 5, np.array([[0.0, 0.3, 0.0], [0.8, 1.0, 12.0]]))
    u = (np.arange(10_000) + 0.5) / 10_000
    y = found.at(u)
    assert (y == 0).mean() == pytest.approx(0.3, abs=2e-4)
    assert (y == 12).mean() == pytest.approx(0.2, abs=2e-4)
    assert (np.diff(y) >= 0).all()


def test_scores_get_exactly_the_correlation_asked_for():
    rng = np.random.default_rng(2)
    m = rng.normal(size=(30, 3))
    target = np.array([[1, 0.9, -0.3], [0.9, 1, 0.0], [-0.3, 0.0, 1]])
    paired = m / m.std(axis=0) @ re_pairing(np.corrcoef(m.T), target)
    assert np.corrcoef(paired.T) == pytest.approx(target, abs=1e-12)
    same = np.hstack([m[:, :1], m[:, :1], m[:, 2:]])
    assert np.isfinite(re_pairing(np.corrcoef(same.T), target)).all()


def test_a_covariance_on_the_correlation_scale():
    assert as_correlation(np.array([[4.0, 1.0, 0], [1.0, 1.0, 0], [0, 0, 0]])).tolist() == [[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]
