"""The attack against counting by hand: class sizes, credits, k-anonymity and l-diversity, on every engine."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ENGINES, engine_of

ROLES = {"confidential": ["x", "t"], "non_confidential": ["s"], "sub_groups": ["g"]}


def table(n: int = 500) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"g": rng.integers(0, 3, n), "s": rng.integers(0, 6, n), "x": rng.integers(0, 9, n) * 1.0,
                          "t": rng.integers(0, 4, n) * 1.0})
    released = frame.assign(x=np.where(rng.random(n) < 0.4, rng.permutation(frame.x), frame.x))
    released.loc[rng.random(n) < 0.1, "x"] = np.nan
    return frame, released


@pytest.mark.parametrize("engine", ENGINES)
def test_credits_are_those_of_counting_by_hand(engine):
    frame, released = table()
    data = lv.read(frame, **ROLES, engine=engine_of(engine))
    score = lv.risk(data, released, [lv.attacks.Uniqueness(keys=("g", "s", "x"))])[0]
    size = released.groupby(["g", "s", "x"], dropna=False).s.transform("size")
    alone = released.groupby(["g", "s"]).s.transform("size")
    agrees = released.x.isna() | (released.x == frame.x)
    assert score.by_record == pytest.approx(np.where(agrees, 1 / size, 1 / alone))
    assert score.s_alone == pytest.approx((1 / alone).mean())
    assert score.chance == pytest.approx((1 / released.groupby("g").s.transform("size")).mean())
    by = {row["by"]: row for row in score.details["anonymity"]}
    for k in (2, 3, 5, 10):
        assert by["keys"][f"below {k}"] == pytest.approx((size < k).mean())
        assert by["S alone"][f"below {k}"] == pytest.approx((alone < k).mean())
    assert by["keys"]["smallest"] == size.min()
    values = released.groupby(["g", "s", "x"], dropna=False).t.transform("nunique")
    row = score.details["diversity"][0]
    assert (row["variable"], row["fewest"]) == ("t", values.min())
    assert row["one value"] == pytest.approx((values == 1).mean())
    assert row["two values"] == pytest.approx((values == 2).mean())


def test_without_the_sub_group_the_whole_file_hides_a_record():
    frame, released = table()
    score = lv.risk(lv.read(frame, **ROLES), released, [lv.attacks.Uniqueness(keys=("x",))])[0]
    size = released.groupby("x", dropna=False).s.transform("size")
    agrees = released.x.isna() | (released.x == frame.x)
    assert score.value == pytest.approx(np.where(agrees, 1 / size, 1 / len(frame)).mean())
    assert len(score.by_group) == 3


def test_diversity_of_s_where_every_column_is_a_key():
    frame, _ = table()
    score = lv.risk(lv.read(frame, **ROLES), frame, ["uniqueness"])[0]
    rows = {row["variable"]: row for row in score.details["diversity"]}
    for name in ("x", "t"):
        assert rows[name]["by"] == "S alone"
        assert rows[name]["fewest"] == frame.groupby(["g", "s"])[name].nunique().min()


def test_values_that_differ_in_the_last_digits_are_the_same_key():
    frame = pd.DataFrame({"x": np.repeat(np.linspace(1, 2, 50), 2)})
    noisy = frame.assign(x=frame.x * (1 + 1e-15 * np.random.default_rng(2).integers(-1, 2, 100)))
    score = lv.risk(lv.read(frame, confidential="x"), noisy, ["uniqueness"])[0]
    assert score.value == pytest.approx(0.5)


def test_a_key_that_is_not_known_is_refused_by_name():
    frame, released = table()
    with pytest.raises(lv.LarvatusError, match=r"uniqueness\.keys: 'w'"):
        lv.risk(lv.read(frame, **ROLES), released, [lv.attacks.Uniqueness(keys=("w",))])
