"""Intervals of attacks whose targets share an estimate: wider where they depend on each other, unchanged where not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import larvatus as lv
from larvatus.attacks.scoring.credits import WIDENED
from larvatus.stats.estimates.intervals import wilson
from larvatus.stats.estimates.jackknife import PARTS, jackknife_variance, widen_interval

SECRET = b"shared errors" * 3


def skewed(n: int = 300, groups: int = 1, **more):
    rng = np.random.default_rng(7)
    x = np.exp(1.5 * (rng.normal(size=(n, 3)) @ np.linalg.cholesky([[1, 0.6, 0.3], [0.6, 1, 0.4], [0.3, 0.4, 1]]).T))
    table = pa.table({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "g": np.arange(n) % groups})
    return lv.read(table, confidential=["a", "b", "c"], sub_groups=["g"] if groups > 1 else [], **more)


def test_the_variance_by_hand():
    values = np.arange(PARTS) / 100
    assert jackknife_variance(values) == pytest.approx(0.9 * 82.5 / 100**2)
    assert jackknife_variance([0.3] * PARTS) == 0.0


def test_an_interval_is_wider_by_the_variance_and_never_narrower():
    plain = wilson(0.2, 300)
    assert widen_interval(0.2, plain, 0.0) == plain
    wide = widen_interval(0.2, plain, 3 * 0.2 * 0.8 / 300)  # four times the variance; Student's quantile is above 1.96
    assert wide[0] < plain[0] < plain[1] < wide[1]
    assert 2.0 < (wide[1] - wide[0]) / (plain[1] - plain[0]) < 2.5
    assert widen_interval(0.0, wilson(0.0, 300), 0.1) == wilson(0.0, 300)


def test_one_model_for_all_targets_widens_the_interval():
    data = skewed()
    release = lv.mask(data, "sufficiency_based(similarity=0.5)", secret=SECRET)
    score = lv.risk(data, release, ["attribute_inference"])[0]
    low, high = wilson(score.value, 300)
    assert score.interval[1] - score.interval[0] > 1.3 * (high - low)
    assert WIDENED in score.notes


def test_a_stated_window_is_no_estimate():
    data = skewed()
    release = lv.mask(data, "additive_noise(variance=0.5)", secret=SECRET)
    fixed = lv.risk(data, release, [lv.attacks.RankWindow(window=0.3)])[0]
    assert fixed.interval == wilson(fixed.value, 300)
    assert WIDENED not in fixed.notes
    learnt = lv.risk(data, release, ["rank_window"])[0]
    low, high = wilson(learnt.value, 300)
    assert learnt.interval[0] <= low
    assert learnt.interval[1] >= high


@pytest.mark.parametrize("attack", ["attribute_inference", "mixed_linkage", "rank_window"])
def test_small_sub_groups_and_other_engines_give_the_same_interval(attack):
    """Sub-groups of five records are never left out; those of 50 lose five."""
    for groups in (60, 6):
        here, there = skewed(groups=groups), skewed(groups=groups, engine="duckdb")
        found = [lv.risk(d, lv.mask(d, "additive_noise(variance=0.5)", secret=SECRET), [attack])[0] for d in (here, there)]
        assert found[0].value == found[1].value
        assert found[0].interval == pytest.approx(found[1].interval, rel=1e-9)
        assert found[0].interval[0] <= found[0].value <= found[0].interval[1]


def test_a_large_file_uses_a_sample_of_its_records():
    data = skewed(5000)
    release = lv.mask(data, "sufficiency_based(similarity=0.5)", secret=SECRET)
    score = lv.risk(data, release, ["attribute_inference"])[0]
    low, high = wilson(score.value, 5000)
    assert 1.2 < (score.interval[1] - score.interval[0]) / (high - low) < 20
