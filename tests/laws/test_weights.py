"""Masks of the survey weight: exact identities, and raking against iterative proportional fitting."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import larvatus as lv
from drawn_examples import drawn
from family_sample import family_file
from larvatus.stats.estimates.calibration import CalibrationError, calibrate, design_effect
from larvatus.stats.grouping.equal_groups import equal_groups
from sample import SECRET

ROLES = {"confidential": ["wage"], "non_confidential": ["age"], "sub_groups": ["sex"], "nominal": ["region", "sex"],
         "weight": "weight"}


def person_file() -> pd.DataFrame:
    frame = family_file(200)
    return frame.assign(weight=np.random.default_rng(1).lognormal(3, 0.6, len(frame)))


def released(*steps: str, frame: pd.DataFrame | None = None, **roles: object) -> pd.DataFrame:
    data = lv.read(person_file() if frame is None else frame, **{**ROLES, **roles})
    return lv.mask(data, "additive_noise", *steps, secret=SECRET).frame()


@pytest.mark.parametrize("step", ["weight_grouping(k=7)", "weight_noise(sd=0.3)"])
def test_totals_of_sub_groups_are_kept(step):
    frame, after = person_file(), released(step)
    np.testing.assert_allclose(after.groupby("sex").weight.sum(), frame.groupby("sex").weight.sum(), rtol=1e-12)


@pytest.mark.parametrize("step", ["weight_grouping(k=7, scope='file')", "weight_noise(sd=0.3, scope='file')"])
def test_totals_of_the_file_are_kept(step):
    assert released(step).weight.sum() == pytest.approx(person_file().weight.sum(), rel=1e-12)


def test_every_weight_is_shared_by_k_records():
    after = released("weight_grouping(k=7, scope='file')")
    assert after.weight.value_counts().min() >= 7
    by_class = released("weight_grouping(classes=4, scope='file')")
    assert by_class.weight.nunique() == 4


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(1, 9))
@drawn(200)
def test_groups_are_neighbours_of_at_least_k_and_never_part_equal_values(values, k):
    value = np.array(values, dtype=np.float64)
    group = equal_groups(value, k)
    assert np.bincount(group).min() >= min(k, len(value))
    ends = [(value[group == g].min(), value[group == g].max()) for g in range(group.max() + 1)]
    assert all(a[1] < b[0] for a, b in pairwise(ends))


def test_rounded_weights_are_multiples_and_never_zero():
    after = released("weight_rounding(base=25)")
    assert set(after.weight % 25) == {0.0}
    assert after.weight.min() == 25
    assert (abs(after.weight - person_file().weight) <= 25).all()


def test_noise_has_its_standard_deviation():
    """n log factors have sd 0.3, estimated with standard error 0.3 / sqrt(2 n); five of them: false-alarm rate 6e-7."""
    frame = person_file()
    factor = np.log(released("weight_noise(sd=0.3, scope='file')").weight / frame.weight)
    assert factor.std() == pytest.approx(0.3, abs=5 * 0.3 / np.sqrt(2 * len(frame)))


@pytest.mark.parametrize("distance", ["raking", "linear"])
@pytest.mark.parametrize("bounds", ["", ", lower=0.2, upper=5"])
def test_margins_hold_after_sampling_and_masking(distance, bounds):
    frame = person_file()
    step = f"weight_calibration(margins=['region', 'sex', 'age', ''], distance='{distance}'{bounds})"
    after = released("sampling(rate=0.6)", "weight_grouping", step, frame=frame, non_confidential=["age", "region"])
    for name in ("region", "sex"):
        np.testing.assert_allclose(after.groupby(name).weight.sum(), frame.groupby(name).weight.sum(), rtol=1e-9)
    assert (after.weight * after.age).sum() == pytest.approx((frame.weight * frame.age).sum(), rel=1e-9)
    assert after.weight.sum() == pytest.approx(frame.weight.sum(), rel=1e-9)


def test_stated_totals_of_crossed_margins_hold():
    frame = person_file()
    wanted = {f"{r} * {s}": 100.0 + 10 * r + s for r in range(3) for s in range(2)}
    data = lv.read(frame, **{**ROLES, "non_confidential": ["age", "region"]})
    after = lv.mask(data, "additive_noise", lv.masks.WeightCalibration(totals={"region * sex": wanted}), secret=SECRET).frame()
    for (r, s), total in after.groupby(["region", "sex"]).weight.sum().items():
        assert total == pytest.approx(wanted[f"{r} * {s}"], rel=1e-9)


def test_members_of_a_household_get_one_calibrated_weight():
    frame = family_file(200)
    totals = {"sex": {"0": 4000.0, "1": 5000.0}}
    data = lv.read(frame, **ROLES, household="family")
    after = lv.mask(data, "additive_noise", lv.masks.WeightCalibration(totals=totals), secret=SECRET).frame()
    assert after.weight.groupby(frame.family).nunique().max() == 1
    np.testing.assert_allclose(after.groupby("sex").weight.sum(), [4000, 5000], rtol=1e-9)


def proportional_fitting(table: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Deming and Stephan's iterative proportional fitting."""
    for _ in range(2000):
        table = table * (rows / table.sum(axis=1))[:, None]
        table = table * (columns / table.sum(axis=0))
    return table


