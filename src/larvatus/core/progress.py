"""How long work tells what it is doing: a function that is called, silent unless somebody listens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


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


def tell(doing: str, done: int, total: int) -> None:
    """Report to whoever listens: for methods whose work takes long."""
    _listener.get()(doing, done, total)
