"""Intervals of scores contain the mean score of other files and secrets as often as they should.

The whole grid of masks and shapes is in benchmarks/interval_coverage.py; here are its worst cell of before, and formulas.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import larvatus as lv
from larvatus.attacks.scoring.credits import with_dependent_targets
from larvatus.data.score import Score
from larvatus.stats.estimates.intervals import wilson
from larvatus.stats.ranks.window_variance import tied_share_variance
from sample import SECRET

REPLICATES, LEAST = 80, 0.8375
FALSE_ALARM = 1e-4  # chance that an interval with coverage 0.95 covers less than LEAST in these replicates
# With a normal quantile in place of that of t, the first interval below covers 0.825 of these replicates.


@pytest.mark.parametrize("published", ["none", pytest.param("all", marks=pytest.mark.slow)])
def test_value_disclosure_covers_rank_swapped_lognormal_data(published):
    """By regression, and by an intruder who also makes the release again, which takes ten times as long."""
    assert scipy.stats.binom.cdf(LEAST * REPLICATES - 1, REPLICATES, 0.95) < FALSE_ALARM
    found = []
    for i in range(REPLICATES):
        rng = np.random.default_rng([21, i])
        z = rng.normal(size=(500, 2)) @ np.linalg.cholesky([[1, 0.5], [0.5, 1]]).T
        data = lv.read(pd.DataFrame(np.exp(1.5 * z), columns=["a", "b"]), confidential=["a", "b"])
        release = lv.mask(data, "rank_swap(window=0.1)", secret=rng.bytes(32))
        score = lv.risk(data, release, ["value_disclosure"], intruder=lv.Intruder(published=published))[0]
        found.append((score.value, *score.interval))
    value, low, high = np.array(found).T
    truth = (value.sum() - value) / (REPLICATES - 1)
    assert np.mean((low <= truth) & (truth <= high)) >= LEAST


@pytest.mark.parametrize("grouped", [False, True])
def test_interval_of_a_rank_correlation_widens_with_the_correlation(grouped):
    """The variance of atanh r is (1 + 3r²) / (n − 3); 3 are lost in each sub-group.

    Bonett and Wright (2000) have r²/2, for independent records. Records share the standard deviation of the noise, and with
    r²/2 the interval covered .885 in 200 files of lognormal values.
    """
    n = 200
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=n), "g": np.repeat(["u", "v"], n // 2)})
    data = lv.read(frame, confidential=["x"], sub_groups=["g"] if grouped else [])
    score = lv.risk(data, lv.mask(data, "additive_noise(variance=0.2)", secret=SECRET), ["rank_disclosure"])[0]
    half = 1.959963984540054 * np.sqrt((1 + 3 * score.value**2) / (n - (6 if grouped else 3)))
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


@pytest.mark.parametrize(("value", "base", "shared", "pairs", "divisor"), [
    (0.5, 0.0, 1.0, False, 1.0), (0.5, 0.0, 3.0, False, 3.0), (0.5, 0.0, 3.0, True, 4.5), (0.2, 0.1, 3.0, False, 2.0),
    (0.01, 0.02, 3.0, False, 1.0), (0.0, 0.0, 3.0, True, 1.0),
])
def test_dependent_targets_count_as_fewer(value, base, shared, pairs, divisor):
    """d = (1 + (shared − 1)(1 − b/p)⁺)(1 + p): by hand. Nothing found, or no more than the baseline: n targets as before."""
    score = Score("attack", "risk", value, "", {}, chance=base / 2, s_alone=base)
    assert with_dependent_targets(score, 900.0, shared, pairs).interval == pytest.approx(wilson(value, 900 / divisor))


def test_equal_values_that_move_together_count_as_one():
    """Half of a column of 400 are zeros that stay zeros: one cluster of 200 and 200 of one, Σm² / n² = .2525."""
    x = np.concatenate([np.zeros(200), np.arange(200.0) + 1])[None]
    y = np.concatenate([np.zeros(200), np.arange(200.0) + 5])[None]
    group = np.zeros(400, dtype=np.int64)
    assert tied_share_variance(x, y, group, 0.3) == pytest.approx(0.3 * 0.7 * (200**2 + 200) / 400**2)
    noise = np.random.default_rng(1).normal(size=(1, 400))
    assert tied_share_variance(x, x + noise, group, 0.3) == pytest.approx(0.3 * 0.7 / 400)


@pytest.mark.slow
@pytest.mark.parametrize(("attack", "mask"), [
    ("probabilistic_linkage", "additive_noise(variance=0.2)"), ("posterior_match", "rank_swap(window=0.1)"),
])
def test_linkage_with_learnt_weights_covers_skewed_columns(attack, mask):
    """Half zeros, three columns: .75 and .825 before. False alarm: as above."""
    found, mix = [], np.linalg.cholesky([[1.0, 0.6, 0.3], [0.6, 1.0, 0.4], [0.3, 0.4, 1.0]]).T
    for i in range(REPLICATES):
        rng = np.random.default_rng([i, 77])
        z = rng.normal(size=(300, 3)) @ mix
        frame = pd.DataFrame(np.where(z < 0, 0.0, np.exp(z)), columns=list("abc"))
        data = lv.read(frame, confidential=list("abc"))
        score = lv.risk(data, lv.mask(data, mask, secret=rng.bytes(32)), [attack])[0]
        found.append((score.value, *score.interval))
    value, low, high = np.array(found).T
    truth = (value.sum() - value) / (REPLICATES - 1)
    assert np.mean((low <= truth) & (truth <= high)) >= LEAST
