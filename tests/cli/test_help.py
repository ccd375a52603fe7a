"""Help says what every option is, and what happens without it."""

from __future__ import annotations

import subprocess
import sys
from itertools import takewhile

import pytest

from larvatus import __version__
from larvatus.cli.main import app, main

COMMANDS = [n for n in app if not n.startswith("-")]
SAID = ("default", "overrides", "repeatable")


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_words(command):
    for argument in app[command].assemble_argument_collection(parse_docstring=True):
        assert argument.parameter.help or argument.name == "*", argument.name  # a group of options has no words of its own


@pytest.mark.parametrize(("command", "option"), [
    ("mask", "--small"), ("mask", "--smallest"), ("mask", "--repair"), ("mask", "--engine"), ("mask", "--memory"),
    ("mask", "--secret-file"), ("mask", "--row-order"), ("mask", "--sub-groups"), ("risk", "--method"), ("risk", "--intruder"),
    ("risk", "--at-risk-share"), ("utility", "--method"), ("utility", "--null-resamples"), ("run", "--engine"),
    ("run", "--format"), ("run", "--memory"), ("search", "--trials"), ("publish-noise", "--targets"),
    ("publish-noise", "--threshold"), ("publish-noise", "--kernel"), ("reproduce", "--seeds"), ("reproduce", "--jobs"),
    ("demo", "--records"),
])
def test_help_tells_what_happens_without_an_option(command, option, capsys):
    assert main([command, "--help"]) == 0
    lines = [line.strip(" │") for line in capsys.readouterr().out.splitlines()]
    first = next(i for i, line in enumerate(lines) if f" {option} " in f" {line} ")
    rest = takewhile(lambda line: line and not line.startswith(("-", "*", "╰")), lines[first + 1:])
    told = " ".join(" ".join([lines[first], *rest]).split())  # a console that was made before is as wide as it was then
    assert any(words in told for words in SAID), told


def test_a_command_that_cannot_be_read_points_to_its_help(capsys):
    assert main(["run"]) == 2
    assert "larvatus run --help" in capsys.readouterr().err
    assert main(["frobnicate"]) == 2
    assert "larvatus --help" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["mask"], ["run"], ["publish-noise"]])
def test_help_does_not_wait_for_numpy(command):
    """NumPy, Pydantic and a parser of Markdown take several times as long to import as the help takes to print."""
    code = (
        "import sys; from larvatus.cli.main import main; main(sys.argv[1:]); "
        "print([m for m in ('numpy', 'pydantic', 'markdown_it', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, *command, "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_python_m_larvatus_is_the_command():
    done = subprocess.run([sys.executable, "-m", "larvatus", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == __version__
