"""The command on a few quick tables: verdicts, report, what is kept, and what is said without the real file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from larvatus.cli.main import main
from larvatus.papers.framework import runner
from larvatus.papers.framework.catalogue import papers
from larvatus.papers.framework.model import Experiment, Paper, Where
from larvatus.papers.framework.shortcuts import secret


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)
    return tmp_path


def told(capsys, *arguments: str) -> dict:
    capsys.readouterr()
    assert main(["reproduce", *arguments, "--quick", "--jobs", "1", "--cache-dir", "kept", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def verdicts(found: dict) -> dict[str, list[str]]:
    return {t["table"]: [r["verdict"] for r in t["rows"]] for t in found["tables"]}


def test_reverse_mapping_is_exact_in_every_figure(folder, capsys):
    found = verdicts(told(capsys, "001/1", "001/2", "001/text", "001/3", "001/4", "001/5"))
    assert {t: len(v) for t, v in found.items()} == {
        "001/1": 175, "001/2": 225, "001/text": 2, "001/3": 4, "001/4": 5, "001/5": 36}
    assert {v for all_of in found.values() for v in all_of} == {"exact"}


def test_four_fields_have_the_published_correlations_and_swaps_do_not(folder, capsys):
    found = told(capsys, "004/1", "004/9", "004/7a", "004/10", "--seeds", "2")
    assert {t: set(v) for t, v in verdicts(found).items()} == {
        "004/1": {"exact"}, "004/9": {"exact"}, "004/7a": {"cannot be reproduced"}, "004/10": {"cannot be reproduced"}}
    rows = {(t["table"], r["column"], r["row"]): r for t in found["tables"] for r in t["rows"]}
    assert 0.6 < rows["004/7a", "x1", "x2"]["measured"] < 0.85
    assert rows["004/10", "x3", "x4"]["measured"] > 0.97


def test_census_columns_that_must_be_exact_are(folder, capsys, real_files):
    found = told(capsys, "000/5", "000/6", "--data", str(real_files), "--seeds", "2")
    rows = {(t["table"], r["column"]): set() for t in found["tables"] for r in t["rows"]}
    for t in found["tables"]:
        for r in t["rows"]:
            rows[t["table"], r["column"]].add(r["verdict"])
    exact = {key for key, seen in rows.items() if seen == {"exact"}}
    assert {("000/5", "records"), ("000/5", "d = 0")} | {
        ("000/6", c) for c in ("original", "d = 0", "d = 0.5", "d = 0.9")} <= exact


def test_without_the_file_it_says_what_is_missing_and_how_to_get_it(folder, capsys, monkeypatch):
    monkeypatch.delenv("LARVATUS_DATA", raising=False)
    found = told(capsys, "000/5")
    assert set(verdicts(found)["000/5"]) == {"cannot be reproduced"}
    because = found["tables"][0]["rows"][0]["because"]
    assert "census.csv is not there" in because
    assert "CASC project" in because
    assert "sdcMicro carries as its data set CASCrefmicrodata" in because
    assert "LARVATUS_DATA" in because


def test_report_and_docs_are_written(folder, capsys):
    (folder / "docs").mkdir()
    told(capsys, "001/3", "001/4", "-o", "out.html", "--write-docs")
    page, docs = ((folder / p).read_text(encoding="utf-8") for p in ("out.html", "docs/papers.md"))
    assert "Table 001/3" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert "| correlation · MIC | 0.682 | 0.6823 | – | exact |" in docs
    assert main(["reproduce", "001/3", "-o", "out.html", "--quick"]) == 2
    assert "exists already" in capsys.readouterr().err


def test_whole_papers_bring_their_claims(folder, capsys):
    found = told(capsys, "001", "--seeds", "12")
    said = {c["says"]: c["verdict"] for c in found["claims"]}
    assert said["In Table 4, an illustration, swapping results in the highest information loss."] == "holds"
    assert said["The ranks of X and Y are the same for some observations (7, 10, 11, 22)."] == "holds"
    assert all(c["place"].startswith("§") for c in found["claims"])


@pytest.mark.parametrize(("arguments", "said"), [
    (["000/99"], "no table '000/99'"), (["--seeds", "0"], "--seeds: must be at least 1"),
    (["--data", "nowhere"], "is not a folder"),
])
def test_wrong_input_is_one_message(folder, capsys, arguments, said):
    assert main(["reproduce", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.fixture
def counted(monkeypatch) -> list[int]:
    """A paper of one experiment, in place of all others, that notes which seeds it ran."""
    ran: list[int] = []

    def run(seed: int, where: Where) -> dict[str, float]:
        ran.append(seed)
        if seed == 3 and len(ran) == 4:
            raise KeyboardInterrupt
        return {"a": float(seed)}

    made = Paper("x", "one", (Experiment("e", run),), ())
    papers.cache_clear()
    monkeypatch.setattr(runner, "papers", lambda: (made,))
    return ran


def test_an_interrupted_run_goes_on_where_it_stopped(folder, counted):
    asked = [(p, e) for p in runner.papers() for e in p.experiments]
    with pytest.raises(KeyboardInterrupt):
        runner.run_experiments(asked, 6, Where(), folder / "kept", 1)
    assert counted == [0, 1, 2, 3]
    kept = folder / "kept" / "x-e.jsonl"
    kept.write_text(kept.read_text(encoding="utf-8") + '{"seed": 5, "ma', encoding="utf-8")
    found = runner.run_experiments(asked, 6, Where(), folder / "kept", 1)
    assert counted[4:] == [3, 4, 5]
    assert [f["a"] for f in found["x", "e"]] == [0, 1, 2, 3, 4, 5]
    assert runner.run_experiments(asked, 6, Where(), folder / "kept", 1) == found
    assert len(counted) == 7
    runner.run_experiments(asked, 1, Where(quick=True), folder / "kept", 1)
    assert counted[7:] == [0]


@pytest.mark.slow
def test_two_processes_give_what_one_gives(folder):
    one = next(p for p in papers() if p.number == "004")
    asked = [(one, one.experiment("constrained"))]
    assert runner.run_experiments(asked, 2, Where(), None, 2) == runner.run_experiments(asked, 2, Where(), None, 1)


def test_seeds_give_different_secrets():
    assert len({secret(s) for s in range(100)}) == 100
    assert min(len(secret(s)) for s in (0, 10**6)) >= 16
