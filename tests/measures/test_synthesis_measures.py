"""SPECKS, PO50, tables and models trained on the release, against their definitions by scikit-learn, SciPy and pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from larvatus.measures.propensity_models.record_scores import right_above_half, separation
from larvatus.measures.training.trained_models import TrainingFile, cross_predicted, predicted, success
from larvatus.measures.utility_tables import table_figures
from sample import ROLES, SECRET, people


def two_files(n: int = 1500, seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Columns with effects, and a release in which one column is twice as wide and independent of the others."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    x[:, 2] += x[:, 0] + x[:, 1]
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    return frame, frame.assign(c=2 * rng.permutation(frame.c))


def value(frame: pd.DataFrame, other: pd.DataFrame, measure: object) -> lv.Score:
    return lv.utility(lv.read(frame, confidential=list(frame.columns)), other, [measure])[0]


def test_the_distance_of_scores_is_that_of_scipy():
    rng = np.random.default_rng(2)
    score, released = rng.integers(0, 30, 900) / 30, rng.integers(0, 2, 900)
    expected = stats.ks_2samp(score[released == 0], score[released == 1]).statistic
    assert separation(score, released) == pytest.approx(expected, rel=1e-12)


def test_po50_of_files_of_equal_size_is_the_share_of_right_records_less_one_half():
    rng = np.random.default_rng(3)
    released = np.repeat([0, 1], 400)
    score = np.clip(rng.normal(0.4 + 0.2 * released, 0.2), 0, 1)
    right = np.mean((score > 0.5) == (released == 1))
    assert right_above_half(score, released) == pytest.approx(right - 0.5, rel=1e-12)
    assert right_above_half(np.full(800, 0.5), released) == 0
    assert right_above_half(released.astype(float), released) == 0.5


@pytest.mark.parametrize("measure", ["specks", "po50"])
def test_logistic_scores_are_those_of_scikit_learn(measure):
    """Main effects and products of pairs, as the logit has them. The penalty is so weak that it does not show."""
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    from sklearn.preprocessing import PolynomialFeatures

    frame, other = two_files()
    both = np.vstack([frame, other])
    design = PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(both)
    label = np.repeat([0, 1], len(frame))
    score = linear.LogisticRegression(C=1e9, max_iter=10_000, tol=1e-10).fit(design, label).predict_proba(design)[:, 1]
    expected = (stats.ks_2samp(score[label == 0], score[label == 1]).statistic if measure == "specks"
                else max(np.mean((score > 0.5) == label) - 0.5, 0.0))
    assert expected > 0.02
    found = value(frame, other, f"{measure}(model='logit')").value
    assert found == pytest.approx(expected, abs=1.5 / len(frame))  # a score at a boundary may fall on either side


def test_trees_separate_what_logistic_regression_does_not():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"a": rng.normal(size=2000)})
    other = pd.DataFrame({"a": np.sign(rng.normal(size=2000)) * np.sqrt(np.abs(rng.normal(size=2000)))})
    assert value(frame, other, "specks").value > 2 * value(frame, other, "specks(model='logit')").value
    assert value(frame, other, "po50").value > 0.02


def test_files_that_can_be_told_apart_have_the_largest_loss():
    frame, _ = two_files()
    assert value(frame, frame + 100, "specks").value == 1
    assert value(frame, frame + 100, "po50").value == 0.5


def test_statistics_of_a_table_are_those_of_a_model_with_a_term_for_each_cell():
    """S_pMSE for files of equal size is Voas and Williamson's statistic over its degrees of freedom."""
    rng = np.random.default_rng(5)
    cell = [rng.integers(0, 12, 700), rng.integers(0, 11, 700)]
    o, s = (np.bincount(c, minlength=15) for c in cell)
    found = table_figures(o, s)
    score = np.concatenate([(s / np.maximum(o + s, 1))[c] for c in cell])
    label = np.repeat([0, 1], 700)
    assert found["pMSE"] == pytest.approx(np.mean((score - 0.5) ** 2), rel=1e-12)
    assert found["SPECKS"] == pytest.approx(stats.ks_2samp(score[:700], score[700:]).statistic, rel=1e-12)
    assert found["PO50"] == pytest.approx(right_above_half(score, label), rel=1e-12)
    there = o + s > 0
    voas = ((s - o)[there] ** 2 / ((s + o)[there] / 2)).sum()
    assert found["S_pMSE"] == pytest.approx(voas / (there.sum() - 1), rel=1e-12)


@pytest.mark.parametrize("population", [False, True])
def test_s_pmse_is_one_on_average_for_draws_from_the_file_and_two_for_a_new_sample(population):
    """The mean over 400 tables of 8 cells; S_pMSE times 7 (or 7/2) is close to chi-square with 7 degrees of freedom."""
    rng, tables, cells, n = np.random.default_rng(6), 400, 8, 4000
    p, expected = rng.dirichlet(np.full(cells, 5.0)), 1 + population
    found = []
    for _ in range(tables):
        original = rng.multinomial(n, p)
        found.append(table_figures(original, rng.multinomial(n, p if population else original / n))["S_pMSE"])
    limit = stats.norm.isf(1e-6 / 2) * expected * np.sqrt(2 / (cells - 1) / tables)
    assert abs(np.mean(found) - expected) < limit


