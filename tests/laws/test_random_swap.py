"""What theory says of random swapping: values kept, a stated share moved, correlations by the factor 1 - rate."""

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
    rng = np.random.default_rng(5)
    z = rng.multivariate_normal([0, 0, 0], [[1, 0.8, 0.5], [0.8, 1, 0.6], [0.5, 0.6, 1]], N)
    return pd.DataFrame({"g": rng.integers(0, 2, N), "x": z[:, 0], "y": z[:, 1], "s": z[:, 2]})


def swap(table: pd.DataFrame, secret: bytes = SECRET, sub_groups=("g",), **settings: object) -> pd.DataFrame:
    data = lv.read(table, confidential=["x", "y"], non_confidential=["s"], sub_groups=list(sub_groups))
    return lv.mask(data, lv.masks.RandomSwap(**settings), secret=secret).frame()


def sources(before: pd.Series, after: pd.Series) -> np.ndarray:
    """Which record each value came from, for values that are all different."""
    return np.argsort(before.to_numpy())[np.searchsorted(np.sort(before), after)]


@pytest.mark.parametrize(("rate", "moved"), [(0.1, 4), (0.3, 12), (0.34, 14), (1.0, 40), (0.025, 2)])
def test_the_stated_share_is_moved_in_pairs(rate, moved):
    small = pd.DataFrame({"x": np.arange(41.0) ** 2, "y": np.sqrt(np.arange(41.0)), "s": 0.0})
    after = swap(small, sub_groups=(), rate=rate, pairs=True)
    for name in ("x", "y"):
        source = sources(small[name], after[name])
        assert (source != np.arange(41)).sum() == moved
        assert np.array_equal(source[source], np.arange(41))
    if rate == 0.3:
        assert not np.array_equal(sources(small.x, after.x), sources(small.y, after.y))


@pytest.mark.parametrize(("rate", "moved"), [(0.1, 4), (0.3, 12), (0.34, 14), (0.5, 21), (1.0, 41), (0.025, 2)])
def test_the_stated_share_is_moved_and_no_drawn_value_stays(rate, moved):
    small = pd.DataFrame({"x": np.arange(41.0) ** 2, "y": np.sqrt(np.arange(41.0)), "s": 0.0})
    after = swap(small, sub_groups=(), rate=rate)
    found = [sources(small[name], after[name]) for name in ("x", "y")]
    assert [(source != np.arange(41)).sum() for source in found] == [moved, moved]
    assert moved == 2 or not np.array_equal(*found)


def test_every_permutation_without_a_fixed_point_is_equally_likely():
    """4,000 sub-groups of five records, all moved: 44 such permutations, in both columns apart."""
    many = pd.DataFrame({"g": np.repeat(np.arange(4000), 5), "x": np.arange(20_000.0), "y": np.arange(20_000.0), "s": 0.0})
    after = swap(many, rate=1.0)
    seen = [(after[c].to_numpy().reshape(-1, 5) % 5) @ [625, 125, 25, 5, 1] for c in ("x", "y")]
    counts = np.unique(seen[0], return_counts=True)[1]
    assert len(counts) == 44
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    assert stats.binomtest(int((seen[0] == seen[1]).sum()), 4000, 1 / 44).pvalue > FALSE_ALARM


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("engine", ["memory", "pieces", "duckdb"])
def test_sub_groups_beyond_memory_are_permuted_alike(monkeypatch, engine, together):
    import larvatus.masks.random_swap as module

    rng = np.random.default_rng(3)
    holes = pd.DataFrame({
        "g": rng.integers(0, 2, 600), "x": np.where(rng.random(600) < 0.2, np.nan, rng.normal(size=600)),
        "n": 1.0 * rng.integers(0, 7, 600), "k": rng.choice(["a", "b", "c"], 600),
    })

    def swapped(held: int, engine: str) -> pd.DataFrame:
        monkeypatch.setattr(module, "_HELD", held)
        data = lv.read(holes, confidential=["x", "n", "k"], sub_groups=["g"], engine=engine)
        return lv.mask(data, lv.masks.RandomSwap(rate=0.6, together=together), secret=SECRET).frame()

    pd.testing.assert_frame_equal(swapped(50, engine), swapped(1 << 24, "memory"))


def test_pairs_are_warned_of():
    data = lv.read(pd.DataFrame({"x": np.arange(40.0), "y": np.arange(40.0) ** 2}), confidential=["x", "y"])
    for pairs in (False, True):
        notes = lv.mask(data, lv.masks.RandomSwap(pairs=pairs), secret=SECRET).notes
        assert any("swap_chain" in n.text and n.kind == "warning" for n in notes) == pairs


