"""Factors of covariances against NumPy's own covariance, over any cutting of the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.stats.linear.covariance_factors import CentredRows, repaired_root, root_of
from larvatus.stats.linear.covariance_restoration import covariance_loss, orthonormal_noise
from larvatus.stats.linear.moments import SampleMoments
from sample import SECRET


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """A large mean, scales from 1e-6 to 1e9, an identity in the middle, a thin direction and a constant."""
    z = np.random.default_rng(2).normal(size=(500, 4))
    a, b = 1e9 + 1e3 * z[:, 0], 1e-6 * (z[:, 1] + z[:, 0])
    return np.column_stack([a, b, (a - 1e9) / 1e3 + b * 1e6, z[:, 2], z[:, 2] + 1e-9 * z[:, 3], np.full(500, 0.1)])


def whole(rows: np.ndarray, *cuts: int) -> CentredRows:
    parts = [CentredRows.of(part) for part in np.split(rows, cuts)]
    found = parts[0]
    for part in parts[1:]:
        found = CentredRows.merge(found, part)
    assert found is not None
    return found


@pytest.mark.parametrize("cuts", [(), (250,), (1, 2, 3, 100, 499)])
def test_cut_rows_have_the_mean_and_covariance_of_all(rows, cuts):
    found = root_of(whole(rows, *cuts))
    sd = np.where(np.arange(6) == 5, 1.0, rows.std(axis=0, ddof=1))
    assert np.abs((found.mean - rows.mean(axis=0)) / sd).max() < 1e-9
    exact = rows.astype(np.longdouble) - rows.astype(np.longdouble).mean(axis=0)
    covariance = (exact.T @ exact / 499).astype(float)
    assert np.abs((found.covariance - covariance) / np.outer(sd, sd)).max() < 1e-9
    assert found.constant.tolist() == [False] * 5 + [True]
    assert not found.weights[:, 5].any()
    thin = found.weights[:, 4] - found.weights[:, 3]
    assert np.sqrt(thin @ thin) == pytest.approx((rows[:, 4] - rows[:, 3]).std(ddof=1), rel=1e-6)


def test_factors_do_not_depend_on_the_cutting(rows):
    one, other = root_of(whole(rows)), root_of(whole(rows, 3, 77, 300))
    scale = np.where(np.arange(6) == 5, 1.0, rows.std(axis=0, ddof=1))
    assert np.abs((one.weights - other.weights) / scale).max() < 1e-6


def test_fewer_rows_than_columns():
    few = np.array([[1.0, 2.0, 4.0], [2.0, 5.0, 1.0]])
    assert np.allclose(root_of(whole(few, 1)).covariance, np.cov(few.T), rtol=1e-14)
    assert root_of(whole(few[:1])).constant.all()
    assert CentredRows.of(np.array([[1.0, np.nan]])) is None
    assert CentredRows.merge(CentredRows.of(few), None) is None
    assert whole(np.zeros((3, 0)), 1).count == 3


def test_pairwise_correlations_are_moved_to_the_nearest_that_fit_and_variances_stay():
    nan = np.nan
    a = np.random.default_rng(1).normal(size=100)
    gone = np.full(100, nan)
    rows = np.vstack([np.column_stack(t) for t in ((a, a, gone), (a, gone, a), (gone, a, -a))])
    found = repaired_root(SampleMoments.of(rows))
    assert found.repaired == pytest.approx(1.0, rel=1e-9)
    assert np.allclose(np.diag(found.covariance), np.nanvar(rows, axis=0, ddof=1), rtol=1e-12)
    assert np.linalg.eigvalsh(found.covariance)[0] > -1e-12
    whole_rows = np.random.default_rng(1).normal(size=(50, 3))
    assert np.allclose(repaired_root(SampleMoments.of(whole_rows)).covariance, np.cov(whole_rows.T), rtol=1e-12)


def test_what_was_lost_is_factored_and_what_was_added_is_seen():
    x = np.random.default_rng(6).normal(size=(300, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1]]) * [1, 100, 1e-3]
    half = x * [0.5, 0.5, 0.5]
    loss = covariance_loss(SampleMoments.of(np.hstack([x, half])))
    assert np.allclose(loss.weights.T @ loss.weights, 0.75 * np.cov(x.T), rtol=1e-9)
    assert not loss.patchy
    assert loss.smallest == 0
    twice = covariance_loss(SampleMoments.of(np.hstack([x, x * [1, 1, 2]])))
    assert twice.smallest < -1
    assert np.argmax(np.abs(twice.direction)) == 2
    assert covariance_loss(SampleMoments.of(np.hstack([x, x]))).nothing


def test_noise_is_orthonormal_and_orthogonal_to_what_is_given():
    rng = np.random.default_rng(7)
    given, draws = rng.normal(size=(3, 20)), rng.normal(size=(4, 20))
    e = orthonormal_noise(np.vstack([given, given[0] + given[1]]), draws)
    assert np.allclose(e @ e.T, np.eye(4), atol=1e-14)
    assert np.abs(np.vstack([np.ones(20), given]) @ e.T).max() < 1e-13
    assert orthonormal_noise(given[:, :7], draws[:, :7]) is None
    assert orthonormal_noise(given[:, :8], draws[:, :8]) is not None


@pytest.mark.parametrize("mask", [
    "correlated_noise", "variance_preserving_noise", "bias_and_noise(bias=\"gamma\")", "linear_model(similarity=0.5)",
    "normal_model(moments=\"random\")",
])
def test_masks_over_many_chunks_give_what_they_give_over_one(mask, monkeypatch):
    rng = np.random.default_rng(8)
    z = rng.normal(size=(3000, 3))
    table = pd.DataFrame({"s": z[:, 0], "x": np.exp(z[:, 1] + z[:, 0]), "y": 1e6 + z[:, 2] + z[:, 1]})
    data = lv.read(table, confidential=["x", "y"], non_confidential=["s"])
    one = lv.mask(data, mask, secret=SECRET).frame()
    monkeypatch.setattr("larvatus.engines._memory.table.CHUNK", 64)
    many = lv.mask(data, mask, secret=SECRET).frame()
    assert ((one - many).abs().max() / table.std()).max() < 1e-9
