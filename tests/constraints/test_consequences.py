"""The consequence of a condition holds to the last digit, whatever brings the condition about, and so it is counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.constraints.linear_system import LinearRules
from larvatus.constraints.rules import parse_rule
from larvatus.data.contracts import Column

SECRET = b"z" * 32


def table(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame({c: rng.gamma(2, 10, n) for c in "abt"})


def masked(frame: pd.DataFrame, rules: list[str], **more: object) -> tuple[pd.DataFrame, list[int]]:
    data = lv.read(frame, confidential=["a", "b", "t"])
    release = lv.mask(data, "additive_noise", constraints={"rules": rules, **more}, secret=SECRET)
    return release.frame(), [int(row["released"]) for row in release.rules]


def test_one_consequence_brings_about_another():
    found, counted = masked(table(), ["if a >= 10 then b = 5", "if b = 5 then t = 3"])
    assert (found.a >= 10).sum() > 100
    assert (found.b[found.a >= 10] == 5).all()
    assert (found.t[found.b == 5] == 3).all()
    assert counted == [0, 0]


def test_the_order_of_the_rules_does_not_matter():
    found, counted = masked(table(), ["if t = 3 then a = 30", "if b = 5 then t = 3", "if a >= 10 then b = 5"])
    assert (found.b[found.a >= 10] == 5).all()
    assert (found.t[found.b == 5] == 3).all()
    assert (found.a[found.t == 3] == 30).all()
    assert counted == [0, 0, 0]


def test_a_bound_brings_about_a_condition(real_files):
    frame = pd.read_csv(real_files / "census.csv")
    data = lv.read(frame, confidential=list(frame.columns))
    rules = ["if WSALVAL = 0 then FICA = 0", "WSALVAL >= 0", "PTOTVAL = PEARNVAL + POTHVAL"]
    release = lv.mask(data, "additive_noise", constraints=rules, secret=b"a" * 40)
    found = release.frame()
    assert (found.WSALVAL == 0).sum() > 10
    assert (found.FICA[found.WSALVAL == 0] == 0).all()
    assert (found.WSALVAL >= 0).all()
    assert (found.PTOTVAL == found.PEARNVAL + found.POTHVAL).all()
    assert [row["released"] for row in release.rules] == [0, 0, 0]


def test_a_derived_column_is_set_through_its_parts():
    frame = table().assign(s=np.arange(200.0))
    frame["t"] = frame.a + frame.b
    data = lv.read(frame, confidential=["a", "b", "t"], non_confidential=["s"])
    rules = ["t = a + b", "if s >= 100 then t = 3"]
    found = lv.mask(data, "additive_noise", constraints=rules, secret=SECRET).frame()
    assert (found.t[found.s >= 100] == 3).all()
    assert (found.t == found.a + found.b).all()


def test_rules_that_undo_each_other_come_to_an_end_and_are_counted():
    found, counted = masked(table(), ["if a >= 10 then b = 5", "if a >= 10 then b = 6"])
    there = found.a >= 10
    assert counted == [(there & (found.b != 5)).sum(), (there & (found.b != 6)).sum()]
    assert sum(counted) == there.sum()


@pytest.mark.parametrize(("text", "row"), [
    ("if a = 1 then b = 5", 5 + 1e-13), ("b <= 5", 5 + 1e-13), ("if a = 1 then b = c", 7 - 1e-14),
])
def test_values_are_counted_as_a_reader_finds_them(text, row):
    values = {"a": np.ones(1), "b": np.array([row]), "c": np.array([7.0])}
    lines = LinearRules((parse_rule(text),), {}, {}, 0.0, (), np.zeros(0), {n: Column(n, "number") for n in values})
    assert lines.broken(values).all()
