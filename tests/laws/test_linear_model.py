"""The linear model with plain noise: its law, the moments it keeps on average, and what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from noise_laws import FALSE_ALARM, check_covariance, check_unrelated
from sample import SECRET

N = 12_000
X, S = ["x", "y", "w"], ["s", "t", "job"]
MATRIX = [[0.6, 0.1, 0.0], [0.1, 0.5, 0.05], [0.0, 0.1, 0.4]]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Skewed columns that depend on a numeric S, a nominal S and a numeric S with missing values."""
    rng = np.random.default_rng(31)
    g, s = rng.choice([0, 1, 2], N, p=[0.5, 0.3, 0.2]), rng.normal(size=N)
    job = rng.choice(["full", "none", "part"], N, p=[0.6, 0.3, 0.1])
    t = np.where(rng.random(N) < 0.1, np.nan, 1e5 + 10 * rng.normal(size=N))
    z = rng.multivariate_normal(np.zeros(3), [[1, 0.6, -0.3], [0.6, 1, 0.2], [-0.3, 0.2, 1]], N)
    return pd.DataFrame({
        "g": g, "s": s, "t": t, "job": job, "x": np.exp(0.8 * z[:, 0] + 0.3 * s), "y": z[:, 1] + (job == "none") + 0.1 * g,
        "w": 3 + z[:, 2] - np.nan_to_num(t - 1e5) / 20,
    })


def masked(table: pd.DataFrame, names: list[str] = X, given: list[str] = S, **settings: object) -> lv.Release:
    data = lv.read(table, confidential=names, non_confidential=given, sub_groups=["g"])
    return lv.mask(data, lv.masks.LinearModel(**settings), secret=SECRET)


def terms(was: pd.DataFrame) -> np.ndarray:
    """S as numbers, by hand."""
    gone = was.t.isna()
    return np.column_stack([was.s, was.t.fillna(was.t.mean()), gone, was.job == "none", was.job == "part"]).astype(float)


def residuals(values: np.ndarray, given: np.ndarray) -> np.ndarray:
    design = np.column_stack([np.ones(len(given)), given - given.mean(axis=0)])
    return values - design @ np.linalg.lstsq(design, values, rcond=None)[0]


@pytest.mark.parametrize("similarity", [0.0, 0.7, [0.5, 0.45, 0.55], MATRIX], ids=["zero", "scalar", "list", "matrix"])
@pytest.mark.parametrize(("noise", "kurtosis"), [("normal", 3.0), ("laplace", 6.0)])
def test_deviations_from_the_fit_are_those_asked_for_plus_noise_that_makes_up_the_covariance(
    table, similarity, noise, kurtosis
):
    """An independent fit by least squares: Y = (I - β) fit + β X + ε, and ε has covariance Σ - β Σ βᵀ and is unrelated."""
    after = masked(table, similarity=similarity, noise=noise).frame()
    beta = np.array(similarity) if similarity is MATRIX else np.diag(np.broadcast_to(similarity, 3))
    for _, was in table.groupby("g"):
        x, s = was[X].to_numpy(), terms(was)
        rest = residuals(x, s)
        e = after.loc[was.index, X].to_numpy() - (x - rest) - rest @ beta.T
        inside = rest.T @ rest / (len(was) - 1)
        check_covariance(e, np.linalg.cholesky(inside - beta @ inside @ beta.T).T, kurtosis)
        for j in range(3):
            for other in (*rest.T, *s[:, :2].T):
                check_unrelated(e[:, j], other)


