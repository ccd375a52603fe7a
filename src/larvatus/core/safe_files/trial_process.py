"""Try work of a compiled library in a copy of this process: a damaged file may crash it, and only the copy ends."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress

_PATIENCE = 60  # seconds


def survives(work: Callable[[], object]) -> bool:
    """Whether the work ends without a crash, also if it raises an error; True where a process cannot be copied.

    A copy has only one of the threads of this process. Should it wait for another one, it is ended, and nothing is known.
    """
    if not hasattr(os, "fork") or sys.platform == "darwin":
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads of this process, which the copy does not have
        child = os.fork()
    if child == 0:
        try:
            with suppress(BaseException):
                faulthandler.disable()  # a crash of the copy is an answer, not an accident to report
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(_PATIENCE)
                work()
        finally:
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    return os.WIFEXITED(status) or os.WTERMSIG(status) == signal.SIGALRM
