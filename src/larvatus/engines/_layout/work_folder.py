"""A private folder for temporary data. It is removed when the process ends, or at the next start if the process was killed."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path

from larvatus.core.errors import EngineError
from larvatus.core.remains import report_path, report_removal

PREFIX, LOCK, _ABANDONED = "larvatus-work-", "lock", 3600.0
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
            atexit.register(self._close)
            report_path(self.path)
            self.path.mkdir(mode=0o700)
        except OSError as error:
            raise EngineError(
                f"temporary files cannot be written in {where}: {error.strerror or 'unknown error'}. "
                "Set LARVATUS_TEMP to a writable folder."
            ) from None
        unlocked = self.path / f".{LOCK}"
        held.append(os.open(unlocked, os.O_CREAT | os.O_RDWR, 0o600))
        _locked(held[0])
        unlocked.rename(self.path / LOCK)  # once the lock file is visible, it is locked

    def file(self, suffix: str = "") -> Path:
        """A new path in the folder."""
        return self.path / f"{secrets.token_hex(8)}{suffix}"

    def close(self) -> None:
        """Remove the folder and everything in it."""
        self._close()


def _removed(path: Path, held: list[int], owner: int) -> None:
    if os.getpid() != owner:  # a forked child does not own its parent's files
        return
    for _ in range(_TRIES):  # a thread that is still writing may add a file
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            break
        time.sleep(PAUSE)
    if not path.exists():
        report_removal(path)
    for lock in held:
        with suppress(OSError):
            os.close(lock)


def _locked(descriptor: int) -> bool:
    """Whether the lock was free; on systems without locks, a folder counts as in use."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def remove_stale(base: Path) -> int:
    """Remove folders of processes that have ended: those with a free lock. Returns their number."""
    gone = 0
    for folder in base.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            if not (folder / LOCK).exists() and time.time() - folder.stat().st_mtime > _ABANDONED:
                shutil.rmtree(folder, ignore_errors=True)
                gone += 1
                continue
            descriptor = os.open(folder / LOCK, os.O_RDWR)
            try:
                if _locked(descriptor):
                    shutil.rmtree(folder, ignore_errors=True)
                    gone += 1
            finally:
                os.close(descriptor)
    return gone
