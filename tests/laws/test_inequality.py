"""Gini index and P90/P10 against differences of all pairs and NumPy's percentiles, weighted, by period and where undefined."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ENGINES, engine_of
from larvatus.core.errors import UtilityError
from larvatus.measures import Inequality
from sample import SECRET, people


def gini(x: np.ndarray) -> float:
    x = x[~np.isnan(x)]
    return np.abs(x[:, None] - x[None]).mean() / (2 * x.mean())


def ratio(x: np.ndarray) -> float:
    low, high = np.nanquantile(x, [0.1, 0.9], method="inverted_cdf")
    return high / low


def change(a: float, b: float) -> float:
    return abs(a - b) / max(abs(a), abs(b))


def changed(frame: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return frame.assign(income=frame.income * rng.uniform(0.2, 1.8, len(frame)), wealth=frame.wealth**0.9)


def mean_loss(before: pd.Series, after: pd.Series, indices=(gini, ratio)) -> float:
    return np.mean([change(f(before.to_numpy(float)), f(after.to_numpy(float))) for f in indices])


@pytest.mark.parametrize("engine", ENGINES)
def test_indices_are_those_of_all_pairs(engine):
    frame = people(400)
    after = changed(frame)
    data = lv.read(frame, confidential=["income", "wealth"], sub_groups=["sex"], engine=engine_of(engine))
    score = lv.utility(data, after, ["inequality"])[0]
    income, wealth = score.by_variable
    assert income["gini_original"] == pytest.approx(gini(frame.income.to_numpy()), rel=1e-10)
    assert income["gini_released"] == pytest.approx(gini(after.income.to_numpy()), rel=1e-10)
    assert income["p90_p10_original"] == pytest.approx(ratio(frame.income.to_numpy()), rel=1e-12)
    assert income["loss"] == pytest.approx(mean_loss(frame.income, after.income), rel=1e-9)
    assert wealth["p90_p10_original"] is None
    assert any("wealth" in note and "P90/P10" in note for note in score.notes)
    assert wealth["loss"] == pytest.approx(mean_loss(frame.wealth, after.wealth, (gini,)), rel=1e-9)
    for row, sex in zip(score.by_group, (1, 2), strict=True):
        own = frame.sex == sex
        losses = [mean_loss(frame.income[own], after.income[own]), mean_loss(frame.wealth[own], after.wealth[own], (gini,))]
        assert row["value"] == pytest.approx(np.mean(losses), rel=1e-9)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_weight_stands_for_so_many_records(engine):
    rng = np.random.default_rng(2)
    frame = people(300, missing=False).assign(weight=rng.integers(0, 6, 300).astype(float))
    after = changed(frame)
    data = lv.read(frame, confidential=["income"], weight="weight", engine=engine_of(engine))
    row = lv.utility(data, after, [Inequality(weighted=True)])[0].by_variable[0]
    for file, table in (("original", frame), ("released", after)):
        every = np.repeat(table.income.to_numpy(), table.weight.astype(int))
        assert row[f"gini_{file}"] == pytest.approx(gini(every), rel=1e-10)
        assert row[f"p90_p10_{file}"] == pytest.approx(ratio(every), rel=1e-12)
    with pytest.raises(UtilityError, match="weight"):
        lv.utility(lv.read(frame, confidential=["income"]), after, [Inequality(weighted=True)])


def test_periods_are_a_series():
    frame = people(600, missing=False).assign(year=np.arange(600) % 3 + 2001)
    after = changed(frame)
    data = lv.read(frame, confidential=["income"], non_confidential=["year"], sub_groups=["sex"])
    score = lv.utility(data, after, [Inequality(period="year")])[0]
    losses = []
    for row, year in zip(score.details["series"], (2001, 2002, 2003), strict=True):
        own = (frame.year == year).to_numpy()
        assert float(row["period"]) == year
        assert row["gini_released"] == pytest.approx(gini(after.income.to_numpy()[own]), rel=1e-10)
        losses.append(mean_loss(frame.income[own], after.income[own]))
        assert row["loss"] == pytest.approx(losses[-1], rel=1e-9)
    assert score.value == pytest.approx(np.mean(losses), rel=1e-9)
    parts = [(frame.sex == 2) & (frame.year == year) for year in (2001, 2002, 2003)]
    inside = [mean_loss(frame.income[own], after.income[own]) for own in parts]
    assert score.by_group[1]["value"] == pytest.approx(np.mean(inside), rel=1e-9)
    with pytest.raises(UtilityError, match="yaer"):
        lv.utility(data, after, [Inequality(period="yaer")])


def test_an_index_that_only_the_release_lacks_is_lost():
    frame = pd.DataFrame({"x": np.arange(1.0, 101.0)})
    score = lv.utility(lv.read(frame, confidential=["x"]), frame - 80, ["inequality"])[0]
    assert score.value == 1
    assert sum("lost" in note for note in score.notes) == 2
    shifted = lv.utility(lv.read(frame, confidential=["x"]), frame - 20, ["inequality"])[0]
    assert shifted.value == pytest.approx((change(gini(frame.x.to_numpy()), gini(frame.x.to_numpy() - 20)) + 1) / 2)


def test_nothing_defined_is_said_and_no_figure():
    frame = pd.DataFrame({"x": np.arange(-50.0, 0.0), "around_zero": np.arange(-20.0, 30.0)})
    score = lv.utility(lv.read(frame, confidential=["x", "around_zero"]), frame, ["inequality"])[0]
    assert np.isnan(score.value)
    assert sum(note.startswith("no ") for note in score.notes) == 2


def test_a_few_losses_among_incomes_leave_the_index():
    frame = pd.DataFrame({"x": np.arange(-4.0, 96.0)})
    row = lv.utility(lv.read(frame, confidential=["x"]), frame, ["inequality"])[0].by_variable[0]
    assert row["gini_original"] == pytest.approx(gini(frame.x.to_numpy()), rel=1e-10)


def test_equal_values_are_equal():
    frame = pd.DataFrame({"x": np.full(30, 7.0)})
    row = lv.utility(lv.read(frame, confidential=["x"]), frame, ["inequality"])[0].by_variable[0]
    assert row["gini_original"] == pytest.approx(0, abs=1e-12)
    assert row["p90_p10_original"] == 1


def test_top_coding_by_the_mean_keeps_more_than_a_bound():
    """004: replaced by their mean, values above a bound keep the total, and the index moves less than with the bound itself."""
    data = lv.read(people(2000, missing=False), confidential=["income"])
    steps = [f'top_coding(tail=0.1, replacement="{r}")' for r in ("mean", "bound")]
    mean, bound = (lv.utility(data, lv.mask(data, s, secret=SECRET), ["inequality"])[0].by_variable[0] for s in steps)
    losses = [change(r["gini_original"], r["gini_released"]) for r in (mean, bound)]
    assert 0 < losses[0] < losses[1] / 2
