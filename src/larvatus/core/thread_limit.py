"""How many threads a process may use at a time: all cores, or fewer while another process works beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

VARIABLE = "LARVATUS_THREADS"  # in the environment of a process that shares the cores with others
_limit: ContextVar[int] = ContextVar("threads", default=0)


def usable_threads() -> int:
    """The number of cores, unless a smaller limit is set here or in the environment."""
    cores = os.cpu_count() or 1
    stated = os.environ.get(VARIABLE, "")
    limits = [_limit.get(), int(stated) if stated.isdecimal() else 0]
    return min([cores, *(n for n in limits if n > 0)])


@contextmanager
def at_most_threads(number: int) -> Iterator[None]:
    """Use at most this number of threads inside; 0 for no limit."""
    token = _limit.set(number)
    try:
        yield
    finally:
        _limit.reset(token)
