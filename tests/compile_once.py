"""Workers do not compile the same kernel at the same time: the first one compiles it, the others read it from the cache."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

_THREADS = RLock()


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Hold a lock against other processes; the lock ends with the process too."""
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def compile_once(folder: Path) -> None:
    """Let Numba hold a lock while it compiles a function. It looks into its cache first, when it has the lock.

    A kernel that needs another one compiles it under its own lock. Kernels do not call each other in circles, so no two
    processes wait for each other.
    """
    from numba.core.dispatcher import Dispatcher

    folder.mkdir(exist_ok=True)
    plain = Dispatcher.compile
    held: set[str] = set()

    def compiled(self: Any, signature: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        with _THREADS:
            if name in held or not name.startswith("larvatus."):  # a kernel that calls itself, or a function of Numba
                return plain(self, signature)
            held.add(name)
            try:
                with _alone(folder / hashlib.blake2b(name.encode(), digest_size=8).hexdigest()):
                    return plain(self, signature)
            finally:
                held.discard(name)

    Dispatcher.compile = compiled
