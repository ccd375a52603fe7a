"""Measures of whole distributions on tables that try them: constants, blanks, lone records, few or made records and names."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ENGINES, engine_of
from sample import SECRET

MEASURES = ["ecdf_max", "ecdf_mean", "cluster", "acceptance", "table", "inequality"]


def odd(n: int = 60) -> pd.DataFrame:
    """A constant, an empty column, a copy, ties, blanks, and a sub-group of one record."""
    rng = np.random.default_rng(1)
    x = rng.gamma(2, 100, n)
    return pd.DataFrame({
        "g": ["lone"] + ["rest"] * (n - 1), "x": np.where(rng.random(n) < 0.3, np.nan, x), "twice": 2 * x,
        "same": 7.0, "none": np.full(n, np.nan), "tied": rng.integers(0, 2, n), "name": rng.choice(["a", "b"], n),
        "each": [f"n{i}" for i in range(n)],
    })


X = ["x", "twice", "same", "none", "tied", "name", "each"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("measure", MEASURES)
def test_nothing_is_lost_where_nothing_changed(measure, engine):
    data = lv.read(odd(), confidential=X, sub_groups=["g"], engine=engine_of(engine))
    score = lv.utility(data, odd(), [measure])[0]
    assert score.value == pytest.approx(0, abs=1e-12)
    assert [r["value"] for r in score.by_group] == pytest.approx([0, 0], abs=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("measure", MEASURES)
def test_a_loss_is_seen_where_columns_are_odd(measure, engine):
    frame = odd()
    after = frame.assign(x=frame.x * 3, same=np.arange(60.0), none=1.0, name="c", tied=5)
    data = lv.read(frame, confidential=X, sub_groups=["g"], engine=engine_of(engine))
    assert lv.utility(data, after, [measure])[0].value > 0


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("column", ["same", "none", "tied", "name"])
def test_one_odd_column_alone(measure, column):
    frame = odd()
    data = lv.read(frame, confidential=[column])
    if measure == "inequality" and column == "name":
        with pytest.raises(lv.LarvatusError, match="numeric"):
            lv.utility(data, frame, [measure])
        return
    value = lv.utility(data, frame, [measure])[0].value
    assert abs(value) < 1e-12 or np.isnan(value)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("measure", MEASURES)
def test_fewer_records_are_compared_by_shares(measure, engine):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": np.repeat(rng.gamma(2, 100, 80), 2), "y": np.repeat(rng.gamma(3, 10, 80), 2)})
    data = lv.read(frame, confidential=["x", "y"], engine=engine_of(engine))
    score = lv.utility(data, frame.iloc[::2], [measure])[0]
    assert score.value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_sample_and_made_names(measure):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.gamma(2, 100, 400), "job": rng.choice(["a", "b", "c", "d"], 400, p=[0.5, 0.47, 0.02, 0.01])})
    data = lv.read(frame, confidential=["x", "job"])
    made = lv.mask(data, "recoding(rare=20)", "sampling(rate=0.5)", secret=SECRET)
    assert lv.utility(data, made, [measure])[0].value > 0


@pytest.mark.parametrize("measure", ["correlation", "rank_correlation"])
def test_no_correlation_to_compare_is_said(measure):
    frame = pd.DataFrame({"x": np.arange(20.0)})
    score = lv.utility(lv.read(frame, confidential=["x"]), frame, [measure])[0]
    assert np.isnan(score.value)
    assert any("so there is nothing to compare" in n for n in score.notes)


@pytest.mark.parametrize("measure", ["correlation", "rank_correlation"])
@pytest.mark.parametrize("value", [5.0, np.nan])
def test_a_correlation_that_the_release_no_longer_has_is_lost(measure, value):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["x", "y", "z"])
    data = lv.read(frame, confidential=["x", "y", "z"])
    score = lv.utility(data, frame.assign(x=value), [measure])[0]
    assert [r["loss"] for r in score.by_pair] == pytest.approx([1.0, 1.0, 0.0], abs=1e-12)
