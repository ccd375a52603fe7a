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
FORMS = [{}, {"pairs": True}, {"pairs": True, "tails": "two_sided"}]


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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("window", [0.001, 0.05, 0.4])
def test_values_stay_and_no_rank_moves_beyond_the_window(table, window, form):
    after = swap(table, window=window, **form)
    sizes = table.groupby("g").x.transform("size")
    for name in ("x", "y"):
        for g in (0, 1):
            assert sorted(after[name][table.g == g]) == sorted(table[name][table.g == g])
        moved = np.abs(moves(table, after, name))
        assert (moved <= np.floor(window * sizes)).all()
        assert moved.max() > 0.9 * window * sizes.min() - 1


@pytest.mark.parametrize("form", FORMS)
def test_columns_move_each_for_itself(form):
    """Where columns have nothing to do with each other, neither have their moves; each move is counted at both partners."""
    rng = np.random.default_rng(6)
    apart = pd.DataFrame({"g": 0, "x": rng.normal(size=N), "y": rng.normal(size=N), "s": 0.0})
    after = swap(apart, window=0.2, **form)
    r = np.corrcoef(moves(apart, after, "x"), moves(apart, after, "y"))[0, 1]
    assert abs(r) < stats.norm.isf(FALSE_ALARM / 2) * np.sqrt(2 / N)


def test_partners_differ_between_columns_and_sub_groups():
    """Two columns of one order, in two sub-groups of one size: a rank has the same partner in two of them once in 100 times."""
    same = pd.DataFrame({"g": np.repeat([0, 1], 1000), "x": np.tile(np.arange(1000.0), 2), "s": 0.0}).assign(y=lambda t: t.x**3)
    after = swap(same, window=0.1)
    by_x, by_y = moves(same, after, "x"), moves(same, after, "y")
    for one, other in ((by_x[:1000], by_y[:1000]), (by_x[:1000], by_x[1000:])):
        assert stats.binomtest(int((one == other).sum()), 1000, 0.02, "greater").pvalue > FALSE_ALARM


@pytest.mark.parametrize("form", FORMS)
def test_correlations_shrink_as_the_window_widens(table, form):
    before = table[["x", "y", "s"]].corr("spearman")
    falls = []
    for window in (0.02, 0.1, 0.3, 0.6):
        after = swap(table, window=window, sub_groups=(), **form)[["x", "y", "s"]].corr("spearman")
        falls.append([before.x.y - after.x.y, before.x.s - after.x.s])
    assert (np.diff(falls, axis=0) > stats.norm.isf(FALSE_ALARM) / np.sqrt(N) / 10).all()
    assert falls[0][0] < 0.01


@pytest.mark.parametrize("form", [{}, {"pairs": True, "tails": "two_sided"}])
def test_a_full_window_is_a_random_swap(form):
    """With every rank in reach, a swap leaves as much of the correlation as chance does."""
    rng = np.random.default_rng(4)
    flat = pd.DataFrame({"x": rng.permutation(N) * 1.0, "y": rng.normal(size=N), "s": 0.0})
    after = swap(flat, window=1.0, sub_groups=(), **form)
    assert abs(stats.spearmanr(after.x, flat.x).statistic) < stats.norm.isf(FALSE_ALARM / 2) * np.sqrt(2 / N)


@pytest.mark.parametrize("pairs", [False, True])
def test_distances_from_a_distribution_have_no_bound(table, pairs):
    after = swap(table, window=0.1, distance="distribution", pairs=pairs, sub_groups=())
    moved = np.abs(moves(table.assign(g=0), after, "x"))
    assert sorted(after.x) == sorted(table.x)
    assert (moved > 0).all()
    assert (moved > 0.1 * N).any()


def test_worked_by_hand():
    """Ten values, reach one: in pairs, one-sided, neighbours swap from the lowest."""
    ten = pd.DataFrame({"x": [30.0, 10, 20, 50, 40, 60, 100, 90, 80, 70], "y": np.arange(10.0), "s": 0.0})
    after = swap(ten, window=0.1, pairs=True, sub_groups=())
    assert after.x.tolist() == [40.0, 20, 10, 60, 30, 50, 90, 100, 70, 80]
    assert after.y.tolist() == [1, 0, 3, 2, 5, 4, 7, 6, 9, 8]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("engine", ["memory", "pieces"])
def test_missing_values_stay_and_ties_hold(engine, form):
    rng = np.random.default_rng(9)
    x = np.where(rng.random(500) < 0.3, np.nan, rng.integers(0, 4, 500))
    holes = pd.DataFrame({"x": x, "y": 1.0 * rng.integers(0, 90, 500), "s": 0.0})
    after = swap(holes, engine=engine, sub_groups=(), window=0.3, **form)
    assert after.x.isna().equals(holes.x.isna())
    assert sorted(after.x.dropna()) == sorted(holes.x.dropna())
    assert (after.x != holes.x)[holes.x.notna()].any()


def test_what_stays_is_said():
    odd = pd.DataFrame({"x": np.arange(21.0), "y": np.arange(21.0) ** 2, "s": 0.0})
    data = lv.read(odd, confidential=["x", "y"])
    release = lv.mask(data, lv.masks.RankSwap(window=0.05, pairs=True), secret=SECRET)
    assert "1 values of x have no free partner and stay" in [n.text for n in release.notes]
    assert release.frame().x[20] == 20


def test_moves_are_even_within_the_window_and_nothing_stays():
    """Far from the ends every move of 1…reach ranks is equally likely, up or down."""
    one = pd.DataFrame({"x": np.arange(N) * 1.0, "y": np.arange(N) * 1.0, "s": 0.0})
    moved = moves(one.assign(g=0), swap(one, window=0.01, sub_groups=()), "x").astype(int)
    assert (moved != 0).all()
    inside = moved[1000:-1000]
    counts = np.bincount(inside + 200, minlength=401)
    assert stats.chisquare(np.delete(counts, 200)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("k", [2, 3])
def test_no_power_of_the_permutation_is_the_identity(k):
    """In pairs the second power brings every value home; a random permutation does so for about one in the window's ranks."""
    one = pd.DataFrame({"x": np.arange(2000.0), "y": np.arange(2000.0), "s": 0.0})
    for form, most in (({}, 0.05), ({"pairs": True}, 1.0)):
        sources = swap(one, window=0.1, sub_groups=(), **form).x.to_numpy().astype(int)
        power = sources
        for _ in range(k - 1):
            power = sources[power]
        home = (power == np.arange(2000)).mean()
        assert home <= most
        assert home > 0.99 or form != {"pairs": True} or k != 2


def test_pairs_and_a_window_of_one_rank_are_warned_of():
    data = lv.read(pd.DataFrame({"x": np.arange(40.0), "y": np.arange(40.0) ** 2}), confidential=["x", "y"])

    def warned(**settings: object) -> bool:
        notes = lv.mask(data, lv.masks.RankSwap(**settings), secret=SECRET).notes
        return any("swap_chain" in n.text and n.kind == "warning" for n in notes)

    assert warned(window=0.2, pairs=True)
    assert warned(window=0.03)
    assert not warned(window=0.2)


def test_sub_groups_beyond_memory_are_permuted_alike(table, monkeypatch):
    import larvatus.masks.rank_swap as module

    for settings in ({}, {"distance": "distribution"}, {"pairs": True}):
        plain = swap(table[:3000], **settings)
        with monkeypatch.context() as patch:
            patch.setattr(module, "_HELD", 100)
            pd.testing.assert_frame_equal(swap(table[:3000], **settings), plain)


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
