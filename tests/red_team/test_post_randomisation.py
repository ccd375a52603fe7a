"""An intruder who knows the transition matrix of post-randomisation, written with NumPy alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.comparison.limits import limits_of
from sample import SECRET

STANDARD_ERRORS = 4.9  # false alarm 1e-6 if the two intruders are equally strong


def _file(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "a": rng.choice(list("pqrstu"), n, p=[0.4, 0.25, 0.15, 0.1, 0.07, 0.03]), "b": rng.choice(list("vwxyz"), n),
        "c": rng.choice(list("klmno"), n, p=[0.6, 0.2, 0.1, 0.06, 0.04]),
    })


def _bayes(x: np.ndarray, y: np.ndarray, stay: float) -> float:
    """Share of categories that Bayes' rule with the published matrix and the true frequencies gets right."""
    levels, code = np.unique(x, return_inverse=True)
    released = np.searchsorted(levels, y)
    k = len(levels)
    matrix = np.full((k, k), (1 - stay) / (k - 1)) + np.eye(k) * (stay - (1 - stay) / (k - 1))
    prior = np.bincount(code, minlength=k) / len(code)
    return float((np.argmax(prior[:, None] * matrix, axis=0)[released] == code).mean())


def _linked(frame: pd.DataFrame, released: pd.DataFrame, stay: float) -> float:
    """Share of records that the likelihood under the matrix links to their own row; ties share."""
    n, weight = len(frame), np.zeros((len(frame), len(frame)))
    for name in frame:
        k = frame[name].nunique()
        same = frame[name].to_numpy()[:, None] == released[name].to_numpy()[None, :]
        share = released[name].map(released[name].value_counts(normalize=True)).to_numpy()
        weight += np.log(np.where(same, stay, (1 - stay) / (k - 1)) / share)
    best = weight >= weight.max(axis=1, keepdims=True) - 1e-9
    return float((best[np.arange(n), np.arange(n)] / best.sum(axis=1)).mean())


@pytest.mark.parametrize("stay", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_the_product_is_not_below_bayes_rule(stay, seed):
    n = 600
    frame = _file(n, seed)
    data = lv.read(frame, confidential=list(frame))
    mask = lv.masks.PostRandomisation(stay=stay, invariant=False, scope="file")
    made = lv.mask(data, mask, secret=SECRET + bytes([seed]))
    released = made.data.to_pandas()[list(frame)]
    assert abs((released == frame).to_numpy().mean() - stay) < 0.06  # rows are in the order of the original
    scores = lv.risk(data, made, ["category_disclosure", "mixed_linkage"])
    guessed = np.mean([_bayes(frame[c].to_numpy(), released[c].to_numpy(), stay) for c in frame])
    slack = STANDARD_ERRORS * np.sqrt(0.25 / (3 * n))
    assert scores.category_disclosure.value >= guessed - slack
    linked = _linked(frame, released, stay)
    assert scores.mixed_linkage.value >= linked - STANDARD_ERRORS * np.sqrt(linked * (1 - linked) / n)


@pytest.mark.parametrize(("columns", "stay"), [(12, 0.32), (6, 0.5)])
def test_columns_that_say_the_same_vote(columns, stay):
    """Monthly states, 98 % equal to the usual one: the vote is right in .58 and .69; column by column .32 and .49 are.

    The intruder knows no original value. Before all columns were used together, tier `secure` passed.
    """
    rng, n, levels = np.random.default_rng(1), 1500, 6
    usual = rng.integers(0, levels, n)
    months = {f"m{j}": np.where(rng.random(n) < 0.98, usual, rng.integers(0, levels, n)).astype(str) for j in range(columns)}
    frame = pd.DataFrame(months).assign(region=rng.integers(0, 3, n).astype(str))
    data = lv.read(frame, confidential=list(months), non_confidential=["region"], nominal=[*months, "region"])
    made = lv.mask(data, lv.masks.PostRandomisation(stay=stay, invariant=False), secret=SECRET)
    y = made.frame()[list(months)].to_numpy().astype(str)
    votes = np.stack([(y == str(k)).sum(axis=1) for k in range(levels)], axis=1) + 1e-6 * rng.random((n, levels))
    vote = np.mean([votes.argmax(axis=1).astype(str) == frame[c] for c in months])
    scores = lv.risk(data, made, ["category_disclosure"])
    assert scores[0].value >= vote - STANDARD_ERRORS * np.sqrt(vote * (1 - vote) / n) > stay
    assert not limits_of("secure").judge(scores).meets_limits
