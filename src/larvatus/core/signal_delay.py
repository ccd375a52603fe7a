"""Delay signals while files are moved into place, so that all of them are moved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold signals that would raise an exception until the end of this context; for work that takes moments."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread handles signals
        yield
        return
    numbers = [n for name in _SIGNALS if (n := getattr(signal, name, None)) is not None and callable(signal.getsignal(n))]
    received: list[int] = []
    before = {n: signal.signal(n, lambda number, frame: received.append(number)) for n in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(received):
            signal.raise_signal(number)
