"""Baselines do not contain the target: leave-one-out predictions, and a lone level of S that leaks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.stats.linear.leave_one_out import LeaveOneOut
from larvatus.stats.linear.moments import SampleMoments
from larvatus.stats.models.attribute_predictors import MODELS, PENALTY, predictions


def test_leave_one_out_equals_refitting():
    rng = np.random.default_rng(1)
    s = np.column_stack([rng.normal(size=40), rng.integers(0, 2, 40), np.eye(40)[7]])
    x = s @ [1.0, -2.0, 30.0] + rng.normal(size=40)
    fit = LeaveOneOut.of(SampleMoments.of(np.column_stack([x, s])), [0], [1, 2, 3])
    found = fit.predict(x[:, None], s)[:, 0]
    for i in range(40):
        rest = np.arange(40) != i
        if i == 7:
            assert np.isclose(found[i], x[rest].mean())
            continue
        design = np.column_stack([np.ones(39), s[rest]])
        beta = np.linalg.lstsq(design, x[rest], rcond=None)[0]
        assert np.isclose(found[i], np.r_[1.0, s[i]] @ beta, rtol=1e-9)


def test_models_without_their_target_equal_refitting():
    rng = np.random.default_rng(2)
    a, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    a[5] = a[6]
    found = predictions(a, y, a, np.arange(30))
    z = (a - a.mean(axis=0)) / a.std(axis=0)
    full = np.column_stack([np.ones(30), z])
    for i in range(30):
        rest = np.arange(30) != i
        gram = full[rest].T @ full[rest] + PENALTY * 30 * np.diag([0.0, 1.0, 1.0])
        beta = np.linalg.solve(gram, full[rest].T @ y[rest])
        assert np.isclose(found[0, i], full[i] @ beta, rtol=1e-9)
        nearest = np.flatnonzero(rest)[np.argmin(((z[rest] - z[i]) ** 2).sum(axis=1))]
        assert np.isclose(found[1, i], y[nearest] if nearest not in (5, 6) or i in (5, 6) else y[[5, 6]].mean())
    assert len(found) == len(MODELS)


@pytest.mark.parametrize("attack", ["interval_disclosure", "attribute_inference"])
def test_a_lone_level_that_leaks_is_no_baseline(attack):
    """Every record has a level of S of its own, and is released unchanged: nothing of that was known before."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"s": [f"level {i}" for i in range(40)], "x": rng.normal(size=40), "y": rng.normal(size=40)})
    score = lv.risk(lv.read(frame, confidential=["x", "y"], non_confidential=["s"]), frame, attack, row_order="keep")[0]
    assert score.value == 1
    assert score.s_alone < 0.2


@pytest.mark.parametrize(("attack", "least"), [("value_disclosure", 0.3), ("rank_disclosure", 0.3)])
def test_an_outlying_lone_level_does_not_explain_itself(attack, least):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"s": ["usual"] * 59 + ["lone"], "x": np.r_[rng.normal(size=59), 100.0]})
    released = frame.assign(x=np.r_[rng.normal(size=59), 100.0])
    score = lv.risk(lv.read(frame, confidential=["x"], non_confidential=["s"]), released, attack, row_order="keep")[0]
    assert score.s_alone < 0.05
    if attack == "value_disclosure":
        assert score.value - max(score.chance, score.s_alone) > least


def test_a_release_unrelated_to_x_stays_at_its_baseline():
    """Many terms of S: the regression on S and Y fits by chance alone, and the baseline expects it."""
    rng = np.random.default_rng(5)
    gains = []
    for _ in range(40):
        s = rng.normal(size=(80, 8))
        frame = pd.DataFrame(s, columns=[f"s{j}" for j in range(8)]).assign(x=s[:, 0] + rng.normal(size=80))
        data = lv.read(frame, confidential=["x"], non_confidential=[f"s{j}" for j in range(8)])
        score = lv.risk(data, frame.assign(x=rng.normal(size=80)), "value_disclosure", row_order="keep")[0]
        gains.append(score.value - max(score.chance, score.s_alone))
    assert abs(np.mean(gains)) < 0.03


@pytest.mark.parametrize("n", [5, 10, 49, 400])
@pytest.mark.parametrize("engine", ["memory", "duckdb", "pieces"])
def test_chance_of_an_interval_in_small_sub_groups(n, engine):
    """Ranks without ties: another record lies within 1 % of the ranks if it has the same rank or one of the nearest."""
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"x": rng.permutation(n) + 1.0})
    score = lv.risk(lv.read(frame, confidential=["x"], engine=engine), frame, "interval_disclosure", row_order="keep")[0]
    apart = np.abs(np.arange(n)[:, None] - np.arange(n)) / n
    assert np.isclose(score.chance, (apart <= 0.01 + 1e-12).mean(), atol=1e-9)
