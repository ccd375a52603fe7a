"""`larvatus intruder`: the scenarios of paper 002, and the same question put to one's own file."""

from __future__ import annotations

import json

import pytest

from larvatus.cli.intruder import policy
from larvatus.cli.main import main
from larvatus.datasets import key_variables

STUDY = 'source = "in.csv"\n[roles]\nconfidential = ["x1", "x2"]\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    key_variables(60, 2, like="DATA2").to_pandas().to_csv(tmp_path / "in.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "secret").write_text("a secret line that nobody prints", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_paper_s_own_scenarios_stand_beside_its_counts(folder, capsys):
    assert main(["intruder", "--kernel", "paper", "--json", "-q"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = found["scenarios"]
    assert len(rows) == 18
    assert {r["data"] for r in rows} == {"DATA1", "DATA2"}
    assert rows[9]["paper_published"] == 0.71
    assert rows[9]["published"] > rows[9]["not_published"]
    assert "of 18 maskings" in found["policy"]


def test_the_question_is_put_to_one_s_own_file_and_written(folder, capsys):
    for name in ("out.csv", "out.html"):
        assert main(["intruder", "study.toml", "--secret-file", "secret", "-o", name]) == 0
        assert "maskings" in capsys.readouterr().out
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0].startswith("bias,noise,published,not_published")
    assert len(lines) == 10
    page = (folder / "out.html").read_text()
    assert "<table>" in page
    assert "http" not in page
    assert main(["intruder", "study.toml", "-o", "out.csv"]) == 2
    assert main(["intruder", "study.toml", "-o", "out.docx"]) == 2
    assert main(["intruder", "none.toml"]) == 2


def test_the_sentence_follows_the_differences():
    row = {"bias": "minimum", "noise": "medium", "difference": 0.0}
    assert policy([row]).startswith("Publish the parameters: in all 1")
    assert "1 of 2 maskings" in policy([row, {**row, "difference": 0.3}])
    assert "30.0%" in policy([row, {**row, "difference": 0.3}])
