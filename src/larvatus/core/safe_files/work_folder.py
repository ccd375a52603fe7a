"""A private folder for temporary data. It is removed when the process ends, or at the next start if the process was killed."""

from __future__ import annotations

import atexit
import os
import secrets
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path

from larvatus.core.errors import MachineError
from larvatus.core.interruptible import end_undisturbed
from larvatus.core.remains import report_path, report_removal
from larvatus.core.safe_files.locks import lock, lock_new
from larvatus.core.safe_files.removal import remove_if_possible

PREFIX, LOCK = "larvatus-work-", "lock"
_TRIES, PAUSE = 5, 0.1


class WorkFolder:
    """A folder that only the owner can read, locked as long as the process lives."""

    def __init__(self, base: Path | None = None) -> None:
        where = base or Path(os.environ.get("LARVATUS_TEMP") or tempfile.gettempdir())
        try:
            where.mkdir(parents=True, exist_ok=True)
            remove_stale(where)
            self.path = where / f"{PREFIX}{os.getpid()}-{secrets.token_hex(8)}"
            held: list[int] = []  # the lock, once there is one
            # before the folder exists: a signal that ends the process may come at any moment from here on
            self._close = weakref.finalize(self, _removed, self.path, held, os.getpid())
            atexit.register(end_undisturbed, self._close)
            report_path(self.path)
            held.append(_new_folder(self.path))
        except OSError as error:
            raise MachineError(
                f"temporary files cannot be written in {where}: {error.strerror or 'unknown error'}. "
                "Set LARVATUS_TEMP to a writable folder."
            ) from None

    def file(self, suffix: str = "") -> Path:
        """A new path in the folder."""
        return self.path / f"{secrets.token_hex(8)}{suffix}"

    def close(self) -> None:
        """Remove the folder and everything in it."""
        self._close()


def _new_folder(path: Path) -> int:
    """Create a private folder with a lock; another process may remove it before it is locked, and then it is created again."""
    while True:
        path.mkdir(mode=0o700)
        with suppress(FileNotFoundError):
            return lock_new(path / LOCK, 0o600)


def _removed(path: Path, held: list[int], owner: int) -> None:
    if os.getpid() != owner:  # a forked child does not own its parent's files
        return
    for _ in range(_TRIES):  # a thread that is still writing may add a file
        remove_if_possible(path)
        if not path.exists():
            break
        time.sleep(PAUSE)
    if not path.exists():
        report_removal(path)
    for descriptor in held:
        with suppress(OSError):
            os.close(descriptor)


def remove_stale(base: Path) -> int:
    """Remove folders of processes that have ended: those with a free lock, or with none. Returns their number."""
    gone = 0
    for folder in base.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            there = os.listdir(folder)  # looked at once: a lock that appears later belongs to a living process
            if LOCK not in there:
                if there:  # its removal was interrupted: a lock is the first file of a folder
                    remove_if_possible(folder)
                else:
                    folder.rmdir()  # fails if it is locked by now; whoever has made it makes it again
                gone += 1
                continue
            with lock(folder / LOCK) as free:
                if free:
                    remove_if_possible(folder)
                    gone += 1
    return gone
