"""The guide on dates runs as it stands, and dates can be stated on the command line and in a study."""

from __future__ import annotations

import re
import shlex
import warnings
from pathlib import Path

import pandas as pd
import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.core.errors import LarvatusWarning

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "dates.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.M | re.S)
    return [body for name, body in found if name == language]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    exec(blocks("python")[0], {})
    return tmp_path


def test_the_code_runs(folder):
    names: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LarvatusWarning)
        for code in blocks("python"):
            exec(code, names)
    assert {"coarse", "shifted"} <= set(names)


def lengths(frame: pd.DataFrame) -> list[int]:
    first, last = (pd.to_datetime(frame[n], format="%d.%m.%Y") for n in ("admitted", "discharged"))
    return sorted((last - first).dt.days)


def test_the_command_and_the_study_run(folder):
    line = next(b for b in blocks("") if b.startswith("larvatus"))
    assert main([*shlex.split(line)[1:], "--quiet"]) == 0
    study = blocks("toml")[0] + """
[roles]
confidential = ["admitted", "discharged", "cost"]
person = "person"
[[release]]
name = "shifted"
steps = [{ method = "date_shift", days = 60 }, { method = "data_shuffling", columns = ["cost"] }]

[[attack]]
method = "date_intervals"
[[measure]]
method = "moments"
"""
    Path("study.toml").write_text(study, encoding="utf-8")
    assert main(["run", "study.toml", "-o", "out", "--quiet"]) == 0
    source, found = (pd.read_csv(p, sep=";") for p in ("stays.csv", "out/releases/shifted.csv"))
    assert lengths(source) == lengths(found)
    book = pd.read_csv("out/releases/shifted.codebook.csv").set_index("column")
    assert book.loc["admitted", "type"] == "date, written as dd.mm.yyyy"
    assert book.loc["admitted", "how"].startswith("date shift (largest shift in days: 60")
    assert main(["export", "out", "-o", "stays.parquet", "--quiet"]) == 0
    assert str(lv.read("stays.parquet", confidential="admitted").to_arrow().schema.field("admitted").type) == "date32[day]"
    again = lv.Study.read("out/internal/study.toml")
    assert again.csv.dates == {"admitted": "dd.mm.yyyy", "discharged": "dd.mm.yyyy"}


def test_advise_reports_the_forms_of_dates(folder, capsys):
    assert main(["advise", "stays.csv"]) == 0
    assert "stays.csv: semicolon, UTF-8, dates dd.mm.yyyy (admitted, discharged)" in "".join(capsys.readouterr())


def test_advise_looks_at_dates_that_cannot_be_told_apart(folder, capsys):
    frame = pd.DataFrame({"day": ["03/04/2020", "05/04/2020"] * 30, "born": ["1950-01-01"] * 60, "cost": range(60)})
    frame.to_csv("unclear.csv", index=False)
    assert main(["advise", "unclear.csv"]) == 0
    assert "state the form" in capsys.readouterr().out
    assert main(["mask", "unclear.csv", "--confidential", "day,cost", "--method", "random_swap", "-o", "out.csv"]) != 0
    assert "--dates day=dd/mm/yyyy" in capsys.readouterr().err
    wrong = ["mask", "unclear.csv", "--confidential", "cost", "--method", "random_swap", "-o", "out.csv", "--dates", "day"]
    assert main(wrong) != 0
    assert "write COLUMN=dd.mm.yyyy" in capsys.readouterr().err
