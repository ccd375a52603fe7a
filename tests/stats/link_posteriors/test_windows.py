"""Looking near the target only: the same links as by looking at all records."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.link_posteriors.links import Pool, link_targets
from larvatus.stats.link_posteriors.scenarios import fill_stated
from larvatus.stats.link_posteriors.windows import LEFT_OUT, link_nearby, window_fits


def made(n, bias_sd, noise_ratio, skewed=False, present=1.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.lognormal(0, 1, (1, n)) * rng.choice([-1, 1], (1, n)) if skewed else rng.normal(85, 19, (1, n))
    spread = noise_ratio * x.std()
    z = x * (1 + bias_sd * rng.normal(size=x.shape)) + spread * rng.normal(size=x.shape)
    order = np.argsort(z[0])
    x, z = np.ascontiguousarray(x[:, order]), np.ascontiguousarray(z[:, order])
    z[0, 5] = z[0, 4]
    own = np.arange(n)
    own[::9] = rng.permutation(own[::9])  # some are far away from their own record
    if present < 1:
        own[::7] = -1
    everybody = np.zeros(n, dtype=np.int64)
    return Pool(x, z, everybody, everybody, own, present), spread


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize(("bias_sd", "noise_ratio", "present"), [
    (0.01 / 6, 0.01, 1.0), (0.2 / 6, 1 / 6, 0.6), (1 / 6, 1.0, 1.0), (0.0, 0.001, 0.9), (0.5, 0.05, 1.0), (0.02, 0.3, 1.0),
])
def test_links_are_those_of_all_records(bias_sd, noise_ratio, present, skewed):
    pool, spread = made(400, bias_sd, noise_ratio, skewed, present)
    assert window_fits(pool, np.full((1, 400), bias_sd), np.full((1, 400), spread))
    wanted = link_targets(pool, fill_stated(pool.z, np.array([bias_sd]), np.array([spread])))
    found = link_nearby(pool, bias_sd, spread)
    assert np.array_equal(found.better, wanted.better)
    assert np.array_equal(found.tied, wanted.tied)
    assert found.top == pytest.approx(wanted.top, abs=LEFT_OUT)
    assert found.own == pytest.approx(wanted.own, abs=LEFT_OUT)


def test_files_that_do_not_fit_are_told_apart():
    pool, spread = made(50, 0.01, 0.1)
    same, other = np.full((1, 50), spread), np.linspace(1, 2, 50)[None]
    assert window_fits(pool, same, same)
    assert not window_fits(pool, same, other)
    assert not window_fits(pool, same, 0 * same)
    assert not window_fits(Pool(pool.x, pool.z[:, ::-1], pool.cell, pool.cells, pool.own), same, same)
    assert not window_fits(Pool(pool.x * np.nan, pool.z, pool.cell, pool.cells, pool.own), same, same)
    assert not window_fits(Pool(pool.x, pool.z, pool.cell, np.arange(50), pool.own), same, same)
    assert not window_fits(Pool(np.vstack([pool.x] * 2), np.vstack([pool.z] * 2), pool.cell, pool.cells, pool.own), same, same)
