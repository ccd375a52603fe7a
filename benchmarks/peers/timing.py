"""Time one task of one tool: processor seconds, wall-clock seconds and peak memory. Standard library only.

    python with_TOOL.py TASK LIMIT SMALL_ORIGINAL SMALL_RELEASED ORIGINAL RELEASED

The task first runs on the small files, so that imports and compilation are not timed. Then it runs on the large ones; a task
of less than a second runs three times, and the median counts. Peak memory is resident memory above that before the task, with
the data in memory. A task that needs more than LIMIT seconds of processor time is ended by the signal SIGPROF.
"""

from __future__ import annotations

import importlib.metadata
import json
import signal
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Task = Callable[[Any, Any], dict[str, float]]
REPEATS, SHORT = 3, 1.0


def resident(key: str) -> int:
    """Resident memory of this process in bytes: VmRSS now, or VmHWM at its peak."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1]) * 1024


def run(package: str, tasks: Mapping[str, Task], read: Callable[[str, str], tuple[Any, Any]]) -> None:
    """Run the task named on the command line, and print what it took as JSON."""
    name, limit, *files = sys.argv[1:]
    small, large = read(*files[:2]), read(*files[2:])
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process, also inside compiled code
    signal.setitimer(signal.ITIMER_PROF, float(limit))
    tasks[name](*small)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak counts from here
    before = resident("VmRSS")
    signal.setitimer(signal.ITIMER_PROF, float(limit))
    seconds, wall, figures = [], [], {}
    while not seconds or (len(seconds) < REPEATS and seconds[0] < SHORT):
        began = time.process_time(), time.perf_counter()
        figures = tasks[name](*large)
        seconds.append(time.process_time() - began[0])
        wall.append(time.perf_counter() - began[1])
    signal.setitimer(signal.ITIMER_PROF, 0)
    print(json.dumps({
        "version": importlib.metadata.version(package), "seconds": round(statistics.median(seconds), 4),
        "wall_seconds": round(statistics.median(wall), 4), "peak_gb": round((resident("VmHWM") - before) / 1e9, 3),
        "figures": {k: round(float(v), 4) for k, v in figures.items()},
    }))
