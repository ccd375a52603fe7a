"""What theory says of copula perturbation, each with a stated rate of false alarms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from sample import SECRET

FALSE_ALARM = 1e-6
N, SECRETS = 1500, 40


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(51)
    r = np.array([[1, 0.7, 0.5], [0.7, 1, 0.3], [0.5, 0.3, 1]])
    z = rng.normal(size=(N, 3)) @ np.linalg.cholesky(r).T
    return pd.DataFrame({
        "s": z[:, 0], "job": rng.choice(["a", "b"], N), "x": np.exp(z[:, 1]),
        "y": np.where(z[:, 2] < -0.5, 0.0, np.exp(1.5 * z[:, 2])),
    })


def released(table: pd.DataFrame, secret: bytes = SECRET, given: object = "s", **settings: object) -> pd.DataFrame:
    data = lv.read(table, confidential=["x", "y"], non_confidential=given)
    return lv.mask(data, lv.masks.CopulaPerturbation(**settings), secret=secret).frame()


@pytest.fixture(scope="module")
def releases(table) -> list[pd.DataFrame]:
    return [released(table, SECRET + bytes([i]), ["s", "job"]) for i in range(SECRETS)]


def test_rank_correlations_are_kept_in_expectation(table, releases):
    """To the estimate of the latent correlation: a small bias of order 1/n is allowed beside the spread over secrets."""
    for one, other in (("x", "y"), ("x", "s"), ("y", "s")):
        found = [f[one].corr(f[other], method="spearman") for f in releases]
        truth = table[one].corr(table[other], method="spearman")
        limit = stats.t(SECRETS - 1).isf(FALSE_ALARM / 2) * np.std(found, ddof=1) / np.sqrt(SECRETS) + 6 / N
        assert abs(np.mean(found) - truth) < limit


def test_marginals_are_samples_of_the_originals(table, releases):
    for frame in releases[:5]:
        assert stats.ks_2samp(frame.x, table.x).pvalue > FALSE_ALARM
        zeros = int((frame.y == 0).sum())
        assert stats.binomtest(zeros, N, (table.y == 0).mean()).pvalue > FALSE_ALARM
        assert stats.ks_2samp(frame.y[frame.y > 0], table.y[table.y > 0]).pvalue > FALSE_ALARM


def test_the_marginal_holds_where_names_in_s_make_latent_values_a_mixture():
    """A normal map of such latent values would miss the marginal: two groups far apart."""
    rng = np.random.default_rng(3)
    job = np.repeat(["a", "b"], 1000)
    frame = pd.DataFrame({"job": job, "x": rng.normal(size=2000) + 3 * (job == "b")})
    data = lv.read(frame, confidential="x", non_confidential="job")
    found = lv.mask(data, "copula_perturbation", secret=SECRET).frame()
    assert stats.kstest(found.x, stats.ecdf(frame.x).cdf.evaluate).pvalue > FALSE_ALARM
    apart = found.x[job == "b"].mean() - found.x[job == "a"].mean()
    assert abs(apart - 3) < 1, "S tells the groups apart"


def test_no_value_but_a_frequent_one_is_an_original(table):
    for smooth in (1, 3, 20):
        frame = released(table, smooth=smooth)
        assert not np.isin(frame.x, table.x).any()
        assert not np.isin(frame.y[frame.y > 0], table.y).any()
        assert frame.x.min() > table.x.min()
        assert frame.x.max() < table.x.max()


def test_given_s_the_values_are_independent_of_the_originals(table, releases):
    own, score = stats.rankdata(table.x), stats.norm.ppf((stats.rankdata(table.s) - 0.5) / N)
    fitted = np.poly1d(np.polyfit(score, own, 3))(score)
    limit = stats.norm.isf(FALSE_ALARM / 10) / np.sqrt(N) * 1.05
    for frame in releases[:5]:
        new = stats.rankdata(frame.x)
        assert abs(np.corrcoef(own - fitted, new - np.poly1d(np.polyfit(score, new, 3))(score))[0, 1]) < limit


def test_relations_that_are_not_monotone_are_lost():
    rng = np.random.default_rng(4)
    x = rng.normal(size=N)
    frame = pd.DataFrame({"x": x, "y": x**2 + 0.1 * rng.normal(size=N)})
    found = lv.mask(lv.read(frame, confidential=["x", "y"]), "copula_perturbation", secret=SECRET).frame()
    assert np.corrcoef(frame.x**2, frame.y)[0, 1] > 0.95
    assert abs(np.corrcoef(found.x**2, found.y)[0, 1]) < 0.3


def test_perfect_rank_agreement_stays(table):
    linked = table.assign(y=-np.sqrt(table.x))
    frame = released(linked)
    assert frame.x.corr(frame.y, method="spearman") == pytest.approx(-1, abs=2e-3), "shares of both columns are drawn apart"


def test_whole_numbers_stay_whole_and_missing_values_missing(table):
    counts = table.assign(x=np.rint(10 * table.x).astype(int), y=table.y.where(np.arange(N) % 4 > 0))
    data = lv.read(counts, confidential=["x", "y"], non_confidential="s")
    release = lv.mask(data, "copula_perturbation", secret=SECRET)
    frame = release.frame()
    assert frame.x.dtype.kind == "i"
    assert frame.y.isna().equals(counts.y.isna())
    assert stats.ks_2samp(frame.x, counts.x).pvalue > FALSE_ALARM
    texts = [n.text for n in release.notes]
    assert "rounded to whole numbers, like the original values: x" in texts
    assert any(t.startswith("y: 1 values shared by many records") for t in texts)


def test_sub_groups_keep_their_own_marginals(table):
    groups = table.assign(g=np.arange(N) % 3, x=table.x + 100 * (np.arange(N) % 3))
    data = lv.read(groups, confidential=["x", "y"], non_confidential="s", sub_groups="g")
    frame = lv.mask(data, "copula_perturbation", secret=SECRET).frame()
    for g in range(3):
        assert stats.ks_2samp(frame.x[frame.g == g], groups.x[groups.g == g]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("n", range(1, 5))
def test_tiny_tables_are_refused(table, n):
    with pytest.raises(lv.LarvatusError, match="are needed"):
        released(table[:n].reset_index(drop=True))


def test_real_files(real_files):
    frame = pd.read_csv(real_files / "households.csv")
    names = ["expend", "income", "savings"]
    data = lv.read(real_files / "households.csv", confidential=names, non_confidential=["age"], sub_groups=["urbrur"])
    out = pd.DataFrame(lv.mask(data, "copula_perturbation", secret=SECRET).frame().to_pydict())
    for name in names:
        assert stats.ks_2samp(out[name], frame[name]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("smooth", [1, 5, 20])
@pytest.mark.parametrize("engine", ["memory", "pieces"])
def test_a_lone_maximum_or_minimum_is_not_approached(table, smooth, engine):
    """At least half of the gap to the next value is left, with every secret; the mean of the column stays near."""
    lone = table.assign(x=np.where(np.arange(N) == 3, 1e4, table.x), y=np.where(np.arange(N) == 9, -1e4, table.y))
    data = lv.read(lone, confidential=["x", "y"], non_confidential="s", engine=engine)
    for k in range(20):
        found = lv.mask(data, lv.masks.CopulaPerturbation(smooth=smooth), secret=SECRET + bytes([k])).frame()
        assert found.x.max() < 0.51 * 1e4
        assert found.y.min() > -0.51 * 1e4


def test_a_maximum_that_two_records_share_is_a_value_like_others(table):
    two = table.assign(x=np.where(np.arange(N) < 2, 50.0, table.x))
    assert released(two).x.max() < 50.0
