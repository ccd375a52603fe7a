"""Noise with the covariance of X: what it keeps, what it attenuates, and what comes through exactly."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from noise_laws import FALSE_ALARM, X, check_covariance, check_unrelated, released, table
from sample import SECRET

CENSUS = ["AGI", "FEDTAX", "PTOTVAL", "PEARNVAL", "POTHVAL", "WSALVAL", "ERNVAL", "FICA"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return table()


def noise(frame: pd.DataFrame, **settings: object) -> pd.DataFrame:
    return released(frame, lv.masks.CorrelatedNoise(**settings))[X] - frame[X]


@pytest.mark.parametrize(("shape", "kurtosis"), [("normal", 3.0), ("uniform", 1.8), ("laplace", 6.0), ("mixture", 13.0)])
def test_noise_has_the_covariance_of_x_in_every_sub_group(frame, shape, kurtosis):
    e = noise(frame, variance=0.5, noise=shape)
    for _, was in frame.groupby("g"):
        root = np.sqrt(0.5) * np.linalg.cholesky(np.cov(was[["x", "y"]].T)).T
        check_covariance(e.loc[was.index, ["x", "y"]], root, kurtosis)


def test_the_first_column_has_the_law_and_later_ones_a_mixture(frame):
    e = noise(frame, noise="uniform", variance=1.0)
    first = e.x / frame.groupby("g").x.transform("std")
    later = e.y / frame.groupby("g").y.transform("std")
    law = stats.uniform(-np.sqrt(3), 2 * np.sqrt(3))
    assert stats.kstest(first, law.cdf).pvalue > FALSE_ALARM > stats.kstest(later, law.cdf).pvalue


def test_sums_hold_and_columns_in_perfect_agreement_stay_so(frame):
    tied = frame.assign(w=frame.x + frame.y, y=frame.y, x=frame.x)
    after = released(tied, lv.masks.CorrelatedNoise(variance=2.0))
    assert (after.w - after.x - after.y).abs().max() < 1e-13 * after.w.abs().max()
    opposite = pd.DataFrame({"g": 0, "x": [0.0, 2.0], "y": [0.0, -2.0], "w": [5.0, 7.0]})
    two = released(opposite, lv.masks.CorrelatedNoise(variance=0.5))
    grid = 2.0**-43 * np.sqrt(0.5) * opposite.x.std()  # each value is rounded to 44 binary digits of its noise
    assert np.abs(two.x + two.y).max() <= grid
    assert np.abs(two.x - (two.w - 5)).max() <= grid + 4 * np.spacing(two.w.abs().max())


def test_a_direction_that_hardly_varies_gets_its_own_small_noise(frame):
    thin = frame.assign(w=frame.x + frame.y + 1e-7 * np.random.default_rng(3).normal(size=len(frame)))
    after = released(thin, lv.masks.CorrelatedNoise(variance=0.5))
    for _, was in thin.groupby("g"):
        e = (after.w - after.x - after.y)[was.index] - (was.w - was.x - was.y)
        ratio = e.var() / (0.5 * (was.w - was.x - was.y).var())
        low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(e) - 1) / (len(e) - 1)
        assert low < ratio < high


def test_correlations_with_s_shrink_and_noise_is_unrelated_to_everything(frame):
    e = noise(frame, variance=1.0)
    for name in X:
        for other in ("s", *X):
            check_unrelated(e[name], frame[other])
    inside = frame.g == 0
    was, y, s = frame.y[inside], (frame.y + e.y)[inside], frame.s[inside]
    before, after = np.corrcoef(was, s)[0, 1], np.corrcoef(y, s)[0, 1]
    assert abs(after - before / np.sqrt(2)) < stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(inside.sum())
    assert abs(after - before) > stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(inside.sum())


@pytest.mark.parametrize("scope", ["sub_group", "file"])
def test_its_law_is_the_law_of_what_it_does(frame, scope):
    names = ["x", "y"]
    mask = lv.masks.CorrelatedNoise(variance=0.3, scope=scope)
    law = mask.law(lv.read(frame, confidential=names, sub_groups=["g"]))
    e = released(frame[["g", *names]], mask, names)[names] - frame[names]
    for g, here in enumerate(law.groups):
        assert here.on_x.tolist() == np.eye(2).tolist()
        check_covariance(e[frame.g == g], np.linalg.cholesky(here.covariance).T)
    for settings in ({"positive": True}, {"where": "x > 1"}):
        assert lv.masks.CorrelatedNoise(**settings).law(lv.read(frame, confidential=names)) is None


def test_its_law_with_kept_zeros_is_that_of_the_other_cells(frame):
    names = ["x", "y"]
    zeros = frame.assign(x=np.where(frame.s > 0, 0.0, frame.x))[["g", *names]]
    mask = lv.masks.CorrelatedNoise(variance=0.3, zeros="keep")
    law = mask.law(lv.read(zeros, confidential=names, sub_groups=["g"]))
    assert law.zeros_kept
    e = released(zeros, mask, names)[names] - zeros[names]
    for g, here in enumerate(law.groups):
        check_covariance(e[(frame.g == g) & (zeros.x != 0)], np.linalg.cholesky(here.covariance).T)


def test_zeros_are_kept_and_the_covariance_is_that_of_the_others(frame):
    names = ["x", "y"]
    zeros = frame.assign(x=np.where(frame.s > 0, 0.0, frame.x))[["g", *names]]
    e = released(zeros, lv.masks.CorrelatedNoise(zeros="keep", variance=0.5), names)[names] - zeros[names]
    assert (e.x[zeros.x == 0] == 0).all()
    for _, was in zeros.groupby("g"):
        there = was[was.x != 0]
        r = np.corrcoef(there.x, there.y)[0, 1]
        sd = np.array([there.x.std(), was.y.std()])
        check_covariance(e.loc[there.index], np.sqrt(0.5) * np.linalg.cholesky([[1, r], [r, 1]]).T * sd)


def test_positive_redraws_the_whole_record(frame):
    """The sum of the columns holds in redrawn records too, which it would not if single values were drawn again."""
    plain, after = (released(frame, lv.masks.CorrelatedNoise(variance=1.0, positive=p)) for p in (False, True))
    assert (plain[X] <= 0).any(axis=1).sum() > 1000
    assert (after[X] > 0).all().all()
    assert (after.w - after.x - after.y).abs().max() < 1e-13 * after.w.max()
    with pytest.raises(lv.LarvatusError, match=r"'y' has .* negative values"):
        released(frame.assign(y=-frame.y), lv.masks.CorrelatedNoise(positive=True))


def test_missing_values_stay_and_correlations_that_do_not_fit_together_are_said():
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 300))
    first = {"x": a, "y": a, "w": np.full(300, np.nan)}
    second = {"x": b, "y": np.full(300, np.nan), "w": b}
    third = {"x": np.full(300, np.nan), "y": a, "w": -a}
    patchy = pd.concat([pd.DataFrame(v) for v in (first, second, third)], ignore_index=True).assign(g=0)
    release = lv.mask(lv.read(patchy, confidential=X, sub_groups=["g"]), "correlated_noise", secret=SECRET)
    assert release.frame()[X].isna().equals(patchy[X].isna())
    assert any("correlations of 1 sub-groups do not form" in n.text and "eigenvalue -1," in n.text for n in release.notes)
    e = (release.frame()[X] - patchy[X]).to_numpy()
    expected = 0.25 * np.nanvar(patchy[X], axis=0, ddof=1)
    low, high = stats.chi2.ppf([FALSE_ALARM / 6, 1 - FALSE_ALARM / 6], 599) / 599
    assert ((np.nanvar(e, axis=0, ddof=1) / expected > low) & (np.nanvar(e, axis=0, ddof=1) / expected < high)).all()


def test_census_keeps_its_identity_in_every_sub_group(real_files):
    census = pd.read_csv(real_files / "census.csv")
    census["g"] = (census.AFNLWGT.mean() > census.AFNLWGT).astype(int) + 2 * (census.EMCONTRB.mean() > census.EMCONTRB)
    after = released(census, lv.masks.CorrelatedNoise(variance=0.25), CENSUS)
    assert (after.PTOTVAL - after.PEARNVAL - after.POTHVAL).abs().max() < 1e-13 * census.PTOTVAL.max()
    assert ((after[CENSUS] - census[CENSUS]).abs() > 0).all().all()


@pytest.mark.parametrize("flat", [0.0, 0.1, 1e9])
def test_a_column_that_does_not_vary_leaves_as_it_is_and_is_said(frame, flat):
    still = frame.assign(w=np.where(frame.g == 1, flat, frame.w))
    release = lv.mask(lv.read(still, confidential=X, sub_groups=["g"]), "correlated_noise", secret=SECRET)
    assert [n.text for n in release.notes if n.kind == "status"] == [
        "w does not vary in sub-group (g=1) and is released as it is"
    ]
    assert (release.frame().w[still.g == 1] == flat).all()
    assert (release.frame().x != frame.x).all()


def test_one_value_for_all_columns():
    with pytest.raises(lv.LarvatusError, match=r"correlated_noise\.variance"):
        lv.mask(lv.read(table(), confidential=X), "correlated_noise(variance=[0.1, 0.2, 0.3])", secret=SECRET)
