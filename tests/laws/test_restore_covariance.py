"""Noise that restores what means took away: covariances exact or on average, and what cannot be restored."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.data.verbs import map_rows
from noise_laws import X, check_covariance, check_unrelated, gap, table
from sample import SECRET
from shrinking import GroupMeans, Shrunk

TWO = ["x", "y"]
EXACT, RANDOM = lv.masks.RestoreCovariance(), lv.masks.RestoreCovariance(moments="random")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return table()[:9000]


def steps(frame: pd.DataFrame, *masks: object, names: list[str] = X, **roles: object) -> lv.Release:
    given = ["s"] if "s" in frame else []
    data = lv.read(frame, confidential=names, non_confidential=given, sub_groups=["g"] if "g" in frame else [], **roles)
    return lv.mask(data, *masks, secret=SECRET)


def test_exact_noise_gives_the_covariance_of_the_original_in_every_sub_group(frame):
    averaged, after = steps(frame, GroupMeans()).frame(), steps(frame, GroupMeans(), EXACT).frame()
    for g, was in frame.groupby("g"):
        mean, now = (f[f.g == g] for f in (averaged, after))
        assert gap(was[X], now[X]) < 1e-12 < 0.1 < gap(was[X], mean[X])
        cross = [np.cov(f[n], f.s)[0, 1] / np.std(was[n]) for f in (mean, now) for n in X]
        assert np.allclose(cross[:3], cross[3:], atol=1e-12)
    assert (after.w - after.x - after.y).abs().max() < 1e-9
    assert (after[X] != averaged[X]).all(axis=None)


def test_random_noise_has_the_covariance_that_was_lost_and_is_unrelated(frame):
    two = frame[["g", "s", *TWO]]
    averaged = steps(two, GroupMeans(), names=TWO).frame()
    after = steps(two, GroupMeans(), RANDOM, names=TWO).frame()
    for _, was in two.groupby("g"):
        mean, e = averaged.loc[was.index, TWO], (after - averaged).loc[was.index, TWO]
        check_covariance(e, np.linalg.cholesky(np.cov(was[TWO].T) - np.cov(mean.T)).T)
        for name in TWO:
            check_unrelated(e[name], was[name])
            check_unrelated(e[name], was.s)
        assert gap(was[TWO], after.loc[was.index, TWO]) > 1e-4


def test_shrunk_halves_by_hand():
    """Half way to the mean leaves a quarter of the covariance; the noise then has three quarters of it, to the last digit."""
    rng = np.random.default_rng(4)
    plain = pd.DataFrame({"x": rng.normal(size=200), "y": rng.gamma(2, size=200)})
    shrunk = (plain + plain.mean()) / 2
    e = steps(plain, Shrunk(), EXACT, names=TWO).frame() - shrunk
    assert np.allclose(e.cov(), 0.75 * plain.cov(), rtol=1e-10)
    assert np.allclose(e.mean(), 0, atol=1e-12)
    assert np.abs(np.corrcoef(e.T, shrunk.T)[:2, 2:]).max() < 1e-12


@pytest.mark.parametrize("before", [lv.masks.AdditiveNoise(), lv.masks.CorrelatedNoise(variance=0.01)])
def test_steps_that_add_variance_are_refused_with_the_eigenvalue(frame, before):
    with pytest.raises(lv.LarvatusError, match=(
        r"restore_covariance: in sub-group \(g=0\) the earlier steps added variance in the direction .*·.* of the standardised "
        r"columns: the lost covariance has the eigenvalue -\d.* on the correlation scale"
    )):
        steps(frame, before, EXACT)


def test_columns_that_were_reduced_apart_from_each_other_are_refused():
    """Columns in perfect agreement reduced in two ways: their difference varied not at all, and now it does."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=300)
    twin = pd.DataFrame({"x": x, "y": x})
    apart = r"direction (\+0\.\d\d·. -0\.\d\d·.|-0\.\d\d·. \+0\.\d\d·.) of .* eigenvalue -0"
    with pytest.raises(lv.LarvatusError, match=apart):
        steps(twin, GroupMeans(columns=("x",)), Shrunk(columns=("y",)), EXACT, names=TWO)


