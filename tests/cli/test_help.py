"""Help says what every option is, and what happens without it."""

from __future__ import annotations

import pytest

from larvatus.cli.main import app, main

COMMANDS = [n for n in app if not n.startswith("-")]
SAID = ("default", "without it", "wins over", "in place of", "repeat it")


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
    ("risk", "--at-risk-share"), ("utility", "--method"), ("utility", "--null"), ("run", "--engine"), ("run", "--format"),
    ("run", "--memory"), ("search", "--trials"), ("intruder", "--targets"), ("intruder", "--threshold"),
    ("intruder", "--kernel"), ("reproduce", "--seeds"), ("reproduce", "--jobs"), ("demo", "--records"),
])
def test_help_tells_what_happens_without_an_option(command, option, capsys):
    assert main([command, "--help"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if f" {option} " in line]
    assert lines
    assert any(words in lines[0] for words in SAID), lines[0].strip()


def test_a_command_that_cannot_be_read_points_to_its_help(capsys):
    assert main(["run"]) == 2
    assert "larvatus run --help" in capsys.readouterr().err
    assert main(["frobnicate"]) == 2
    assert "larvatus --help" in capsys.readouterr().err
