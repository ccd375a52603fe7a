"""`larvatus check`: kept limits end with 0, broken ones with 4, and both say which."""

from __future__ import annotations

import json

import pytest

import larvatus as lv
from larvatus.cli.commands.check import BROKEN
from larvatus.cli.main import main
from sample import SECRET, people

STUDY = """
[roles]
confidential = ["income", "wealth"]
non_confidential = ["age"]
[combine.both]
moments = 0.5
correlation = 0.5
[limits]
"""
FILES = ["original.parquet", "released.parquet"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    frame = people(200)
    frame.to_parquet(tmp_path / "original.parquet")
    data = lv.read(frame, confidential=["income", "wealth"], non_confidential=["age"])
    made = lv.mask(data, "additive_noise(variance=0.5)", secret=SECRET)
    made.write(tmp_path / "released.parquet", pairing=tmp_path / "pairs.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)
    return tmp_path


def checked(folder, limits: str, *more: str) -> int:
    (folder / "study.toml").write_text(STUDY + limits, encoding="utf-8")
    return main(["check", *FILES, "--study", "study.toml", "--pairing", "pairs.parquet", *more])


def test_kept_limits(folder, capsys):
    assert checked(folder, "nearest_record = { above_chance = 0.99 }\nmoments = 5\nboth = 3.0") == 0
    out = capsys.readouterr().out
    assert "All 3 limits are met." in out
    assert "above chance (upper end of the interval)" in out
    assert out.splitlines()[0].split("  ")[0] == "score"
    assert [h for h in ("figure", "value", "limit", "met", "reason") if h not in out.splitlines()[0]] == []


def test_broken_limits_are_named(folder, capsys):
    assert checked(folder, "nearest_record = 0.99\nmoments = 0.001", "--json") == BROKEN == 4
    found = json.loads(capsys.readouterr().out)
    assert not found["met"]
    assert [(r["score"], r["met"]) for r in found["limits"]] == [("nearest_record", True), ("moments", False)]
    row = found["limits"][1]
    data = lv.read("original.parquet", confidential=["income", "wealth"], non_confidential=["age"])
    expected = lv.utility(data, "released.parquet", ["moments"], pairing="pairs.parquet")[0].value
    assert (row["value"], row["limit"]) == (expected, 0.001)


def test_quiet_tells_by_the_exit_code_alone(folder, capsys):
    assert checked(folder, "moments = 0.001", "--quiet") == BROKEN
    assert capsys.readouterr() == ("", "")


def test_a_score_that_the_study_does_not_run_breaks_its_limit(folder, capsys):
    attacks = 'moments = 9\nnearest_record = 1.0\n[[attack]]\nmethod = "rank_window"\n'
    assert checked(folder, attacks, "--json") == BROKEN
    rows = json.loads(capsys.readouterr().out)["limits"]
    assert [(r["score"], r["met"], r["reason"]) for r in rows] == [
        ("moments", True, ""), ("nearest_record", False, "it did not run"),
    ]


def test_a_tier_from_the_command_line(folder, capsys):
    named = '[[attack]]\nmethod = "nearest_record"\n'
    assert checked(folder, named, "--tier", "public", "--json") == BROKEN
    judged = [r["score"] for r in json.loads(capsys.readouterr().out)["limits"]]
    assert {"nearest_record", "posterior_match", "value_disclosure"} < set(judged)  # a tier speaks of every attack
    assert len(judged) == len(set(judged)) + 5  # four absolute limits, and one on the worst column


def test_an_attack_that_the_study_names_with_settings_is_listed_once(folder, capsys):
    named = '[[attack]]\nmethod = "nearest_record"\nwithin = 3\n'
    assert checked(folder, named, "--tier", "public", "--json") == BROKEN
    judged = [(r["score"], r["figure"]) for r in json.loads(capsys.readouterr().out)["limits"]]
    assert len({f for s, f in judged if s == "nearest_record"}) == sum(s == "nearest_record" for s, _ in judged) > 1
    assert "value_disclosure" in {s for s, _ in judged}


def test_a_tier_from_the_command_line_loosens_nothing(folder, capsys):
    named = 'every_attack = 0.0\n[[attack]]\nmethod = "nearest_record"\n'
    assert checked(folder, named, "--tier", "secure", "--json") == BROKEN
    broken = [r["limit"] for r in json.loads(capsys.readouterr().out)["limits"] if not r["met"]]
    assert 0.0 in broken


@pytest.mark.parametrize(("limits", "said"), [
    ("", "no limit is set"), ("momnts = 1", "did you mean 'moments'"),
    ("both = { worst_group = 1 }", "has no figures by sub-group"),
])
def test_limits_that_cannot_be_read(folder, capsys, limits, said):
    assert checked(folder, limits) == 2
    assert said in capsys.readouterr().err
