"""The benchmark of interrupts and of progress: what it reports, without a study."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from script_loading import load


def shown_at(seconds: float, text: str) -> tuple[float, str]:
    return seconds, f"{'⠸⠼⠴⠦'[int(10 * seconds) % 4]} ━━━━━━╸       0:00:{int(seconds):02} {text}"


CHANGES = [
    shown_at(0.0, "release 1 of 2; masking"), shown_at(1.0, "release 1 of 2; masking"),
    shown_at(3.0, "release 1 of 2; masking for 3 s"), shown_at(4.5, "release 1 of 2, about 5 s left; attacking"),
    shown_at(5.0, "release 1 of 2, a few seconds left; attacking for 2 s"), shown_at(8.0, "release 1 of 2; attacking for 5 s"),
]


def test_the_longest_pauses_of_the_display_of_the_text_and_of_the_step():
    responses = load("benchmarks/responses.py")
    assert responses.longest_pause(CHANGES, 8.5) == 3.0  # from 5 s to 8 s
    assert responses.longest_pause(CHANGES[:4], 8.5) == 4.0  # to the end
    assert responses.longest_pause(CHANGES[:4], 5.0, responses.text_of) == 3.0  # the clock alone moved at 1 s
    assert responses.longest_pause([CHANGES[0], CHANGES[1], CHANGES[5]], 8.5, responses.step_of) == 8.0
    assert responses.longest_pause([], 1.0) == 0.0
    assert responses.text_of(CHANGES[2][1]) == "release 1 of 2; masking for 3 s"


@pytest.mark.parametrize(("said", "seconds"), [
    ("about 25 s left; masking for 7 s", 25.0), ("about 3 min left", 180.0), ("about 2 hours left", 7200.0),
    ("a few seconds left", 2.5), ("masking for 3 s", None), ("about 25 s left … about 20 s left", 20.0),
])
def test_what_the_line_says_is_left(said, seconds):
    assert load("benchmarks/responses.py").seconds_left(said) == seconds


def test_estimates_are_compared_with_what_was_left():
    found = load("benchmarks/responses.py").estimates(CHANGES, 0.0, 10.0)
    assert found == [
        {"share": 0.25, "said": None, "true": 7.5, "ratio": None}, {"share": 0.5, "said": 2.5, "true": 5.0, "ratio": 0.5},
        {"share": 0.75, "said": 2.5, "true": 2.5, "ratio": 1.0},
    ]


def test_results_of_other_cases_stay(tmp_path):
    save, target = load("benchmarks/responses.py").save, tmp_path / "responses.json"
    for case, rows, load_average in (("survey", 30_000, 1.0), ("general", 200_000, 1.0), ("survey", 30_000, 2.0)):
        save(target, {"case": case, "rows": rows, "load": load_average})
    stored = json.loads(target.read_text(encoding="utf-8"))["runs"]
    assert [(r["case"], r["load"]) for r in stored] == [("general", 1.0), ("survey", 2.0)]


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
