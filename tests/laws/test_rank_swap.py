"""What theory says of rank swapping: values kept, no rank beyond the window, correlations that shrink as it widens."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from sample import SECRET

FALSE_ALARM = 1e-6
N = 20_000
TAILS = ["one_sided", "two_sided"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    z = rng.multivariate_normal([0, 0, 0], [[1, 0.8, 0.5], [0.8, 1, 0.6], [0.5, 0.6, 1]], N)
    return pd.DataFrame({"g": rng.integers(0, 2, N), "x": np.exp(z[:, 0]), "y": z[:, 1], "s": z[:, 2]})


def swap(table: pd.DataFrame, engine: str = "memory", sub_groups=("g",), **settings: object) -> pd.DataFrame:
    data = lv.read(table, confidential=["x", "y"], non_confidential=["s"], sub_groups=list(sub_groups), engine=engine)
    return lv.mask(data, lv.masks.RankSwap(**settings), secret=SECRET).frame()


def moves(table: pd.DataFrame, after: pd.DataFrame, name: str) -> np.ndarray:
    """How many ranks each value moved in its sub-group, for values that are all different."""
    ranks = [t.assign(g=table.g).groupby("g")[name].rank() for t in (table, after)]
    return (ranks[1] - ranks[0]).to_numpy()


@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("window", [0.001, 0.05, 0.4])
def test_values_stay_and_no_rank_moves_beyond_the_window(table, window, tails):
    after = swap(table, window=window, tails=tails)
    sizes = table.groupby("g").x.transform("size")
    for name in ("x", "y"):
        for g in (0, 1):
            assert sorted(after[name][table.g == g]) == sorted(table[name][table.g == g])
        moved = np.abs(moves(table, after, name))
        assert (moved <= np.floor(window * sizes)).all()
        assert moved.max() > 0.9 * window * sizes.min() - 1


@pytest.mark.parametrize("tails", TAILS)
def test_columns_move_each_for_itself(tails):
    """Where columns have nothing to do with each other, neither have their moves; each move is counted at both partners."""
    rng = np.random.default_rng(6)
    apart = pd.DataFrame({"g": 0, "x": rng.normal(size=N), "y": rng.normal(size=N), "s": 0.0})
    after = swap(apart, window=0.2, tails=tails)
    r = np.corrcoef(moves(apart, after, "x"), moves(apart, after, "y"))[0, 1]
    assert abs(r) < stats.norm.isf(FALSE_ALARM / 2) * np.sqrt(2 / N)


def test_partners_differ_between_columns_and_sub_groups():
    """Two columns of one order, in two sub-groups of one size: a rank has the same partner in two of them once in 100 times."""
    same = pd.DataFrame({"g": np.repeat([0, 1], 1000), "x": np.tile(np.arange(1000.0), 2), "s": 0.0}).assign(y=lambda t: t.x**3)
    after = swap(same, window=0.1)
    by_x, by_y = moves(same, after, "x"), moves(same, after, "y")
    for one, other in ((by_x[:1000], by_y[:1000]), (by_x[:1000], by_x[1000:])):
        assert stats.binomtest(int((one == other).sum()), 1000, 0.02, "greater").pvalue > FALSE_ALARM


@pytest.mark.parametrize("tails", TAILS)
def test_correlations_shrink_as_the_window_widens(table, tails):
    before = table[["x", "y", "s"]].corr("spearman")
    falls = []
    for window in (0.02, 0.1, 0.3, 0.6):
        after = swap(table, window=window, tails=tails, sub_groups=())[["x", "y", "s"]].corr("spearman")
        falls.append([before.x.y - after.x.y, before.x.s - after.x.s])
    assert (np.diff(falls, axis=0) > stats.norm.isf(FALSE_ALARM) / np.sqrt(N) / 10).all()
    assert falls[0][0] < 0.01


def test_a_full_window_is_a_random_swap():
    """With every rank in reach, a swap leaves as much of the correlation as chance does."""
    rng = np.random.default_rng(4)
    flat = pd.DataFrame({"x": rng.permutation(N) * 1.0, "y": rng.normal(size=N), "s": 0.0})
    after = swap(flat, window=1.0, tails="two_sided", sub_groups=())
    assert abs(stats.spearmanr(after.x, flat.x).statistic) < stats.norm.isf(FALSE_ALARM / 2) * np.sqrt(2 / N)


def test_distances_from_a_distribution_have_no_bound(table):
    after = swap(table, window=0.1, distance="distribution", sub_groups=())
    moved = np.abs(moves(table.assign(g=0), after, "x"))
    assert sorted(after.x) == sorted(table.x)
    assert (moved > 0).all()
    assert (moved > 0.1 * N).any()


def test_worked_by_hand():
    """Ten values, reach one: one-sided, neighbours swap in pairs from the lowest."""
    ten = pd.DataFrame({"x": [30.0, 10, 20, 50, 40, 60, 100, 90, 80, 70], "y": np.arange(10.0), "s": 0.0})
    after = swap(ten, window=0.1, sub_groups=())
    assert after.x.tolist() == [40.0, 20, 10, 60, 30, 50, 90, 100, 70, 80]
    assert after.y.tolist() == [1, 0, 3, 2, 5, 4, 7, 6, 9, 8]


@pytest.mark.parametrize("tails", TAILS)
@pytest.mark.parametrize("engine", ["memory", "pieces"])
def test_missing_values_stay_and_ties_hold(engine, tails):
    rng = np.random.default_rng(9)
    x = np.where(rng.random(500) < 0.3, np.nan, rng.integers(0, 4, 500))
    holes = pd.DataFrame({"x": x, "y": 1.0 * rng.integers(0, 90, 500), "s": 0.0})
    after = swap(holes, engine=engine, sub_groups=(), window=0.3, tails=tails)
    assert after.x.isna().equals(holes.x.isna())
    assert sorted(after.x.dropna()) == sorted(holes.x.dropna())
    assert (after.x != holes.x)[holes.x.notna()].any()


def test_what_stays_is_said():
    odd = pd.DataFrame({"x": np.arange(21.0), "y": np.arange(21.0) ** 2, "s": 0.0})
    data = lv.read(odd, confidential=["x", "y"])
    release = lv.mask(data, lv.masks.RankSwap(window=0.05), secret=SECRET)
    assert "1 values of x have no free partner and stay" in [n.text for n in release.notes]
    assert release.frame().x[20] == 20


def test_a_window_for_each_column(table):
    after = swap(table, window={"x": 0.01, "y": 0.5})
    assert np.abs(moves(table, after, "x")).max() <= 0.01 * N < np.abs(moves(table, after, "y")).max()
    with pytest.raises(lv.LarvatusError, match="no value for 'y'"):
        swap(table, window={"x": 0.01})


def test_a_window_that_moves_nothing_is_refused():
    few = pd.DataFrame({"x": np.arange(19.0), "y": np.arange(19.0), "s": 0.0})
    with pytest.raises(lv.LarvatusError, match="20 are needed"):
        swap(few, sub_groups=(), window=0.05)


def test_the_census_file_keeps_its_values(real_files):
    table = pd.read_csv(real_files / "census.csv")
    names = list(table.columns)
    after = lv.mask(lv.read(table, confidential=names), lv.masks.RankSwap(window=0.1), secret=SECRET).frame()
    for name in names:
        assert sorted(after[name]) == sorted(table[name])
        low, high = (table[name].rank(method=m) for m in ("min", "max"))
        nearest = np.maximum(after[name].rank(method="min") - high, low - after[name].rank(method="max"))
        assert nearest.max() <= 108
