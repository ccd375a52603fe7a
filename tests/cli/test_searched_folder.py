"""The folder of a search is checked, approved and exported as that of a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import larvatus as lv
from labelled_sample import read_spss, write_spss
from larvatus.cli.main import main
from larvatus.pipeline import search_study
from sample import SECRET, people

STUDY = """
source = "people.csv"
[roles]
confidential = ["income", "wealth"]
[goal]
objective = "moments"
trials = 2
finalists = 1
secrets = 1
[limits]
nearest_record = { above_baseline = 0.9 }
[[search]]
name = "noise"
steps = [{ method = "additive_noise", range.variance = [0.5, 4] }]
[[attack]]
method = "nearest_record"
[[measure]]
method = "moments"
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("searched")
    people(120).to_csv(folder / "people.csv", index=False)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    search_study(lv.Study.read(folder / "study.toml"), folder / "out", secret=SECRET)
    return folder


@pytest.fixture
def here(done, tmp_path, monkeypatch) -> Path:
    shutil.copytree(done, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)
    return tmp_path / "work"


def test_the_format_is_that_of_the_source(here):
    there = sorted(p.name for p in Path("out/releases").iterdir())
    assert there == ["chosen.codebook.csv", "chosen.csv", "chosen.manifest.json"]


def test_check_approve_and_export(here, capsys):
    assert main(["check", "out"]) == 0
    assert "Next:   larvatus approve out --release" in capsys.readouterr().out
    selected = json.loads(Path("out/internal/run.json").read_text(encoding="utf-8"))["selection"]
    assert selected
    assert main(["approve", "out", "--by", "A. Keeper", "--reason", "little is found"]) == 0
    report = Path("out/report.html").read_text(encoding="utf-8")
    assert "was approved by A. Keeper" in report
    assert "little is found" in report
    assert main(["export", "out", "-o", "shared.csv"]) == 0
    assert "shared.csv: written, matches its manifest" in capsys.readouterr().out
    assert Path("shared.csv").read_bytes() == Path("out/releases/chosen.csv").read_bytes()
    assert json.loads(Path("out/internal/chosen.internal.json").read_text(encoding="utf-8"))["approved"]["by"] == "A. Keeper"


def test_the_same_search_again_keeps_the_approval(here):
    assert main(["approve", "out", "--by", "A. Keeper", "--reason", "little is found", "-q"]) == 0
    search_study(lv.Study.read("study.toml"), "out", secret=SECRET)
    assert main(["export", "out", "-o", "shared.csv", "-q"]) == 0
    assert json.loads(Path("out/internal/chosen.internal.json").read_text(encoding="utf-8"))["approved"]["by"] == "A. Keeper"


def test_a_search_without_a_release_says_so(here, capsys):
    Path("none.toml").write_text(STUDY.replace("above_baseline = 0.9", "at_most = 0"), encoding="utf-8")
    assert main(["search", "none.toml", "-o", "none", "-q"]) == 1
    capsys.readouterr()
    assert main(["approve", "none", "--by", "A. Keeper", "--reason", "x"]) == 2
    assert "none has no release: the search found none that meets the limits" in " ".join(capsys.readouterr().err.split())


def test_a_search_on_a_labelled_file_is_exported_with_its_labels(tmp_path):
    write_spss(tmp_path / "in.sav")
    text = STUDY.replace("people.csv", "in.sav").replace('["income", "wealth"]', '["income"]')
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    search_study(lv.Study.read(tmp_path / "study.toml"), tmp_path / "out", secret=SECRET, suffix=".csv")
    assert main(["export", str(tmp_path / "out"), "-o", str(tmp_path / "chosen.sav"), "-q"]) == 0
    cells, about = read_spss(tmp_path / "chosen.sav")
    assert about.variable_value_labels["income"] == {-7.0: "refused", -8.0: "don't know"}
    assert cells["income"].count(-7) == read_spss(tmp_path / "in.sav")[0]["income"].count(-7)