def test_raking_is_iterative_proportional_fitting():
    rng = np.random.default_rng(3)
    table = rng.uniform(1, 9, size=(4, 5))
    rows, columns = rng.uniform(10, 30, 4), rng.uniform(5, 25, 5)
    columns *= rows.sum() / columns.sum()
    i, j = (a.ravel() for a in np.indices(table.shape))
    x = np.hstack([np.eye(4)[i], np.eye(5)[j]])
    g = calibrate(x, table.ravel(), np.concatenate([rows, columns]))
    np.testing.assert_allclose(table * g.reshape(4, 5), proportional_fitting(table, rows, columns), rtol=1e-9)


def test_linear_calibration_is_generalised_regression():
    rng = np.random.default_rng(4)
    x = np.column_stack([np.ones(50), rng.normal(5, 1, 50)])
    d, t = rng.uniform(1, 3, 50), np.array([130.0, 640.0])
    expected = 1 + x @ np.linalg.solve(x.T @ (d[:, None] * x), t - x.T @ d)
    np.testing.assert_allclose(calibrate(x, d, t, "linear"), expected, rtol=1e-9)


@pytest.mark.parametrize("distance", ["raking", "linear"])
def test_bounds_hold(distance):
    rng = np.random.default_rng(6)
    x = np.column_stack([np.ones(80), rng.integers(0, 2, 80), rng.normal(size=80)])
    d = rng.uniform(1, 3, 80)
    t = x.T @ d * np.array([1.1, 1.25, 1.0]) + np.array([0, 0, 6.0])
    g = calibrate(x, d, t, distance, (0.6, 1.7))
    assert g.min() >= 0.6 - 1e-12
    assert g.max() <= 1.7 + 1e-12
    np.testing.assert_allclose(x.T @ (d * g), t, rtol=1e-9)


@pytest.mark.parametrize("distance", ["raking", "linear"])
def test_contradictory_or_unreachable_totals_are_refused(distance):
    x = np.array([[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(CalibrationError):
        calibrate(x, np.ones(2), np.array([2.0, 3.0]), distance)
    with pytest.raises(CalibrationError):
        calibrate(np.ones((3, 1)), np.ones(3), np.array([9.0]), distance, (0.5, 2.0))
    data = lv.read(person_file(), **ROLES)
    bad = lv.masks.WeightCalibration(totals={"sex": {"0": 100.0, "1": 100.0}, "": 500.0})
    with pytest.raises(lv.LarvatusError, match=r"do not reach the totals.*add up to the same population"):
        lv.mask(data, "additive_noise", bad, secret=SECRET)
    lacking = lv.masks.WeightCalibration(totals={"sex": {"0": 100.0}})
    with pytest.raises(lv.LarvatusError, match="no total for 1"):
        lv.mask(data, "additive_noise", lacking, secret=SECRET)


def test_the_design_effect_is_one_plus_the_squared_coefficient_of_variation():
    w = person_file().weight.to_numpy()
    assert design_effect(w) == pytest.approx(1 + (w.std() / w.mean()) ** 2)
    assert design_effect(np.full(9, 4.0)) == pytest.approx(1.0)
