"""What theory says of multiple imputation, each with a stated rate of false alarms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from sample import SECRET

FALSE_ALARM = 1e-6
COPIES, N = 60, 600


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(31)
    g = np.repeat([0, 1], [N // 3, N - N // 3])
    s = rng.normal(50, 10, N)
    job = rng.choice(["none", "part", "full"], N)
    x = (1 + g) * s + 5 * (job == "full") + rng.normal(0, 10, N)
    return pd.DataFrame({"g": g, "s": s, "job": job, "x": x, "y": 0.5 * x + rng.gamma(2, 5, N)})


@pytest.fixture(scope="module")
def data(table) -> lv.Microdata:
    return lv.read(table, confidential=["x", "y"], non_confidential=["s", "job"], sub_groups=["g"])


@pytest.fixture(scope="module")
def frames(data) -> list[pd.DataFrame]:
    release = lv.mask(data, lv.masks.MultipleImputation(copies=COPIES), secret=SECRET)
    return [release.frame(c) for c in range(COPIES)]


def terms(part: pd.DataFrame) -> np.ndarray:
    return np.column_stack([np.ones(len(part)), part.s, part.job == "none", part.job == "part"]).astype(float)


def test_means_and_covariances_given_s_are_kept_in_expectation_over_copies(table, data, frames):
    law = lv.masks.MultipleImputation().law(data)
    assert law.given == ("s", "job=none", "job=part")
    for g, here in enumerate(law.groups):
        part = table[table.g == g]
        fit = here.intercept + terms(part)[:, 1:] @ here.on_s.T
        b, *_ = np.linalg.lstsq(terms(part), part[["x", "y"]], rcond=None)
        assert fit == pytest.approx(terms(part) @ b, rel=1e-9)
        assert not here.on_x.any()
        e = np.array([f.loc[part.index, ["x", "y"]] - fit for f in frames])
        for j in (0, 1):
            assert stats.ttest_1samp(e[:, :, j].mean(axis=1), 0).pvalue > FALSE_ALARM
            assert stats.ttest_1samp((e[:, :, j] * part.s.to_numpy()).mean(axis=1), 0).pvalue > FALSE_ALARM
        for i, j in ((0, 0), (0, 1), (1, 1)):
            assert stats.ttest_1samp((e[:, :, i] * e[:, :, j]).mean(axis=1), here.covariance[i, j]).pvalue > FALSE_ALARM


def test_copies_differ_by_more_than_noise_because_coefficients_are_drawn(table, data, frames):
    """Refitted slopes vary by the posterior's variance and by that of fresh noise: twice that of least squares."""
    law = lv.masks.MultipleImputation().law(data)
    for g, here in enumerate(law.groups):
        part = table[table.g == g]
        z = terms(part)
        refit = np.array([np.linalg.lstsq(z, f.loc[part.index, "x"], rcond=None)[0][1] for f in frames])
        expected = here.covariance[0, 0] / (1 + 4 / len(part)) * np.linalg.inv(z.T @ z)[1, 1] * 2
        low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], COPIES - 1) / (COPIES - 1)
        assert low < refit.var(ddof=1) / expected < high
        assert refit.var(ddof=1) > 1.2 * expected / 2


def test_given_s_copies_and_their_average_are_independent_of_x(table, data, frames):
    limit = stats.norm.isf(FALSE_ALARM / 10)
    mean = sum(f[["x", "y"]] for f in frames) / COPIES
    for g in (0, 1):
        part = table[table.g == g]
        z = terms(part)
        off = np.eye(len(part)) - z @ np.linalg.pinv(z)
        own = off @ part.x
        for f in (frames[0], frames[1], mean):
            r = np.corrcoef(own, off @ f.loc[part.index, "x"])[0, 1]
            assert abs(r) < limit / np.sqrt(len(part) - z.shape[1])


def test_an_attack_on_all_copies_finds_no_more_than_s_tells(data):
    release = lv.mask(data, lv.masks.MultipleImputation(copies=4), secret=SECRET)
    score = lv.risk(data, release, "value_disclosure")[0]
    gain = [r["value"] - r["s_alone"] for r in score.details["copies"]]
    assert max(gain) < 2 * stats.chi2.isf(FALSE_ALARM, 2) / (N / 3), "about p/n by chance"


def test_identities_between_columns_stay(table):
    linked = table.assign(total=table.x + 2 * table.y)
    data = lv.read(linked, confidential=["x", "y", "total"], non_confidential=["s"], sub_groups=["g"])
    frame = lv.mask(data, "multiple_imputation(copies=2)", secret=SECRET).frame(1)
    assert (frame.x + 2 * frame.y).to_numpy() == pytest.approx(frame.total.to_numpy(), rel=1e-9)
    assert np.abs(frame.total - linked.total).min() > 1e-6


