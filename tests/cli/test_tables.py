"""Tables at any width: no column is lost, no figure is cut, no line is too long, and in a pipe every row is one line."""

from __future__ import annotations

import io
import os
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from drawn_examples import drawn
from larvatus.cli.main import main
from larvatus.cli.output import terminal as module
from larvatus.cli.output.tables import _parts, lay_out
from larvatus.cli.output.terminal import Terminal, wrap
from larvatus.core.number_format import cell_text
from sample import people

WIDTHS = [60, 80, 200, None]
WIDE = [
    {"release": f"noise, reverse-mapped, number {i}", "attack": "probabilistic_linkage",
     **{f"figure_{j}": i + j / 7 for j in range(9)}, "kept": "NO"} for i in range(4)
]


def shown(rows, width: int | None) -> str:
    return "\n".join(line.text for line in lay_out(rows, width))


def check_all_there(rows, text: str, width: int | None) -> None:
    """Every heading and every cell is there, figures in one piece."""
    assert "…" not in text
    if width is not None:
        assert max(map(len, text.splitlines()), default=0) <= width
    for name in dict.fromkeys(n for row in rows for n in row):
        assert all(word in text for word in name.replace("_", " ").split()), name
    for row in rows:
        for value in row.values():
            pieces = [cell_text(value)] if isinstance(value, int | float) else _parts(cell_text(value))
            assert all(piece in text for piece in pieces), value


@pytest.mark.parametrize("rows", [WIDE, WIDE[:1], WIDE[:2]], ids=len)
@pytest.mark.parametrize("width", [30, 60, 80, 120, 200, None])
def test_no_column_is_lost(rows, width):
    check_all_there(rows, shown(rows, width), width)


def test_in_a_pipe_a_row_is_a_line_and_names_are_whole():
    lines = shown(WIDE, None).splitlines()
    assert len(lines) == 1 + len(WIDE)
    assert lines[0].split("  ")[0] == "release"
    assert all("probabilistic_linkage" in line for line in lines[1:])


def test_what_fits_is_one_table_what_does_not_is_folded_and_few_rows_are_turned():
    assert len(lay_out(WIDE, 200)) == 1 + len(WIDE)
    folded = shown(WIDE, 80)
    assert folded.count("number 3") >= 2, "the first columns are repeated"
    turned = shown(WIDE[:1], 60).splitlines()
    assert [line.split("  ")[0] for line in turned][:3] == ["release", "attack", "figure 0"]


def test_where_even_one_column_has_no_room_beside_the_first_rows_are_turned():
    rows = [{"release": "shuffledandtopcodedatonce", "value": 123456.0 + i, "chance": 0.25} for i in range(5)]
    assert max(map(len, shown(rows, 30).splitlines())) <= 30
    assert shown(rows, 30).splitlines()[:3] == [
        "release  shuffledandtopcodedat", "         once", "value    123,456"]
    rows = [{"release": "shuffledandtopcodedatonce", "v": i, "why": "becauseofallthisandmoreofit"} for i in range(5)]
    check_all_there(rows, shown(rows, 40), 40)


def test_texts_give_way_before_columns_are_folded():
    rows = [{"release": "noise, reverse-mapped, to compare", "attack": "probabilistic_linkage", "value": 0.5}] * 4
    lines = shown(rows, 50).splitlines()
    assert sum("value" in line for line in lines) == 1
    assert "probabilistic_" in shown(rows, 50), "names are broken after an underscore"


CELLS = st.one_of(st.none(), st.floats(allow_infinity=False), st.integers(-(10**6), 10**6), st.text("ab _-,é漢\n", max_size=40))


@drawn(150)
@given(st.data(), st.one_of(st.none(), st.integers(24, 160)), st.integers(1, 6), st.integers(1, 8))
def test_any_table(data, width, count, columns):
    rows = [{f"c{j}": data.draw(CELLS) for j in range(columns)} for _ in range(count)]
    text = shown(rows, width)
    plain = [{k: " ".join(v.splitlines()) if isinstance(v, str) else v for k, v in r.items()} for r in rows]
    if not any("漢" in str(v) for r in rows for v in r.values()):
        check_all_there([{k: v for k, v in r.items() if not isinstance(v, str)} for r in plain], text, width)


def test_sentences_hang_under_their_mark():
    said = wrap("Head\n  * one two three four five six\n\nend", 16)
    assert said == "Head\n  * one two\n    three four\n    five six\n\nend"
    assert wrap("  * " + "word " * 50, None) == "  * " + "word " * 50