def test_every_pairing_is_equally_likely():
    """3,000 sub-groups of six records, all moved: the first record's partner is any of the five others."""
    many = pd.DataFrame({"g": np.repeat(np.arange(3000), 6), "x": np.arange(18_000.0), "y": np.arange(18_000.0), "s": 0.0})
    after = swap(many, rate=1.0, pairs=True)
    first = (after.x.to_numpy()[::6] - many.x.to_numpy()[::6]).astype(int)
    assert stats.chisquare(np.bincount(first, minlength=6)[1:]).pvalue > FALSE_ALARM
    both = after.x.to_numpy()[::6] == after.y.to_numpy()[::6]
    assert stats.binomtest(int(both.sum()), 3000, 1 / 5).pvalue > FALSE_ALARM


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_correlations_fall_by_one_minus_rate_and_its_square(table, rate, pairs):
    """A mean of n products with variance 1 + 2r² at most, each pair counted twice."""
    limit = stats.norm.isf(FALSE_ALARM / 2) * np.sqrt(6 / N)
    before, after = table.corr(), swap(table, rate=rate, pairs=pairs).corr()
    assert abs(after.x.y - (1 - rate) ** 2 * before.x.y) < limit
    assert abs(after.x.s - (1 - rate) * before.x.s) < limit
    assert abs(after.y.s - (1 - rate) * before.y.s) < limit


@pytest.mark.parametrize("together", [True, ["x", "y"], [["y", "x"]]])
def test_columns_swapped_together_keep_all_they_have_in_common(table, together):
    after = swap(table, rate=0.6, together=together)
    for g in (0, 1):
        was, now = (t.loc[table.g == g, ["x", "y"]].sort_values(["x", "y"]).to_numpy() for t in (table, after))
        assert np.array_equal(was, now)
    limit = stats.norm.isf(FALSE_ALARM / 2) * np.sqrt(6 / N)
    assert abs(after.s.corr(after.x) - 0.4 * table.s.corr(table.x)) < limit


@pytest.mark.parametrize("engine", ["memory", "pieces"])
def test_missing_values_stay_and_records_swap_with_those_that_lack_the_same(engine):
    rng = np.random.default_rng(8)
    holes = pd.DataFrame({
        "x": np.where(rng.random(400) < 0.2, np.nan, rng.normal(size=400)),
        "y": pd.Series(rng.choice(["a", "b", "c"], 400)).where(rng.random(400) > 0.2),
        "z": np.where(np.arange(400) == 7, np.nan, rng.normal(size=400)),
    })
    data = lv.read(holes, confidential=["x", "y", "z"], engine=engine)
    release = lv.mask(data, lv.masks.RandomSwap(rate=1.0, together=True), secret=SECRET)
    after = release.frame()
    assert after.isna().equals(holes.isna())
    as_text = [sorted(map(str, t.itertuples(index=False))) for t in (holes, after)]
    assert as_text[0] == as_text[1]
    assert after.loc[7].equals(holes.loc[7])
    assert any("1 values of x, y, z are in 1 parts of the file with too few" in n.text for n in release.notes)


def test_names_are_swapped_in_the_household_file(real_files):
    table = pd.read_csv(real_files / "households.csv")
    data = lv.read(table, confidential=["roof", "walls", "income"], nominal=["roof", "walls"], sub_groups=["urbrur", "sex"])
    after = lv.mask(data, lv.masks.RandomSwap(rate=0.5, together=["roof", "walls"]), secret=SECRET).frame()
    for _, was in table.groupby(["urbrur", "sex"]):
        now = after.loc[was.index]
        assert pd.crosstab(was.roof, was.walls).to_numpy().tolist() == pd.crosstab(now.roof, now.walls).to_numpy().tolist()
        assert sorted(was.income) == sorted(now.income)
    assert 0.3 < (after.income != table.income).mean() <= 0.5


@pytest.mark.parametrize(("settings", "said"), [
    ({"together": ["x", "z"]}, "lists 'z', which this step does not mask"), ({"together": [["x"], ["x", "y"]]}, "twice"),
])
def test_lists_that_do_not_fit(table, settings, said):
    with pytest.raises(lv.LarvatusError, match=said):
        swap(table, **settings)


def test_too_few_records_for_the_rate_are_refused():
    few = pd.DataFrame({"x": np.arange(9.0), "y": np.arange(9.0), "s": 0.0})
    with pytest.raises(lv.LarvatusError, match="10 are needed"):
        swap(few, sub_groups=(), rate=0.1)
    assert not swap(few, sub_groups=(), rate=0.12).x.equals(few.x)


def test_names_without_an_order_have_no_smallest_and_no_largest():
    jobs = pd.DataFrame({"job": ["cook", "smith", "clerk", "miner"] * 10, "x": np.arange(40.0)})

    def warned(names: tuple[str, ...], **roles: object) -> list[str]:
        data = lv.read(jobs, lv.Roles(confidential=names, **roles))
        return [n.text for n in lv.mask(data, lv.masks.RandomSwap(rate=1.0), secret=SECRET).notes if n.kind == "warning"]

    rare = "every category of job is released as often as it occurs, rare ones too"
    assert rare in warned(("job",))
    assert not any("smallest" in text for text in warned(("job",)))
    assert {rare, "the smallest and the largest value of x are released unchanged"} <= set(warned(("job", "x")))
    ordered = warned(("job",), ordered={"job": ("cook", "smith", "clerk", "miner")})
    assert "the smallest and the largest value of every column are released unchanged" in ordered
    assert rare not in ordered
