"""What a step promises of linkage is said only while no later step could break it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

TABLE = pd.DataFrame(np.random.default_rng(3).normal(5, 1, size=(120, 2)), columns=["x", "y"])
PROMISE = "probabilistic k-anonymity"


def promised(*steps: object, constraints: object = None) -> bool:
    data = lv.read(TABLE, confidential=["x", "y"])
    release = lv.mask(data, lv.masks.Microaggregation(), *steps, secret=SECRET, constraints=constraints)
    return any(PROMISE in n.text for n in release.notes)


@pytest.mark.parametrize("steps", [[], [lv.masks.ReverseMap()], [lv.masks.ReverseMap(scope="file")]])
def test_it_stands_alone_and_after_a_reverse_map(steps):
    assert promised(*steps)


@pytest.mark.parametrize("steps", [
    [lv.masks.Sampling()], [lv.masks.RestoreCovariance()], [lv.masks.AdditiveNoise(columns=("x",))],
    [lv.masks.RandomBlanking()], [lv.masks.Sampling(), lv.masks.ReverseMap()], [lv.masks.ReverseMap(where="x > 5")],
])
def test_it_falls_with_any_other_later_step(steps):
    assert not promised(*steps)


def test_it_falls_where_rules_are_met_afterwards():
    assert not promised(constraints=["x <= 6"])


def test_a_later_microaggregation_promises_anew():
    data = lv.read(TABLE, confidential=["x", "y"])
    release = lv.mask(data, lv.masks.Microaggregation(), lv.masks.Microaggregation(k=5), secret=SECRET)
    assert [n.text.count("1/5") for n in release.notes if PROMISE in n.text] == [1]
