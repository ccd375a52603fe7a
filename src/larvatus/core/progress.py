"""How long work tells what it is doing: a value that is called, silent unless somebody listens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """What the walk reports to: what is being done, how much is done, out of how much."""

    def __call__(self, doing: str, done: int, total: int) -> None: ...


def silent(doing: str, done: int, total: int) -> None:
    """Report to nobody."""


@contextmanager
def stage(progress: Progress, doing: str, done: int, total: int) -> Iterator[None]:
    """One piece of the walk: said when it begins and when it has ended."""
    progress(doing, done, total)
    yield
    progress(doing, done + 1, total)
