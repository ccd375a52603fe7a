"""Intruders who know the survey weight of their targets, written without code of the product."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET
from strongest_attack import strongest

SE = 3.0
N = 250


def survey() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame({"sex": rng.integers(0, 2, N), "income": rng.normal(size=N), "weight": rng.lognormal(3, 0.7, N)})


def found_by_weight(before: pd.DataFrame, after: pd.DataFrame) -> float:
    """Link each record to the nearest released weight, on a log scale, among records of the same sex; ties share the credit."""
    credit = []
    for i in before.index:
        others = after.index[after.sex == before.sex[i]]
        apart = np.abs(np.log(after.weight[others]) - np.log(before.weight[i]))
        ties = others[apart <= apart.min() + 1e-12]
        credit.append((i in ties) / len(ties))
    return float(np.mean(credit))


@pytest.mark.parametrize("step", [
    "weight_noise(sd=0.01)", "weight_noise(sd=0.1)", "weight_rounding(base=5)", "weight_grouping(k=5)",
    "weight_calibration(margins=['sex'])",
])
def test_known_weights_find_no_more_records_than_the_product_says(step):
    """The income is hidden by noise that is ten times its spread, so that only the weight tells records apart."""
    frame = survey()
    data = lv.read(frame, confidential=["income"], non_confidential=["sex"], nominal=["sex"], weight="weight")
    release = lv.mask(data, "additive_noise(variance=100)", step, secret=SECRET)
    outsider = found_by_weight(frame, release.frame())
    own = strongest(data, release, attacks=["nearest_record", "uniqueness", "exact_match", "optimal_assignment"])
    assert own >= outsider - SE * np.sqrt(outsider * (1 - outsider) / N)


def test_a_weight_with_noise_is_known_by_distance_and_not_exactly():
    data = lv.read(survey(), confidential=["income"], non_confidential=["sex"], nominal=["sex"], weight="weight")
    release = lv.mask(data, "additive_noise(variance=100)", "weight_noise(sd=1)", secret=SECRET)
    score = lv.risk(data, release, ["nearest_record"])[0]
    assert score.s_alone < 0.5
