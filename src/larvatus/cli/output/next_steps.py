"""The command to type next, as text that a shell accepts."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from larvatus.cli.output.terminal import Terminal

NEXT = "Next:   "
_BY, _REASON = "'YOUR NAME'", "'WHY THIS ONE'"


def check_text(folder: Path, release: str) -> str:
    """The command that checks a release of a run."""
    return f"larvatus check {_quoted(folder)} --release {shlex.quote(release)}"


def approve_text(folder: Path, release: str) -> str:
    """The command that approves a release of a run."""
    return f"larvatus approve {_quoted(folder)} --release {shlex.quote(release)} --by {_BY} --reason {_REASON}"


def export_text(folder: Path, release: str, suffix: str) -> str:
    """The command that exports a release of a run."""
    return f"larvatus export {_quoted(folder)} --release {shlex.quote(release)} -o shared{suffix}"


def say_selected(terminal: Terminal, comparison: Any, output: Path, chosen: str | None = None) -> None:
    """Print the release that was chosen, or that the report's rule selects, and the command that checks it."""
    from larvatus.comparison.selection_rule import selected_release

    name, passes = (chosen, True) if chosen is not None else selected_release(comparison)
    if name is None:
        return
    if chosen is None and passes:
        terminal.say(f"The rule of the report selects {name!r}.")
    elif chosen is None:
        terminal.say("No release passes the rule of the report. None may go out.")
    terminal.command(NEXT, check_text(output, name))


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
