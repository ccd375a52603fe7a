"""Rounded and truncated files: published shares, steps found in the release, and the truth never excluded."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.stats.noise.rounding import half_step
from sample import SECRET
from winkler import FIELDS, four_fields


@pytest.mark.parametrize(("base", "published"), [(10, 0.998), (50, 0.659), (100, 0.278)])
def test_shares_of_rounded_fields_are_the_published_ones_and_those_of_the_nearest_record(base, published):
    """Thirty files of 100 records; limits are five standard errors of their mean, and one per cent for the generator."""
    found, nearest = [], []
    for seed in range(30):
        frame = four_fields(np.random.default_rng(seed))
        data = lv.read(frame, confidential=FIELDS)
        release = lv.mask(data, f"rounding(base={base})", secret=SECRET)
        scores = lv.risk(data, release, [lv.attacks.IntervalMatch(base=base), lv.attacks.NearestRecord(distance="euclidean")])
        found.append(scores[0].value)
        nearest.append(scores[1].value)
    assert np.mean(found) == pytest.approx(published, abs=5 * np.std(found) / np.sqrt(30) + 0.01)
    assert np.mean(found) == pytest.approx(np.mean(nearest), abs=0.01)


def test_credits_are_those_of_the_class_of_equal_rounded_records():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"g": rng.integers(0, 2, 300), "x": rng.normal(100, 30, 300), "t": rng.normal(0, 30, 300)})
    data = lv.read(frame, confidential=["x", "t"], sub_groups=["g"])
    release = lv.mask(data, "rounding(base=20)", secret=SECRET)
    score = lv.risk(data, release, ["interval_match"])[0]
    out = release.frame()
    assert score.by_record == pytest.approx(1 / out.groupby(["g", "x", "t"]).x.transform("size"))


def test_the_truth_is_never_excluded_after_truncation():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": np.rint(np.exp(rng.normal(3, 1, 400))), "t": rng.integers(0, 5, 400) * 1.0})
    released = frame.assign(x=frame.x.clip(10, 60))
    score = lv.risk(lv.read(frame, confidential=["x", "t"]), released, ["interval_match"])[0]
    assert score.by_record == pytest.approx(1 / released.groupby(["x", "t"]).x.transform("size"))


@pytest.mark.parametrize(("values", "step"), [
    ([100, 250, 300], 50), ([0.3, 0.9, 1.5], 0.3), ([0.0, 0.0], 0), ([0.1, np.pi], 0), ([-4, 6], 2), ([7.0], 7),
])
def test_the_step_is_the_greatest_common_one(values, step):
    assert 2 * half_step(np.array(values, dtype=float)) == pytest.approx(step)


def test_a_file_that_was_not_coarsened_is_no_worse_than_s_alone():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"x": rng.normal(size=200)})
    score = lv.risk(lv.read(frame, confidential="x"), frame + rng.normal(size=(200, 1)), ["interval_match"])[0]
    assert score.value == pytest.approx(1 / 200)
