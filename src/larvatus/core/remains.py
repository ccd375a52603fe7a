"""What a process would leave behind if it were killed: temporary files and other processes, reported to its supervisor.

Reports go through a pipe, one JSON line each. A process without a supervisor reports nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from larvatus.core.safe_files.staging import STAGING


class _Pipe:
    """The end of the pipe to write to; it belongs to the whole process."""

    descriptor: int | None = None

    def write(self, *said: str | int) -> None:
        if self.descriptor is not None:
            with suppress(OSError):  # the supervisor is gone
                os.write(self.descriptor, json.dumps(said).encode() + b"\n")


_PIPE = _Pipe()


def report_to(descriptor: int | None) -> None:
    """Report to the supervisor that reads this pipe; None ends that."""
    _PIPE.descriptor = descriptor


def report_pipe() -> int | None:
    """The pipe that this process reports to, for the processes that it starts."""
    return _PIPE.descriptor


def report_path(path: Path) -> None:
    """Report a temporary file or folder before it is created."""
    _PIPE.write("path", os.path.abspath(path))


def report_removal(path: Path) -> None:
    """Report that a temporary file or folder is gone."""
    _PIPE.write("removed", os.path.abspath(path))


def report_process(number: int) -> None:
    """Report a process that was started."""
    _PIPE.write("process", number)


def report_end(number: int) -> None:
    """Report that a process has ended."""
    _PIPE.write("ended", number)


@dataclass(slots=True)
class Remains:
    """What the reports name and what is not gone yet, in the supervisor."""

    paths: dict[str, None] = field(default_factory=dict)
    processes: set[int] = field(default_factory=set)
    unread: bytes = b""

    def read(self, raw: bytes) -> None:
        """Take in a part of the pipe's content."""
        *lines, self.unread = (self.unread + raw).split(b"\n")
        for line in lines:
            what, which = json.loads(line)
            if what == "path":
                self.paths[which] = None
            elif what == "removed":
                self.paths.pop(which, None)
            elif what == "process":
                self.processes.add(which)
            else:
                self.processes.discard(which)

    def kill(self) -> None:
        """Kill the processes."""
        for number in self.processes:
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)

    def remove(self) -> None:
        """Remove the files and folders. A set of files that counts as written is moved into place."""
        from larvatus.core.errors import LarvatusError
        from larvatus.core.safe_files.file_sets import settle_set

        for name in self.paths:
            if os.path.basename(name).startswith(STAGING):
                with suppress(LarvatusError, OSError):
                    settle_set(Path(name))
            elif os.path.isdir(name) and not os.path.islink(name):
                shutil.rmtree(name, ignore_errors=True)
            else:
                with suppress(OSError):
                    os.unlink(name)