def test_tables_are_cross_tabulations_of_both_files():
    frame = people(400, missing=True)[["region", "job", "house"]]
    other = frame.assign(house=np.random.default_rng(7).permutation(frame.house.to_numpy()))
    data = lv.read(frame, confidential=["house"], non_confidential=["region", "job"])
    score = lv.utility(data, other, ["utility_tables(statistic='SPECKS')"])[0]
    for row in score.by_pair:
        a, b = (pd.crosstab(f[row["first"]].fillna("?"), f[row["second"]].fillna("?")) for f in (frame, other))
        rows, columns = a.index.union(b.index), a.columns.union(b.columns)
        a, b = (t.reindex(index=rows, columns=columns, fill_value=0) for t in (a, b))
        assert row["loss"] == pytest.approx(abs(a - b).to_numpy().sum() / 2 / len(frame), rel=1e-12)
    assert {(r["first"], r["second"]) for r in score.by_pair} == {("house", "job"), ("house", "region")}


def files(seed: int, n: int = 900) -> TrainingFile:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, n))
    y = x[0] ** 2 + x[1] + 0.3 * rng.normal(size=n)
    return TrainingFile(np.arange(n), {"a": x[0], "b": x[1], "y": y, "c": np.digitize(y, [0.5, 2]).astype(np.int32)},
                        {"a": 0, "b": 0, "y": 0, "c": 3}, frozenset())


@pytest.mark.parametrize("target", ["y", "c"])
def test_a_model_trained_on_one_file_and_tested_on_another_is_that_of_scikit_learn(target):
    sklearn = pytest.importorskip("sklearn.tree", reason="scikit-learn is not installed")
    from sklearn.metrics import accuracy_score, r2_score

    names = ["a", "b"]
    train, test = ({**f.values} for f in (files(8), files(9)))
    sides = [TrainingFile(np.arange(900), {n: f[n] for n in (*names, target)}, dict.fromkeys(f, 3), frozenset())
             for f in (train, test)]
    model = sklearn.DecisionTreeRegressor if target == "y" else sklearn.DecisionTreeClassifier
    theirs = model(min_samples_leaf=40, min_samples_split=120, random_state=0).fit(
        np.column_stack([train[n] for n in names]), train[target])
    guess = theirs.predict(np.column_stack([test[n] for n in names]))
    ours = predicted(sides[0], sides[1], target, 40, 0.0)
    measure = r2_score if target == "y" else accuracy_score
    assert success(test[target], ours) == pytest.approx(measure(test[target], guess), rel=1e-9)
    assert success(test[target], ours) > 0.6


def test_a_record_is_never_predicted_by_a_model_that_saw_it():
    """Values that nothing predicts but the record itself: success 0 by folds, and 1 without them."""
    rng = np.random.default_rng(10)
    x = np.arange(400.0)
    file = TrainingFile(np.arange(400), {"x": rng.permutation(x), "y": rng.normal(size=400)}, {"x": 0, "y": 0}, frozenset())
    fold = np.arange(400) % 5
    assert success(file.values["y"], cross_predicted(file, file, (fold, fold), 5, "y", 1, 0.0)) == 0
    assert success(file.values["y"], predicted(file, file, "y", 1, 0.0)) > 0.4


def test_a_release_that_loses_the_relations_loses_its_models():
    frame, other = two_files()
    row = {r["variable"]: r for r in value(frame, other, "synthetic_training").by_variable}["c"]
    assert row["original"] > 0.5
    assert row["released"] < 0.05
    assert row["loss"] == row["original"] - row["released"]


def test_paired_records_are_in_the_fold_of_their_original():
    """Y and z nearly as they were, in another order by content: models that know the copy of a record predict its y from z."""
    rng = np.random.default_rng(11)
    frame = pd.DataFrame({**{n: rng.normal(size=600) for n in ("a", "y", "z")}, "id": np.arange(600)})
    data = lv.read(frame, confidential=["a", "y", "z"], record_id="id")
    release = lv.mask(data, lv.masks.Rounding(columns=("a",), base=100.0),
                      lv.masks.AdditiveNoise(columns=("y", "z"), variance=1e-8), secret=SECRET)
    measure = "synthetic_training(targets=['y'], smallest_leaf=1, complexity=0)"
    assert all(r["released"] < 0.1 for r in lv.utility(data, release, [measure])[0].by_variable)


def test_unknown_targets_and_columns_are_refused_by_name():
    data = lv.read(people(), **ROLES)
    for measure in ("synthetic_training(targets=['incme'])", "utility_tables(columns=['incme'])"):
        with pytest.raises(lv.LarvatusError, match="incme"):
            lv.utility(data, people(), [measure])


def test_records_held_out_are_the_test_if_there_are_any():
    """The oracle trains scikit-learn's trees on whole files and tests them on the records held out."""
    tree = pytest.importorskip("sklearn.tree", reason="scikit-learn is not installed")
    from sklearn.metrics import r2_score

    names = ["a", "b", "y"]
    whole, other = (pd.DataFrame({n: files(seed).values[n] for n in names}) for seed in (11, 12))
    data = lv.hold_out(lv.read(whole, confidential=names), 0.3, secret=b"records that are held out")
    kept, held = data.to_pandas(), data.holdout.to_pandas()
    measure = lv.measures.SyntheticTraining(targets=("y",), smallest_leaf=40, complexity=0)
    row = lv.utility(data, other, [measure], paired=False)[0].by_variable[0]
    for side, train in (("original", kept), ("released", other)):
        model = tree.DecisionTreeRegressor(min_samples_leaf=40, min_samples_split=120, random_state=0)
        guess = model.fit(train[["a", "b"]].to_numpy(), train["y"]).predict(held[["a", "b"]].to_numpy())
        assert row[side] == pytest.approx(max(r2_score(held["y"], guess), 0), rel=1e-9)
    assert row["original"] > 0.5
