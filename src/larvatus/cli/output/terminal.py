"""Terminal output: tables, notes, progress for work over one second; JSON for scripts; nothing if quiet."""

from __future__ import annotations

import json
import re
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from larvatus.cli.output.tables import lay_out
from larvatus.core.progress import Progress, seconds_so_far, silent, with_count

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from larvatus.data.notes import Note
    from larvatus.data.score import Row

PATIENCE, QUIET_FOR = 1.0, 5.0
_REFRESH = 0.05  # seconds between two changes that are shown at once; others wait for the next tenth of a second
_SHARE = 0.05  # lines in a file: the next one once the work has taken a twentieth longer
_MOST_NOTES = 12
_FIGURES, _DURATION = re.compile("[0-9]+"), re.compile(r" for [0-9]+ (s|min)\b")


class _Output(Console):
    """Standard output whose reader may close it; the command handles that."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _width(console: Console) -> int | None:
    return console.width if console.is_terminal else None


class Terminal:
    """Results go to standard output, everything else to standard error."""

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.out = _Output(highlight=False)
        self.err = Console(stderr=True, highlight=False)

    def say(self, text: str) -> None:
        """Print a sentence."""
        if not self.quiet and not self.as_json:
            self.out.print(wrap(text, self.width), markup=False, soft_wrap=True)

    def command(self, label: str, command: str) -> None:
        """Print a command to type next, on one line, so that it can be copied from a narrow terminal too."""
        if not self.quiet and not self.as_json:
            self.out.print(f"{label}{command}", markup=False, soft_wrap=True)

    def hint(self, text: str) -> None:
        """Print a sentence that is not a result, to standard error."""
        if not self.quiet:
            self.err.print(wrap(text, _width(self.err)), markup=False, style="dim", soft_wrap=True)

    def warn(self, text: str) -> None:
        """Print a warning to standard error, even if quiet."""
        self.err.print(f"WARNING: {text}", markup=False, style="bold red")

    def data(self, value: Any) -> None:
        """Print the result as JSON, if requested."""
        if self.as_json:
            sys.stdout.write(json.dumps(value, indent=1, ensure_ascii=False) + "\n")

    def table(self, rows: Sequence[Row], title: str = "") -> None:
        """Print a small table, within the width of a terminal; elsewhere at full width."""
        if self.quiet or self.as_json or not rows:
            return
        if title:
            self.say(title)
        for line in lay_out(rows, self.width):
            self.out.print(Text(line.text, style="bold" if line.heading else ""), soft_wrap=True)

    def bars(self, rows: Sequence[tuple[str, str, float | None, float | None]], title: str = "") -> None:
        """Print a bar of excess risk and one of mean loss for each release; only on a terminal, where bars can be seen."""
        if self.quiet or self.as_json or not rows or not self.out.is_terminal:
            return
        from rich.bar import Bar
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        for name in ("release", "verdict", "excess risk", "", "mean loss", ""):
            table.add_column(name, no_wrap=name in ("excess risk", "mean loss"))
        for name, verdict, risk, loss in rows:
            style = "green" if verdict == "may be released" else "red"
            cells = [c for value, colour in ((risk, "blue"), (loss, "yellow")) for c in (
                Text("–" if value is None else f"{100 * value:.1f} %"),
                Bar(1.0, 0.0, min(max(value or 0.0, 0.0), 1.0), width=20, color=colour))]
            table.add_row(Text(name), Text(verdict, style=style), *cells)
        if title:
            self.say(title)
        self.out.print(table)

    @property
    def width(self) -> int | None:
        """Width of the terminal; None if results go to a file or another program."""
        return _width(self.out)

    def notes(self, notes: Sequence[Note]) -> None:
        """Print the notes of steps, warnings first."""
        order = {"warning": 0, "status": 1, "information": 2}
        for note in sorted(notes, key=lambda n: order[n.kind])[:_MOST_NOTES]:
            style = "yellow" if note.kind == "warning" else ""
            if not self.quiet and not self.as_json:
                self.out.print(wrap(f"{note.kind}: {note}", self.width), markup=False, style=style, soft_wrap=True)
        if len(notes) > _MOST_NOTES:
            self.say(f"… and {len(notes) - _MOST_NOTES} more notes")

    @contextmanager
    def progress(self, first: str = "reading the data") -> Iterator[Progress]:
        """A progress display, shown after one second of work; `first` is shown until the work reports what it does."""
        if self.quiet:
            yield silent
            return
        watcher = _Watcher(self.err, first)
        try:
            yield watcher
        finally:
            watcher.stop()


def wrap(text: str, width: int | None) -> str:
    """Wrap text to a width; lines that start with a bullet get a hanging indent."""
    if width is None:
        return text
    out = []
    for line in text.split("\n"):
        hang = " " * len(re.match(r"\s*(\* )?", line)[0])  # type: ignore[index]
        out += textwrap.wrap(line, width, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False) or [""]
    return "\n".join(out)


class _Line:
    """A text that is asked for whenever the display is drawn."""

    def __init__(self, text: Callable[[], str]) -> None:
        self.text = text

    def __rich__(self) -> Text:
        return Text(self.text())


class _Watcher:
    """Shows what is running with a bar and a clock on a terminal, or a line every few seconds where output goes to a file.

    The bar shows how many pieces of the work are done; the clock counts from the beginning of the work and ticks by itself.
    A step that says nothing of its own duration is shown with the time since it began.
    """

    def __init__(self, console: Console, first: str) -> None:
        self.console, self.began, self.status = console, time.monotonic(), first
        self.said = self.since = self.began
        self.share = (0, 1)
        self.shown: RichProgress | None = None
        self.lock = threading.Lock()
        self.timer = threading.Timer(PATIENCE, self._show)
        self.timer.daemon = True
        self.timer.start()

    def __call__(self, doing: str, done: int, total: int) -> None:
        with self.lock:
            before, self.status = self.status, with_count(doing, done, total)
            if _FIGURES.sub("", before) != _FIGURES.sub("", self.status):
                self.since = time.monotonic()
            self.share = (done, max(total, 1))
            if self.shown is not None:
                self._bar(self.shown)
                if time.monotonic() - self.said > _REFRESH:  # what begins now may let no other thread run
                    self.shown.refresh()
                    self.said = time.monotonic()
            elif not self.console.is_terminal and self._quiet_long_enough():
                self._line()

    def _show(self) -> None:
        with self.lock:
            if self.console.is_terminal:
                from rich.progress import BarColumn, Progress, RenderableColumn, SpinnerColumn, TimeElapsedColumn
                from rich.table import Column

                stage = RenderableColumn(_Line(self.line), table_column=Column(ratio=1))
                parts = (SpinnerColumn(), BarColumn(20), TimeElapsedColumn(), stage)
                self.shown = Progress(*parts, console=self.console, transient=True, expand=True)
                self.shown.add_task("")
                self.shown.tasks[0].start_time = self.shown.get_time() - (time.monotonic() - self.began)
                self._bar(self.shown)
                self.shown.start()
            else:
                self._line()

    def _bar(self, shown: RichProgress) -> None:
        (done, total), task = self.share, shown.tasks[0]
        task.total, task.completed = total, done

    def line(self) -> str:
        """What is running, and for how long."""
        told = _DURATION.search(self.status) is not None
        return self.status + ("" if told else seconds_so_far(time.monotonic() - self.since))

    def _quiet_long_enough(self) -> bool:
        """Whether the next line is due: a run of hours should not fill a log."""
        now = time.monotonic()
        return now - self.said > max(QUIET_FOR, _SHARE * (now - self.began))

    def _line(self) -> None:
        self.said = time.monotonic()
        self.console.print(f"{self.said - self.began:6.1f} s  {self.line()}", markup=False, soft_wrap=True)

    def stop(self) -> None:
        self.timer.cancel()
        with self.lock:
            if self.shown is not None:
                self.shown.stop()
