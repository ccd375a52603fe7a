"""Progress of long work: a callback, silent by default, and an estimate of the remaining time."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

_AT_ONCE = 1.0  # seconds in which a step needs no clock; with 2.0 the text could stand still for more than two seconds
_SOON = 0.05  # share of the work that must be done before the remaining time is shown


class Progress(Protocol):
    """Called when a piece of work begins: its description, the number of finished pieces, and the total."""

    def __call__(self, doing: str, done: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True)
class PieceProgress:
    """One of several pieces of work: its name, how many of its parts are done, and what is being done on it now."""

    name: str
    done: int
    total: int
    doing: tuple[str, ...] = ()


@runtime_checkable
class PieceDisplay(Protocol):
    """A progress callback that also shows each piece of work: it is told about all of them, and the seconds left if known."""

    def show_pieces(self, pieces: Sequence[PieceProgress], seconds_left: float | None) -> None: ...


def with_count(doing: str, done: int, total: int) -> str:
    """What is being done, and which of the pieces it is, unless it is the only one or all of them are done."""
    return f"{doing} ({done + 1} of {total})" if done < total > 1 else doing


def seconds_so_far(seconds: float) -> str:
    """For how long something has been going on, as the end of a line; nothing in the first second."""
    if seconds < _AT_ONCE:
        return ""
    minutes, rest = divmod(int(seconds), 60)
    return f" for {minutes} min {rest} s" if minutes else f" for {rest} s"


def silent(doing: str, done: int, total: int) -> None:
    """Report nothing."""


class ProgressLines:
    """Prints a line on standard error every few seconds: what is being done, and for how long the work has run."""

    def __init__(self, pause: float = 5.0, now: Callable[[], float] = time.monotonic) -> None:
        self.pause, self.now = pause, now
        self.began = self.said = now()

    def __call__(self, doing: str, done: int, total: int) -> None:
        now = self.now()
        if now - self.said >= max(self.pause, _SOON * (now - self.began)):  # hours of work should not fill a notebook
            self.said = now
            print(f"{now - self.began:6.0f} s  {with_count(doing, done, total)}", file=sys.stderr)


def default_progress() -> Progress:
    """Lines in a notebook, and in a script or console on a terminal; nothing if the output goes elsewhere.

    `LARVATUS_PROGRESS=off` in the environment turns them off. The command line does so: it has a display of its own.
    """
    if os.environ.get("LARVATUS_PROGRESS", "").lower() == "off":
        return silent
    shown = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    return ProgressLines() if shown else silent


_current: ContextVar[Progress] = ContextVar("progress", default=silent)


@contextmanager
def progress_to(progress: Progress) -> Iterator[None]:
    """Send the progress of methods called inside to this callback."""
    token = _current.set(progress)
    try:
        yield
    finally:
        _current.reset(token)


def current_progress() -> Progress:
    """The callback that receives progress now."""
    return _current.get()


def report_progress(doing: str, done: int, total: int) -> None:
    """Report progress to the current callback, for methods that take long."""
    _current.get()(doing, done, total)


class Clock:
    """Remaining time for pieces of work of one kind, estimated from the finished pieces.

    No estimate is given before one piece, and a twentieth of all, is done. The first piece includes reading and compiling,
    so it counts only half once there are others. While a piece is in progress the estimate falls and never rises.
    """

    def __init__(self, of: int, now: Callable[[], float] = time.monotonic) -> None:
        self.of, self.now = of, now
        self.began = now()
        self.marks: list[float] = []

    def done(self, pieces: int = 1) -> None:
        """Record that `pieces` more are done."""
        self.marks += [self.now()] * pieces

    def time_left(self) -> str:
        """The remaining time as a clause; empty if it cannot be estimated yet."""
        ready = len(self.marks)
        if not 0 < ready < self.of or ready < _SOON * self.of:
            return ""
        each = (self.marks[-1] - self.began) / ready
        if ready > 1:
            each = max((self.marks[-1] - self.marks[0]) / (ready - 1), each / 2)
        return f", {duration_text(each * (self.of - ready) - min(self.now() - self.marks[-1], each))} left"


def duration_text(seconds: float) -> str:
    """An approximate duration in words."""
    if seconds < 5:
        return "a few seconds"
    if seconds < 100:
        return f"about {5 * round(seconds / 5)} s"
    return f"about {seconds / 60:.0f} min" if seconds < 100 * 60 else f"about {seconds / 3600:.0f} hours"
