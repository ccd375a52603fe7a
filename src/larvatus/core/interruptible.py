"""Obey an interrupt at once, even in a compiled loop; or delay it while files are moved into place.

The main thread of Python handles signals, and only between two of its own instructions. The function therefore runs in another
thread while the main thread waits. After an interrupt that thread is abandoned: it ends at its next Python instruction.
"""

from __future__ import annotations

import contextvars
import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

_TICK, _MOMENT, _AGAIN = 0.5, 0.2, 0.02
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_R = TypeVar("_R")


def call_interruptibly(function: Callable[[], _R], here: bool = False) -> _R:
    """The result of the function; outside the main thread, or with `here`, by calling it directly."""
    if here or threading.current_thread() is not threading.main_thread():
        return function()
    found: list[_R] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            found.append(function())
        except BaseException as error:
            failed.append(error)

    thread = start_thread(work)
    try:
        while thread.is_alive():
            thread.join(_TICK)
    except BaseException:
        abandon_thread(thread)
        raise
    if failed:
        raise failed[0]
    return found[0]


def start_thread(work: Callable[[], None]) -> threading.Thread:
    """Start work in a thread that does not keep the process alive and has the context of this one."""
    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
    thread.start()
    return thread


def abandon_thread(thread: threading.Thread) -> None:
    """Let a thread end at its next Python instruction; wait for a moment only.

    In the finaliser of an object Python would print the exception and go on. It is then raised again a moment later.
    """
    usual = sys.unraisablehook

    def again(ignored: sys.UnraisableHookArgs) -> None:
        if ignored.exc_type is not SystemExit or threading.current_thread() is not thread:
            usual(ignored)
            return
        timer = threading.Timer(_AGAIN, _end_thread, (thread,))
        timer.daemon = True
        timer.start()

    sys.unraisablehook = again
    _end_thread(thread)
    thread.join(_MOMENT)


def _end_thread(thread: threading.Thread) -> None:
    if thread.ident is not None and thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))


def end_undisturbed(tidy: Callable[[], object]) -> None:
    """Tidy up at the end of the process; signals that ask it to end are ignored from here on."""
    if threading.current_thread() is threading.main_thread():
        for number in (getattr(signal, name, None) for name in _SIGNALS):
            if number is not None:
                signal.signal(number, signal.SIG_IGN)
    tidy()


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
