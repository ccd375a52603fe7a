"""What the operating system refused, in one sentence and without data."""

from __future__ import annotations

import errno
import os
import sys

LOST_SPARK = "Spark's Java process has ended, or cannot be reached. See Spark's logs, and repeat the command."

_NO_THREAD = "can't start new thread"  # what Python says where there is no memory for one


def is_failure_of_machine(error: Exception) -> bool:
    """Whether an error that no method foresees comes from the machine: its system, its memory, or Spark's Java process."""
    lacks_memory = isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and str(error) == _NO_THREAD)
    return lacks_memory or has_lost_spark(error) or (isinstance(error, OSError) and bool(error.errno))


def has_lost_spark(error: BaseException) -> bool:
    """Whether Java did not answer. PySpark raises errors of many kinds after that; the first of them is in their history.

    A `Py4JJavaError` there is an error that Java reported, so that it is alive.
    """
    found: BaseException | None = error
    while found is not None:
        of_py4j = type(found).__module__.partition(".")[0] == "py4j"
        if of_py4j and (found is error or type(found).__name__ != "Py4JJavaError"):
            return True
        if isinstance(found, ConnectionError) and "py4j" in sys.modules:
            return True
        found = found.__cause__ or found.__context__
    return False


def machine_failure(error: Exception) -> str:
    """What failed, without the text of the error, which may contain data."""
    if has_lost_spark(error):
        return LOST_SPARK
    if isinstance(error, OSError):
        return system_refusal(error)
    return "there is not enough memory. Use engine duckdb, fewer columns, or a machine with more memory."


def system_refusal(error: OSError) -> str:
    """What the operating system refused, without the text of the error, which may contain data."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full. Free some space, or set LARVATUS_TEMP to a folder on another disk for temporary files."
    where = f" ({error.filename})" if isinstance(error.filename, str) else ""
    return f"the system refused to read or write a file{where}: {os.strerror(error.errno or 0)}."
