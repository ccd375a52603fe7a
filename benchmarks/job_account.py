"""What a job takes from the machine, from the kernel's accounts (Linux): memory, bytes, processors, disk; and its log."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO


def status(key: str) -> int:
    """A line of the kernel's account of this process, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1]) * 1024


def forget_peak() -> None:
    """The peak of resident memory counts from here."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def processor_times() -> dict[tuple[int, str], int]:
    """Ticks that this process and each one that it started have used so far, by number and start."""
    parents, used = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            found = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # gone meanwhile
            continue
        at = int(entry.parent.name)
        parents[at], used[at] = int(found[1]), (found[19], sum(map(int, found[11:13])))
    own = {os.getpid()}
    while more := {p for p, q in parents.items() if q in own} - own:
        own |= more
    return {(p, used[p][0]): used[p][1] for p in own}


def moved_bytes() -> int:
    """What this process has read from files and written to files, in bytes, as the kernel counts it."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
    return int(lines["rchar"]) + int(lines["wchar"])


def used_by(folder: Path) -> int:
    """Bytes on disk of a folder while files come and go; a source linked from elsewhere counts too."""
    total = 0
    for at, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += (Path(at) / name).stat().st_blocks * 512
    return total


class DiskWatch(threading.Thread):
    """Looks every two seconds how much a folder and a source hold: source, columns, spilled rows and releases together."""

    def __init__(self, folder: Path, source: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.most = folder, 0
        self.beside = 0 if source.is_relative_to(folder) else source.stat().st_blocks * 512
        self.start()

    def run(self) -> None:
        while True:
            self.most = max(self.most, self.beside + used_by(self.folder))
            time.sleep(2)


class ProcessorWatch(threading.Thread):
    """Looks five times a second what processors this process and all that it started have used.

    What ended processes have used counts too: Spark ends Pythons that are idle, and the kernel forgets their times, because the
    process that started them does not ask for them.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._seen: dict[tuple[int, str], int] = {}
        self._both = threading.Lock()
        self.start()

    def run(self) -> None:
        while True:
            self.seconds()
            time.sleep(0.2)

    def seconds(self) -> float:
        """Processor time of all of them, executors and their Pythons too, up to now."""
        with self._both:
            self._seen |= processor_times()
            return sum(self._seen.values()) / os.sysconf("SC_CLK_TCK")


class ReadyWatch(threading.Thread):
    """Looks every second how many threads of this process run or wait for a core, whether or not others use the cores."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: list[int] = []
        self.start()

    def run(self) -> None:
        own = str(threading.get_native_id())
        while True:
            ready = 0
            for task in Path("/proc/self/task").iterdir():
                with suppress(OSError):  # it may have ended
                    state = (task / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
                    ready += task.name != own and state in "RD"
            self.seen.append(ready)
            time.sleep(1)

    def share(self) -> float | None:
        """The share of the cores that the process could have used since the last call; None if nothing was seen."""
        seen, self.seen, cores = self.seen, [], os.cpu_count() or 1
        return round(sum(min(n, cores) for n in seen) / len(seen) / cores, 2) if seen else None


class StepClock:
    """Seconds, processor seconds and peak memory of each step of a job; each step is reported when it ends.

    `wanted` is the share of the cores that the step could have used, by releases if there are two.
    """

    def __init__(self) -> None:
        self.wanted: dict[str, list[float]] = {}
        self._ready = ReadyWatch()
        self.times: dict[str, float] = {}
        self.used: dict[str, float] = {}
        self.peaks: dict[str, int] = {}
        forget_peak()
        self.again()

    def again(self) -> None:
        """The next step begins here."""
        self._ready.share()
        self._start, self._began = time.perf_counter(), time.process_time()

    def lap(self, name: str) -> None:
        now, spent = time.perf_counter() - self._start, time.process_time() - self._began
        peak = status("VmHWM")
        forget_peak()
        self.times[name], self.used[name] = self.times.get(name, 0) + now, self.used.get(name, 0) + spent
        self.peaks[name] = max(self.peaks.get(name, 0), peak)
        share = self._ready.share()
        self.wanted.setdefault(name, []).extend([] if share is None else [share])
        print(f"{time.strftime('%H:%M:%S')} {name:18} {now:8.1f} s  processor {spent:7.1f} s  peak {peak / 1e9:5.2f} GB",
              file=sys.stderr, flush=True)
        self.again()


def cores_busy(used: float, seconds: float) -> float:
    """The share of the cores that a job kept at work."""
    return round(used / seconds / (os.cpu_count() or 1), 2) if seconds else 0.0


def beyond(jobs: list[Mapping[str, Any]], ratio: float, memory: float, less: Sequence[str] = ()) -> list[str]:
    """What is wrong with jobs of one engine: cost of a row that grows too much with the file, or too much memory.

    The cost counts against that of the smallest file, both without the steps `less`, which do less in large files. The memory
    is that of the whole process.
    """
    def cost(job: Mapping[str, Any]) -> float:
        left_out = sum(job.get("processor_steps", {}).get(step, 0.0) for step in less)
        return float(job["processor_microseconds_per_row"]) - left_out / float(job["rows"]) * 1e6

    ordered = sorted(jobs, key=lambda j: j["rows"])
    out = []
    for job in ordered:
        grown = cost(job) / cost(ordered[0])
        if grown > ratio:
            out.append(f"{job['engine']}, {job['rows']:,} rows: a row costs {grown:.2f} times as much as in the smallest file")
        if job.get("process_gb", 0) * 1e9 > memory:
            out.append(f"{job['engine']}, {job['rows']:,} rows: {job['process_gb']} GB")
    return out


class Log:
    """Lines for the screen and for a file that is kept."""

    def __init__(self, path: Path | None) -> None:
        self._file: TextIO | None = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("w", encoding="utf-8")

    def write(self, line: str) -> None:
        print(line, flush=True)
        if self._file is not None:
            print(line, file=self._file, flush=True)
