"""What theory says of microaggregation: sums kept, groups of k to 2k - 1, variance that never rises; less for medians."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

N = 1500
X = ["x", "y", "z"]
MDAV = lv.masks.Microaggregation
GROUPINGS = ["mdav", "fixed", "optimal", "projection"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(12)
    z = rng.multivariate_normal([0, 0, 0], [[1, 0.8, 0.1], [0.8, 1, 0], [0.1, 0, 1]], N)
    return pd.DataFrame({"g": rng.integers(0, 2, N), "x": np.exp(z[:, 0]), "y": 1e6 + z[:, 1], "z": z[:, 2]})


def masked(table: pd.DataFrame, secret: bytes = SECRET, engine: str = "memory", sub_groups=("g",), **settings) -> lv.Release:
    settings_of = lv.SubGroups(columns=tuple(sub_groups), small=settings.pop("small", "refuse"))
    names = [n for n in X if n in table]
    return lv.mask(lv.read(table, confidential=names, sub_groups=settings_of, engine=engine), MDAV(**settings), secret=secret)


def inside(table: pd.DataFrame, after: pd.DataFrame):
    for _, was in table.groupby("g"):
        yield was[X], after.loc[was.index, X]


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_sums_are_kept_variances_shrink_and_groups_have_their_sizes(table, grouping, k):
    after = masked(table, grouping=grouping, k=k).frame()
    for was, now in inside(table, after):
        assert now.sum().to_numpy() == pytest.approx(was.sum().to_numpy(), rel=1e-12)
        assert (now.var() <= was.var()).all()
        keys = [X] if grouping in ("mdav", "projection") else [[n] for n in X]
        for key in keys:
            sizes = now.groupby(key).size()
            assert sizes.min() >= k
            assert sizes.max() <= 2 * k - 1


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_medians_are_those_of_the_same_groups_and_keep_only_their_sizes(table, grouping):
    mean, median = (masked(table, grouping=grouping, k=4, centre=c).frame() for c in ("mean", "median"))
    moved = 0.0
    for was, now in inside(table, median):
        for name in X:
            group = mean.loc[was.index].groupby(X if grouping in ("mdav", "projection") else [name]).ngroup()
            assert now[name].to_numpy() == pytest.approx(was[name].groupby(group).transform("median").to_numpy(), rel=1e-15)
        moved += abs(now.x.sum() - was.x.sum())
    assert moved > 1e-6, "the median does not keep sums"


def test_optimal_groups_cost_no_more_than_even_ones_on_the_census_file(real_files):
    census = pd.read_csv(real_files / "census.csv")
    names = list(census.columns)
    data = lv.read(census, confidential=names)
    for k in (3, 10):
        even, best = (lv.mask(data, MDAV(grouping=g, k=k), secret=SECRET).frame() for g in ("fixed", "optimal"))
        lost = [((f[names] - census[names]) ** 2).sum() for f in (best, even)]
        assert (lost[0] <= lost[1] * (1 + 1e-12)).all()
        assert (lost[0] < 0.999 * lost[1]).any()


def test_the_25_records_of_the_paper():
    """001, Table 2: groups of five, whose means are printed to two decimals."""
    x = [1110, 1122, 912, 1015, 1096, 1018, 889, 974, 1073, 1177, 963, 1070, 1003, 906, 921, 1144, 934, 908, 979, 819, 780,
         1035, 1032, 1065, 1091]
    table = pd.DataFrame({"x": x})
    printed = [1129.80, 1129.80, 940.80, 1009.40, 1129.80, 1009.40, 860.40, 940.80, 1066.80, 1129.80, 940.80, 1066.80, 1009.40,
               860.40, 940.80, 1129.80, 940.80, 860.40, 1009.40, 860.40, 860.40, 1066.80, 1009.40, 1066.80, 1066.80]
    after = masked(table, sub_groups=(), grouping="fixed", k=5).frame().x
    assert after.round(2).tolist() == printed
    assert round(after.var(), 2) == 9246.06


def test_projection_cuts_the_order_of_the_sum_of_standardised_columns(table):
    after = masked(table, grouping="projection", k=7).frame()
    for was, now in inside(table, after):
        order = ((was - was.mean()) / was.std()).sum(axis=1).rank() - 1
        group = np.minimum(order // 7, len(was) // 7 - 1)
        assert now.to_numpy() == pytest.approx(was.groupby(group).transform("mean").to_numpy(), rel=1e-12)


def test_the_scale_of_a_column_does_not_matter(table):
    one, other = masked(table).frame(), masked(table.assign(x=1e-5 * table.x, z=1e7 * table.z + 3)).frame()
    assert other.x.to_numpy() == pytest.approx(1e-5 * one.x.to_numpy(), rel=1e-9)


@pytest.mark.parametrize("engine", ["memory", "pieces"])
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_missing_values_stay_and_groups_share_what_they_lack(table, grouping, engine):
    rng = np.random.default_rng(3)
    holes = table.assign(x=table.x.where(rng.random(N) > 0.2), z=table.z.where(rng.random(N) > 0.1))
    after = masked(holes, grouping=grouping, engine=engine).frame()
    assert after[X].isna().equals(holes[X].isna())
    for was, now in inside(holes, after):
        assert now.sum().to_numpy() == pytest.approx(was.sum().to_numpy(), rel=1e-12)
        if grouping in ("mdav", "projection"):
            assert now.groupby(X, dropna=False).size().min() >= 3
    rare = holes.assign(y=holes.y.where(np.arange(N) > 0))
    if grouping in ("mdav", "projection"):
        with pytest.raises(lv.LarvatusError, match="fewer than 3 usable records"):
            masked(rare, grouping=grouping, engine=engine)
        assert len(masked(rare, grouping=grouping, engine=engine, small="suppress").frame()) < N
    else:
        assert np.isnan(masked(rare, grouping=grouping, engine=engine).frame().y[0])


def test_ties_are_settled_by_the_secret():
    """Whole numbers tie in distance and in order: another secret, other groups. Without ties the groups are always the same."""
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 9, (2, 200)) * 1.0
    tied = pd.DataFrame({"g": 0, "x": x, "y": y, "z": rng.normal(size=200)})
    for grouping, together in (("mdav", ["x", "y"]), ("fixed", "each"), ("projection", ["x", "y"])):
        one, other = (masked(tied, secret=s, grouping=grouping, together=together).frame() for s in (SECRET, SECRET[::-1]))
        assert not one.x.equals(other.x)
        assert one.z.equals(other.z)
    twice = masked(tied.assign(y=tied.x), grouping="fixed").frame()
    assert not twice.x.equals(twice.y), "ties of one column tell nothing of another's"


@pytest.mark.parametrize("engine", ["memory", "pieces"])
@pytest.mark.parametrize(("grouping", "k"), [("fixed", 3), ("fixed", 70), ("projection", 4), ("projection", 700)])
def test_passes_over_a_large_sub_group_give_the_same(table, grouping, k, engine, monkeypatch):
    holes = table.assign(z=table.z.round(1))
    holes["x"] = holes.x.where(np.arange(N) % 9 > 0) if grouping == "fixed" else 0.1
    whole = masked(holes, grouping=grouping, k=k)
    monkeypatch.setattr("larvatus.masks.microaggregation.HELD_ROWS", 10)
    passes = masked(holes, grouping=grouping, k=k, engine=engine)
    assert passes.frame()[["x", "y"]].to_numpy() == pytest.approx(whole.frame()[["x", "y"]].to_numpy(), rel=1e-12, nan_ok=True)
    sizes = passes.frame().groupby(["g", *X], dropna=False).size() if grouping == "projection" else []
    assert all(k <= s <= 2 * k - 1 for s in sizes)
    for was, now in inside(holes, passes.frame()):
        assert now.sum().to_numpy() == pytest.approx(was.sum().to_numpy(), rel=1e-12)
    assert [n.text for n in passes.notes if " groups of " in n.text] == [n.text for n in whole.notes if " groups of " in n.text]


@pytest.mark.parametrize("together", ["correlated", ["x", "y"], [["y", "x"], ["z"]]])
def test_columns_grouped_together(table, together):
    release = masked(table, together=together)
    assert {n.text.partition(":")[0] for n in release.notes if " groups of " in n.text} == {"x, y", "z"}
    apart = masked(table[["g", "x", "y"]], grouping="mdav").frame()
    assert release.frame()[["x", "y"]].to_numpy() == pytest.approx(apart[["x", "y"]].to_numpy(), rel=1e-12)
    assert any("grouped in 2 sets" in n.text for n in release.notes)


def test_a_lower_limit_joins_more_columns(table):
    named = [n.text.partition(":")[0] for n in masked(table, together="correlated", least_correlation=0.0).notes]
    assert "x, y, z" in named
    named = [n.text.partition(":")[0] for n in masked(table, together="correlated", least_correlation=0.99).notes]
    assert {"x", "y", "z"} <= set(named)


def test_parts_are_groups_too(table):
    after = masked(table, partition=200, sub_groups=()).frame()
    sizes = after.groupby(X).size()
    assert sizes.min() >= 3
    assert sizes.max() <= 5
    assert after[X].sum().to_numpy() == pytest.approx(table[X].sum().to_numpy(), rel=1e-12)
    assert not after.x.equals(masked(table, sub_groups=()).frame().x)


@pytest.mark.parametrize(("settings", "said"), [
    ({"grouping": "fixed", "together": "all"}, "cuts the order of one column"),
    ({"together": ["x", "w"]}, "lists 'w'"), ({"together": [["x"], ["x"]]}, "twice"), ({"k": 2000}, "2000 are needed"),
])
def test_settings_that_do_not_fit(table, settings, said):
    with pytest.raises(lv.LarvatusError, match=said):
        masked(table, **settings)


@pytest.mark.parametrize("settings", [{"grouping": "fixed", "partition": 500}, {"k": 100, "partition": 150}, {"k": 1}])
def test_settings_that_contradict_each_other(settings):
    with pytest.raises(lv.LarvatusError):
        MDAV(**settings)


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_columns_that_do_not_vary_or_are_not_there(table, grouping):
    odd = table.assign(x=0.1, y=np.nan)
    release = masked(odd, grouping=grouping)
    after = release.frame()
    assert (after.x == 0.1).all()
    assert after.y.isna().all()
    assert not after.z.equals(odd.z)
    told = [n.text for n in release.notes if n.kind == "status"]
    assert told == [f"x does not vary in sub-group (g={g}) and is released as it is" for g in (0, 1)]
    runs = odd.assign(z=np.repeat(np.arange(5.0), N // 5)).drop(columns="y")
    with pytest.raises(lv.LarvatusError, match="would equal the original"):
        masked(runs, grouping=grouping, sub_groups=(), together="each")


def test_no_claim_for_a_part_of_the_file_or_for_pools(table):
    """Records that were not chosen leave as they are; pools over sub-groups are told apart by the sub-group."""
    alone = masked(table)
    assert any("probabilistic k-anonymity" in n.text for n in alone.notes)
    few = [*table.index[table.g == 0][:2], *table.index[table.g == 1][:20]]
    holes = table.assign(x=table.x.where(~table.index.isin(few)))
    for release in (masked(table, where="z > 0"), masked(table, scope="file"), masked(holes, small="pool")):
        assert not any("k-anonymity" in n.text for n in release.notes)


def test_what_is_said_of_groups(table):
    told = [n.text for n in masked(table, sub_groups=(), k=4).notes]
    assert "x, y, z: 375 groups of 4 records" in told
    told = [n.text for n in masked(table.iloc[:-1], sub_groups=(), k=4, grouping="fixed").notes]
    assert "x: 374 groups of 4 to 7 records" in told
