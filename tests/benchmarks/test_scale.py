"""The benchmark of scale fails beyond its limits, and keeps no folder of the machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from script_loading import ROOT, load

sys.path.insert(0, str(ROOT / "benchmarks"))
account = load("benchmarks/job_account.py")
scale = load("benchmarks/scale.py")


def job(rows: int, cost: float, memory: float) -> dict[str, object]:
    return {"engine": "duckdb", "rows": rows, "processor_microseconds_per_row": cost, "process_gb": memory}


def test_a_row_that_grows_dear_and_a_large_process_are_beyond_the_limits():
    within = [job(10**8, 9.0, 3.9), job(10**6, 7.0, 0.5)]
    assert account.beyond(within, 1.3, 4e9) == []
    assert "1.40 times" in account.beyond([*within, job(10**7, 9.8, 1.0)], 1.3, 4e9)[0]
    assert "4.1 GB" in account.beyond([*within, job(3 * 10**7, 7.0, 4.1)], 1.3, 4e9)[0]


def test_a_step_that_does_less_in_large_files_hides_no_growth():
    """Ten microseconds a row in both: but in the large one without the six of the step."""
    small, large = job(10**6, 10.0, 0.5), job(10**8, 10.0, 0.5)
    small["processor_steps"], large["processor_steps"] = {"attack": 6.0}, {"attack": 0.0}
    assert account.beyond([small, large], 1.3, 4e9) == []
    assert "2.50 times" in account.beyond([small, large], 1.3, 4e9, ["attack"])[0]


def test_the_kept_command_names_no_folder_of_the_machine():
    typed = scale.as_typed(["--rows", "1e6", "--sources", "/some/where/sources", "--log", "/some/where/run.txt", "--two"])
    assert typed == "python benchmarks/scale.py --rows 1e6 --sources sources --log run.txt --two"


def test_a_source_outside_of_the_watched_folder_counts(tmp_path):
    (tmp_path / "inside").mkdir()
    source, release = tmp_path / "source", tmp_path / "inside" / "release"
    for path in (source, release):
        path.write_bytes(b"1" * 100_000)
    assert account.used_by(tmp_path / "inside") == pytest.approx(100_000, abs=8192)
    watch = account.DiskWatch(tmp_path / "inside", source)
    assert watch.beside == pytest.approx(100_000, abs=8192)
    assert account.DiskWatch(tmp_path, source).beside == 0


def test_processes_that_ended_unasked_count():
    """A process that ignores its children, as the one that starts Spark's Pythons does, is not told what they used."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("the kernel keeps no account here")
    child = "import time\nwhile time.process_time() < 0.5: pass\ntime.sleep(0.6)"
    parent = ("import signal, subprocess, sys\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
              f"subprocess.Popen([sys.executable, '-c', {child!r}]).wait()\nprint(flush=True)\nsys.stdin.read()")
    watch = account.ProcessorWatch()
    before = watch.seconds()
    with subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert watch.seconds() - before > 0.45
        assert sum(account.processor_times().values()) < sum(watch._seen.values())


def test_every_step_has_its_seconds_and_its_peak():
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("the kernel keeps no account here")
    clock = account.StepClock()
    held = np.ones(10_000_000)
    del held
    clock.lap("large")  # the peak was before
    clock.lap("small")
    assert clock.peaks["large"] - clock.peaks["small"] > 40_000_000
    assert all(clock.times[k] >= 0 and clock.used[k] >= 0 for k in ("large", "small"))
