"""Reverse mapping: the original values in the order of the masked ones, whatever came before."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.contracts import Mask, Masked
from larvatus.data.verbs import map_groups, map_rows, take_rows
from sample import SECRET

FALSE_ALARM = 1e-6
N = 2000
X = ["x", "y"]


class Cubed(Mask):
    """A mask that keeps ranks."""

    keeps_ranks = True

    def apply(self, current, original, random):
        return Masked(map_rows(current, lambda g, b: {n: b[n] ** 3 for n in current.confidential}, current.confidential))


class Coarse(Mask):
    """A mask that ties values in runs of a stated length, in order."""

    run: int = 10

    def apply(self, current, original, random):
        def tied(group, block):
            return {n: np.floor((stats.rankdata(block[n]) - 1) / self.run) for n in current.confidential}

        return Masked(map_groups(current, tied, current.confidential))


class Emptied(Mask):
    """A mask that blanks every third value of the first column."""

    def apply(self, current, original, random):
        name = current.confidential[0]
        return Masked(map_rows(current, lambda g, b: {name: np.where(b.record % 3 == 0, np.nan, b[name])}, [name]))


class Sampled(Mask):
    """A mask that leaves two records of three out."""

    def apply(self, current, original, random):
        return Masked(take_rows(current, lambda g, b: b.record % 3 == 0, ()))


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(17)
    g = rng.integers(0, 3, N)
    return pd.DataFrame({"g": g, "x": rng.gamma(2, 1 + g), "y": np.maximum(rng.normal(g, 2), 0.0), "s": rng.normal(size=N)})


def read(table: pd.DataFrame, **roles) -> lv.Microdata:
    return lv.read(table, **{"confidential": X, "non_confidential": ["s"], "sub_groups": ["g"], **roles})


STEPS = [
    lv.masks.AdditiveNoise(variance=0.3), lv.masks.SufficiencyBased(similarity=0.6), lv.masks.DataShuffling(),
    lv.masks.AdditiveNoise(scope="file"), lv.masks.AdditiveNoise(zeros="keep"), Coarse(run=7),
]


@pytest.mark.parametrize("engine", ["memory", "pieces"])
@pytest.mark.parametrize("step", STEPS, ids=lambda s: s.name())
def test_values_are_the_originals_in_the_order_of_the_step_before(table, step, engine):
    """The masked column is drawn again by itself, from the same secret, as the step before the map."""
    data = read(table, engine=engine)
    before, after = (lv.mask(data, *steps, secret=SECRET).frame() for steps in ([step], [step, lv.masks.ReverseMap()]))
    for _, was in table.groupby("g"):
        y, z = before.loc[was.index], after.loc[was.index]
        for name in X:
            assert sorted(z[name]) == sorted(was[name])
            order = np.lexsort((z[name], y[name]))
            assert (np.diff(z[name].to_numpy()[order]) >= 0).all()


def test_file_scope_keeps_the_values_of_the_file_only(table):
    after = lv.mask(read(table), lv.masks.AdditiveNoise(), lv.masks.ReverseMap(scope="file"), secret=SECRET).frame()
    assert sorted(after.x) == sorted(table.x)
    assert sorted(after.x[table.g == 0]) != sorted(table.x[table.g == 0])


def test_ties_are_settled_at_random_and_apart_for_each_column():
    """Within runs of 40 tied masked values Z is unrelated to X, and its order in one column to that in another."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=N)
    table = pd.DataFrame({"x": x, "y": np.exp(x)})
    after = lv.mask(lv.read(table, confidential=X), Coarse(run=40), lv.masks.ReverseMap(), secret=SECRET).frame()
    run = np.floor((stats.rankdata(table.x) - 1) / 40)
    assert np.array_equal(run, np.floor((stats.rankdata(after.x) - 1) / 40))
    inside = pd.DataFrame({"was": table.x, "x": after.x, "y": after.y}).groupby(run).rank()
    r = inside.corr().to_numpy()[np.triu_indices(3, 1)]
    assert np.abs(r).max() < stats.norm.isf(FALSE_ALARM / 2 / 3) / np.sqrt(N - N / 40)


def test_missing_values_of_the_step_before_take_values_by_quantile(table):
    """Where m of n values are left, rank r of them gets the ⌈r·n/m⌉-th smallest original."""
    after = lv.mask(read(table), lv.masks.AdditiveNoise(), Emptied(), lv.masks.ReverseMap(), secret=SECRET).frame()
    before = lv.mask(read(table), lv.masks.AdditiveNoise(), secret=SECRET).frame()
    assert after.x.isna().equals(before.x.isna() | (table.index % 3 == 0))
    for _, was in table.groupby("g"):
        assert sorted(after.loc[was.index, "y"]) == sorted(was.y)
        there = after.x[was.index].dropna()
        check_quantiles(there, before.x[there.index], was.x)


