"""Analyses from the command line: tables for a person, JSON for a script, errors in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from larvatus.cli.main import main
from sample import people

ROLES = ["--confidential", "income,wealth", "--non-confidential", "age,job"]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    frame = people(200)
    frame.to_csv(tmp_path / "in.csv", index=False)
    frame.assign(income=frame.income * 1.1)[["age", "job", "income", "wealth"]].to_csv(tmp_path / "out.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)
    return tmp_path


def utility(*more: str) -> int:
    return main(["utility", "in.csv", "out.csv", *ROLES, "--method", "moments", *more])


def test_tables_for_a_person(folder, capsys):
    assert utility("--analysis", "income ~ wealth + age", "--analysis", 'mean = ["income"]') == 0
    out, err = capsys.readouterr()
    assert "\nincome ~ wealth + age\n" in out
    assert "intercept" in out
    assert "mean of income" in out
    assert "overlap" in out
    assert "robust (HC1)" in err


def test_json_for_a_script(folder, capsys):
    assert utility("--json", "--analysis", "logistic: job ~ age", "--analysis", "income ~ age") == 2
    capsys.readouterr()
    assert utility("--json", "--analysis", "income ~ age") == 0
    found = json.loads(capsys.readouterr().out)
    rows = found[-1]["details"]["estimates"]
    assert [r["quantity"] for r in rows] == ["intercept", "age"]
    assert rows[1]["released"] == pytest.approx(1.1 * rows[1]["original"])


@pytest.mark.parametrize(("text", "said"), [
    ("income ~ agee", "did you mean 'age'"), ("income ~ __import__('os')", "unexpected"), ("mean = [", "unexpected"),
])
def test_errors_in_words(folder, capsys, text, said):
    assert utility("--analysis", text) == 2
    assert said in capsys.readouterr().err
