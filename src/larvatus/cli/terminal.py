"""What a person sees: tables, notes, progress on anything over a second; JSON for scripts; nothing when quiet."""

from __future__ import annotations

import json
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from larvatus.core.progress import Progress, silent
from larvatus.data.notes import Note
from larvatus.data.score import Row, cell_text

PATIENCE, QUIET_FOR = 1.0, 5.0
MOST_NOTES, HEADER = 12, 16
GAP, TEXT = 2, 14  # between columns, and the least width of one that may be wrapped


class _Output(Console):
    """Standard output whose reader may have gone: that is for the command to settle, not an error."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Terminal:
    """Results go to standard output, everything else to standard error."""

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.out = _Output(highlight=False)
        self.err = Console(stderr=True, highlight=False)

    def say(self, text: str) -> None:
        """A sentence for a person."""
        if not self.quiet and not self.as_json:
            self.out.print(text, markup=False)

    def hint(self, text: str) -> None:
        """A sentence that is not a result."""
        if not self.quiet:
            self.err.print(text, markup=False, style="dim")

    def warn(self, text: str) -> None:
        """What nobody may overlook, on standard error even where nothing else is said."""
        self.err.print(f"WARNING: {text}", markup=False, style="bold red")

    def data(self, value: Any) -> None:
        """The result for a script, where JSON was asked for."""
        if self.as_json:
            sys.stdout.write(json.dumps(value, indent=1, ensure_ascii=False) + "\n")

    def table(self, rows: Sequence[Row], title: str = "") -> None:
        """A small table."""
        if self.quiet or self.as_json or not rows:
            return
        every = list(dict.fromkeys(n for row in rows for n in row))
        names = _fitting(rows, every, self.out.width)
        named = Text(title) if title else None
        shown = Table(title=named, title_justify="left", box=None, padding=(0, 2, 0, 0), header_style="bold")
        for name in names:
            numeric = all(isinstance(r.get(name), int | float | None) for r in rows)
            side: Literal["left", "right"] = "right" if numeric else "left"
            head = Text(textwrap.fill(name.replace("_", " "), HEADER))
            shown.add_column(head, justify=side, overflow="fold", no_wrap=numeric or name == names[0])
        for row in rows:
            shown.add_row(*(Text(cell_text(row.get(n))) for n in names))
        self.out.print(shown)
        if len(names) < len(every):
            left = ", ".join(n.replace("_", " ") for n in every if n not in names)
            self.hint(f"not shown for want of room: {left}; --json has all")

    def notes(self, notes: Sequence[Note]) -> None:
        """What the steps had to say, warnings first."""
        order = {"warning": 0, "status": 1, "information": 2}
        for note in sorted(notes, key=lambda n: order[n.kind])[:MOST_NOTES]:
            style = "yellow" if note.kind == "warning" else ""
            if not self.quiet and not self.as_json:
                self.out.print(f"{note.kind}: {note}", markup=False, style=style)
        if len(notes) > MOST_NOTES:
            self.say(f"… and {len(notes) - MOST_NOTES} more notes")

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """A reporter for long work: shown once it has taken more than a second."""
        if self.quiet:
            yield silent
            return
        watcher = _Watcher(self.err)
        try:
            yield watcher
        finally:
            watcher.stop()


def _fitting(rows: Sequence[Row], names: Sequence[str], width: int) -> list[str]:
    """The columns there is room for: figures are shown whole or not at all, ends of intervals go first, then the last."""
    def least(name: str) -> int:
        cells = max(len(cell_text(r.get(name))) for r in rows)
        numeric = all(isinstance(r.get(name), int | float | None) for r in rows)
        words = max(len(line) for line in textwrap.wrap(name.replace("_", " "), HEADER) or [""])
        return GAP + max(words, cells if numeric or name == names[0] else min(cells, TEXT))

    kept, room = list(names), {n: least(n) for n in names}
    ends = [n for n in reversed(names) if n.endswith(("_low", "_high"))]
    rest = [n for n in reversed(names) if n not in ends and n not in names[:2]]
    for name in (*ends, *rest):
        if sum(room[n] for n in kept) <= width:
            break
        if name in kept:
            kept = [n for n in kept if n not in ends] if name in ends else [n for n in kept if n != name]
    return kept


class _Watcher:
    """Shows the current stage with a clock on a terminal, or one line a stage where output is kept in a file."""

    def __init__(self, console: Console) -> None:
        self.console, self.began, self.status = console, time.monotonic(), "working"
        self.said = self.began
        self.shown: Any = None
        self.lock = threading.Lock()
        self.timer = threading.Timer(PATIENCE, self._show)
        self.timer.daemon = True
        self.timer.start()

    def __call__(self, doing: str, done: int, total: int) -> None:
        self.status = f"{doing} ({done + 1} of {total})" if total > 1 else doing
        with self.lock:
            if self.shown is not None:
                self.shown.update(self.status)
            elif time.monotonic() - self.said > QUIET_FOR and not self.console.is_terminal:
                self._line()

    def _show(self) -> None:
        with self.lock:
            if self.console.is_terminal:
                self.shown = self.console.status(self.status)
                self.shown.start()
            else:
                self._line()

    def _line(self) -> None:
        self.said = time.monotonic()
        self.console.print(f"{self.said - self.began:6.1f} s  {self.status}", markup=False)

    def stop(self) -> None:
        self.timer.cancel()
        with self.lock:
            if self.shown is not None:
                self.shown.stop()