def test_nothing_to_restore_is_refused_and_said_where_it_is_so_in_one_sub_group(frame):
    with pytest.raises(lv.LarvatusError, match="preserved every covariance, so nothing needs restoring"):
        steps(frame, lv.masks.SufficiencyBased(), EXACT)
    with pytest.raises(lv.LarvatusError, match="no step before it masks the same columns"):
        steps(frame, EXACT)
    flat = frame.assign(**{n: np.where(frame.g == 1, 5.0, frame[n]) for n in X})
    release = steps(flat, GroupMeans(), EXACT)
    assert [n.text for n in release.notes if n.kind == "status"] == [
        "no covariance was lost in sub-group (g=1), so no values are changed there"
    ]
    assert (release.frame().loc[flat.g == 1, X] == 5.0).all(axis=None)


def test_small_sub_groups(frame):
    """One S and two columns: 1 + 1 + 2·2 records are needed for exact moments."""
    for size in (5, 6, 9):
        small = pd.concat([frame[frame.g == 0][:100], frame[frame.g == 1][:size]])
        if size < 6:
            with pytest.raises(lv.LarvatusError, match=rf"fewer than 6 usable records: \(g=1\) has {size}"):
                steps(small, Shrunk(), EXACT, names=TWO)
            steps(small, Shrunk(), RANDOM, names=TWO)
            continue
        after = steps(small, Shrunk(), EXACT, names=TWO).frame()
        assert gap(small.loc[small.g == 1, TWO], after.loc[after.g == 1, TWO]) < 1e-12


@pytest.mark.parametrize("mask", [EXACT, RANDOM], ids=["exact", "random"])
def test_missing_values_stay_and_are_said(frame, mask):
    patchy = frame.assign(x=frame.x.where(frame.s < 1), y=frame.y.where(frame.s > -1.5))[["g", *TWO]]
    release = steps(patchy, Shrunk(), mask, names=TWO)
    after = release.frame()
    assert after[TWO].isna().equals(patchy[TWO].isna())
    assert any("values are missing in 3 sub-groups" in n.text for n in release.notes) == (mask is EXACT)
    for _, was in patchy.groupby("g"):
        e = after.loc[was.index, TWO] - (was[TWO] + was[TWO].mean()) / 2
        assert e.x.notna().sum() == was.x.notna().sum()
        whole = e.dropna()
        r = was.x.corr(was.y)
        sd = was[TWO].std().to_numpy()
        check_covariance(whole, np.sqrt(0.75) * np.linalg.cholesky([[1, r], [r, 1]]).T * sd)


def test_census_and_chosen_records(real_files):
    census = pd.read_csv(real_files / "census.csv")
    names = ["AGI", "FEDTAX", "PTOTVAL", "PEARNVAL", "POTHVAL", "WSALVAL"]
    after = steps(census, GroupMeans(), EXACT, names=names).frame()
    assert gap(census[names], after[names]) < 1e-12
    assert (after.PTOTVAL - after.PEARNVAL - after.POTHVAL).abs().max() < 1e-9 * census.PTOTVAL.max()
    chosen = census.AGI > 30000
    part = [m.model_copy(update={"where": "AGI > 30000"}) for m in (GroupMeans(), EXACT)]
    after = steps(census, *part, names=names).frame()
    assert gap(census.loc[chosen, names], after.loc[chosen, names]) < 1e-12
    assert after.loc[~chosen, names].equals(census.loc[~chosen, names].astype(after[names].dtypes.to_dict()))


class Lowered(GroupMeans):
    """Means of groups, moved down in one column."""

    def apply(self, current, original, random):
        masked = super().apply(current, original, random)
        return masked._replace(data=map_rows(masked.data, lambda g, b: {"x": b["x"] - 0.01}, ["x"]))


@pytest.mark.parametrize("mask", [EXACT, RANDOM])
def test_means_that_were_moved_before_are_said_to_stay_so(frame, mask):
    told = "earlier steps changed the means of x; these are not restored"
    assert told in [n.text for n in steps(frame, Lowered(), mask, names=TWO).notes if n.kind == "warning"]
    assert not any("changed the means" in n.text for n in steps(frame, GroupMeans(), mask, names=TWO).notes)
