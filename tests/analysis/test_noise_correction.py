"""Corrected estimates: worked by hand, unbiased given the original, and with intervals that cover where naive ones do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import larvatus as lv
from larvatus.analysis import additive, correct, correlated, multiplicative
from larvatus.analysis.published_noise import power_map
from larvatus.core.errors import LarvatusWarning

FALSE_ALARM = 1e-6
STUDIES, N = 200, 300
PUBLISHED = {
    "additive": (lv.masks.AdditiveNoise(variance=0.5, noise="laplace"), additive({"a": 0.5, "b": 0.5}, "laplace")),
    "correlated": (lv.masks.CorrelatedNoise(variance=0.5), correlated(["a", "b"], 0.5)),
    "multiplicative": (
        lv.masks.BiasAndNoise(bias_sd=0.2, noise_ratio=0.5, bias="gamma"),
        multiplicative({"a": 0.2, "b": 0.2}, {"a": 0.5, "b": 0.5}, bias="gamma"),
    ),
}


def population(size: int, seed: int) -> pd.DataFrame:
    """Var a = 2, corr(a, s) = 1/√2, b = 1 + .8 a + .5 s + e: the truth behind every study."""
    rng = np.random.default_rng(seed)
    s = rng.normal(size=size)
    a = 3 + s + rng.normal(size=size)
    return pd.DataFrame({"s": s, "a": a, "b": 1 + 0.8 * a + 0.5 * s + rng.normal(size=size)})


@pytest.fixture(scope="module", params=PUBLISHED)
def studies(request) -> tuple[str, list[pd.DataFrame]]:
    """Releases of many samples; one file holds them as sub-groups, each masked by itself."""
    table = population(STUDIES * N, 31).assign(g=np.repeat(np.arange(STUDIES), N))
    data = lv.read(table, confidential=["a", "b"], non_confidential="s", sub_groups="g")
    frame = lv.mask(data, PUBLISHED[request.param][0], secret=b"for coverage, not for secrecy").frame()
    return request.param, [part for _, part in frame.groupby("g")]


def covering(low: np.ndarray, high: np.ndarray, truth: float) -> int:
    return int(((low < truth) & (truth < high)).sum())


def test_corrected_intervals_cover_at_their_level_where_naive_ones_do_not(studies):
    kind, parts = studies
    noise = PUBLISHED[kind][1]
    truth = {"mean": 3.0, "variance": 2.0, "correlation": 1 / np.sqrt(2), "intercept": 1.0, "slope": 0.8, "other slope": 0.5}

    def ends(given):
        """Quantities × low and high."""
        found = [correct(part, given, others="s") for part in parts]
        picked = [
            (c.means().interval(), c.variances().interval(), c.correlations().interval(),
             c.regression("b", ["a", "s"]).interval()) for c in found
        ]
        return np.array([
            [m[0][0], v[0][0], r[0][1], *b[0], m[1][0], v[1][0], r[1][1], *b[1]] for m, v, r, b in picked
        ]).T.reshape(2, 6, -1)

    (low, high), (naive_low, naive_high) = ends(noise), ends(additive({"a": 0.0, "b": 0.0}))
    for j, (what, value) in enumerate(truth.items()):
        hits = covering(low[j], high[j], value), covering(naive_low[j], naive_high[j], value)
        assert stats.binomtest(hits[0], STUDIES, 0.95).pvalue > FALSE_ALARM, (kind, what, hits)
        if what != "mean":
            assert stats.binom.cdf(hits[1], STUDIES, 0.95) < FALSE_ALARM, (kind, what, hits)


@pytest.mark.parametrize("noise", [additive({"x": 1.0}), correlated("x", 1.0), multiplicative({"x": 0.0}, {"x": 1.0})])
def test_a_plain_sandwich_would_be_too_narrow_for_the_variance(noise):
    """At variance 1 of normal data the standard error is √(3.5 / 2) times that of released values taken as a sample."""
    x = np.random.default_rng(3).normal(size=200_000)
    y = x + x.std(ddof=1) * np.random.default_rng(4).normal(size=len(x))
    error = correct({"x": y}, noise).variances().error[0]
    plain = (((y - y.mean()) ** 2) / 2).std() / np.sqrt(len(y))
    # The fourth moment that the ratio rests on has a relative SD of √(96 / n) / 3; six of them are far beyond the false alarm.
    assert error / plain == pytest.approx(np.sqrt(3.5 / 2), rel=6 * np.sqrt(96 / len(x)))


def test_by_hand_on_four_records():
    """Y = 0, 2, 4, 6 with noise of half the variance: S² = 20/3, so that of X is 40/9 and the mean stays 3."""
    found = correct({"y": [0.0, 2, 4, 6]}, additive({"y": 0.5}))
    assert found.covariance[0, 0] == pytest.approx(40 / 9, rel=1e-14)
    assert found.mean == pytest.approx([3], rel=1e-14)
    assert found.means().error == pytest.approx([np.sqrt(20 / 3 / 4)], rel=1e-14)
    assert found.released[0, 0] == pytest.approx(20 / 3, rel=1e-14)
    with pytest.raises(lv.LarvatusError, match="too few to estimate"):
        found.variances()
    only = correct({"y": [0.0, 2, 4, 6]}, multiplicative({"y": 0.5}))
    assert only.covariance[0, 0] == pytest.approx(20 / 3 - 0.25 * 14 / 1.25, rel=1e-14)


def test_correlated_noise_divides_covariances_among_masked_columns_alone():
    frame = population(200, 5)
    found = correct(frame, correlated(["a", "b"], 0.25), others=["s"])
    plain = np.cov(frame[["a", "b", "s"]].T)
    expected = plain.copy()
    expected[:2, :2] /= 1.25
    assert found.covariance == pytest.approx(expected, rel=1e-12)
    assert found.correlations()["a, b"][0] == pytest.approx(frame.a.corr(frame.b), rel=1e-12)
    assert found.correlations()["a, s"][0] == pytest.approx(frame.a.corr(frame.s) * np.sqrt(1.25), rel=1e-12)


def test_without_noise_it_is_least_squares_with_the_robust_errors_of_white():
    frame = population(500, 7)
    found = correct(frame, additive({"a": 0.0}), others=["b", "s"]).regression("b", ["a", "s"])
    design = np.column_stack([np.ones(500), frame.a, frame.s])
    beta, *_ = np.linalg.lstsq(design, frame.b, rcond=None)
    bread = np.linalg.inv(design.T @ design)
    meat = design.T * ((frame.b - design @ beta) ** 2).to_numpy() @ design
    assert found.estimate == pytest.approx(beta, rel=1e-10)
    white = np.sqrt(np.diag(bread @ meat @ bread))
    assert found.error[1:] == pytest.approx(white[1:] * np.sqrt(499 / 500), rel=1e-9)
    assert found.error[0] == pytest.approx(white[0], rel=1 / 499)


@pytest.mark.parametrize("kind", PUBLISHED)
def test_unbiased_for_the_file_itself_with_sub_groups(kind):
    """Over many secrets the mean of corrected covariances is that of the original file, whatever its groups."""
    table = population(120, 11).assign(g=np.repeat([0, 1, 2], [20, 40, 60]))
    table["a"] += 4 * table.g
    data = lv.read(table, confidential=["a", "b"], non_confidential="s", sub_groups="g")
    mask, noise = PUBLISHED[kind]
    found = np.array([
        correct(lv.mask(data, mask, secret=i.to_bytes(16, "big")).frame(), noise, "s", "g").covariance for i in range(150)
    ])
    truth = np.cov(table[["a", "b", "s"]].T)
    z = (found.mean(axis=0) - truth)[:2] / (found.std(axis=0, ddof=1)[:2] / np.sqrt(len(found)))
    assert (np.abs(z) < stats.t(len(found) - 1).isf(FALSE_ALARM / 12)).all()


@pytest.mark.parametrize("bias", ["normal", "lognormal", "gamma"])
@pytest.mark.parametrize("shape", ["normal", "uniform", "laplace", "mixture"])
def test_powers_by_the_masks_own_draws(bias, shape):
    """E[(z - c)ᵏ | x] by the laws that the masks draw from."""
    from larvatus.core.randomness import RecordRandom
    from larvatus.stats.noise.laws import factors, standard_noise

    records, random = np.arange(200_000), RecordRandom(bytes(16))
    noise = multiplicative({"y": 0.2}, {"y": 2.0}, shape, bias)
    z = 2.5 * factors(bias, np.array([0.2]), random, records)[0] + 2 * standard_noise(shape, random, records, 1)[0]
    expected = power_map(noise, 0.2, 1.5, 2.0) @ 1.0 ** np.arange(5)
    for k in range(1, 5):
        drawn = (z - 1.5) ** k
        assert abs(drawn.mean() - expected[k]) < stats.norm.isf(FALSE_ALARM / 2) * drawn.std() / np.sqrt(len(z))


def test_frames_of_any_kind_and_missing_values():
    frame = population(50, 13)
    frame.loc[3, "a"] = np.nan
    noise = additive({"a": 0.25})
    one = correct(frame, noise, "s")
    assert (one.records, one.left_out) == (49, 1)
    for other in (pl.from_pandas(frame), frame.to_dict("list")):
        assert np.array_equal(correct(other, noise, "s").covariance, one.covariance)


def test_what_sampling_error_makes_impossible_is_nan_and_the_rest_is_there():
    """Released values correlated at 0.9 with noise of half the variance: 1.35 is left, and no columns have that."""
    rng = np.random.default_rng(2)
    a = rng.normal(size=40)
    frame = {"a": a, "b": 0.9 * a + np.sqrt(0.19) * rng.normal(size=40), "s": rng.normal(size=40)}
    found = correct(frame, additive({"a": 0.5, "b": 0.5}), others="s")
    assert np.isfinite(found.means().error).all()
    assert (found.variances().estimate > 0).all()
    with pytest.warns(LarvatusWarning, match=r"correlations: a, b: not estimated .*sampling error"):
        rho = found.correlations()
    assert np.isnan(rho["a, b"]).all()
    assert np.isfinite([rho["a, s"], rho["b, s"]]).all()
    assert np.isfinite(rho.uncorrected).all()
    with pytest.warns(LarvatusWarning, match=r"regression of b on a, s: not estimated .*sampling error"):
        fit = found.regression("b", ["a", "s"])
    assert np.isnan([fit.estimate, fit.error]).all()
    assert np.isfinite(fit.uncorrected).all()
    assert np.isfinite(found.regression("b", "s").estimate).all()


@pytest.mark.parametrize(("call", "said"), [
    (lambda f: additive({}), "by name"), (lambda f: additive({"a": "0.2"}), "variance: needs a number, got '0.2' for 'a'"),
    (lambda f: additive({"a": -1}), "0 or more"),
    (lambda f: additive({"a": 1}, "cauchy"), "none of"), (lambda f: multiplicative({"a": 0.1}, {"b": 1}), "without bias_sd"),
    (lambda f: correct(f, additive({"c": 1})), "no column 'c'"), (lambda f: correct(f, additive({"t": 1})), "not numeric"),
    (lambda f: correct(f, additive({"a": 1}), sub_groups="c"), "no column 'c'"),
    (lambda f: correct(f[:2], additive({"a": 1})), "complete records"),
    (lambda f: correct(f, additive({"a": 1}), sub_groups="t"), "with one complete record"),
    (lambda f: correct(f, additive({"k": 1})), "all the same"),
    (lambda f: correct(f, additive({"a": 0.1}), others=["b", "c2"]), "determine each other"),
    (lambda f: correct(f, additive({"a": 0.1})).regression("a", "b"), "no column 'b'"),
    (lambda f: correct(f, additive({"a": 0.1})).regression("a", []), "at least one"),
    (lambda f: correct(f, additive({"a": 0.1})).means().interval(95), "level"),
    (lambda f: correct(f, additive({"a": 0.1})).means()["b"], "no estimate"),
])
def test_what_cannot_be_corrected_is_refused(call, said):
    frame = population(30, 17)
    frame = frame.assign(t=[f"level {i}" for i in range(30)], k=1.0, c2=2 * frame.b)
    with pytest.raises(lv.LarvatusError, match=said):
        call(frame)


def test_correlated_noise_of_another_law_has_the_errors_that_repetition_shows():
    """Standard errors of variances and of a covariance against the spread over many noisy copies of many samples."""
    rng = np.random.default_rng(19)
    runs, n, d = 400, 600, 1.0
    noise = correlated(["a", "b"], d, "laplace")
    estimates, errors = [], []
    for _ in range(runs):
        x = np.linalg.cholesky([[1, 0.6], [0.6, 1]]) @ rng.normal(size=(2, n))
        y = x + np.sqrt(d) * np.linalg.cholesky(np.cov(x)) @ rng.laplace(scale=np.sqrt(0.5), size=(2, n))
        found = correct({"a": y[0], "b": y[1]}, noise).variances()
        estimates.append(found.estimate)
        errors.append(found.error)
    ratio = np.mean(np.square(errors), axis=0) / np.var(estimates, axis=0, ddof=1)
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], runs - 1) / (runs - 1)
    # The variance of such estimates has heavier tails than the normal's: kurtosis up to 4.5 widens the limits by √(3.5 / 2).
    wide = np.sqrt(3.5 / 2)
    assert (1 + wide * (1 / high - 1) < ratio).all()
    assert (ratio < 1 + wide * (1 / low - 1)).all()
