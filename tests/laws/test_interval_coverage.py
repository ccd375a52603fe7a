"""Intervals of scores contain the mean score of other files and secrets as often as they should.

The whole grid of masks and shapes is in benchmarks/interval_coverage.py; here are its worst cell of before, and formulas.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import larvatus as lv
from sample import SECRET

REPLICATES, LEAST = 120, 0.85
FALSE_ALARM = 1e-4  # chance that an interval with coverage 0.95 covers less than LEAST in these replicates


def test_value_disclosure_covers_rank_swapped_lognormal_data():
    assert scipy.stats.binom.cdf(LEAST * REPLICATES - 1, REPLICATES, 0.95) < FALSE_ALARM
    found = []
    for i in range(REPLICATES):
        rng = np.random.default_rng([21, i])
        z = rng.normal(size=(500, 2)) @ np.linalg.cholesky([[1, 0.5], [0.5, 1]]).T
        data = lv.read(pd.DataFrame(np.exp(1.5 * z), columns=["a", "b"]), confidential=["a", "b"])
        release = lv.mask(data, "rank_swap(window=0.1)", secret=rng.bytes(32))
        score = lv.risk(data, release, ["value_disclosure"])[0]
        found.append((score.value, *score.interval))
    value, low, high = np.array(found).T
    truth = (value.sum() - value) / (REPLICATES - 1)
    assert np.mean((low <= truth) & (truth <= high)) >= LEAST


@pytest.mark.parametrize("grouped", [False, True])
def test_interval_of_a_rank_correlation_widens_with_the_correlation(grouped):
    """Bonett and Wright (2000): the variance of atanh r is (1 + r²/2) / (n − 3) for ranks; 3 are lost in each sub-group."""
    n = 200
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=n), "g": np.repeat(["u", "v"], n // 2)})
    data = lv.read(frame, confidential=["x"], sub_groups=["g"] if grouped else [])
    score = lv.risk(data, lv.mask(data, "additive_noise(variance=0.2)", secret=SECRET), ["rank_disclosure"])[0]
    half = 1.959963984540054 * np.sqrt((1 + score.value**2 / 2) / (n - (6 if grouped else 3)))
    centre = np.arctanh(score.value)
    assert score.interval == pytest.approx((np.tanh(centre - half), np.tanh(centre + half)), rel=1e-9)


@pytest.mark.parametrize("zeros", [pytest.param(False, marks=pytest.mark.slow), True])
def test_interval_disclosure_covers_a_column_with_imputed_values(zeros):
    """Values that stay move in rank together, because others were imputed: the old interval covered .38."""
    found = []
    for i in range(REPLICATES):
        rng = np.random.default_rng([22, i])
        x = rng.normal(size=300)
        data = lv.read(pd.DataFrame({"x": np.where(x < -1.5, 0.0, np.exp(x)) if zeros else x}), confidential=["x"])
        release = lv.mask(data, "blank_and_impute(rate=0.5)", secret=rng.bytes(32))
        score = lv.risk(data, release, ["interval_disclosure"])[0]
        found.append((score.value, *score.interval))
    value, low, high = np.array(found).T
    truth = (value.sum() - value) / (REPLICATES - 1)
    assert np.mean((low <= truth) & (truth <= high)) >= LEAST


def test_ranks_of_a_permuted_column_do_not_move_together():
    """Original and released values of a shuffled column are the same, so that the interval is Wilson's."""
    x = np.random.default_rng(3).normal(size=300)
    data = lv.read(pd.DataFrame({"x": np.where(x < 0, 0.0, np.exp(x))}), confidential=["x"])
    score = lv.risk(data, lv.mask(data, "data_shuffling", secret=SECRET), ["interval_disclosure"])[0]
    assert score.interval == pytest.approx(scipy.stats.binomtest(round(score.value * 300), 300).proportion_ci(method="wilson"))
