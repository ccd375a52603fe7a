"""Predictions from the release: against models fitted by hand, and against masks whose answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.stats.models.attribute_predictors import MODELS, predictions
from sample import SECRET

FALSE_ALARM = 1e-6


def test_predictions_are_those_of_models_fitted_by_hand():
    rng = np.random.default_rng(1)
    train, test = rng.normal(size=(120, 3)) * [1, 5, 0.2] + 7, rng.normal(size=(40, 3)) * [1, 5, 0.2] + 7
    values = train @ [1, 2, 3] + rng.normal(size=120)
    centre, sd = train.mean(axis=0), train.std(axis=0)
    a, b = (train - centre) / sd, (test - centre) / sd
    found = dict(zip(MODELS, predictions(train, values, test), strict=True))
    penal = np.vstack([a, np.sqrt(0.12) * np.eye(3)])
    slope = np.linalg.lstsq(penal, np.r_[values - values.mean(), np.zeros(3)], rcond=None)[0]
    assert found["ridge"] == pytest.approx(values.mean() + b @ slope)
    order = np.argsort(((b[:, None] - a) ** 2).sum(axis=2), axis=1)
    assert found["nearest 1"] == pytest.approx(values[order[:, 0]])
    assert found["nearest 5"] == pytest.approx(values[order[:, :5]].mean(axis=1))


def test_equal_features_give_the_mean_of_their_values_and_none_the_mean_of_all():
    train, values = np.array([[0.0], [0], [1], [1]]), np.array([1.0, 3, 5, 7])
    assert predictions(train, values, np.array([[0.1]]))[1] == pytest.approx([2])
    assert predictions(np.zeros((4, 1)), values, np.array([[0.0]])) == pytest.approx(np.full((3, 1), 4))
    assert predictions(train, np.array([1.0, np.nan, 5, 7]), np.array([[0.0]]))[1] == pytest.approx([1])


def test_a_mask_that_keeps_covariances_gives_away_what_follows_from_other_columns():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"g": rng.integers(0, 3, 600), "a": rng.normal(size=600), "b": rng.normal(size=600)})
    frame["t"] = 3 * frame.a - 2 * frame.b
    data = lv.read(frame, confidential=["a", "b", "t"], sub_groups=["g"])
    release = lv.mask(data, "sufficiency_based", secret=SECRET)
    score = lv.risk(data, release, [lv.attacks.AttributeInference(columns=("t",))])[0]
    assert score.value == 1.0
    assert score.s_alone == score.chance < 0.2
    assert [r["variable"] for r in score.by_variable] == ["t"]


def test_unrelated_columns_give_nothing_beyond_the_mean():
    """The share that a guess of the mean finds, within the reach of a binomial share at one in a million."""
    rng = np.random.default_rng(3)
    n = 3000
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abt"))
    data = lv.read(frame, confidential=list("abt"))
    score = lv.risk(data, lv.mask(data, "data_shuffling", secret=SECRET), [lv.attacks.AttributeInference(columns=("t",))])[0]
    assert abs(score.value - score.chance) < 4.9 * np.sqrt(2 * 0.08 * 0.92 / n)
    assert score.chance == pytest.approx(0.0797, abs=4.9 * np.sqrt(0.08 * 0.92 / n))


def test_what_is_known_is_not_predicted_and_s_counts_for_s():
    rng = np.random.default_rng(4)
    s = rng.normal(size=500)
    frame = pd.DataFrame({"s": s, "a": rng.normal(size=500), "t": s + 0.01 * rng.normal(size=500)})
    data = lv.read(frame, confidential=["a", "t"], non_confidential=["s"])
    release = lv.mask(data, "additive_noise(variance=0.01)", secret=SECRET)
    score = lv.risk(data, release, ["attribute_inference"], intruder=lv.Intruder(known=["s", "a"]))[0]
    assert [r["variable"] for r in score.by_variable] == ["t"]
    assert score.value >= score.s_alone > 0.9 > 5 * score.chance
    with pytest.raises(lv.LarvatusError, match="'w'"):
        lv.risk(data, release, [lv.attacks.AttributeInference(columns=("w",))])
