"""Advice: what is seen, which masks it speaks for, a study that runs, and no confidential value in any of it."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import larvatus as lv
from larvatus.advice.column_profile import _runs, column_profiles
from larvatus.advice.column_relations import find_relations
from larvatus.advice.rule_detection import _solved, detect_rules
from larvatus.cli.main import main
from larvatus.study import study_from_advice
from sample import ROLES, SECRET, people

N = 800


def normal(n: int = N, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3)) @ np.linalg.cholesky([[1, 0.7, 0.2], [0.7, 1, 0.3], [0.2, 0.3, 1]]).T
    return pd.DataFrame({"a": 100 + 10 * z[:, 0], "b": 5 + z[:, 1], "c": 1e4 * z[:, 2], "g": rng.choice(["x", "y"], n)})


def opinions(frame: pd.DataFrame, **roles: object) -> dict[str, bool]:
    return {o.mask: o.suits for o in lv.advise(lv.read(frame, **roles)).opinions}


def test_counts_and_shapes_against_an_oracle():
    frame = people(500)
    found = {s.name: s for s in column_profiles(lv.read(frame, confidential=["income", "wealth", "rooms"]))}
    for name, sight in found.items():
        x = frame[name].dropna().to_numpy()
        assert sight.values == len(x)
        assert sight.missing == pytest.approx(frame[name].isna().mean())
        assert sight.zeros == (x == 0).mean()
        counts = pd.Series(x).map(pd.Series(x).value_counts())
        assert sight.tied == (counts > 1).mean()
        assert sight.skewness == pytest.approx(scipy.stats.skew(x))
        assert sight.kurtosis == pytest.approx(scipy.stats.kurtosis(x))
        low, high = np.quantile(x, [0.25, 0.75])
        assert abs(sight.outliers - ((x < low - 3 * (high - low)) | (x > high + 3 * (high - low))).mean()) <= 2 / len(x)
    assert [s.integer for s in found.values()] == [False, False, True]


def test_ties_and_different_values_do_not_depend_on_blocks():
    values = np.sort(np.random.default_rng(2).integers(0, 30, 200)).astype(float)
    counts = np.unique(values, return_counts=True)[1]
    for cuts in ([], [1], [50, 51, 52], [100, 100, 199], list(range(1, 200))):
        carry = (np.nan, 0, 0, 0)
        for block in np.split(values, cuts):
            carry = _runs(carry, block)
        _, run, tied, distinct = carry
        assert (tied + (run if run > 1 else 0), distinct) == (counts[counts > 1].sum(), len(counts))


def test_shapes_are_those_inside_sub_groups():
    """Two normal sub-groups far apart are not normal together."""
    frame = normal().assign(a=lambda f: f.a + 100 * (f.g == "x"), d=1.0)
    apart = {s.name: s for s in column_profiles(lv.read(frame, confidential=["a", "d"], sub_groups=["g"]))}
    together = {s.name: s for s in column_profiles(lv.read(frame, confidential=["a", "d"]))}
    assert abs(apart["a"].kurtosis) < 0.8
    assert together["a"].kurtosis < -1.5
    assert apart["d"].constant
    assert not apart["a"].constant


@pytest.mark.parametrize("engine", ["memory", "pieces", "duckdb"])
def test_the_same_on_every_engine(engine, tmp_path):
    frame = people(300).assign(total=lambda f: f.wealth + f.rooms)
    frame.to_csv(tmp_path / "in.csv", index=False)
    roles = {**ROLES, "confidential": ["income", "wealth", "rooms", "total"]}
    found = lv.advise(lv.read(tmp_path / "in.csv", **roles, engine=engine))
    expected = lv.advise(lv.read(tmp_path / "in.csv", **roles, engine="memory"))
    assert found.text() == expected.text()
    assert found.rules == expected.rules


def test_lines_bends_and_turns():
    rng = np.random.default_rng(5)
    x = rng.normal(size=N)
    frame = pd.DataFrame({
        "x": x, "line": 2 * x + 0.5 * rng.normal(size=N), "bend": np.exp(3 * x + rng.normal(size=N)),
        "turn": x**2 + 0.3 * rng.normal(size=N), "none": rng.normal(size=N),
        "cut off": np.maximum(0.7 * x + 0.7 * rng.normal(size=N), 0),
    })
    found = {r.second: r.shape for r in find_relations(lv.read(frame, confidential=list(frame))) if r.first == "x"}
    assert found == {"line": "line", "bend": "one way", "turn": "turns", "none": "line", "cut off": "line"}


def test_near_normal_and_straight_speaks_for_exact_moments_and_anything_else_for_shuffling():
    frame = normal()
    exact = opinions(frame, confidential=["a", "b", "c"])
    assert (exact["sufficiency_based"], exact["data_shuffling"]) == (True, True)
    skewed = opinions(frame.assign(b=np.exp(2 * frame.b)), confidential=["a", "b", "c"])
    assert (skewed["sufficiency_based"], skewed["data_shuffling"], skewed["top_coding"]) == (False, True, True)
    zeros = opinions(frame.assign(b=np.where(frame.b < 4.5, 0, frame.b)), confidential=["a", "b", "c"])
    assert zeros["sufficiency_based"] is False
    named = opinions(frame, confidential=["a", "g"])
    assert named["post_randomisation"] is True


def test_totals_are_guessed_and_broken_ones_are_not():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(rng.integers(0, 1000, (N, 4)), columns=["b", "c", "d", "e"])
    frame["a"] = frame.b + frame.c
    frame["t 3"] = frame.b + frame.d + frame.e
    frame["nearly"] = frame.c + frame.d + (frame.index == N - 1)
    rules = detect_rules(lv.read(frame, confidential=list(frame)))
    assert set(rules.identities) == {"a = b + c", "`t 3` = b + d + e"}
    assert "b <= a" in rules.inequalities
    assert "nearly <= a" not in rules.inequalities
    known = detect_rules(lv.read(frame, confidential=["b", "d"], non_confidential=["a", "c"]))
    assert known.identities == ("b = a - c",)


def test_columns_apart_in_scale_or_constant_make_no_rules():
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"x": rng.random(N), "y": 1000 + rng.random(N), "zero": 0.0, "x2": rng.random(N)})
    found = detect_rules(lv.read(frame, confidential=list(frame)))
    assert found.identities == ()
    assert "x <= y" not in found.inequalities


def test_identities_do_not_go_in_circles():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.integers(1, 500, (N, 2)), columns=["b", "c"])
    frame["a"] = frame.b + frame.c
    frame["d"] = frame.a + frame.c
    data = lv.read(frame, confidential=["a", "b", "c", "d"])
    rules = detect_rules(data).identities
    assert len(rules) == 2
    lv.mask(data, "data_shuffling", secret=SECRET, constraints=list(rules))
    known = lv.read(frame, confidential=["a", "b", "c"], non_confidential=["d"])
    for found in (detect_rules(known).identities, _solved([(0, (1, 2)), (3, (0, 2))], "abcd", known)):
        lv.mask(known, "data_shuffling", secret=SECRET, constraints=list(found))
    assert found == ["a = b + c"], "c = d - a would need itself"


@pytest.mark.parametrize("roles", [
    {**ROLES, "confidential": ["income", "wealth", "rooms", "house"]}, {"confidential": ["house"]},
    {"confidential": ["income", "total", "wealth", "rooms"], "non_confidential": ["age"], "sub_groups": ["region", "job"]},
])
def test_the_study_runs(roles):
    frame = people(400).assign(total=lambda f: f.wealth + f.rooms)
    data = lv.read(frame, **roles)
    found = lv.advise(data)
    study = study_from_advice(found.plan, data)
    assert study.release
    again = lv.read(frame, study.roles, sub_groups=study.sub_groups)
    for planned in study.release:
        release = lv.mask(again, *planned.steps, secret=SECRET, constraints=study.constraints)
        assert release.data.rows == 400
    if "total" in data.confidential:
        assert study.constraints.rules == ("total = wealth + rooms",)
        assert study.sub_groups.small == "pool"


def test_no_confidential_value_is_quoted():
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({"pay": rng.integers(100_000, 999_999, 200) + 0.25, "debt": -rng.integers(100_000, 999_999, 200)})
    frame["total"] = frame.pay + frame.debt
    found = lv.advise(lv.read(frame, confidential=["pay", "debt", "total"]))
    told = found.study_text(json.dumps(found.plan)) + repr(found)
    numbers = {float(n) for n in re.findall(r"\d+(?:\.\d+)?", told)}
    assert not numbers & {abs(float(v)) for v in frame.to_numpy().ravel()}
    assert max(numbers) <= 200
    assert "total = pay + debt" in told


def test_the_command_writes_a_study_that_can_be_read_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)
    (tmp_path / "plans").mkdir()
    people(200).to_csv("people.csv", index=False)
    asked = ["advise", "people.csv", "--confidential", "income,wealth", "--sub-groups", "region", "-o", "plans/study.toml"]
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert all(words in out for words in ("Suits", "data_shuffling", "Does not suit", "Study:  plans/study.toml"))
    study = lv.Study.read("plans/study.toml")
    assert study.source_path().resolve() == tmp_path / "people.csv"
    assert (tmp_path / "plans" / "study.toml").read_text(encoding="utf-8").startswith("# What the data are like\n")
    assert main(asked) == 2
    assert "exists already" in capsys.readouterr().err
    assert main([*asked, "--overwrite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["plan"]["sub_groups"]["small"] == "pool"
    assert main(["advise", "people.csv", "--confidential", "incme"]) == 2
