"""Random rotations: moments to rounding, nothing of a record left, and what too few records leave no room for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from larvatus.core.errors import SubGroupError
from noise_laws import FALSE_ALARM, X, check_unrelated, gap, released, table
from sample import SECRET

EXACT = 1e-12
MASK = lv.masks.RandomOrthogonal()
ANY_SIZE = lv.masks.RandomOrthogonal(insiders=0)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return table()[:6000]


def test_moments_with_s_are_exact_in_every_sub_group(frame):
    after = released(frame, MASK)
    for g, was in frame.groupby("g"):
        assert gap(was[["s", *X]], after.loc[after.g == g, ["s", *X]]) < EXACT
    assert (after.w - after.x - after.y).abs().max() < 1e-12 * after.w.abs().max()


def test_given_s_nothing_of_a_record_is_left(frame):
    after = released(frame, MASK)
    for _, was in frame.groupby("g"):
        now = after.loc[was.index]
        x, y = (f.y - np.polyval(np.polyfit(f.s, f.y, 1), f.s) for f in (was, now))
        check_unrelated(x, y)
        check_unrelated(np.abs(x), np.abs(y))
        assert stats.kstest(y / y.std(), stats.norm.cdf).pvalue > FALSE_ALARM


def test_every_angle_of_the_plane_is_as_likely():
    """Of three records in one column the residuals are a point on a circle of two dimensions, turned by a uniform angle."""
    groups = 4000
    same = pd.DataFrame({"g": np.repeat(np.arange(groups), 3), "x": np.tile([1.0, 2.0, 6.0], groups)})
    y = released(same, ANY_SIZE, ["x"]).x.to_numpy().reshape(groups, 3) - 3
    assert np.allclose((y**2).sum(axis=1), 14, rtol=1e-12)
    assert np.allclose(y.sum(axis=1), 0, atol=1e-12)
    angle = np.arctan2((y[:, 0] - y[:, 1]) / np.sqrt(2), (y[:, 0] + y[:, 1] - 2 * y[:, 2]) / np.sqrt(6))
    assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > FALSE_ALARM


def test_correlation_with_the_original_is_that_of_a_random_rotation_and_not_zero():
    """Sufficiency-based masks at similarity 0 make it zero; a rotation leaves chance: its square is beta (½, (m-1)/2)."""
    groups, size = 3000, 10
    rng = np.random.default_rng(3)
    many = pd.DataFrame({"g": np.repeat(np.arange(groups), size), "x": rng.gamma(1, size=groups * size)})
    y = released(many, MASK, ["x"]).x.to_numpy().reshape(groups, size)
    x = many.x.to_numpy().reshape(groups, size)
    r = [np.corrcoef(a, b)[0, 1] for a, b in zip(x, y, strict=True)]
    assert stats.kstest(np.square(r), stats.beta(0.5, (size - 2) / 2).cdf).pvalue > FALSE_ALARM


def test_census_all_columns(real_files):
    census = pd.read_csv(real_files / "census.csv")
    after = lv.mask(lv.read(census, confidential=list(census)), MASK, secret=SECRET).frame()
    assert gap(census, after[list(census)]) < EXACT
    assert (after.PTOTVAL - after.PEARNVAL - after.POTHVAL).abs().max() < 1e-13 * census.PTOTVAL.max()


def test_households_with_nominal_s(real_files):
    households = pd.read_csv(real_files / "households.csv")
    names = ["expend", "income", "savings"]
    data = lv.read(households, confidential=names, non_confidential=["roof", "age"], nominal=["roof"], sub_groups=["urbrur"])
    with pytest.raises(SubGroupError, match=r"roof=5 \(4 records\)"):
        lv.mask(data, MASK, secret=SECRET)
    after = lv.mask(data, lv.masks.RandomOrthogonal(insiders=2), secret=SECRET).frame()
    for _, was in households.groupby(["urbrur", "roof"]):
        shift = (after.loc[was.index, names].mean() - was[names].mean()) / households[names].std()
        assert shift.abs().max() < 1e-10


def test_its_law(frame):
    data = lv.read(frame, confidential=["x", "y"], non_confidential=["s"], sub_groups=["g"])
    law, after = MASK.law(data), lv.mask(data, MASK, secret=SECRET).frame()
    for g, here in enumerate(law.groups):
        now = after[after.g == g]
        e = now[["x", "y"]].to_numpy() - here.intercept - now[["s"]].to_numpy() @ here.on_s.T
        assert np.allclose(np.cov(e.T), here.covariance, rtol=1e-9, atol=1e-12)
        assert not here.on_x.any()
    assert lv.masks.RandomOrthogonal(scope="file").law(data) is None


def test_small_sub_groups_by_size(frame):
    """One S: two residual dimensions are needed, so four records."""
    for size in range(2, 7):
        small = pd.concat([frame[frame.g == 0][:50], frame[frame.g == 1][:size]])
        if size < 4:
            with pytest.raises(lv.LarvatusError, match=rf"fewer than 4 usable records: \(g=1\) has {size}"):
                released(small, ANY_SIZE)
            continue
        after = released(small, ANY_SIZE)
        was, now = (f.loc[f.g == 1, ["s", *X]] for f in (small, after))
        assert gap(was, now) < EXACT
        assert ((now - was)[X].abs().max() / was[X].std()).min() > 1e-3


def test_what_does_not_vary_is_said_and_what_s_determines_is_refused(frame):
    flat = frame.assign(y=np.where(frame.g == 1, 0.1, frame.y))
    data = lv.read(flat, confidential=X, non_confidential=["s"], sub_groups=["g"])
    release = lv.mask(data, MASK, secret=SECRET)
    assert [n.text for n in release.notes if n.kind == "status"] == [
        "y does not vary beyond what S determines in sub-group (g=1) and is released as it is"
    ]
    assert (release.frame().y[flat.g == 1] == 0.1).all()
    bound = frame.assign(x=np.where(frame.g == 1, 3 * frame.s + 1, frame.x))
    with pytest.raises(lv.LarvatusError, match=r"random_orthogonal: sub-group \(g=1\) .* only the original values preserve"):
        released(bound, MASK, ["x"])


def test_each_pattern_of_missing_values_keeps_its_moments(frame):
    patchy = frame.assign(x=frame.x.where(frame.s < 1))
    after = released(patchy, MASK)
    assert after[X].isna().equals(patchy[X].isna())
    for _, was in patchy.groupby(["g", patchy.x.isna()]):
        there = [n for n in ["s", *X] if was[n].notna().all()]
        assert gap(was[there], after.loc[was.index, there]) < EXACT
