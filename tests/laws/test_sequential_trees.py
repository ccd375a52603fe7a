"""sequential_trees: released values belong to the leaf, and the law of each column given S and the columns before is kept.

Limits of random draws come from FALSE_ALARM and the number of draws.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from larvatus.masks.trees.leaf_draws import smoothed
from larvatus.stats.trees.tree import Leaves, Predictor, fit_tree
from sample import SECRET

FALSE_ALARM = 1e-6
DATA = os.environ.get("LARVATUS_DATA")
real = pytest.mark.skipif(not DATA, reason="LARVATUS_DATA is not set")


def secret(i: int) -> bytes:
    return SECRET + i.to_bytes(2, "little")


def made(frame: pd.DataFrame, mask: object = "sequential_trees", secret: bytes = SECRET, **roles: object) -> pd.DataFrame:
    return lv.mask(lv.read(frame, **roles), mask, secret=secret).to_pandas()


def file(n: int = 3000, seed: int = 1) -> pd.DataFrame:
    """Age and job are S; income has zeros and missing values, both more likely in one job; status depends on income."""
    rng = np.random.default_rng(seed)
    age, job = rng.integers(18, 80, n), rng.choice(["none", "part", "full"], n)
    income = np.exp(7 + age / 40 + (job == "full") + 0.3 * rng.normal(size=n)).round(2)
    income[(job == "none") & (rng.random(n) < 0.7)] = 0.0
    income[rng.random(n) < np.where(job == "part", 0.3, 0.02)] = np.nan
    status = np.where(np.nan_to_num(income) > 8000, "high", np.where(rng.random(n) < 0.2, "odd", "low")).astype(object)
    return pd.DataFrame({"age": age, "job": job, "income": income, "status": status})


ROLES = {"confidential": ["income", "status"], "non_confidential": ["age", "job"]}


def leaves_by_hand(frame: pd.DataFrame, predictors: list[str], target: np.ndarray, kind: str, rows: np.ndarray, k: int = 5):
    columns = [Predictor.of_numbers(frame[c].to_numpy(float)) if frame[c].dtype.kind in "if"
               else Predictor.of_levels(pd.Categorical(frame[c]).codes.astype(np.int32), frame[c].nunique(), True)
               for c in predictors]
    tree = fit_tree(columns, target, kind, rows, k, 1e-8)
    return [tree.leaves.rows[a:b] for a, b in zip(tree.leaves.starts, tree.leaves.starts[1:], strict=False)]


def test_without_smoothing_every_value_is_one_of_its_leaf():
    """The first column, whose leaves follow from S: made again by hand."""
    frame = file()
    income = frame.income.to_numpy()
    at = np.where(np.isnan(income), 0, np.where(income == 0, 1, 2))
    release = made(frame, **ROLES)
    stages = leaves_by_hand(frame, ["age", "job"], at, "classes", np.arange(len(frame)))
    new = release.income.to_numpy()
    after = np.where(np.isnan(new), 0, np.where(new == 0, 1, 2))
    assert sum(map(len, stages)) == len(frame)
    assert all(set(after[leaf]) <= set(at[leaf]) for leaf in stages)
    columns = [Predictor.of_numbers(frame.age.to_numpy(float)),
               Predictor.of_levels(pd.Categorical(frame.job).codes.astype(np.int32), 3, True)]
    tree = fit_tree(columns, income, "number", np.flatnonzero(at == 2), 5, 1e-8)
    leaf = tree.leaf_of([frame.age.to_numpy(float), pd.Categorical(frame.job).codes + 1.0], len(frame))
    observed = [set(income[tree.leaves.rows[a:b]]) for a, b in zip(tree.leaves.starts, tree.leaves.starts[1:], strict=False)]
    assert tree.leaves.sizes.min() >= 5
    assert len(tree.leaves.sizes) > 50
    assert all(new[i] in observed[leaf[i]] for i in np.flatnonzero(after == 2))


def test_values_are_drawn_from_the_leaf_with_equal_probability():
    """No predictor: one leaf with all records. The counts of ten values over many records are multinomial."""
    frame = pd.DataFrame({"x": np.repeat(np.arange(1.0, 11.0), 400)})
    counts = np.bincount(made(frame, confidential=["x"]).x.astype(int), minlength=11)[1:]
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    assert counts.std() > 0


def test_the_law_given_s_is_kept():
    """Categories given S with four values: leaves are the four cells, so that counts in each cell are multinomial."""
    rng = np.random.default_rng(3)
    s = rng.integers(0, 4, 8000)
    y = np.array(["a", "b", "c"], dtype=object)[(rng.random(8000)[:, None] > np.array([[0.1, 0.3], [0.5, 0.6], [0.2, 0.9],
                                                                                      [0.7, 0.75]])[s]).sum(axis=1)]
    frame = pd.DataFrame({"s": s, "y": y})
    release = made(frame, "sequential_trees(smallest_leaf=500)", confidential=["y"], non_confidential=["s"])
    for value in range(4):
        share = frame.y[s == value].value_counts(normalize=True).sort_index()
        count = release.y[s == value].value_counts().reindex(share.index, fill_value=0)
        assert stats.chisquare(count, share * count.sum()).pvalue > FALSE_ALARM / 4


def test_zeros_and_missing_values_are_drawn_first_and_as_likely_as_in_the_leaf():
    frame = file(8000)
    release = made(frame, "sequential_trees(smallest_leaf=1000)", **ROLES)
    for stage in (frame.income.isna(), frame.income == 0):
        after = release.income.isna() if stage is not None and stage.equals(frame.income.isna()) else release.income == 0
        for job in ("none", "part", "full"):
            here = frame.job == job
            p, n = stage[here].mean(), int(here.sum())
            limit = stats.norm.isf(FALSE_ALARM / 12) * np.sqrt(2 * p * (1 - p) / n) + 1 / n  # both shares vary by age
            assert abs(after[here].mean() - p) <= limit


def test_relations_with_columns_drawn_before_are_kept():
    """Status depends on income through a cut: a linear model cannot express it. A leaf may mix both sides: at most 2 %."""
    release = made(file(), **ROLES)
    high = release.income.fillna(0) > 8000
    assert (high == (release.status == "high")).mean() > 0.98


def test_missing_values_stay_where_they_are_if_asked():
    frame = file()
    kept = made(frame, "sequential_trees(missing='keep')", **ROLES)
    drawn = made(frame, **ROLES)
    assert (kept.income.isna() == frame.income.isna()).all()
    assert (drawn.income.isna() != frame.income.isna()).any()


def test_smoothed_values_are_new_and_keep_mean_and_variance():
    """One leaf: mean and variance of the draws are those of the leaf, within the error of their estimates."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=20_000)
    release = made(pd.DataFrame({"x": x}), "sequential_trees(smoothing='density')", confidential=["x"]).x.to_numpy()
    assert not np.isin(release, x).any()
    assert x.min() <= release.min()
    assert release.max() <= x.max()
    limit = stats.norm.isf(FALSE_ALARM / 4)
    assert abs(release.mean() - x.mean()) < limit * x.std() / np.sqrt(len(x))
    assert abs(release.var() / x.var() - 1) < limit * np.sqrt(2 / len(x))