def test_missing_values_stay_and_present_ones_keep_their_moments(table):
    """Values missing where s is large: each column's line is fitted to the records that have it."""
    gaps = table.assign(x=table.x.where(table.s < 55), y=table.y.where(np.arange(N) % 7 > 0))
    data = lv.read(gaps, confidential=["x", "y"], non_confidential=["s"])
    release = lv.mask(data, lv.masks.MultipleImputation(copies=COPIES), secret=SECRET)
    frames = [release.frame(c) for c in range(COPIES)]
    for name in ("x", "y"):
        assert all(f[name].isna().equals(gaps[name].isna()) for f in frames)
        there = gaps[name].notna()
        fit = np.polynomial.polynomial.polyfit(gaps.s[there], gaps[name][there], 1)
        e = np.array([f[name][there] - fit[0] - fit[1] * gaps.s[there] for f in frames])
        assert stats.ttest_1samp(e.mean(axis=1), 0).pvalue > FALSE_ALARM
        assert stats.ttest_1samp((e * gaps.s[there].to_numpy()).mean(axis=1), 0).pvalue > FALSE_ALARM


def test_pairwise_correlations_that_no_matrix_has_are_repaired_and_said():
    rng = np.random.default_rng(8)
    a, b, c = rng.normal(size=(3, 60))
    third = np.arange(60) % 3
    frame = pd.DataFrame({"a": np.where(third == 0, np.nan, a), "b": np.where(third == 1, np.nan, a), "c": c})
    frame["c"] = np.where(third == 2, np.nan, np.where(third == 0, a, -a)) + 0.05 * b
    release = lv.mask(lv.read(frame, confidential=["a", "b", "c"]), "multiple_imputation", secret=SECRET)
    assert any("do not form a correlation matrix" in n.text for n in release.notes)
    assert np.isfinite(release.frame()[["a", "b", "c"]].to_numpy()[~frame.isna()]).all()


def test_a_column_that_s_determines_is_refused(table):
    known = table.assign(y=3 * table.s - 1)
    data = lv.read(known, confidential=["x", "y"], non_confidential=["s"])
    with pytest.raises(lv.LarvatusError, match="no value of 'y' was changed"):
        lv.mask(data, "multiple_imputation", secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="the release would equal the original"):
        lv.mask(lv.read(known, confidential="y", non_confidential="s"), "multiple_imputation", secret=SECRET)


def test_shapes_are_lost(table):
    """What theory does not promise: a column that is never negative comes out negative."""
    skewed = table.assign(x=np.exp(table.x / 20))
    frame = lv.mask(lv.read(skewed, confidential="x"), "multiple_imputation", secret=SECRET).frame()
    assert (frame.x < 0).mean() > 0.05


def test_one_copy_is_warned_of_and_hostile_tables_are_released_or_refused(table):
    one = lv.mask(lv.read(table, confidential="x"), "multiple_imputation(copies=1)", secret=SECRET)
    assert any("one copy" in n.text and n.kind == "warning" for n in one.notes)
    for n in range(1, 6):
        with pytest.raises(lv.LarvatusError, match=r"usable records, and 6 are needed|values in the whole file"):
            lv.mask(lv.read(table[:n], confidential=["x", "y"], non_confidential="s"), "multiple_imputation", secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="must be at most 100"):
        lv.mask(lv.read(table, confidential="x"), "multiple_imputation(copies=1000)", secret=SECRET)


@pytest.mark.parametrize(("file", "roles"), [
    ("census.csv", {"confidential": ["AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA", "WSALVAL", "ERNVAL"],
                    "non_confidential": ["PTOTVAL", "EMCONTRB"]}),
    ("households.csv", {"confidential": ["expend", "income", "savings"], "non_confidential": ["age", "hhcivil"],
                        "sub_groups": ["urbrur", "sex"]}),
])
def test_real_files_keep_their_means_over_copies(real_files, file, roles):
    data = lv.read(real_files / file, **roles)
    frame = pd.read_csv(real_files / file)
    release = lv.mask(data, lv.masks.MultipleImputation(copies=20), secret=SECRET)
    for name in roles["confidential"]:
        means = [np.mean(release.frame(c)[name].to_numpy()) for c in range(20)]
        assert stats.ttest_1samp(means, frame[name].mean()).pvalue > FALSE_ALARM
        assert np.std(means, ddof=1) < 5 * frame[name].std() / np.sqrt(len(frame))
