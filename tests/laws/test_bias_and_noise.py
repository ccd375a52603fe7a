"""A factor around one and noise: the law of each, what they do together, and where nothing can be moved."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from noise_laws import FALSE_ALARM, N, check_unrelated, released, table
from sample import SECRET

TWO = ["x", "y"]


def laws(sd: float) -> dict:
    wide = np.log1p(sd**2)
    return {
        "normal": stats.norm(1, sd), "lognormal": stats.lognorm(np.sqrt(wide), scale=np.exp(-wide / 2)),
        "gamma": stats.gamma(1 / sd**2, scale=sd**2),
    }


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return table()[["g", "s", *TWO]]


def masked(frame: pd.DataFrame, **settings: object) -> pd.DataFrame:
    return released(frame, lv.masks.BiasAndNoise(**settings), TWO)


@pytest.mark.parametrize("bias", ["normal", "lognormal", "gamma"])
@pytest.mark.parametrize("sd", [0.2, 1.0])
def test_the_factor_has_its_law_with_mean_one_in_every_cell(frame, bias, sd):
    theta = masked(frame, bias_sd=sd, noise_ratio=0, bias=bias)[TWO] / frame[TWO]
    for name in TWO:
        fits = {law: stats.kstest(theta[name], d.cdf).pvalue > FALSE_ALARM for law, d in laws(sd).items()}
        assert fits[bias]
        assert sd < 1 or sum(fits.values()) == 1
        check_unrelated(theta[name], frame[name])
        check_unrelated(theta[name][1:], theta[name][:-1])
    check_unrelated(theta.x, theta.y)


def test_both_together_have_the_stated_mean_and_variance_of_each_value(frame):
    """For normal laws (Y - X) / √(φ²X² + σ²) is standard normal, whatever X is: φ = .2/6 and c = 1/6 as in 002, and more."""
    for phi, c in ((0.2 / 6, 1 / 6), (0.5, 1.0)):
        after = masked(frame, bias_sd=phi, noise_ratio=c)
        for _, was in frame.groupby("g"):
            for name in TWO:
                sigma = c * was[name].std()
                z = (after.loc[was.index, name] - was[name]) / np.sqrt(phi**2 * was[name] ** 2 + sigma**2)
                assert stats.kstest(z, stats.norm.cdf).pvalue > FALSE_ALARM


def test_two_values_by_hand():
    """The standard deviation of 0 and 10 is 5: noise of ratio 1/5 has variance 1, a factor of SD .3 adds 9 to tens alone."""
    even = pd.DataFrame({"g": 0, "x": np.arange(N) % 2 * 10.0, "y": np.arange(N) % 2 * 10.0})
    e = masked(even, bias_sd=0.3, noise_ratio=0.2).x - even.x
    for value, variance in ((0, 1.0), (10, 10.0)):
        part = e[even.x == value]
        low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(part) - 1) / (len(part) - 1)
        assert low < part.var() / (variance * (1 + (1 / (N - 1) if value == 0 else 0.1 / (N - 1)))) < high


@pytest.mark.parametrize(("noise", "law"), [
    ("uniform", stats.uniform(-np.sqrt(3), 2 * np.sqrt(3))), ("laplace", stats.laplace(0, np.sqrt(0.5))),
])
def test_noise_alone_has_its_law_and_is_fresh_for_every_column(frame, noise, law):
    e = masked(frame, bias_sd=0, noise_ratio=0.5, noise=noise)[TWO] - frame[TWO]
    standard = e / frame.groupby("g")[TWO].transform("std") / 0.5
    assert all(stats.kstest(standard[n], law.cdf).pvalue > FALSE_ALARM for n in TWO)
    check_unrelated(e.x, e.y)


def test_settings_by_column_and_by_name(frame):
    after = masked(frame, bias_sd={"x": 0.1, "y": 0}, noise_ratio=(0, 0.3))
    assert stats.kstest(after.x / frame.x, laws(0.1)["normal"].cdf).pvalue > FALSE_ALARM
    e = (after.y - frame.y) / frame.groupby("g").y.transform("std") / 0.3
    assert stats.kstest(e, stats.norm.cdf).pvalue > FALSE_ALARM
    with pytest.raises(lv.LarvatusError, match=r"bias_sd: 1 values for 2 confidential columns"):
        masked(frame, bias_sd=(0.1,))


def test_factors_that_are_positive_keep_signs_and_normal_ones_do_not(frame):
    signed = frame.assign(y=frame.y - 100)
    for bias, kept in (("lognormal", True), ("gamma", True), ("normal", False)):
        after = masked(signed, bias_sd=1.0, noise_ratio=0, bias=bias)
        assert (np.sign(after.y) == np.sign(signed.y)).all() == kept


def test_zeros_are_kept_and_positive_redraws(frame):
    zeros = frame.assign(x=np.where(frame.s > 0, 0.0, frame.x))
    after = masked(zeros, bias_sd=0.5, noise_ratio=1.0, zeros="keep", positive=True)
    assert (after.x[zeros.x == 0] == 0).all()
    assert (after.x[zeros.x != 0] > 0).all()
    assert (after.y > 0).all()
    sigma = zeros[zeros.x != 0].groupby("g").x.std()
    free = masked(zeros, bias_sd=0, noise_ratio=1.0, zeros="keep")
    e = ((free.x - zeros.x) / zeros.g.map(sigma))[zeros.x != 0]
    assert stats.kstest(e, stats.norm.cdf).pvalue > FALSE_ALARM
    with pytest.raises(lv.LarvatusError, match=r"'y' has .* negative values"):
        masked(frame.assign(y=-frame.y), positive=True)


def test_zeros_stay_without_noise_even_where_values_must_be_positive(frame):
    zeros = frame.assign(x=np.where(frame.s > 0, 0.0, frame.x))
    after = masked(zeros, bias_sd=1.0, noise_ratio=0, positive=True)
    assert ((after.x == 0) == (zeros.x == 0)).all()
    assert (after[TWO] >= 0).all().all()


def test_what_cannot_be_moved_is_said(frame):
    flat = frame.assign(x=np.where(frame.g == 1, 5.0, frame.x), y=np.where(frame.g == 2, 0.0, frame.y))
    data = lv.read(flat, confidential=TWO, sub_groups=["g"])

    def said(mask: str) -> list[str]:
        release = lv.mask(data, mask, secret=SECRET)
        return [n.text.partition(" and")[0] for n in release.notes if n.kind == "status"]

    assert said("bias_and_noise") == ["y does not vary in sub-group (g=2)"]
    assert said("bias_and_noise(bias_sd=0)") == ["x does not vary in sub-group (g=1)", "y does not vary in sub-group (g=2)"]
    assert (masked(flat).x[flat.g == 1] != 5.0).all()


def test_nothing_to_do_is_refused():
    with pytest.raises(lv.LarvatusError, match="both 0, so nothing would be masked"):
        lv.mask(lv.read(table(), confidential=TWO), "bias_and_noise(bias_sd=0, noise_ratio=0)", secret=SECRET)


def test_on_census_incomes_the_factor_moves_large_values_most_and_noise_all_alike(real_files):
    census = pd.read_csv(real_files / "census.csv")[["AGI", "TAXINC"]].rename(columns={"AGI": "x", "TAXINC": "y"}).assign(g=0)
    limit = stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(len(census) - 1)
    for settings, grows in (({"noise_ratio": 0, "bias": "gamma"}, True), ({"bias_sd": 0}, False)):
        moved = (masked(census, **settings).x - census.x).abs()
        assert (stats.spearmanr(moved, census.x).statistic > limit) == grows
