"""Calls to a Spark Connect server that an interrupt cannot spoil.

Python raises an interrupt between any two instructions. Within the code of gRPC it could leave a lock of the channel taken, and
all later calls of the session would wait for ever. So another thread makes the call, and the one that can be interrupted only
waits.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from larvatus.core.interruptible import start_thread

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TICK = 0.5
_R = TypeVar("_R")


def collect_rows(frame: DataFrame) -> list[Any]:
    """The rows of a small result. After an interrupt, the job is cancelled and is not waited for."""
    if not is_connect(frame):
        return list(frame.collect())
    session, own = frame.sparkSession, f"larvatus-{secrets.token_hex(8)}"
    tags = {*session.getTags(), own}

    def collect() -> list[Any]:
        for tag in tags:  # a thread has its own
            session.addTag(tag)
        return list(frame.collect())

    def cancel() -> None:
        with suppress(Exception):  # a server that is older or gone
            session.interruptTag(own)

    return call_sheltered(collect, cancel)


def call_sheltered(call: Callable[[], _R], cancel: Callable[[], None] | None = None) -> _R:
    """The result of the call, which goes on if this thread is interrupted; `cancel` is then called as well."""
    found: list[_R] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            found.append(call())
        except BaseException as error:
            failed.append(error)

    try:
        thread = start_thread(work)
        while thread.is_alive():
            thread.join(_TICK)
    except (KeyboardInterrupt, SystemExit):
        if cancel is not None:
            start_thread(cancel)
        raise
    if failed:
        raise failed[0]
    return found[0]


def is_connect(given: Any) -> bool:
    """Whether a session or a data frame is one of Spark Connect."""
    return ".connect." in type(given).__module__
