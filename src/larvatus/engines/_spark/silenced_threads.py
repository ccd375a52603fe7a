"""Tracebacks that the libraries of Spark print in threads of their own once a connection has ended; they could hold values.

The caller of the library gets the error in any case, and it is explained to the user in one sentence.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from pathlib import Path
from traceback import walk_tb
from typing import Any

_WATCHED = "handle_until_larvatus"  # where PySpark's own function is kept


def silence_py4j() -> None:
    """Keep py4j from printing a traceback for each message that Java does not answer; some are logged by the root logger.

    PySpark prints one more if Java ends while it waits for a count from there.
    """
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_of_py4j)
    from pyspark import accumulators

    handler: Any = accumulators.UpdateRequestHandler
    if not hasattr(handler, _WATCHED):
        setattr(handler, _WATCHED, handler.handle)
        handler.handle = _until_java_ends


def _until_java_ends(handler: Any) -> None:
    """What the handler does, which ends without an error if the other side is gone."""
    with suppress(EOFError, ConnectionError):
        getattr(handler, _WATCHED)()


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


def silence_grpc() -> None:
    """Keep a thread of gRPC from printing a traceback if the command is ended while it waits for an answer."""
    usual = threading.excepthook
    if not hasattr(usual, _WATCHED):
        threading.excepthook = _not_of_grpc(usual)


def _not_of_grpc(usual: Any) -> Any:
    def report(failed: threading.ExceptHookArgs) -> None:
        if not any("_cython/_cygrpc/" in frame.f_code.co_filename for frame, _ in walk_tb(failed.exc_traceback)):
            usual(failed)

    setattr(report, _WATCHED, usual)
    return report
