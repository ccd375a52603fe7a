"""The rate of random blanking, and what is independent of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from sample import SECRET

FALSE_ALARM = 1e-6
N = 30_000


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(31)
    x = rng.normal(size=N)
    y = x + rng.normal(size=N)
    y[rng.random(N) < 0.1] = np.nan
    return pd.DataFrame({"g": rng.integers(0, 3, N), "x": x, "y": y, "job": rng.choice(["a", "b", "c"], N)})


def blanked(table: pd.DataFrame, **settings: object) -> pd.DataFrame:
    """Which present values became missing."""
    data = lv.read(table, confidential=["x", "y", "job"], sub_groups=["g"])
    got = lv.mask(data, lv.masks.RandomBlanking(**settings), secret=SECRET).frame()
    same = (got == table) | got.isna()
    assert same.all().all()
    return (got.isna() & table.notna())[["x", "y", "job"]]


def likely(hits: int, n: int, p: float) -> bool:
    return stats.binomtest(int(hits), int(n), p).pvalue > FALSE_ALARM


@pytest.mark.parametrize("disjoint", [True, False])
def test_every_column_is_blanked_at_its_rate(table, disjoint):
    rates = {"x": 0.05, "y": 0.25, "job": 0.6}
    gone = blanked(table, rate=rates, disjoint=disjoint)
    for name, rate in rates.items():
        for g in range(3):
            there = table[name].notna() & (table.g == g)
            assert likely(gone[name][there].sum(), there.sum(), rate)


def test_disjoint_takes_at_most_one_value_of_a_record_and_free_takes_them_independently(table):
    assert blanked(table, rate=0.33).sum(axis=1).max() == 1
    free = blanked(table, rate=0.3, disjoint=False)
    assert likely((free.x & free.job).sum(), N, 0.09)
    assert likely((free.x & free.y)[table.y.notna()].sum(), table.y.notna().sum(), 0.09)


def test_what_is_blanked_does_not_depend_on_the_values(table):
    gone = blanked(table, rate=0.25)
    assert stats.ks_2samp(table.x[gone.x], table.x[~gone.x]).pvalue > FALSE_ALARM
    assert stats.ks_2samp(table.x[gone.job], table.x[~gone.job]).pvalue > FALSE_ALARM


def test_correlations_over_present_pairs_are_kept_in_expectation(table):
    data = lv.read(table, confidential=["x", "y"], sub_groups=["g"])
    got = lv.mask(data, lv.masks.RandomBlanking(rate=0.25), secret=SECRET).frame()
    pairs = int((got.x.notna() & got.y.notna()).sum())
    limit = stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(pairs - 3)
    assert abs(np.arctanh(got.x.corr(got.y)) - np.arctanh(table.x.corr(table.y))) < limit
    there = table.y.notna().sum()
    assert likely(pairs, there, 0.5)


def test_rates_that_add_up_to_more_than_one_are_refused(table):
    with pytest.raises(lv.LarvatusError, match=r"3 columns add up to 1.2, above 1.*disjoint = false"):
        blanked(table, rate=0.4)
    assert blanked(table, rate=0.4, disjoint=False).any().all()


def test_blanking_that_blanks_nothing_is_refused_and_said():
    data = lv.read(pd.DataFrame({"x": [1.0, 2.0]}), confidential=["x"])
    with pytest.raises(lv.LarvatusError, match="would equal the original"):
        lv.mask(data, lv.masks.RandomBlanking(rate=1e-9), secret=SECRET)
    empty = pd.DataFrame({"x": [np.nan] * 3, "y": [1.0, 2.0, 3.0]})
    made = lv.mask(lv.read(empty, confidential=["x", "y"]), lv.masks.RandomBlanking(rate=0.9, disjoint=False), secret=SECRET)
    assert made.notes[0].text == "0 of 0 values of x were made missing"


def test_real_file(real_files):
    table = pd.read_csv(real_files / "households.csv")
    x = ["expend", "income", "savings", "roof"]
    data = lv.read(table, confidential=x, sub_groups=["urbrur"], nominal=["roof"])
    got = lv.mask(data, lv.masks.RandomBlanking(rate=0.2), secret=SECRET).frame()
    assert got[x].isna().sum(axis=1).max() == 1
    for name in x:
        assert likely(got[name].isna().sum(), len(table), 0.2)
        assert (got[name] == table[name])[got[name].notna()].all()
