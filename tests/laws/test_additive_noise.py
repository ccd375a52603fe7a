"""What theory says of additive noise, each with a stated rate of false alarms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from sample import SECRET

FALSE_ALARM = 1e-6
N = 40_000


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    g = rng.integers(0, 3, N)
    return pd.DataFrame({"g": g, "x": rng.gamma(2, 1 + g), "y": rng.normal(5, 2 * (1 + g)), "s": rng.normal(size=N)})


def noise(table: pd.DataFrame, **settings: object) -> pd.DataFrame:
    data = lv.read(table, confidential=["x", "y"], non_confidential=["s"], sub_groups=["g"])
    return lv.mask(data, lv.masks.AdditiveNoise(**settings), secret=SECRET).frame()[["x", "y"]] - table[["x", "y"]]


def check_variance(e: np.ndarray, expected: float, kurtosis: float) -> None:
    """The mean is 0 and the variance as stated, within the limits that n allows."""
    z = stats.norm.isf(FALSE_ALARM / 2)
    assert abs(e.mean()) < z * np.sqrt(expected / len(e))
    assert abs(e.var() - expected) < z * expected * np.sqrt((kurtosis - 1) / len(e))


@pytest.mark.parametrize(("shape", "kurtosis"), [("normal", 3.0), ("uniform", 1.8), ("laplace", 6.0), ("mixture", 13.0)])
def test_noise_has_its_variance_in_every_sub_group(table, shape, kurtosis):
    e = noise(table, variance=[0.25, 0.5], noise=shape)
    for g in range(3):
        inside = table.g == g
        check_variance(e.x[inside], 0.25 * table.x[inside].var(), kurtosis)
        check_variance(e.y[inside], 0.5 * table.y[inside].var(), kurtosis)


@pytest.mark.parametrize(("shape", "law"), [
    ("normal", stats.norm()), ("uniform", stats.uniform(-np.sqrt(3), 2 * np.sqrt(3))),
    ("laplace", stats.laplace(0, 1 / np.sqrt(2))),
])
def test_noise_has_its_shape(table, shape, law):
    e = noise(table, noise=shape)
    standard = e.x / table.groupby("g").x.transform("std") / 0.5
    assert stats.kstest(standard, law.cdf).pvalue > FALSE_ALARM


def test_mixture_is_one_tenth_wide():
    even = pd.DataFrame({"g": 0, "x": np.arange(N) % 2 * 2.0 - 1, "y": np.arange(float(N)), "s": 0.0})
    standard = noise(even, noise="mixture").x / (0.5 * np.sqrt(N / (N - 1)))
    narrow = 1 / np.sqrt(0.9 + 0.1 * 16)
    beyond = (np.abs(standard) > 4 * narrow).sum()
    expected = 0.9 * 2 * stats.norm.sf(4) + 0.1 * 2 * stats.norm.sf(1)
    assert stats.binomtest(int(beyond), N, expected).pvalue > FALSE_ALARM


def test_noise_is_independent_of_x_of_s_and_between_columns(table):
    e = noise(table)
    limit = stats.norm.isf(FALSE_ALARM / 10) / np.sqrt(N) * 1.05
    pairs = [(e.x, e.y), (e.x, table.x), (e.x, table.s), (e.y, table.y), (e.y, table.s)]
    assert max(abs(stats.spearmanr(a, b).statistic) for a, b in pairs) < limit


def test_two_settings_share_no_noise(table):
    one, other = noise(table, variance=0.25), noise(table, variance=0.5)
    limit = stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(N) * 1.05
    assert abs(np.corrcoef(one.x, other.x)[0, 1]) < limit


def test_two_equal_steps_share_no_noise(table):
    data = lv.read(table, confidential=["x", "y"], sub_groups=["g"])
    once = lv.masks.AdditiveNoise(variance=1.0, scope="file")
    first = lv.mask(data, once, secret=SECRET).frame().x - table.x
    second = lv.mask(data, once, once, secret=SECRET).frame().x - table.x - first
    assert abs(np.corrcoef(first, second)[0, 1]) < stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(N) * 1.05


@pytest.mark.parametrize("scope", ["sub_group", "file"])
def test_its_law_knows_the_scope(table, scope):
    data = lv.read(table, confidential=["x", "y"], sub_groups=["g"])
    mask = lv.masks.AdditiveNoise(variance=0.5, scope=scope)
    e = lv.mask(data, mask, secret=SECRET).frame().x - table.x
    for g, here in enumerate(mask.law(data).groups):
        check_variance(e[table.g == g], here.covariance[0, 0], 3.0)
    assert lv.masks.AdditiveNoise(where="x > 1").law(data) is None


def test_two_sub_group_settings_share_no_noise(table):
    data = [lv.read(table, confidential=["x", "y"], sub_groups=s) for s in (["g"], [])]
    one, other = (lv.mask(d, "additive_noise", secret=SECRET).frame().x - table.x for d in data)
    assert abs(np.corrcoef(one, other)[0, 1]) < stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(N) * 1.05


def test_file_scope_uses_the_variance_of_the_file(table):
    e = noise(table, scope="file", variance=1.0)
    check_variance(e.x, table.x.var(), 3.0)
    check_variance(e.x[table.g == 0], table.x.var(), 3.0)


def test_zeros_are_kept_and_do_not_count(table):
    zeros = table.assign(x=np.where(table.s > 0, 0.0, table.x))
    e = noise(zeros, zeros="keep", variance=0.25)
    assert (e.x[zeros.x == 0] == 0).all()
    for g in range(3):
        inside = (zeros.g == g) & (zeros.x != 0)
        check_variance(e.x[inside], 0.25 * zeros.x[inside].var(), 3.0)


def test_positive_redraws_until_positive_and_refuses_negatives(table):
    data = lv.read(table.assign(y=np.abs(table.y)), confidential=["x", "y"], sub_groups=["g"])
    release = lv.mask(data, lv.masks.AdditiveNoise(variance=4.0, positive=True), secret=SECRET).frame()
    assert (release[["x", "y"]] > 0).all().all()
    with pytest.raises(lv.LarvatusError, match=r"'y' has .* negative values"):
        noise(table, positive=True)


def test_its_law_is_the_law_of_what_it_does(table):
    data = lv.read(table, confidential=["x", "y"], sub_groups=["g"])
    mask = lv.masks.AdditiveNoise(variance={"x": 0.1, "y": 0.9})
    law = mask.law(data)
    e = lv.mask(data, mask, secret=SECRET).frame()[["x", "y"]] - table[["x", "y"]]
    for g, here in enumerate(law.groups):
        assert here.on_x.tolist() == np.eye(2).tolist()
        check_variance(e.x[table.g == g], here.covariance[0, 0], 3.0)
        check_variance(e.y[table.g == g], here.covariance[1, 1], 3.0)
    assert lv.masks.AdditiveNoise(positive=True).law(data) is None


@pytest.mark.parametrize(("variance", "said"), [
    ([0.1], "1 values for 2 confidential"), ({"x": 0.1}, "no value for 'y'"),
    ({"x": 0.1, "z": 1}, "is not a confidential"),
])
def test_settings_that_do_not_fit_the_columns(table, variance, said):
    with pytest.raises(lv.LarvatusError, match=said):
        noise(table, variance=variance)


def test_a_column_that_does_not_vary_in_a_sub_group_is_said(table):
    flat = table.assign(x=np.where(table.g == 1, 3.0, table.x))
    data = lv.read(flat, confidential=["x", "y"], sub_groups=["g"])
    release = lv.mask(data, "additive_noise", secret=SECRET)
    assert [n.text for n in release.notes if n.kind == "status"] == [
        "x does not vary in sub-group (g=1) and is released as it is"
    ]
    assert (release.frame().x[flat.g == 1] == 3.0).all()
