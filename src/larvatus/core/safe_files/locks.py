"""Locks on files and folders. A lock ends with its process, however the process ends."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_BUSY = (errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN)
_PAUSE = 0.02


class Busy(Exception):
    """Another process holds the lock."""


def take_lock(descriptor: int, shared: bool = False, wait: float = 0.0) -> bool:
    """Lock an open file, and wait some seconds if it is locked; False on a system or a file system without locks."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        return False
    until = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in _BUSY:
                return False
        if time.monotonic() >= until:
            raise Busy
        time.sleep(_PAUSE)


def lock_new(path: Path, mode: int) -> int:
    """Create a file and lock it; returns its descriptor, which holds the lock.

    Another process may take a file without a lock for one of a dead process, and remove it. Then it is created again.
    """
    while True:
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        except FileExistsError:  # the other process is about to remove it
            time.sleep(_PAUSE)
            continue
        with suppress(Busy):
            take_lock(descriptor)
            if is_still(path, descriptor):
                return descriptor
        os.close(descriptor)


def is_still(path: Path, descriptor: int) -> bool:
    """Whether a path still names the file that was opened."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False


@contextmanager
def lock(path: Path, shared: bool = False, wait: float = 0.0) -> Iterator[bool]:
    """Lock a file or folder; yields whether the lock was obtained."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            mine = take_lock(descriptor, shared, wait)
        except Busy:
            mine = False
        yield mine
    finally:
        os.close(descriptor)
