"""Remove temporary files when work has ended, whether it succeeded or not: a failure here is no failure of the work."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path


def remove_if_possible(path: Path) -> None:
    """Remove a file or a folder. What the system refuses, or has no memory for, is left to the next call that finds it."""
    with suppress(OSError, MemoryError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.is_symlink() or path.exists():
            path.unlink()
