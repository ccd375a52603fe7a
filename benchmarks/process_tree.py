"""Memory and processor time of a process with all processes that it started, from the kernel's accounts (Linux)."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_EVERY, _SHARE = 0.2, 20  # seconds between two readings, and at least as many times what a reading takes: it holds up the work
_LOOKS = 5  # readings between two looks for new processes: a look reads all processes of the machine


def tree(root: int) -> list[int]:
    """A process and its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it may have ended
            parent = int(entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.parent.name))
    found = [root]
    for process in found:
        found += children.get(process, [])
    return found


def proportional_memory(process: int) -> int:
    """Resident bytes of a process; a page that several processes share counts in equal parts for each of them."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) * 1024
    return 0


@dataclass(frozen=True)
class Run:
    """A finished process: its output, seconds, and readings (time, bytes, processes) of its tree."""

    code: int
    out: str
    seconds: float
    wall_seconds: float
    readings: tuple[tuple[float, int, int], ...]

    def peak(self, begin: float = 0.0, end: float = float("inf")) -> int:
        """The most bytes of the tree between two times (default: ever); 0 if no reading lies between them."""
        return max((size for at, size, _ in self.readings if begin <= at <= end), default=0)

    @property
    def processes(self) -> int:
        """The most processes at one time."""
        return max((count for _, _, count in self.readings), default=1)


def run_watched(command: Sequence[str], environment: Mapping[str, str]) -> Run:
    """Run a command and read the memory of its tree about every fifth of a second.

    `seconds` are processor seconds of all of it. A process that it starts is counted within a few seconds. Readings of large
    processes are slow, and are made less often, so that they take at most a twentieth of one core.
    """
    readings: list[tuple[float, int, int]] = []
    before, began = os.times(), time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(environment))
    over = threading.Event()

    def watch() -> None:
        members, looked, took = [process.pid], 0, 0.0
        while not over.wait(max(_EVERY, _SHARE * took)):
            began = time.thread_time()
            members = tree(process.pid) if looked % _LOOKS == 0 else members
            looked += 1
            readings.append((time.time(), sum(map(proportional_memory, members)), len(members)))
            took = time.thread_time() - began

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        out, _ = process.communicate()
    finally:
        over.set()
        watcher.join()
        process.kill()
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Run(process.returncode, out, used, time.perf_counter() - began, tuple(readings))