def check_quantiles(z: pd.Series, y: pd.Series, x: pd.Series) -> None:
    rank = stats.rankdata(y).astype(int)
    n, m = len(x), len(y)
    assert len(set(rank)) == m
    expected = np.sort(x)[[-(-r * n // m) - 1 for r in rank]]
    assert np.array_equal(z, expected)


@pytest.mark.parametrize("engine", ["memory", "pieces"])
def test_another_number_of_records_is_mapped_by_quantile(table, engine):
    """A third of the records, masked: their Z are quantiles of all originals of the sub-group, the largest the largest."""
    original = read(table.assign(y=-table.x), engine=engine)
    random = RecordRandom(stream_key(SECRET, "test"))
    noisy = lv.masks.AdditiveNoise().apply(original, original, random).data
    few = Sampled().apply(noisy, original, random).data
    y, z = few.frame(), lv.masks.ReverseMap().apply(few, original, random).data.frame()
    assert len(z) == sum(table.index % 3 == 0)
    for g, was in table.groupby("g"):
        check_quantiles(z.x[z.g == g], y.x[y.g == g], was.x)
        assert z.x[z.g == g].max() == was.x.max()


def test_a_sample_goes_through_the_walk(table):
    release = lv.mask(read(table), lv.masks.AdditiveNoise(), Sampled(), lv.masks.ReverseMap(), secret=SECRET)
    after = release.frame()
    assert after.index.equals(table.index[table.index % 3 == 0])
    for g, was in table.groupby("g"):
        m, n = (after.g == g).sum(), len(was)
        assert sorted(after.x[after.g == g]) == np.sort(was.x)[[-(-r * n // m) - 1 for r in range(1, m + 1)]].tolist()


def test_first_and_after_masks_that_keep_ranks_it_is_refused(table):
    data = read(table)
    with pytest.raises(lv.LarvatusError, match="reverse_map: no step before it"):
        lv.mask(data, lv.masks.ReverseMap(), lv.masks.AdditiveNoise(), secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="reverse_map: cubed preserves the order of values"):
        lv.mask(data, Cubed(), lv.masks.ReverseMap(), secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="the release would equal the original"):
        lv.mask(read(table, confidential=["x"]), Cubed(), lv.masks.ReverseMap(allow_reversible=True), secret=SECRET)
    after = lv.mask(data, Cubed(), lv.masks.AdditiveNoise(), lv.masks.ReverseMap(), secret=SECRET).frame()
    assert sorted(after.x) == sorted(table.x)


@pytest.mark.parametrize(("variance", "kind"), [(1e-6, "warning"), (1.0, "information")])
def test_the_share_unchanged_is_noted_and_extremes_are_warned_of(table, variance, kind):
    data = read(table, sub_groups=[], confidential=["x"])
    release = lv.mask(data, lv.masks.AdditiveNoise(variance=variance), lv.masks.ReverseMap(), secret=SECRET)
    same = int((release.frame().x == table.x).sum())
    said = {n.text: n.kind for n in release.notes}
    assert said[f"{same:,} of 2,000 values of x ({same / N:.1%}) are unchanged"] == kind
    assert said["the smallest and the largest value of every column are released unchanged"] == "warning"


def test_only_the_chosen_records_exchange_values(table):
    chosen = table.s > 0
    after = lv.mask(
        read(table), lv.masks.AdditiveNoise(where="s > 0"), lv.masks.ReverseMap(where="s > 0"), secret=SECRET
    ).frame()
    assert after.loc[~chosen, X].equals(table.loc[~chosen, X])
    for g in range(3):
        inside = chosen & (table.g == g)
        assert sorted(after.x[inside]) == sorted(table.x[inside])
        assert (after.x[inside] != table.x[inside]).mean() > 0.5


@pytest.mark.parametrize("before", [
    [lv.masks.RandomBlanking()], [lv.masks.LocalSuppression()], [lv.masks.Sampling()],
    [lv.masks.RandomBlanking(), lv.masks.Rounding(base=0.5)], [lv.masks.TopCoding(), lv.masks.Sampling()],
])
def test_after_steps_that_only_take_away_it_is_refused(table, before):
    data = lv.read(table, confidential=X)
    with pytest.raises(lv.LarvatusError, match="preserves the order of values"):
        lv.mask(data, *before, lv.masks.ReverseMap(), secret=SECRET)
