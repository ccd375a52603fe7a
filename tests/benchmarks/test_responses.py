"""The benchmark of interrupts and of progress: what it reports, without a study."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from script_loading import load


def test_the_longest_pause_with_and_without_figures():
    responses = load("benchmarks/responses.py")
    changes = [(0.0, "masking 1 s"), (1.0, "masking 2 s"), (4.0, "masking 3 s"), (4.5, "attacking 4 s"), (6.0, "attacking 5 s")]
    assert responses.longest_pause(changes, figures=True) == 3.0
    assert responses.longest_pause(changes, figures=False) == 4.5  # from the first line to the attack
    assert responses.longest_pause([], figures=True) == 0.0


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize(("number", "slow"), [(signal.SIGTERM, 0.0), (signal.SIGINT, 0.5)])
def test_the_time_from_the_signal_to_the_end(number, slow):
    """A program that shows something and ends at once, or half a second after the signal."""
    code = f"""
import signal, sys, time
def end(number, frame):
    time.sleep({slow})
    sys.exit(3)
signal.signal({int(number)}, end)
print("begun", flush=True)
time.sleep(60)
"""
    found = load("benchmarks/responses.py").interrupted([sys.executable, "-I", "-S", "-c", code], 0.1, number)
    assert found["exit_code"] == 3
    assert found["doing"] == "begun"
    assert slow <= found["end_seconds"] < slow + 10