def test_smoothed_draws_of_a_small_leaf_keep_its_mean_and_variance():
    """400,000 draws from a leaf of 30 records, beside a leaf with values far away on both sides, so that no end is near."""
    rng, draws = np.random.default_rng(7), 400_000
    values = np.concatenate([rng.normal(size=30), [-50.0, 50.0]])
    leaves = Leaves(np.arange(32), np.array([0, 30, 32]))
    leaf, donors = np.zeros(draws, dtype=np.int64), rng.integers(0, 30, draws)
    y = smoothed(values, leaves, leaf, donors, rng.normal(size=draws))
    own, limit = values[:30], stats.norm.isf(FALSE_ALARM / 4)
    fourth = ((y - own.mean()) ** 4).mean() / own.var() ** 2
    assert abs(y.mean() - own.mean()) < limit * own.std() / np.sqrt(draws)
    assert abs(((y - own.mean()) ** 2).mean() / own.var() - 1) < limit * np.sqrt((fourth - 1) / draws)


def test_smoothing_rounds_whole_numbers_and_leaves_zeros():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"x": np.where(rng.random(2000) < 0.3, 0, rng.integers(1000, 9000, 2000))})
    release = made(frame, "sequential_trees(smoothing='density')", confidential=["x"]).x.to_numpy()
    assert (release == np.rint(release)).all()
    assert 0.2 < (release == 0).mean() < 0.4
    assert not ((release > 0) & (release < 1000)).any()


def test_semicontinuous_values_are_those_that_are_named():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"x": np.where(rng.random(2000) < 0.3, 500.0, rng.normal(500, 300, 2000))})
    mask = lv.masks.SequentialTrees(smoothing="density", semicontinuous={"x": (500.0,)})
    assert 0.2 < (made(frame, mask, confidential=["x"]).x == 500).mean() < 0.4
    assert (made(frame, "sequential_trees(smoothing='density')", confidential=["x"]).x == 500).mean() < 0.01


