"""How long work tells what it is doing: a function that is called, silent unless somebody listens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

_SOON = 0.05  # share of the work that must be done before the time left is told


class Progress(Protocol):
    """Called when a piece of work begins: what it is, how many came before it, and how many there are."""

    def __call__(self, doing: str, done: int, total: int) -> None: ...


def silent(doing: str, done: int, total: int) -> None:
    """Report to nobody."""


_listener: ContextVar[Progress] = ContextVar("listener", default=silent)


@contextmanager
def heard_by(progress: Progress) -> Iterator[None]:
    """Let methods inside tell a listener how far they are."""
    token = _listener.set(progress)
    try:
        yield
    finally:
        _listener.reset(token)


def listener() -> Progress:
    """Whoever listens now."""
    return _listener.get()


def tell(doing: str, done: int, total: int) -> None:
    """Report to whoever listens: for methods whose work takes long."""
    _listener.get()(doing, done, total)


class Clock:
    """How much longer pieces of work of one kind will take, judged by those that are done.

    Nothing is told before one piece, and a twentieth of all, is done. The first piece also reads and compiles, so that it
    counts only half once there are others. While a piece is worked on the estimate falls, and never rises.
    """

    def __init__(self, of: int, now: Callable[[], float] = time.monotonic) -> None:
        self.of, self.now = of, now
        self.began = now()
        self.marks: list[float] = []

    def done(self, pieces: int = 1) -> None:
        """So many more are done."""
        self.marks += [self.now()] * pieces

    def left(self) -> str:
        """The time left as a clause, or nothing where it cannot be told."""
        ready = len(self.marks)
        if not 0 < ready < self.of or ready < _SOON * self.of:
            return ""
        each = (self.marks[-1] - self.began) / ready
        if ready > 1:
            each = max((self.marks[-1] - self.marks[0]) / (ready - 1), each / 2)
        return f", {duration_text(each * (self.of - ready) - min(self.now() - self.marks[-1], each))} left"


def duration_text(seconds: float) -> str:
    """A time as a person says it when it is only roughly known."""
    if seconds < 5:
        return "a few seconds"
    if seconds < 100:
        return f"about {5 * round(seconds / 5)} s"
    return f"about {seconds / 60:.0f} min" if seconds < 100 * 60 else f"about {seconds / 3600:.0f} hours"
