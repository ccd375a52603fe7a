"""Values that were never seen and values that cannot be: against plain counting, on every engine."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ENGINES, engine_of
from sample import ROLES, SECRET, people

X = ["income", "wealth", "rooms"]


def by_hand(before: pd.Series, after: pd.Series) -> dict[str, float]:
    before, after = before.dropna(), after.dropna()
    negative = (after < 0) & (before.min() >= 0)
    outside = (after < before.min()) | (after > before.max())
    broken = (after % 1 != 0) & (before % 1 == 0).all()
    kinds = {"new": ~after.isin(before), "negative": negative, "outside": outside, "not_whole": broken}
    return {**{k: v.mean() for k, v in kinds.items()}, "impossible": (negative | outside | broken).mean()}


def changed(frame: pd.DataFrame) -> pd.DataFrame:
    """Some values exchanged, some never seen, some out of range, below zero or between whole ones."""
    rng = np.random.default_rng(4)
    pick = rng.integers(0, 4, len(frame))
    return frame.assign(
        income=np.where(pick == 0, frame.income + 1, np.where(pick == 1, frame.income * 50, rng.permutation(frame.income))),
        wealth=np.where(pick == 2, -frame.wealth - 1, frame.wealth), rooms=np.where(pick == 3, frame.rooms + 0.5, frame.rooms),
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_shares_are_those_of_counting(engine):
    frame = people(400)
    after = changed(frame)
    data = lv.read(frame, **{**ROLES, "record_id": None}, engine=engine_of(engine))
    score = lv.utility(data, after, ["acceptance"])[0]
    for row in score.by_variable:
        expected = by_hand(frame[row["variable"]], after[row["variable"]])
        assert {k: row[k] for k in expected} == pytest.approx(expected, abs=1e-12)
        assert row["loss"] == pytest.approx((expected["new"] + expected["impossible"]) / 2, abs=1e-12)
    assert score.value == pytest.approx(np.mean([r["loss"] for r in score.by_variable]), abs=1e-12)
    inside = (frame.region == "north") & (frame.sex == 1)
    expected = [by_hand(frame[inside][n], after[inside][n]) for n in X]
    row = next(r for r in score.by_group if r["sub_group"] == "region=north, sex=1")
    assert row["value"] == pytest.approx(np.mean([(e["new"] + e["impossible"]) / 2 for e in expected]), abs=1e-12)


@pytest.mark.parametrize("step", ["rank_swap", "data_shuffling", "random_swap"])
def test_permuted_values_are_accepted(step):
    data = lv.read(people(400), **ROLES)
    score = lv.utility(data, lv.mask(data, step, secret=SECRET), ["acceptance"])[0]
    assert score.value == 0
    assert all(r["value"] == 0 for r in score.by_group)


def test_made_names_are_new_and_impossible():
    frame = people(400)
    after = frame.assign(house=frame.house.where(frame.house != "owned", "sold"))
    score = lv.utility(lv.read(frame, confidential=["house"]), after, ["acceptance"])[0]
    share = (after.house.dropna() == "sold").mean()
    assert score.value == pytest.approx(share, abs=1e-12)


def test_numbers_that_became_names_are_all_new():
    data = lv.read(people(400), confidential=["income", "rooms"])
    steps = 'rank_swap(columns=["income"])', 'recoding(columns=["rooms"], replacement="label")'
    made = lv.mask(data, *steps, secret=SECRET)
    score = lv.utility(data, made, ["acceptance"])[0]
    assert {r["variable"]: r["loss"] for r in score.by_variable} == {"income": 0, "rooms": 1}


def test_broken_rules_count_beyond_those_of_the_original():
    frame = people(400, missing=False)
    frame["wealth"] += frame.income
    frame.loc[:9, "wealth"] = 0.0
    data = lv.read(frame, confidential=["income", "wealth"])
    rules = {"rules": ["income <= wealth"], "repair": "redraw", "attempts": 1}
    made = lv.mask(data, "additive_noise(variance=1)", secret=SECRET, constraints=rules)
    score = lv.utility(data, made, ["acceptance"])[0]
    out = made.frame()
    broken = (out.income > out.wealth).sum()
    row = score.details["rules"][0]
    assert (row["original"], row["released"]) == (10, broken)
    assert row["loss"] == pytest.approx((broken - 10) / 400, abs=1e-12)
    assert broken > 10
    assert score.value == pytest.approx(np.mean([row["loss"], *(r["loss"] for r in score.by_variable)]), abs=1e-12)


def test_values_below_zero_are_possible_where_there_were_some():
    frame = pd.DataFrame({"x": np.arange(-5.0, 5.0)})
    score = lv.utility(lv.read(frame, confidential=["x"]), frame.assign(x=np.full(10, -2.5)), ["acceptance"])[0]
    expected = {"variable": "x", "loss": 1.0, "new": 1.0, "negative": 0.0, "outside": 0.0, "not_whole": 1.0, "impossible": 1.0}
    assert dict(score.by_variable[0]) == expected
