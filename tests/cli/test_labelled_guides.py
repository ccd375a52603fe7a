"""The commands of the guides on labelled files, as a newcomer would type them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from larvatus.cli.main import main
from larvatus.study import Study

ROOT = Path(__file__).resolve().parents[2]
GUIDES = sorted((ROOT / "docs" / "guides").glob("your-file-is-*.md"))


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in a language; an empty one stands for commands."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    return [body for name, body in found if name == language]


TEXT_FILES = ROOT / "docs" / "guides" / "reading-csv.md"
DATABASE = ROOT / "docs" / "guides" / "your-data-are-in-a-database.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("survey")
    subprocess.run([sys.executable, str(ROOT / "examples" / "make_survey.py")], check=True, cwd=made)
    return made


def test_there_is_a_guide_for_every_kind_of_file():
    assert [g.stem.removeprefix("your-file-is-") for g in GUIDES] == ["excel", "sas", "spss", "stata"]


@pytest.mark.parametrize("page", GUIDES, ids=lambda p: p.stem)
def test_commands_of_the_guide_run(folder, monkeypatch, page):
    monkeypatch.chdir(folder)
    kind = page.stem.removeprefix("your-file-is-")
    Path(f"{kind}.toml").write_text("\n".join(blocks(page, "toml")), encoding="utf-8")
    commands = [line for block in blocks(page, "") for line in block.splitlines()]
    assert commands
    for line in commands:
        words = shlex.split(line)
        assert main([*words[1:], "--quiet", *(["--overwrite"] if words[1] != "run" else [])]) == 0, line


def test_the_guide_on_databases_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = blocks(DATABASE, "python")[0]
    subprocess.run([sys.executable, "-W", "error", "-c", example], check=True, cwd=tmp_path)
    commands = [shlex.split(line) for block in blocks(DATABASE, "") for line in block.splitlines()]
    assert len(commands) >= 3
    for words in commands:
        assert main([*words[1:], "--quiet", "--overwrite"]) == 0, words
    for text in blocks(DATABASE, "toml"):
        Path("study.toml").write_text(text, encoding="utf-8")
        assert Study.read("study.toml").query is not None


@pytest.mark.filterwarnings("ignore:survey.csv. semicolon, decimal comma:larvatus.core.errors.LarvatusWarning")
def test_the_guide_on_csv_files_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = ["k.A." if i % 9 == 4 else "-7" if i % 9 == 7 else f"{1000 + 37 * i % 911},5" for i in range(60)]
    for line in [line for block in blocks(TEXT_FILES, "") for line in block.splitlines() if line.startswith("larvatus ")]:
        mixed = "--missing" in line  # of texts among numbers, which are shown with a file of their own
        shown = cells if mixed else [c if "," in c else "1,5" for c in cells]
        rows = "".join(f"{i};Köln;{cell}\n" for i, cell in enumerate(shown))
        Path("survey.csv").write_text("number;town;income\n" + rows, encoding="windows-1252")
        assert main([*shlex.split(line)[1:], "--quiet", "--overwrite"]) == 0, line
        if mixed:
            assert Path("coded.csv").read_text(encoding="windows-1252").count("k.A.") == cells.count("k.A.")
    for text in blocks(TEXT_FILES, "toml"):
        Path("study.toml").write_text(text + '[roles]\nconfidential = ["income"]\n', encoding="utf-8")
        assert Study.read("study.toml").csv.plain() == {"decimal": "comma", "encoding": "cp1252"}
    Path("survey.csv").write_text("income;town\n" + "".join(f"{i},5;Köln\n" for i in range(60)), encoding="windows-1252")
    for example in blocks(TEXT_FILES, "python"):
        subprocess.run([sys.executable, "-W", "error", "-c", example], check=True, cwd=tmp_path)
