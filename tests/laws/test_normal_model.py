"""Draws from one normal law: exact or random moments, a normal shape, and nothing of S or of the record."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from noise_laws import FALSE_ALARM, X, check_covariance, check_unrelated, gap, released, table
from sample import SECRET

TWO = ["x", "y"]
EXACT, RANDOM = lv.masks.NormalModel(), lv.masks.NormalModel(moments="random")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return table()[:9000]


def test_exact_moments_in_every_sub_group_and_sums_hold(frame):
    after = released(frame, EXACT)
    for g, was in frame.groupby("g"):
        assert gap(was[X], after.loc[after.g == g, X]) < 1e-12
    assert (after.w - after.x - after.y).abs().max() < 1e-12 * after.w.abs().max()


def test_random_moments_are_those_of_a_normal_sample(frame):
    after = released(frame, RANDOM)
    for _, was in frame.groupby("g"):
        now = after.loc[was.index]
        check_covariance(now[TWO] - was[TWO].mean(), np.linalg.cholesky(np.cov(was[TWO].T)).T)
        assert gap(was[TWO], now[TWO]) > 1e-4
    assert (after.w - after.x - after.y).abs().max() < 1e-12 * after.w.abs().max()


@pytest.mark.parametrize("mask", [EXACT, RANDOM], ids=["exact", "random"])
def test_values_are_normal_and_unrelated_to_x_and_to_s(frame, mask):
    after = released(frame, mask)
    for _, was in frame.groupby("g"):
        for name in TWO:
            y = after.loc[was.index, name]
            assert stats.kstest((y - was[name].mean()) / was[name].std(), stats.norm.cdf).pvalue > FALSE_ALARM
            assert stats.kstest((was.x - was.x.mean()) / was.x.std(), stats.norm.cdf).pvalue < FALSE_ALARM
            check_unrelated(y, was[name])
            check_unrelated(y, was.s)


@pytest.mark.parametrize("mask", [EXACT, RANDOM], ids=["exact", "random"])
def test_its_law_and_what_it_says_of_s(frame, mask):
    data = lv.read(frame, confidential=TWO, non_confidential=["s"], sub_groups=["g"])
    for g, here in enumerate(mask.law(data).groups):
        was = frame.loc[frame.g == g, TWO]
        assert np.allclose(here.intercept, was.mean(), rtol=1e-12)
        assert np.allclose(here.covariance, was.cov(), rtol=1e-9)
        assert not here.on_x.any()
    said = [n.text for n in lv.mask(data, mask, secret=SECRET).notes]
    assert "relations with the non-confidential columns are not preserved inside sub-groups" in said
    alone = lv.mask(lv.read(frame, confidential=TWO), mask, secret=SECRET)
    assert not any("non-confidential" in n.text for n in alone.notes)


def test_three_records_have_room_for_exact_moments_and_two_do_not():
    small = pd.DataFrame({"g": [0, 0, 0, 1, 1], "x": [1.0, 2.0, 6.0, 4.0, 8.0], "y": [3.0, 1.0, 2.0, 5.0, 5.5]})
    free = lv.masks.NormalModel(insiders=0)
    with pytest.raises(lv.LarvatusError, match=r"6 are needed. With fewer, 3 persons who know their own records"):
        released(small, EXACT, TWO)
    with pytest.raises(lv.LarvatusError, match=r"1 of 2 sub-groups have fewer than 3 usable records"):
        released(small, free, TWO)
    three = small[small.g == 0]
    after = released(three, free, TWO)
    assert gap(three[TWO], after[TWO]) < 1e-12
    assert ((after[TWO] - three[TWO]).abs() > 1e-3).any(axis=None)
    assert (released(small, RANDOM, TWO)[TWO] != small[TWO]).all(axis=None)


@pytest.mark.parametrize("mask", [EXACT, RANDOM], ids=["exact", "random"])
def test_missing_values_stay_and_what_does_not_vary_is_said(frame, mask):
    patchy = frame.assign(x=frame.x.where(frame.s < 1), y=np.where(frame.g == 1, 0.1, frame.y))
    data = lv.read(patchy, confidential=TWO, sub_groups=["g"])
    release = lv.mask(data, mask, secret=SECRET)
    after = release.frame()
    assert after[TWO].isna().equals(patchy[TWO].isna())
    assert (after.y[patchy.g == 1] == 0.1).all()
    assert any("y does not vary" in n.text and "g=1" in n.text for n in release.notes if n.kind == "status")
    assert mask.law(data) is None
    if mask is EXACT:
        for _, was in patchy.groupby(["g", patchy.x.isna()]):
            there = [n for n in TWO if was[n].notna().all()]
            assert gap(was[there], after.loc[was.index, there]) < 1e-12


@pytest.mark.parametrize("columns", [["AGI", "FEDTAX", "PTOTVAL", "PEARNVAL", "POTHVAL"], None])
def test_census(real_files, columns):
    census = pd.read_csv(real_files / "census.csv")
    names = columns or list(census)
    for mask in (EXACT, RANDOM):
        after = lv.mask(lv.read(census, confidential=names), mask, secret=SECRET).frame()
        assert (after.PTOTVAL - after.PEARNVAL - after.POTHVAL).abs().max() < 1e-12 * census.PTOTVAL.max()
        assert (gap(census[names], after[names]) < 1e-12) == (mask is EXACT)