STUDY = """
source = "in.csv"
[roles]
confidential = ["income", "wealth"]
non_confidential = ["age"]
[sub_groups]
columns = ["region"]
[[release]]
name = "a release with a rather long name"
steps = ["additive_noise"]
[[release]]
name = "two"
steps = ["additive_noise(variance=2.0)"]
[[attack]]
method = "nearest_record"
[[attack]]
method = "value_disclosure"
[[measure]]
method = "moments"
[[measure]]
method = "regression_overlap"
[[search]]
steps = [{ method = "additive_noise", range.variance = [0.1, 3] }]
[limits]
nearest_record = { at_most = 0.9 }
moments = { at_most = 0.9 }
[goal]
trials = 4
secrets = 2
finalists = 1
"""
COMMANDS = {
    "run": ["run", "study.toml", "-o", "out"],
    "risk": ["risk", "in.csv", "masked.csv", "--study", "study.toml", "--row-order", "keep"],
    "utility": ["utility", "in.csv", "masked.csv", "--study", "study.toml", "--row-order", "keep"],
    "check": ["check", "in.csv", "masked.csv", "--study", "study.toml", "--row-order", "keep"],
    "search": ["search", "study.toml", "-o", "found"],
    "advise": ["advise", "in.csv", "--study", "study.toml"],
    "publish-noise": ["publish-noise", "study.toml", "--targets", "5"],
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """What every command says, once: the calls, to be said again at any width."""
    folder, calls = tmp_path_factory.mktemp("tables"), {}
    people(120, missing=False).to_csv(folder / "in.csv", index=False)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(module, "PATIENCE", 600.0)
        mask = ["mask", "in.csv", "-o", "masked.csv", "--study", "study.toml", "--release", "two", "--row-order", "keep", "-q"]
        assert main(mask) == 0
        for name, command in COMMANDS.items():
            said = calls.setdefault(name, [])
            patch.setattr(Terminal, "table", lambda self, rows, title="", said=said: said.append(("table", list(rows), title)))
            patch.setattr(Terminal, "say", lambda self, text, said=said: said.append(("say", text)))
            patch.setattr(Terminal, "notes", lambda self, notes, said=said: said.append(("notes", list(notes))))
            assert main(command) == 0
    return calls


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_all_columns_at_every_width(recorded, command, width):
    calls = recorded[command]
    assert any(kind == "table" for kind, *_ in calls) or command == "advise"
    for kind, *told in calls:
        terminal, file = Terminal(), io.StringIO()
        terminal.out = Console(file=file, force_terminal=width is not None, width=width, highlight=False, color_system=None)
        getattr(terminal, kind)(*told)
        text = file.getvalue()
        if width is not None:
            long = [line for line in text.splitlines() if len(line) > width]
            assert not long, long
        if kind == "table" and told[0]:
            check_all_there(told[0], text, width)
            if width is None:
                assert len(text.splitlines()) == len(told[0]) + 1 + len(told[1].splitlines())
        elif width is None and kind == "say":
            assert text == told[0] + "\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_on_a_real_terminal(tmp_path):
    """60 characters wide, through the front door: every column of the table of risks is there."""
    import fcntl
    import pty
    import struct
    import subprocess
    import termios

    people(80, missing=False).to_csv(tmp_path / "in.csv", index=False)
    roles = ["--confidential", "income,wealth", "--non-confidential", "age"]
    mask = ["mask", str(tmp_path / "in.csv"), "-o", str(tmp_path / "m.csv"), *roles, "--method", "additive_noise"]
    assert main([*mask, "--row-order", "keep", "-q"]) == 0
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 60, 0, 0))
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    env |= {"TERM": "xterm", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "larvatus.cli.main", "risk", "in.csv", "m.csv", *roles, "--row-order", "keep", "--method",
               "nearest_record"]
    running = subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, stdin=theirs, cwd=tmp_path, env=env)
    os.close(theirs)
    out = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:
            break
        if not more:
            break
        out += more
    os.close(ours)
    assert running.wait() == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out.decode().replace("\r", "")).splitlines()
    assert max(map(len, lines)) <= 60
    assert all(any(word in line for line in lines) for word in ("nearest_record", "chance", "alone", "low", "high"))
    assert not any("…" in line for line in lines)
