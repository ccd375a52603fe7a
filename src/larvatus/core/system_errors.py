"""What the operating system refused, in one sentence and without data."""

from __future__ import annotations

import errno
import os


def is_failure_of_machine(error: Exception) -> bool:
    """Whether an error that no method foresees comes from the machine: its system, its memory, or Spark's Java process."""
    lost = type(error).__module__.partition(".")[0] == "py4j"
    return lost or isinstance(error, MemoryError) or (isinstance(error, OSError) and bool(error.errno))


def machine_failure(error: Exception) -> str:
    """What failed, without the text of the error, which may contain data."""
    if isinstance(error, OSError):
        return system_refusal(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory. Use engine duckdb, fewer columns, or a machine with more memory."
    return "Spark's Java process has ended, or cannot be reached. See Spark's logs, and repeat the command."


def system_refusal(error: OSError) -> str:
    """What the operating system refused, without the text of the error, which may contain data."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full. Free some space, or set LARVATUS_TEMP to a folder on another disk for temporary files."
    where = f" ({error.filename})" if isinstance(error.filename, str) else ""
    return f"the system refused to read or write a file{where}: {os.strerror(error.errno or 0)}."
