"""A planned release that was not made: the exit code says so, and no older file of that name stays as if it were it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.core.errors import LarvatusWarning
from sample import SECRET, people

NOT_MADE = 5
TOLD = pytest.mark.filterwarnings("default::larvatus.core.errors.LarvatusWarning")
STUDY = """source = "in.csv"
[roles]
confidential = ["rooms"]
non_confidential = ["age"]
[[attack]]
method = "nearest_record"
[[measure]]
method = "moments"
[[release]]
name = "a"
steps = [{ method = "additive_noise" }]
[[release]]
name = "b"
steps = [{ method = "rounding", base = 5 }]
"""


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people(120).to_csv("in.csv", index=False)
    Path("secret").write_bytes(SECRET)
    Path("secret").chmod(0o600)
    study(5)
    return tmp_path


def study(base: int) -> None:
    """With base 1 no whole number changes, and the release is refused."""
    Path("study.toml").write_text(STUDY.replace("base = 5", f"base = {base}"), encoding="utf-8")


def files(name: str) -> list[str]:
    return sorted(str(p.relative_to("out")) for p in Path("out").rglob(f"{name}[-.]*") if ".larvatus-cache" not in p.parts)


def run(*more: str) -> int:
    format_of = () if "--format" in more else ("--format", "parquet")
    return main(["run", "study.toml", "-o", "out", "-q", "--secret-file", "secret", *format_of, *more])


def test_the_exit_code_and_the_message_say_what_was_not_made(here, capsys):
    study(1)
    assert run() == NOT_MADE
    told = capsys.readouterr()
    assert "release 'b' was not made" in told.err
    assert "base 1 changes no value" in told.err
    assert files("a") == ["internal/a.internal.json", "internal/pairings/a.parquet", "releases/a.codebook.csv",
                          "releases/a.manifest.json", "releases/a.parquet"]
    assert files("b") == []
    study(5)
    assert main(["run", "study.toml", "-o", "other", "-q"]) == 0


@TOLD
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_older_files_of_that_name_are_removed_and_that_is_said(here, capsys, form):
    assert run("--format", "parquet") == 0
    assert len(files("b")) == 5
    assert main(["verify", "out/releases/b.manifest.json", "-q"]) == 0
    study(1)
    capsys.readouterr()
    assert run("--overwrite", "--format", form) == NOT_MADE
    assert re.search(r"'b' was not made.*removed.*releases/b\.parquet", capsys.readouterr().err)
    assert files("b") == []
    assert len(files("a")) == 5 if form == "parquet" else 6
    capsys.readouterr()
    assert main(["verify", "out/releases/b.manifest.json", "-q"]) != 0
    assert run("--format", form) == NOT_MADE  # nothing of it is left to resume from


@TOLD
def test_files_of_other_releases_stay(here, capsys):
    text = STUDY.replace('name = "a"', 'name = "b-1"')
    Path("study.toml").write_text(text, encoding="utf-8")
    assert run() == 0
    Path("study.toml").write_text(text.replace("base = 5", "base = 1"), encoding="utf-8")
    assert run("--overwrite") == NOT_MADE
    assert "were removed from out" in capsys.readouterr().err
    assert "releases/b-1.parquet" in files("b")
    assert "releases/b.parquet" not in files("b")


@TOLD
def test_copies_of_an_earlier_run_are_removed(here, capsys):
    three = STUDY.replace('{ method = "rounding", base = 5 }', '{ method = "multiple_imputation", copies = 3 }')
    Path("study.toml").write_text(three, encoding="utf-8")
    assert run() == 0
    assert "releases/b-3.parquet" in files("b")
    study(1)
    assert run("--overwrite") == NOT_MADE
    assert "were removed from out" in capsys.readouterr().err
    assert files("b") == []


def test_from_python(here):
    lv.run(lv.Study.read("study.toml"), "out", secret=SECRET)
    study(1)
    with pytest.warns(LarvatusWarning, match="'b' was not made"):
        found = lv.run(lv.Study.read("study.toml"), "out", secret=SECRET, overwrite=True)
    assert [n.name for n in found.not_made] == ["b"]
    assert files("b") == []


def test_the_help_lists_the_code(capsys):
    main(["--help"])
    assert "5 a planned release was not made" in " ".join(capsys.readouterr().out.replace("│", " ").split())
