"""What a person sees: tables, notes, and progress on anything over a second."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from larvatus.cli.output import terminal as module
from larvatus.cli.output.terminal import Terminal
from larvatus.data.notes import Note


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.02)
    monkeypatch.setattr(module, "QUIET_FOR", 0.02)


def work(terminal: Terminal, seconds: float = 0.08) -> None:
    with terminal.progress() as progress:
        progress("masking: additive_noise", 0, 2)
        time.sleep(seconds)
        progress("attacking: nearest_record", 1, 2)
        time.sleep(seconds)


def test_long_work_says_what_it_is_doing_on_standard_error(impatient, capsys):
    work(Terminal())
    out, err = capsys.readouterr()
    assert out == ""
    assert "masking: additive_noise (1 of 2)" in err
    assert "attacking: nearest_record (2 of 2)" in err


def test_short_work_is_silent(capsys):
    work(Terminal(), 0.0)
    assert capsys.readouterr() == ("", "")


def test_quiet_work_is_silent_however_long(impatient, capsys):
    work(Terminal(quiet=True))
    assert capsys.readouterr() == ("", "")


def test_progress_goes_beside_json_and_not_into_it(impatient, capsys):
    terminal = Terminal(as_json=True)
    work(terminal)
    terminal.data({"a": 1})
    assert capsys.readouterr().out == '{\n "a": 1\n}\n'


def test_a_clock_on_a_real_terminal_is_started_and_stopped(impatient):
    terminal = Terminal()
    terminal.err = Console(stderr=True, force_terminal=True, width=80)
    with terminal.err.capture() as shown:
        work(terminal)
    assert "attacking: nearest_record" in shown.get()


def test_the_bar_shows_what_is_done_and_no_more(impatient):
    terminal, shown = Terminal(), io.StringIO()
    terminal.err = Console(file=shown, force_terminal=True, width=80, color_system=None)
    filled = {}
    with terminal.progress() as progress:
        for doing, done, total in (("first", 0, 4), ("third", 2, 4), ("alone", 0, 1)):
            progress(doing, done, total)
            time.sleep(0.25)
            filled[doing] = (progress.shown.tasks[0].completed, progress.shown.tasks[0].total)
    assert filled == {"first": (0, 4), "third": (2, 4), "alone": (0, 1)}
    half = next(line for line in shown.getvalue().split("\r") if "third (3 of 4)" in line)
    assert half.count("━") == 10, "half of a bar of twenty"


@pytest.mark.parametrize(("said", "shown"), [
    ("reading the data", "reading the data for 1 min 5 s"), ("attacking: cluster for 3 s", "attacking: cluster for 3 s"),
])
def test_a_step_is_shown_with_the_time_since_it_began(said, shown, monkeypatch):
    with Terminal().progress() as progress:
        progress("release 1 of 2, about 40 s left", 0, 1)
        now = time.monotonic()
        monkeypatch.setattr(module.time, "monotonic", lambda: now + 100)
        progress(said, 0, 1)
        assert progress.line() == said
        monkeypatch.setattr(module.time, "monotonic", lambda: now + 165)
        progress(said, 0, 1)
        assert progress.line() == shown


def test_a_line_that_is_too_long_is_wrapped_and_nothing_of_it_is_lost(impatient):
    terminal, shown = Terminal(), io.StringIO()
    terminal.err = Console(file=shown, force_terminal=True, width=80, color_system=None)
    with terminal.progress() as progress:
        progress("release 1 of 4, about 3 min left; shuffled: attacking: optimal_assignment and noise: masking", 0, 1)
        time.sleep(0.25)
    for word in ("release", "optimal_assignment", "noise:", "masking"):
        assert word in shown.getvalue()


def test_the_clock_stops_when_work_fails(impatient, capsys):
    with pytest.raises(ValueError, match="broken"), Terminal().progress():
        raise ValueError("broken")
    time.sleep(0.06)
    assert capsys.readouterr() == ("", "")


def test_tables_show_numbers_short_and_text_whole(capsys):
    Terminal().table([{"score": "[red]moments[/red]", "s_alone": 0.123456}, {"score": "b", "s_alone": None}], "Title")
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines()] == [
        ["Title"], ["score", "s", "alone"], ["[red]moments[/red]", "0.1235"], ["b"]]


def test_an_empty_table_is_not_shown(capsys):
    Terminal().table([])
    assert capsys.readouterr().out == ""


def test_warnings_come_first_and_many_notes_are_cut(capsys):
    notes = [Note(f"information {i}") for i in range(20)] + [Note("look [here]", "warning", "step")]
    Terminal().notes(notes)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "warning: step: look [here]"
    assert lines[-1] == "… and 9 more notes"
    assert len(lines) == 13


def test_a_command_to_copy_is_not_broken_into_lines():
    terminal = Terminal()
    terminal.out = Console(file=io.StringIO(), force_terminal=True, width=40, color_system=None)
    long = "larvatus approve out --release 'noise, reverse-mapped, to compare' --by 'YOUR NAME' --reason 'WHY THIS ONE'"
    terminal.command("Next:   ", long)
    assert terminal.out.file.getvalue() == f"Next:   {long}\n"
    Terminal(quiet=True).command("Next:   ", long)
