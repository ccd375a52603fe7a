"""Try work of a compiled library in a copy of this process: a damaged file may crash it, and only the copy ends."""

from __future__ import annotations

import faulthandler
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress


def survives(work: Callable[[], object]) -> bool:
    """Whether the work ends without a crash, also if it raises an error; True where a process cannot be copied."""
    if not hasattr(os, "fork") or sys.platform == "darwin":
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads of this process, which the copy does not have
        child = os.fork()
    if child == 0:
        try:
            with suppress(BaseException):
                faulthandler.disable()  # a crash of the copy is an answer, not an accident to report
                work()
        finally:
            os._exit(0)
    return os.WIFEXITED(os.waitpid(child, 0)[1])
