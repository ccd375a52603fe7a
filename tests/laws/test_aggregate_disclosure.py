"""Totals kept and rules broken, against sums and sorted contributions worked out in pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ENGINES, engine_of
from sample import SECRET


def firms(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame({"g": rng.choice(40, n, p=rng.dirichlet(np.full(40, 0.5))), "x": np.exp(2 * rng.normal(size=n)),
                         "t": rng.normal(size=n) * (rng.random(n) < 0.5)})


def rules(values: np.ndarray, minimum: int, dominant: int, share: float, percent: float) -> str:
    v = np.sort(np.abs(values))[::-1]
    v = v[v > 0]
    if len(v) < minimum:
        return "minimum count"
    if v[:dominant].sum() > share * v.sum():
        return "dominance"
    return "p %" if v[2:].sum() < percent / 100 * v[0] else ""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("setting", [{}, {"minimum": 5, "dominant": 1, "share": 0.7, "percent": 30}])
def test_rules_are_those_worked_out_by_hand(engine, setting):
    frame = firms()
    data = lv.read(frame, confidential=["x", "t"], sub_groups=["g"], engine=engine_of(engine))
    score = lv.risk(data, frame, [lv.attacks.AggregateDisclosure(**setting)])[0]
    stated = {"minimum": 3, "dominant": 2, "share": 0.85, "percent": 10.0} | setting
    expected = {(f"g={g}", n): rules(part[n].to_numpy(), **stated) for g, part in frame.groupby("g") for n in ("x", "t")}
    found = {(r["sub_group"], r["variable"]): r["rule"] for r in score.details["unsafe"]}
    assert found == {cell: rule for cell, rule in expected.items() if rule}
    assert {"minimum count", "dominance"} <= set(found.values())
    assert score.value == 1.0
    assert sum(r["unsafe and kept"] for r in score.by_group) == len(found)


def test_masks_that_keep_totals_are_told_from_those_that_do_not():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"g": rng.integers(0, 5, 500), "x": np.exp(rng.normal(size=500)), "t": rng.normal(size=500)})
    data = lv.read(frame, confidential=["x", "t"], sub_groups=["g"])
    for step, value in (("sufficiency_based", 1.0), ("data_shuffling", 1.0), ("additive_noise", 0.0)):
        score = lv.risk(data, lv.mask(data, step, secret=SECRET), ["aggregate_disclosure"])[0]
        assert score.value == value
        assert [r["value"] for r in score.by_group] == [value] * 5


def test_the_p_per_cent_rule_alone():
    frame = pd.DataFrame({"x": [100.0, 60, 5, 4]})
    data = lv.read(frame, confidential="x")
    found = [
        [r["rule"] for r in lv.risk(data, frame, [lv.attacks.AggregateDisclosure(share=1.0, percent=p)])[0].details["unsafe"]]
        for p in (8.9, 9.1)
    ]
    assert found == [[], ["p %"]]


@pytest.mark.parametrize("engine", ["memory", "pieces", "duckdb"])
def test_totals_by_levels_of_s_are_checked_too(engine):
    """Values that change places within levels of S keep the total of each level, in every sub-group."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"g": np.repeat([1, 2], 100), "job": np.tile(["clerk"] * 98 + ["judge"] * 2, 2),
                          "pay": np.exp(rng.normal(size=200)), "tax": np.exp(rng.normal(size=200))})
    data = lv.read(table, confidential=["pay", "tax"], non_confidential=["job"], sub_groups=["g"], engine=engine)
    released = table.copy()
    for rows in table.groupby(["g", "job"]).groups.values():
        released.loc[rows, ["pay", "tax"]] = table.loc[rows[::-1], ["pay", "tax"]].to_numpy()
    score = lv.risk(data, released, ["aggregate_disclosure"])[0]
    stated = {"minimum": 3, "dominant": 2, "share": 0.85, "percent": 10.0}
    parts = {("all records" if of is None else f"g={of}", job): part for of in (1, 2, None) for job in ("clerk", "judge")
             for part in [table[(table.job == job) & (table.g.eq(of) if of else True)]]}
    expected = {(*cell, n): rules(part[n].to_numpy(), **stated) for cell, part in parts.items() for n in ("pay", "tax")}
    unsafe = {cell: rule for cell, rule in expected.items() if rule}
    levels = list(score.details["levels"])
    assert {(r["sub_group"], r["level"], r["variable"]): r["rule"] for r in levels} == unsafe
    assert {r["column"] for r in levels} == {"job"}
    assert all(r["kept"] for r in levels)
    assert len(unsafe) >= 4
    said = f"{len(unsafe)} of 12 totals by levels of S break a rule, and the release preserves {len(unsafe)} of these"
    assert said in score.notes
    moved = released.assign(pay=released.pay * 1.1, tax=released.tax.to_numpy()[::-1])
    assert not any(r["kept"] for r in lv.risk(data, moved, ["aggregate_disclosure"])[0].details["levels"])


def test_without_categories_in_s_there_are_no_levels():
    table = pd.DataFrame({"pay": np.arange(50.0) + 1, "age": np.arange(50)})
    data = lv.read(table, confidential=["pay"], non_confidential=["age"])
    assert "levels" not in lv.risk(data, table, ["aggregate_disclosure"])[0].details
