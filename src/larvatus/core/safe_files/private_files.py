"""Files with secrets: refused if other users of the machine can read or change them."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from larvatus.core.errors import ReadError


def check_private(path: Path, what: str) -> None:
    """Refuse a file that every user of the machine can read or change. A pipe is not a file, and a missing one is not there."""
    if os.name != "posix":  # pragma: no cover - permissions mean something else there
        return
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # reading it tells why
    if stat.S_ISREG(mode) and mode & (stat.S_IROTH | stat.S_IWOTH):
        can = "read" if mode & stat.S_IROTH else "change"
        raise ReadError(f"{what} {path}: every user of this machine can {can} it. Make it yours alone: "
                        f"chmod 600 {shlex.quote(str(path))}. If others have used the machine, also choose a new one.")
