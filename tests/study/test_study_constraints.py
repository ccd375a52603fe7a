"""Constraints in a study file, in a run, and on the command line."""

from __future__ import annotations

import json
import tomllib

import pandas as pd
import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.core.errors import StudyError
from sample import SECRET

SOURCE = "region,work,wage,rent,tax,total\n" + "".join(
    f"{'ns'[i % 2]},{'y' if i % 5 else 'n'},{(i * 37) % 101 + i},{(i * 53) % 97},{((i * 37) % 101 + i) // 3},"
    f"{(i * 37) % 101 + i + (i * 53) % 97}\n" for i in range(80))
STUDY = """
source = "in.csv"
[roles]
confidential = ["wage", "rent", "tax", "total"]
non_confidential = ["work"]
[sub_groups]
columns = ["region"]
[constraints]
bounds = { wage = { least = 0, most = 500 } }
non_negative = ["rent"]
integers = ["wage", "rent"]
decimals = { tax = 2 }
rules = ["total = wage + rent", "tax <= wage", "if work = 'n' then tax = 0"]
tolerance = 0.0
[[release]]
name = "noise"
steps = ["additive_noise"]
[[release]]
name = "exact"
steps = ["sufficiency_based"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "in.csv").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_they_are_read_and_written_with_the_same_meaning(folder):
    study = lv.Study.read(folder / "study.toml")
    assert study.constraints.bounds["wage"].most == 500
    assert study.constraints.rules[1] == "tax <= wage"
    assert study.constraints.repair == "nearest"
    again = lv.Study.of(tomllib.loads(study.toml()), folder)
    assert again == study
    assert lv.Study.of({"roles": {"confidential": ["x"]}}).toml() == '[roles]\nconfidential = [\n    "x",\n]\n'


def test_a_run_obeys_and_reports(folder):
    comparison = lv.run(
        lv.Study.read("study.toml"), "out", secret=SECRET, decision=lv.Decision(public="noise"),
        files=lv.OutputFiles(format="csv"),
    )
    for name in ("noise", "exact"):
        frame = pd.read_csv(folder / "out" / "releases" / f"{name}.csv")
        assert (frame.total == frame.wage + frame.rent).all()
        assert (frame.tax <= frame.wage).all()
        assert (frame.tax[frame.work == "n"] == 0).all()
        assert frame.wage.between(0, 500).all()
        assert frame.wage.dtype == frame.rent.dtype == frame.total.dtype == "int64"
        assert (frame.tax.round(2) == frame.tax).all()
    scores = json.loads((folder / "out" / "scores.json").read_text(encoding="utf-8"))
    assert scores["releases"][0]["rules"][1]["rule"] == "tax <= wage"
    assert [r["released"] for r in scores["releases"][0]["rules"]] == [0] * 6
    report = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "Rules, and how many records break them" in report
    public = (folder / "out" / "report_public.html").read_text(encoding="utf-8")
    assert "Every record obeys: total = wage + rent; tax &lt;= wage" in public
    assert "broken by" not in public
    assert "how many records break" not in public
    assert comparison.candidates[0].rules[0]["original"] == 0


@pytest.mark.parametrize(("constraints", "said"), [
    ({"rules": ["tax <= wagge", "totl = wage + rent"], "integers": ["rnt"]},
     ["constraints.integers: no released column 'rnt'; did you mean 'rent'?",
      "constraints.rules: rule 'tax <= wagge': no released column 'wagge'; did you mean 'wage'?",
      "constraints.rules: rule 'totl = wage + rent': no released column 'totl'; did you mean 'total'?"]),
    ({"rules": ["region <= 3"]}, ["constraints.rules: rule 'region <= 3': 'region' holds text"]),
    ({"rules": ["tax <", "wage <= 3"], "repair": "clip", "bounds": {"wage": {}}},
     ["constraints.bounds.wage: a bound needs", "constraints.rules.0: rule 'tax <' cannot be read",
      "constraints.repair: input should be 'nearest'"]),
    ({"rule": ["tax <= wage"]}, ["constraints.rule: no such setting; did you mean 'rules'"]),
    ({"rules": ["tax <= wage"], "repair": "redraw"}, ["release 'exact': constraints.repair: redraw needs steps"]),
    ("tax <= wage", ["constraints: must be a table, [constraints], got str."]),
])
def test_all_problems_are_named_together(folder, constraints, said):
    raw = {**tomllib.loads(STUDY), "constraints": constraints}
    with pytest.raises(StudyError) as caught:
        lv.Study.of(raw, folder)
    assert len(caught.value.problems) == len(said), caught.value.problems
    for found, wanted in zip(caught.value.problems, said, strict=True):
        assert found.startswith(wanted)
        assert found.count("'tax <'") <= 1


ROLES = ("--confidential", "wage, rent, tax, total", "--sub-groups", "region")


def test_on_the_command_line(folder, capsys):
    code = main(["mask", "in.csv", "-o", "out.parquet", *ROLES, "--method", "additive_noise",
                 "--constraint", "total = wage + rent", "--constraint", "tax <= wage", "--constraint", "wage >= 0",
                 "--integers", "wage, rent", "--json"])
    assert code == 0
    said = json.loads(capsys.readouterr().out)
    assert any("tax <= wage: broken by 0 records of the original" in n["text"] for n in said["notes"])
    frame = pd.read_parquet(folder / "out.parquet")
    assert (frame.total == frame.wage + frame.rent).all()
    assert (frame.tax <= frame.wage).all()
    assert frame.wage.min() >= 0
    assert frame.wage.dtype == "int64"


def test_the_command_line_adds_to_the_study(folder, capsys):
    code = main(["mask", "in.csv", "-o", "out.csv", "--study", "study.toml", "--release", "noise", "--constraint", "rent <= 60",
                 "--repair", "redraw", "-q"])
    assert code == 0
    frame = pd.read_csv(folder / "out.csv")
    assert (frame.total == frame.wage + frame.rent).all()
    assert (frame.rent <= 60).mean() > (pd.read_csv("in.csv").rent <= 60).mean()


@pytest.mark.parametrize(("options", "said"), [
    (("--constraint", "tax <= wagge"), "did you mean 'wage'"), (("--constraint", "tax <"), "cannot be read"),
    (("--repair", "redraw"), "--repair: there is no rule to enforce"),
    (("--constraint", "tax <= wage", "--repair", "clip"), "--repair: input should be"),
])
def test_mistakes_on_the_command_line(folder, capsys, options, said):
    assert main(["mask", "in.csv", "-o", "out.csv", *ROLES, "--method", "additive_noise", *options]) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize("method", ["additive_noise", "sufficiency_based", "data_shuffling"])
def test_all_of_census_in_one_command(real_files, tmp_path, method):
    source = real_files / "census.csv"
    columns = ",".join(pd.read_csv(source, nrows=0).columns)
    assert main(["mask", str(source), "-o", str(tmp_path / "out.parquet"), "--confidential", columns, "--method", method,
                 "--constraint", "PTOTVAL = PEARNVAL + POTHVAL", "-q"]) == 0
    frame = pd.read_parquet(tmp_path / "out.parquet")
    assert frame.shape == (1080, 13)
    assert (frame.PTOTVAL == frame.PEARNVAL + frame.POTHVAL).all()
