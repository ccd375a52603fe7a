"""What the operating system refused, in one sentence and without data."""

from __future__ import annotations

import errno
import os


def system_refusal(error: OSError) -> str:
    """What the operating system refused, without the text of the error, which may contain data."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full. Free some space, or set LARVATUS_TEMP to a folder on another disk for temporary files."
    where = f" ({error.filename})" if isinstance(error.filename, str) else ""
    return f"the system refused to read or write a file{where}: {os.strerror(error.errno or 0)}."
