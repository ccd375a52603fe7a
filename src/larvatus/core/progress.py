"""How long work tells what it is doing: a function that is called, silent unless somebody listens."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called when a piece of work begins: what it is, how many came before it, and how many there are."""

    def __call__(self, doing: str, done: int, total: int) -> None: ...


def silent(doing: str, done: int, total: int) -> None:
    """Report to nobody."""
