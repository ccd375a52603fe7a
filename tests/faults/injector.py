"""Counts the file operations of this process in some folders, and makes one of them fail.

Python reports operations to an audit hook before it carries them out. What Arrow opens and writes in compiled code is not
reported, and neither is `fsync`, so these functions are wrapped.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import larvatus

ERRORS = {"ENOSPC": errno.ENOSPC, "EACCES": errno.EACCES, "EIO": errno.EIO, "full": errno.ENOSPC, "memory": errno.ENOMEM}
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM}
FAULTS = (*SIGNALS, *ERRORS)
STOP = "stop"  # no fault: the process waits for SIGCONT
COPY = "copy"  # no fault: the folders are copied before each operation, which is what a process killed there leaves
_PACKAGE = str(Path(larvatus.__file__).parent) + "/"
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_EVENTS = {  # which argument is a path, and which its folder's descriptor
    "os.rename": (1, 3), "os.remove": (0, 1), "os.mkdir": (0, 2), "os.rmdir": (0, 1), "os.link": (1, 3), "os.symlink": (1, 2),
    "os.chmod": (0, 2), "os.truncate": (0, None), "open": (0, None),
}
_GROWS = {"open", "os.mkdir", "os.link", "os.symlink", "fsync", "write"}  # what a full disk refuses


@dataclass
class Injector:
    """`at` is the number of the operation that fails, from 1; 0 only counts. `full` also fails what needs space later.

    `sites` has the lines of the package that led to each operation. Copies of `copied` go to `copies`, by number.
    """

    roots: tuple[str, ...]
    at: int = 0
    fault: str = "SIGKILL"
    done: int = 0
    seen: list[str] = field(default_factory=list)
    sites: list[str] = field(default_factory=list)
    grew: bool = False  # whether an operation that needs space came after the one that failed
    active: bool = False
    copied: str = ""
    copies: str = ""
    busy: Any = field(default_factory=threading.RLock)

    def prepare(self, at: int, fault: str) -> None:
        """Begin to count, for a command of which this operation fails."""
        self.at, self.fault, self.done, self.seen, self.sites, self.grew, self.active = at, fault, 0, [], [], False, True

    def start(self) -> None:
        self.active = True
        sys.addaudithook(self._heard)
        _wrap(self)

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.active or event not in _EVENTS:
            return
        if event == "open" and not (isinstance(args[2], int) and args[2] & _WRITES):
            return
        place, folder = _EVENTS[event]
        path = args[place]
        if isinstance(path, int) or path is None:
            return
        path = os.fsdecode(path)
        inside = args[folder] if folder is not None and len(args) > folder else -1
        if isinstance(inside, int) and inside >= 0 and not os.path.isabs(path):
            path = os.path.join(os.readlink(f"/proc/self/fd/{inside}"), path)
        self.happens(event, path)

    def happens(self, event: str, path: str) -> None:
        """An operation is about to be carried out."""
        path = os.path.realpath(os.path.dirname(os.path.abspath(path))) + "/" + os.path.basename(path)
        if not self.active or not path.startswith(self.roots):
            return
        with self.busy:  # a number for each; and while folders are copied, operations of other threads wait
            self.done += 1
            at = self.done
            self.seen.append(f"{event} {path}")
            if self.fault == COPY:
                shutil.copytree(self.copied, f"{self.copies}/{at}", symlinks=True)
                return
        if not self.at:
            self.sites.append(f"{event} {_call_site()}")
        grows = event in _GROWS and not (event == "open" and os.path.exists(path))
        self.grew = self.grew or bool(self.at and at > self.at and grows)
        later = self.fault == "full" and self.at and at > self.at and grows
        if at != self.at and not later:
            return
        if self.fault == STOP:
            os.kill(os.getpid(), signal.SIGSTOP)
        elif self.fault in SIGNALS:
            os.kill(os.getpid(), SIGNALS[self.fault])
        elif self.fault == "memory":
            raise MemoryError
        else:
            number = ERRORS[self.fault]
            raise OSError(number, os.strerror(number), path)


def _call_site() -> str:
    """The lines of the package that are being carried out, from the innermost."""
    frame, lines = sys._getframe(2), []
    while frame is not None:
        if frame.f_code.co_filename.startswith(_PACKAGE):
            lines.append(f"{frame.f_code.co_filename.removeprefix(_PACKAGE)}:{frame.f_lineno}")
        frame = frame.f_back  # type: ignore[assignment]
    return " ".join(lines)


def _wrap(told: Injector) -> None:
    def synced(descriptor: int) -> None:  # no power fails in a test, and waiting for the disk takes most of the time
        told.happens("fsync", os.readlink(f"/proc/self/fd/{descriptor}"))

    os.fsync = synced
    if "pyarrow.parquet" in sys.modules:
        _wrap_arrow(told)


def _wrap_arrow(told: Injector) -> None:
    from pyarrow import csv, parquet

    made, write, close = parquet.ParquetWriter.__init__, parquet.ParquetWriter.write_batch, parquet.ParquetWriter.close

    def start_parquet(self: Any, where: Any, *args: Any, **more: Any) -> None:
        if isinstance(where, str | os.PathLike):
            told.happens("open", str(where))
        self.told = str(where) if isinstance(where, str | os.PathLike) else ""
        made(self, where, *args, **more)

    def write_parquet(self: Any, *args: Any, **more: Any) -> None:
        if self.told:
            told.happens("write", self.told)
        write(self, *args, **more)

    def close_parquet(self: Any) -> None:
        if self.is_open and self.told:
            told.happens("write", self.told)
        close(self)

    parquet.ParquetWriter.__init__, parquet.ParquetWriter.write_batch = start_parquet, write_parquet
    parquet.ParquetWriter.close = close_parquet
    csv_writer = csv.CSVWriter

    class Watched:
        def __init__(self, where: Any, schema: Any) -> None:
            if isinstance(where, str | os.PathLike):
                told.happens("open", str(where))
            self.where, self.inner = str(where), csv_writer(where, schema)

        def write_batch(self, batch: Any) -> None:
            told.happens("write", self.where)
            self.inner.write_batch(batch)

        def close(self) -> None:
            self.inner.close()

    csv.CSVWriter = Watched