def test_its_law_is_the_law_of_what_it_does_and_its_slopes_are_those_of_least_squares(table):
    data = lv.read(table, confidential=X, non_confidential=S, sub_groups=["g"])
    mask = lv.masks.LinearModel(similarity=0.4)
    law, after = mask.law(data), lv.mask(data, mask, secret=SECRET).frame()
    assert law.given == ("s", "t", "t missing", "job=none", "job=part")
    for g, (_, was) in enumerate(table.groupby("g")):
        here, x, s = law.groups[g], was[X].to_numpy(), terms(was)
        design = np.column_stack([np.ones(len(s)), s - s.mean(axis=0)])
        assert np.allclose(here.on_s.T / 0.6, np.linalg.lstsq(design, x, rcond=None)[0][1:], rtol=1e-6, atol=1e-9)
        e = after.loc[was.index, X].to_numpy() - (here.intercept + x @ here.on_x.T + s @ here.on_s.T)
        check_covariance(e, np.linalg.cholesky(here.covariance).T)
    assert lv.masks.LinearModel(scope="file").law(data) is None
    assert lv.masks.LinearModel(where="s > 0").law(data) is None


@pytest.mark.parametrize("similarity", [0.0, 0.6])
def test_moments_are_kept_on_average_in_small_sub_groups_and_not_exactly(similarity):
    """Over 3,000 sub-groups of 8 records the mean change of each mean and covariance is 0, within its own standard error."""
    rng, groups, size = np.random.default_rng(9), 3000, 8
    s = rng.normal(size=groups * size)
    small = pd.DataFrame({"g": np.repeat(np.arange(groups), size), "s": s, "x": rng.gamma(2, size=len(s)) + s})
    small["y"] = small.x + rng.normal(size=len(s))
    after = masked(small, ["x", "y"], ["s"], similarity=similarity).frame()

    def moments(frame: pd.DataFrame) -> np.ndarray:
        v = frame[["s", "x", "y"]].to_numpy().reshape(groups, size, 3)
        d = v - v.mean(axis=1, keepdims=True)
        c = np.einsum("gki,gkj->gij", d, d) / (size - 1)
        return np.column_stack([v.mean(axis=1)[:, 1:], c[:, 0, 1], c[:, 0, 2], c[:, 1, 1], c[:, 1, 2], c[:, 2, 2]])

    change = moments(after) - moments(small)
    assert (change.std(axis=0) > 0.1).all()
    limit = stats.norm.isf(FALSE_ALARM / 14) / np.sqrt(groups)
    assert (np.abs(change.mean(axis=0)) < limit * change.std(axis=0)).all()


def test_at_similarity_zero_nothing_of_x_is_left_beyond_s(table):
    after = masked(table).frame()
    for _, was in table.groupby("g"):
        x, y = (residuals(f.loc[was.index, X].to_numpy(), terms(was)) for f in (table, after))
        for i in range(3):
            for j in range(3):
                check_unrelated(x[:, i], y[:, j])
                check_unrelated(np.abs(x[:, i]), np.abs(y[:, j]))


def test_two_records_more_than_terms_by_hand():
    """Without S, of 1, 2, 3 with similarity ½: Y - 2 - (X - 2)/2 has variance ¾ over many sub-groups alike."""
    groups = 5000
    same = pd.DataFrame({"g": np.repeat(np.arange(groups), 3), "x": np.tile([1.0, 2.0, 3.0], groups)})
    after = masked(same, ["x"], [], similarity=0.5).frame().x
    e = (after - 1 - same.x / 2) / np.sqrt(0.75)
    assert stats.kstest(e, stats.norm.cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("similarity", [0.0, 0.5])
def test_census_keeps_its_identity(real_files, similarity):
    census = pd.read_csv(real_files / "census.csv")
    census["g"] = (census.EMCONTRB.mean() > census.EMCONTRB).astype(int)
    names = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "PTOTVAL", "PEARNVAL", "POTHVAL", "WSALVAL"]
    after = masked(census, names, ["AFNLWGT", "ERNVAL"], similarity=similarity).frame()
    assert (after.PTOTVAL - after.PEARNVAL - after.POTHVAL).abs().max() < 1e-12 * census.PTOTVAL.max()
    assert ((after[names] - census[names]).abs() > 0).all().all()


