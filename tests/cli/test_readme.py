"""The commands of the README and of the first guide, one after another, as a newcomer would type them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from larvatus.cli.commands.check import BROKEN
from larvatus.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PEOPLE = 300
LEFT_OUT = ("reproduce", "demo")


def lines(page: str, heading: str) -> list[str]:
    """The lines of the fenced blocks without a language under a heading, those that go on joined."""
    part = re.split(rf"^## {re.escape(heading)}.*$", (ROOT / page).read_text(encoding="utf-8"), flags=re.M)[1]
    part = re.split(r"^## ", part, flags=re.M)[0]
    bodies = [body for kind, body in re.findall(r"^```(\w*)\n(.*?)^```", part, re.M | re.S) if not kind]
    return [line for body in bodies for line in re.sub(r"\\\n\s*", " ", body).splitlines() if line.strip()]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("out", "*.csv", "*.parquet"))
    monkeypatch.chdir(tmp_path / "examples")
    subprocess.run([sys.executable, "make_people.py"], check=True)
    pd.read_csv("people.csv").head(PEOPLE).to_csv("people.csv", index=False)
    return tmp_path / "examples"


def typed(line: str) -> None:
    words = shlex.split(line, comments=True)
    if words[0] == "larvatus":
        if words[1] not in LEFT_OUT:
            assert main(words[1:]) in ((0, BROKEN) if words[1] == "check" else (0,)), line
    elif words[0] != "cd":
        subprocess.run(line, shell=True, check=True)


@pytest.mark.slow
@pytest.mark.parametrize(("page", "headings"), [
    ("README.md", ["On the command line"]),
    ("docs/guides/first-release.md", ["3. Run it", "5. Choose", "6. Row order", "7. Secrets"]),
])
def test_commands_run_one_after_another(folder, page, headings, capsys):
    found = [line for heading in headings for line in lines(page, heading)]
    assert sum(line.startswith("larvatus") for line in found) >= 4
    for line in found:
        typed(line)
    assert (folder / "out" / "report.html").is_file()
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
def test_the_example_in_python_runs(folder):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert code
    for part in code:
        exec(compile(part, "README.md", "exec"), {})
    assert {"report.html", "released.parquet", "pairing.parquet"} <= {p.name for p in folder.iterdir()}
