"""Noise that is shrunk back: means and variances kept in expectation, whatever the size of the sub-group."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from noise_laws import FALSE_ALARM, X, check_covariance, check_unrelated, released, table
from sample import SECRET

TWO = ["x", "y"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return table()


def parts(frame: pd.DataFrame, d: np.ndarray | float, **settings: object) -> pd.DataFrame:
    """What is left of Y once the shrunk X and the mean are taken away: the noise times the shrinking."""
    after = released(frame[["g", "s", *TWO]], lv.masks.VariancePreservingNoise(**settings), TWO)
    mean = frame.groupby("g")[TWO].transform("mean")
    return after[TWO] - mean - (frame[TWO] - mean) / np.sqrt(1 + d)


@pytest.mark.parametrize(("shape", "kurtosis"), [("normal", 3.0), ("uniform", 1.8), ("laplace", 6.0), ("mixture", 13.0)])
def test_y_is_shrunk_x_plus_noise_that_makes_up_for_it(frame, shape, kurtosis):
    e = parts(frame, 0.5, variance=0.5, noise=shape)
    for _, was in frame.groupby("g"):
        root = np.sqrt(0.5 / 1.5) * np.linalg.cholesky(np.cov(was[TWO].T)).T
        check_covariance(e.loc[was.index], root, kurtosis)
        for name in TWO:
            check_unrelated(e.loc[was.index, name], was[name])
            check_unrelated(e.loc[was.index, name], was.s)


def test_independent_noise_takes_a_fraction_for_each_column(frame):
    d = np.array([0.1, 0.9])
    e = parts(frame, d, variance={"y": 0.9, "x": 0.1}, correlated=False)
    for _, was in frame.groupby("g"):
        check_covariance(e.loc[was.index], np.diag(was[TWO].std() * np.sqrt(d / (1 + d))))


@pytest.mark.parametrize(("correlated", "kept"), [(True, True), (False, False)])
def test_covariances_are_kept_by_correlated_noise_alone(frame, correlated, kept):
    after = released(frame, lv.masks.VariancePreservingNoise(variance=1.0, correlated=correlated))
    inside = frame.g == 0
    limit = stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(inside.sum())
    before, now = (np.corrcoef(f[inside].x, f[inside].y)[0, 1] for f in (frame, after))
    assert (abs(now - before) < limit) == kept
    assert abs(now - before * (1 if kept else 0.5)) < limit


@pytest.mark.parametrize("size", [2, 3, 5])
def test_variance_is_kept_in_expectation_in_sub_groups_of_any_size(size):
    """The mean over 4,000 small sub-groups of Var(Y)/Var(X) is one, within its own standard error."""
    rng, groups = np.random.default_rng(8), 4000
    small = pd.DataFrame({"g": np.repeat(np.arange(groups), size), "x": rng.gamma(2, size=groups * size)})
    after = released(small, lv.masks.VariancePreservingNoise(variance=1.0), ["x"])
    ratio = after.groupby("g").x.var() / small.groupby("g").x.var()
    shift = (after.groupby("g").x.mean() - small.groupby("g").x.mean()) / small.groupby("g").x.std()
    limit = stats.norm.isf(FALSE_ALARM / 4) / np.sqrt(groups)
    assert abs(ratio.mean() - 1) < limit * ratio.std()
    assert abs(shift.mean()) < limit * shift.std()


@pytest.mark.parametrize("scope", ["sub_group", "file"])
@pytest.mark.parametrize("correlated", [True, False])
def test_its_law_is_the_law_of_what_it_does(frame, scope, correlated):
    mask = lv.masks.VariancePreservingNoise(variance=0.4, scope=scope, correlated=correlated)
    law = mask.law(lv.read(frame, confidential=TWO, sub_groups=["g"]))
    after = released(frame[["g", *TWO]], mask, TWO)
    for g, here in enumerate(law.groups):
        inside = frame.g == g
        e = after.loc[inside, TWO] - here.intercept - frame.loc[inside, TWO].to_numpy() @ here.on_x.T
        check_covariance(e, np.linalg.cholesky(here.covariance).T)
        assert np.allclose(np.diag(here.on_x), 1 / np.sqrt(1.4), rtol=1e-14)
    for settings in ({"positive": True}, {"where": "x > 1"}):
        assert lv.masks.VariancePreservingNoise(**settings).law(lv.read(frame, confidential=TWO)) is None


def test_its_law_with_kept_zeros_is_that_of_the_other_cells(frame):
    zeros = frame[["g", *TWO]].assign(x=np.where(frame.index % 3 == 0, 0.0, frame.x))
    mask = lv.masks.VariancePreservingNoise(variance=0.4, zeros="keep")
    law = mask.law(lv.read(zeros, confidential=TWO, sub_groups=["g"]))
    assert law.zeros_kept
    after = released(zeros, mask, TWO)
    for g, here in enumerate(law.groups):
        inside = (zeros.g == g) & (zeros.x != 0)
        e = after.loc[inside, TWO] - here.intercept - zeros.loc[inside, TWO].to_numpy() @ here.on_x.T
        check_covariance(e, np.linalg.cholesky(here.covariance).T)


def test_sums_hold_and_what_does_not_vary_leaves_as_it_is(frame):
    after = released(frame, lv.masks.VariancePreservingNoise())
    assert (after.w - after.x - after.y).abs().max() < 1e-13 * after.w.abs().max()
    still = frame.assign(w=np.where(frame.g == 1, 0.005, frame.w))
    release = lv.mask(lv.read(still, confidential=X, sub_groups=["g"]), "variance_preserving_noise", secret=SECRET)
    assert [n.text for n in release.notes if n.kind == "status"] == [
        "w does not vary in sub-group (g=1) and is released as it is"
    ]
    assert (release.frame().w[still.g == 1] == 0.005).all()


def test_zeros_are_kept_and_positive_redraws(frame):
    zeros = frame.assign(x=np.where(frame.s > 0, 0.0, frame.x))[["g", *TWO]]
    for correlated in (True, False):
        mask = lv.masks.VariancePreservingNoise(variance=1.0, zeros="keep", positive=True, correlated=correlated)
        after = released(zeros, mask, TWO)
        assert (after.x[zeros.x == 0] == 0).all()
        assert (after.x[zeros.x != 0] > 0).all()
        assert (after.y > 0).all()
        assert (after.x != zeros.x)[zeros.x != 0].all()
    with pytest.raises(lv.LarvatusError, match=r"'x' has .* negative values"):
        released(frame.assign(x=-frame.x), lv.masks.VariancePreservingNoise(positive=True))


def test_several_fractions_need_independent_noise(frame):
    with pytest.raises(lv.LarvatusError, match="one variance for all columns; set correlated = false"):
        lv.mask(lv.read(frame, confidential=TWO), "variance_preserving_noise(variance=[0.1, 0.2])", secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="2 values for 3 confidential columns"):
        released(frame, lv.masks.VariancePreservingNoise(variance=(0.1, 0.2), correlated=False))


def test_households_keep_means_and_variances(real_files):
    """Var(Y) is that of X, shrunk, plus twice a covariance with the noise and the noise's own: each within its limit."""
    households = pd.read_csv(real_files / "households.csv")
    names = ["expend", "income", "savings"]
    frame = households[names].assign(g=households.urbrur)
    after = released(frame, lv.masks.VariancePreservingNoise(variance=0.5), names)
    z = stats.norm.isf(FALSE_ALARM / 12)
    for g, was in frame.groupby("g"):
        now, n = after[after.g == g], len(was)
        spread = np.sqrt(4 * 0.5 / 1.5**2 + 2 * (0.5 / 1.5) ** 2)
        assert ((now[names].var() / was[names].var() - 1).abs() < z * spread / np.sqrt(n)).all()
        assert ((now[names].mean() - was[names].mean()).abs() / was[names].std() < z * np.sqrt(0.5 / 1.5 / n)).all()