def test_households_by_nominal_and_numeric_s(real_files):
    households = pd.read_csv(real_files / "households.csv").assign(g=0)
    given, names = ["urbrur", "roof", "age"], ["expend", "income", "savings"]
    data = lv.read(households, confidential=names, non_confidential=given, nominal=["urbrur", "roof"])
    after = lv.mask(data, "linear_model", secret=SECRET).frame()
    limit = stats.norm.isf(FALSE_ALARM / 2 / 60)
    for name in names:
        for level in ("urbrur", "roof"):
            for _, part in households.groupby(level):
                gap = after[name][part.index].mean() - part[name].mean()
                assert abs(gap) < limit * households[name].std() / np.sqrt(len(part))


def test_what_s_determines_leaves_as_it_is_or_is_refused(table):
    flat = table.assign(x=np.where(table.g == 1, 0.1, table.x), w=np.where(table.g == 2, 2 * table.s, table.w))
    release = masked(flat)
    assert [n.text for n in release.notes if n.kind == "status"] == [
        "x does not vary beyond what S determines in sub-group (g=1) and is released as it is",
        "w does not vary beyond what S determines in sub-group (g=2) and is released as it is",
    ]
    assert (release.frame().x[flat.g == 1] == 0.1).all()
    assert (release.frame().w[flat.g == 2] == flat.w[flat.g == 2]).all()
    bound = table.assign(x=np.where(table.g == 1, 3 * table.s + 1, table.x))
    with pytest.raises(lv.LarvatusError, match=r"sub-group \(g=1\) the 1 non-confidential terms determine every"):
        masked(bound, ["x"], ["s"])


@pytest.mark.parametrize(("settings", "said"), [
    ({"similarity": [0.2, 0.8, 0.5]}, r"linear_model: in sub-group \(g=0\) this similarity needs noise of negative variance"),
    ({"similarity": [0.1, 0.2]}, "2 values for 3 confidential columns"), ({"similarity": [[0.5]]}, "needs 3 rows of 3 values"),
])
def test_settings_that_do_not_fit(table, settings, said):
    with pytest.raises(lv.LarvatusError, match=said):
        masked(table.assign(y=table.x * 100 + 0.001 * table.w), **settings)


def test_missing_values_stay_and_each_pattern_has_its_own_model(table):
    patchy = table.assign(x=table.x.where(table.s < 1), y=table.y.where(table.s > -1))
    patchy.loc[patchy.index[:50], X] = np.nan
    after = masked(patchy, given=[], similarity=0.5).frame()
    assert after[X].isna().equals(patchy[X].isna())
    for _, was in patchy.groupby([patchy.x.isna(), patchy.y.isna(), "g"]):
        there = [n for n in X if was[n].notna().all()]
        if there and len(was) > 60:
            e = after.loc[was.index, there] - was[there].mean() - 0.5 * (was[there] - was[there].mean())
            whole = was[there].dropna()
            check_covariance(e.loc[whole.index], np.sqrt(0.75) * np.linalg.cholesky(np.cov(whole.T).reshape(len(there), -1)).T)


def test_chosen_records_are_masked_by_the_model_of_all(table):
    chosen = table.s > 0.5
    after = masked(table, ["x"], ["s"], similarity=0.5, where="s > 0.5").frame()
    assert after.x[~chosen].equals(table.x[~chosen])
    for g, was in table.groupby("g"):
        rest = residuals(was[["x"]].to_numpy(), was[["s"]].to_numpy())[:, 0]
        e = (after.x[was.index] - was.x + 0.5 * rest) / np.sqrt(0.75 * (rest @ rest) / (len(was) - 1))
        assert stats.kstest(e[chosen & (table.g == g)], stats.norm.cdf).pvalue > FALSE_ALARM


def test_a_sub_group_without_values_passes(table):
    empty = table.assign(**{n: np.where(table.g == 1, np.nan, table[n]) for n in X})
    for given in (S, []):
        assert masked(empty, given=given).frame().loc[table.g == 1, X].isna().all().all()
