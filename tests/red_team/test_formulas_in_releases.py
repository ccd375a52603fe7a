"""`--spreadsheet` of run and export: no text of a released CSV file is a formula, and the run stays usable afterwards."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from larvatus.cli.main import main

pytestmark = pytest.mark.filterwarnings("default:people.csv")
FORMULAS = ("=cmd|' /C calc'!A0", "@SUM(A1)", "+1+1", "-2+3", "plain, with a comma", "")
STUDY = """source = "people.csv"
attack = ["value_disclosure"]
measure = ["moments"]
[roles]
confidential = ["income"]
non_confidential = ["place", "age"]
[[release]]
name = "noise"
steps = ["additive_noise"]
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A semicolon file with decimal commas, negative numbers and formulas, a study, and a secret."""
    monkeypatch.chdir(tmp_path)
    with Path("people.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerow(["income", "place", "age"])
        rows.writerows((f"{(i * 7919) % 1009 - 400},5", FORMULAS[i % len(FORMULAS)], 20 + i % 50) for i in range(90))
    Path("study.toml").write_text(STUDY, encoding="utf-8")
    Path("secret").write_text("sixteen bytes or more", encoding="utf-8")
    Path("secret").chmod(0o600)
    return tmp_path


def carried_out(folder: str, *more: str) -> Path:
    assert main(["run", "study.toml", "-o", folder, "--secret-file", "secret", "-q", *more]) == 0
    return Path(folder) / "releases" / "noise.csv"


def cells(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter=";"))


def test_run_and_export_write_the_same_inert_cells(here):
    plain, inert = carried_out("plain"), carried_out("inert", "--spreadsheet")
    assert main(["export", "plain", "-o", "shared.csv", "--spreadsheet", "-q"]) == 0
    assert Path("shared.csv").read_bytes() == inert.read_bytes()
    was, now = cells(plain), cells(inert)
    place, income = was[0].index("place"), was[0].index("income")
    assert any(row[place].startswith("=") for row in was)
    assert not any(row[place].startswith(("=", "+", "-", "@")) for row in now)
    assert [[c.removeprefix("'") for c in row] for row in now] == was
    assert any(row[income].startswith("-") for row in now), "numbers stay numbers"
    assert main(["verify", "shared.manifest.json", "-q"]) == 0
    assert main(["check", "inert", "-q"]) in (0, 4), "its rows can be paired"


def test_the_option_makes_the_files_again(here):
    """A rerun with another setting must not hand over the files of the earlier one."""
    before = carried_out("out").read_bytes()
    assert carried_out("out", "--spreadsheet", "--overwrite").read_bytes() != before
