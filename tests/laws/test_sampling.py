"""Sampling: who is in it and how often, what the weights add up to, and what is never in it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from sample import SECRET

FALSE_ALARM = 1e-6
N = 2000


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(51)
    x = rng.lognormal(2, 1, N)
    return pd.DataFrame({
        "g": rng.choice(["a", "b", "c"], N, p=[0.7, 0.299, 0.001]), "x": x, "y": 0.5 * x + rng.normal(size=N),
        "job": rng.choice(["p", "q"], N), "s": rng.normal(size=N), "w": rng.integers(1, 9, N),
    })


def sample(table: pd.DataFrame, secret: bytes = SECRET, roles: dict | None = None, **settings: object) -> lv.Release:
    kept = {"confidential": ["x", "y", "job"], "non_confidential": ["s"], "sub_groups": ["g"], "weight": "w", **(roles or {})}
    return lv.mask(lv.read(table, **kept), lv.masks.Sampling(**settings), secret=secret)


@pytest.mark.parametrize("scope", ["sub_group", "file"])
def test_the_size_is_the_rate_and_values_leave_as_they_are(table, scope):
    got = sample(table, rate=0.3, scope=scope).frame()
    assert len(got) == 600
    names = ["g", "x", "y", "job", "s"]
    pd.testing.assert_frame_equal(got[names], table.loc[got.index, names])
    if scope == "sub_group":
        sizes = got.g.value_counts().reindex(["a", "b", "c"], fill_value=0)
        expected = 0.3 * table.g.value_counts().reindex(["a", "b", "c"], fill_value=0)
        assert (np.abs(sizes - expected) <= 1).all()


@pytest.mark.parametrize("scope", ["sub_group", "file"])
def test_every_record_is_in_it_with_the_same_probability(scope):
    """Over many secrets, each record is drawn as often as the rate says, in sub-groups of one and two records too."""
    rounds, n = 300, 30
    small = pd.DataFrame({"g": [0] * 1 + [1] * 2 + [2] * 27, "x": np.arange(float(n))})
    data = lv.read(small, confidential=["x"], sub_groups=["g"])
    hits = np.zeros(n)
    both = 0
    for i in range(rounds):
        mask = lv.masks.Sampling(rate=0.4, scope=scope)
        got = lv.mask(data, mask, secret=SECRET + str(i).encode()).frame()
        assert len(got) == 12
        hits[got.index] += 1
        both += {5, 20} <= set(got.index)
    for h in hits:
        assert stats.binomtest(int(h), rounds, 0.4).pvalue > FALSE_ALARM / n
    if scope == "file":
        assert stats.binomtest(both, rounds, 12 * 11 / (30 * 29)).pvalue > FALSE_ALARM


def test_weights_are_divided_by_the_share_that_was_kept(table):
    made = sample(table, rate=0.37)
    got = made.frame()
    for _, part in table.groupby("g"):
        here = got.loc[got.index.isin(part.index)]
        if len(here):
            np.testing.assert_allclose(here.w, table.w[here.index] * len(part) / len(here), rtol=1e-14)
    assert "w was divided by the share of records kept" in [n.text for n in made.notes]
    flat = sample(table.assign(w=1), rate=0.25, scope="file").frame()
    np.testing.assert_allclose(flat.w.sum(), N, rtol=1e-12)


def test_weighted_totals_are_unbiased(table):
    got = sample(table, rate=0.25, scope="file").frame()
    z = (table.w * table.x).to_numpy()
    sd = N * np.sqrt((1 - 0.25) * z.var(ddof=1) / 500)
    assert abs((got.w * got.x).sum() - z.sum()) < stats.norm.isf(FALSE_ALARM / 2) * sd * 1.2  # a skewed mean of 500


def test_the_written_weight_is_the_new_one(table, tmp_path):
    made = sample(table, rate=0.5, scope="file")
    made.write(tmp_path / "s.parquet", row_order="keep")
    np.testing.assert_allclose(pd.read_parquet(tmp_path / "s.parquet").w, made.frame().w)
    np.testing.assert_allclose(made.frame().w, 2.0 * table.w[made.frame().index])


def test_a_later_step_keeps_the_new_weight_and_two_samples_multiply(table):
    twice = lv.masks.Sampling(rate=0.5, scope="file")
    data = lv.read(table, confidential=["x", "y"], weight="w")
    noisy = lv.mask(data, twice, "additive_noise", lv.masks.Rounding(where="x > 5"), secret=SECRET).frame()
    np.testing.assert_allclose(noisy.w, 2.0 * table.w[noisy.index])
    again = lv.mask(data, twice, twice, secret=SECRET).frame()
    assert len(again) == 500
    np.testing.assert_allclose(again.w, 4.0 * table.w[again.index])


def test_where_draws_among_the_chosen_alone(table):
    got = sample(table, rate=0.2, where="s > 0", scope="file").frame()
    chosen = table.s > 0
    assert set(table.index[~chosen]) <= set(got.index)
    inside = got.index[chosen[got.index]]
    assert abs(len(inside) - 0.2 * chosen.sum()) <= 1
    np.testing.assert_allclose(got.w[inside], table.w[inside] * chosen.sum() / len(inside))
    np.testing.assert_allclose(got.w[~chosen[got.index]], table.w[~chosen])


def test_outliers_are_never_drawn(table):
    data = table[["x", "y"]]
    away = data - data.mean()
    far = np.einsum("ij,jk,ik->i", away, np.linalg.inv(data.cov()), away)
    outer = set(np.argsort(far)[-200:])
    for i in range(5):
        got = sample(table, SECRET + bytes([i]), rate=0.6, outliers=0.1, scope="file").frame()
        assert len(got) in (1080, 1081)
        assert not outer & set(got.index)
        np.testing.assert_allclose(got.w, table.w[got.index] * N / len(got))
    assert outer & set(sample(table, rate=0.6, scope="file").frame().index)


def test_collinear_constant_and_missing_columns_do_not_stop_the_search_for_outliers(table):
    odd = table.assign(y=2 * table.x, job=np.where(table.x > 10, np.nan, 3.0))
    got = sample(odd, outliers=0.2, rate=0.9, scope="file").frame()
    assert len(got) == 0.9 * 1600


def test_means_are_held(table):
    hold = ("x", "s", "job")
    made = sample(table, rate=0.1, hold=hold, tolerance=0.03, scope="file")
    got = made.frame()
    for name in ("x", "s"):
        assert abs(got[name].mean() - table[name].mean()) <= 0.03 * table[name].std()
    share = (table.job == "p").mean()
    assert abs((got.job == "p").mean() - share) <= 0.03 * np.sqrt(share * (1 - share))
    assert any("samples were drawn until" in n.text for n in made.notes)
    with pytest.raises(lv.LarvatusError, match="never all within"):
        sample(table, rate=0.002, hold=("x", "y", "s"), tolerance=1e-5)
    with pytest.raises(lv.LarvatusError, match=r"hold: no column 'X'; did you mean 'x'"):
        sample(table, hold=("X",))


def test_lost_sub_groups_are_said(table):
    made = sample(table[table.index % 7 != 0], rate=0.01)
    lost = {"a", "b", "c"} - set(made.frame().g)
    said = [n.text for n in made.notes if "no record in the sample" in n.text]
    assert bool(lost) == bool(said)
    assert lost == {"c"}
    with pytest.raises(lv.LarvatusError, match="keeps none"):
        sample(table[:3], rate=0.01, scope="file")


def test_scores_run_on_a_sample(table):
    data = lv.read(table, confidential=["x", "y"], non_confidential=["s"], weight="w")
    made = lv.mask(data, lv.masks.Sampling(rate=0.3), secret=SECRET)
    assert lv.risk(data, made, ["nearest_record"])[0].value > 0.99
    assert lv.utility(data, made, ["moments"])[0].value > 0
    grouped = lv.read(table, confidential=["x", "y"], non_confidential=["s"], sub_groups=["g"])
    few = lv.mask(grouped, lv.masks.Sampling(rate=0.05), lv.masks.TopCoding(), secret=SECRET)
    assert set(few.frame().g) == {"a", "b"}
    assert lv.risk(grouped, few, ["nearest_record"])[0].value > 0.8


def test_the_ten_largest_are_mostly_missed_by_a_hundredth(real_files):
    """A 1 % sample of a real file, over secrets: the largest ten are all absent about (.99)^10 of the time."""
    table = pd.read_csv(real_files / "households.csv")[["income"]]
    data = lv.read(table, confidential=["income"])
    largest = set(table.income.sort_values().index[-10:])
    none = sum(
        not largest & set(lv.mask(data, lv.masks.Sampling(rate=0.01), secret=SECRET + bytes([i])).frame().index)
        for i in range(150)
    )
    assert stats.binomtest(none, 150, 0.99**10).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("where", "warned"), [("job = 'p'", True), ("x > 20 and s > 0", True), ("s > 0", False)])
def test_records_that_are_removed_for_a_confidential_property_are_warned_of(table, where, warned):
    warnings = [n.text for n in sample(table, where=where).notes if n.kind == "warning"]
    assert any("cannot be in the release learns that this holds" in text for text in warnings) == warned