def test_the_order_changes_which_columns_come_first():
    frame = file()
    data = lv.read(frame, **ROLES)
    said = [n.text for n in lv.mask(data, "sequential_trees(order='fewest_levels')", secret=SECRET).notes]
    assert any("in the order status, income" in text for text in said)
    with pytest.raises(lv.LarvatusError, match="income is not listed"):
        lv.mask(data, lv.masks.SequentialTrees(order=("status",)))
    with pytest.raises(lv.LarvatusError, match="is not a column of this step"):
        lv.mask(data, lv.masks.SequentialTrees(order=("status", "incme")))


def test_rules_hold():
    """An identity is restored, and records that break an inequality are drawn again."""
    rng = np.random.default_rng(9)
    part = np.exp(rng.normal(size=1000))
    frame = pd.DataFrame({"part": part, "rest": part + rng.exponential(size=1000)})
    frame["total"] = frame.part + frame.rest
    data = lv.read(frame, confidential=["part", "rest", "total"])
    free = lv.mask(data, "sequential_trees", secret=SECRET).to_pandas()
    assert (free.part > free.rest).any()
    held = lv.mask(data, "sequential_trees", secret=SECRET, constraints=["total = part + rest", "part <= rest"]).to_pandas()
    assert (held.part <= held.rest).all()
    assert (held.total == held.part + held.rest).all()


def test_the_whole_file_at_once_uses_the_sub_groups_as_predictors():
    frame = file()
    roles = {"confidential": ["income"], "sub_groups": ["job"]}
    release = made(frame, "sequential_trees(scope='file')", **roles)
    assert (release.income[frame.job != "none"] == 0).mean() < 0.02
    assert (release.income[frame.job == "none"] == 0).mean() > 0.5


def test_constant_columns_and_levels_with_one_record():
    frame = file(400)
    frame["one"], frame["rare"] = 7.0, np.where(np.arange(400) == 5, "only", "usual").astype(object)
    release = lv.mask(lv.read(frame, confidential=["income", "one", "rare"], non_confidential=["age"]), "sequential_trees",
                      secret=SECRET)
    assert (release.to_pandas().one == 7.0).all()
    assert release.unmasked.keys() == {"one"}


@pytest.mark.slow
@pytest.mark.parametrize("kept", [["s"], []], ids=["partially synthetic", "fully synthetic"])
def test_intervals_over_copies_cover_the_mean(kept):
    """Files of 400 records, 5 copies: Reiter's intervals at .95 for the mean of Y in 300 samples.

    Draws do not include the uncertainty of the trees, so that intervals may be slightly short. They must cover at least .90; a
    true coverage of .90 would give fewer than the limit with probability FALSE_ALARM.
    """
    from larvatus.analysis.combining_rules import combine

    hits, samples = 0, 300
    for i in range(samples):
        rng = np.random.default_rng(i)
        s = rng.normal(size=400)
        frame = pd.DataFrame({"s": s, "y": s + rng.normal(size=400)})
        data = lv.read(frame, confidential=[n for n in ("s", "y") if n not in kept], non_confidential=kept)
        release = lv.mask(data, "sequential_trees(copies=5)", secret=secret(i))
        y = [release.to_pandas(c).y.to_numpy() for c in range(5)]
        low, high = combine([v.mean() for v in y], [v.var(ddof=1) / 400 for v in y]).interval()
        hits += bool(low <= 0 <= high)
    print(f"coverage {hits / samples:.3f}")
    assert hits >= stats.binom.ppf(FALSE_ALARM, samples, 0.90)


@real
@pytest.mark.parametrize("partly", [False, True], ids=["fully synthetic", "partially synthetic"])
@pytest.mark.parametrize("name", ["census.csv", "survey.csv", "households.csv"])
def test_real_files_of_any_kind_are_synthesised(name, partly):
    frame = pd.read_csv(Path(str(DATA)) / name)
    numeric = [c for c in frame if frame[c].nunique() > 40]
    names = list(frame.columns)
    kept = names[:3] if partly else []
    roles = {"confidential": [n for n in names if n not in kept], "non_confidential": kept,
             "nominal": [n for n in names if n not in numeric]}
    release = made(frame, **roles)
    for column in names:
        assert set(release[column].dropna().astype(float)) <= set(frame[column].dropna().astype(float))
    for column in kept:
        assert (release[column].astype(float) == frame[column]).all()
    for column in numeric:
        apart = stats.ks_2samp(release[column].dropna(), frame[column].dropna())
        new_sample = np.sqrt(np.log(2 / FALSE_ALARM) / 2)  # limit of √(n/2) times the distance, for a new sample of the law
        assert apart.statistic < new_sample * np.sqrt(2 / len(frame))
