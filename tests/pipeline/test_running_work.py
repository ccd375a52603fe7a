"""The line of progress names what runs at that moment, moves while one piece runs, and tells the time left from work done."""

from __future__ import annotations

import json
import operator
import re
import threading
import time
from pathlib import Path

import pytest

from larvatus.core.progress import silent
from larvatus.pipeline.candidates import running_work, unit_runner
from larvatus.pipeline.candidates.duration_estimate import DurationEstimate, usual_seconds
from larvatus.pipeline.candidates.running_work import RunningWork
from larvatus.pipeline.candidates.unit_runner import Unit, UnitRunner

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


class Hands:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


class Trace:
    """Lines of progress, and which units were running in this process when each was shown."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.running: set[str] = set()
        self.lock = threading.Lock()

    def __call__(self, doing: str, done: int, total: int) -> None:
        with self.lock:
            self.lines.append(doing)


def plan(release: str, units: list[tuple[str, float]]):
    yield [Unit("mask", release, "masking", 0.05)]
    found = yield [Unit(kind, release, f"attacking: {kind}", seconds) for kind, seconds in units]
    return (release, found)


UNITS = [("first", 0.15), ("second", 0.2), ("third", 0.1)]


def runner_of(trace: Trace, jobs: int, here, releases: int = 2) -> UnitRunner:
    work = RunningWork(trace, DurationEstimate(lambda kind: 0.1), [["mask", "first", "second", "third"]] * releases)
    return UnitRunner(here, operator.call, time.sleep, jobs, True, work)


def test_the_line_names_the_unit_that_runs():
    trace = Trace()
    seen: list[str] = []

    def here(seconds, progress):
        seen.append(trace.lines[-1])
        time.sleep(seconds)
        seen.append(trace.lines[-1])
        return seconds

    runner = runner_of(trace, 1, here)
    found = list(runner.results([plan(n, UNITS) for n in ("noise", "swapped")]))
    assert found == [(n, [0.15, 0.2, 0.1]) for n in ("noise", "swapped")]
    wanted = [f"{n}: {what}" for n in ("noise", "swapped")
              for what in ("masking", *(f"attacking: {kind}" for kind, _ in UNITS)) for _ in range(2)]
    assert [line.rpartition("; ")[2] for line in seen] == wanted


def test_with_two_processes_both_units_are_named_and_none_that_has_ended():
    trace = Trace()

    def here(seconds, progress):
        time.sleep(seconds)


    slow = [(kind, 4 * seconds) for kind, seconds in UNITS]
    runner = runner_of(trace, 2, here)
    try:
        found = list(runner.results([plan(n, slow) for n in ("noise", "swapped")]))
    finally:
        runner.close()
    assert found == [(n, [None] * 3) for n in ("noise", "swapped")]
    named = [set(re.findall(r"(noise|swapped): (?:attacking: )?(\w+)", line)) for line in trace.lines]
    assert max(map(len, named)) == 2
    every = [(n, what) for n in ("noise", "swapped") for what in ("masking", "first", "second", "third")]
    for unit in every:  # each is shown in one stretch of lines: from its begin to its end
        places = [i for i, there in enumerate(named) if unit in there]
        assert places, f"{unit} was never shown"
        assert places == list(range(places[0], places[-1] + 1))


def test_what_has_ended_is_not_named():
    trace = Trace()
    work = RunningWork(trace, DurationEstimate(lambda kind: 1.0), [["a", "b"]])
    work.begin("one", 0, "a", "noise", "attacking: a")
    work.begin("two", 0, "b", "noise", "attacking: b")
    work.show()
    work.end("one")
    work.show()
    work.end("two")
    work.show()
    assert [line.rpartition("; ")[2] for line in trace.lines] == [
        "noise: attacking: a and noise: attacking: b", "noise: attacking: b"]


def test_the_line_moves_while_a_long_unit_runs(monkeypatch):
    monkeypatch.setattr(unit_runner, "_TICK", 0.05)
    trace = Trace()
    runner = runner_of(trace, 1, lambda seconds, progress: time.sleep(seconds), 1)
    list(runner.results([plan("noise", [("first", 0.5)])]))
    assert sum("attacking: first" in line for line in trace.lines) >= 4
    assert unit_runner._TICK < 2


@pytest.mark.parametrize("inline", [False, True])
def test_the_line_moves_while_the_only_hand_works(monkeypatch, inline):
    monkeypatch.setattr(running_work, "_TICK", 0.05)
    trace = Trace()
    runner = runner_of(trace, 1, lambda seconds, progress: None, 1)
    if inline:
        runner.here, runner.inline = (lambda seconds, progress: time.sleep(seconds)), True
        list(runner.results([plan("noise", [("first", 0.5)])]))
    else:
        with runner.work.doing("first", "attacking: first"):
            time.sleep(0.5)
    assert sum("attacking: first" in line for line in trace.lines) >= 4
    shown = len(trace.lines)
    time.sleep(0.2)
    assert len(trace.lines) == shown, "the clock ends with the work"


def test_the_line_says_how_long_each_piece_has_run():
    hands, trace = Hands(), Trace()
    work = RunningWork(trace, DurationEstimate(lambda kind: 1.0), [["a", "b"]], now=hands)
    work.begin("one", 0, "a", "noise", "attacking: a")
    for seconds, wanted in ((0.9, ""), (0.1, " for 1 s"), (58.0, " for 59 s"), (92.0, " for 2 min 31 s")):
        hands.at += seconds
        work.show()
        assert trace.lines[-1] == f"noise: attacking: a{wanted}"
    work.begin("two", 0, "b", "noise", "attacking: b")
    hands.at += 3
    work.show()
    assert trace.lines[-1] == "noise: attacking: a for 2 min 34 s and noise: attacking: b for 3 s"


def test_details_of_a_unit_replace_its_name():
    trace = Trace()

    def here(seconds, progress):
        progress("linking", 2, 5)
        return trace.lines[-1]

    (_, found), = runner_of(trace, 1, here, 1).results([plan("noise", [("first", 0.0)])])
    assert found[0].endswith("noise: linking (3 of 5)")


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_is_that_of_the_first_unit_in_the_order_of_the_plan(jobs):
    known = {"first": 1, "fourth": 4}

    def tolerant():
        try:
            yield [Unit(kind, "noise", kind, kind) for kind in ("first", "second", "third", "fourth")]
        except KeyError as error:
            return error.args[0]

    usual = {"first": 1.0, "second": 2.0, "third": 3.0, "fourth": 1.0}  # with two processes the third comes first
    work = RunningWork(silent, DurationEstimate(usual.__getitem__), [["first"]])
    runner = UnitRunner(lambda kind, progress: known[kind], operator.getitem, known, jobs, True, work)
    try:
        assert list(runner.results([tolerant()])) == ["second"]
    finally:
        runner.close()


def test_an_interrupt_does_not_wait_for_the_unit(obeys_interrupts):
    def here(given, progress):
        threading.Timer(0.2, interrupt).start()
        time.sleep(60)

    def interrupt():
        import os
        import signal

        os.kill(os.getpid(), signal.SIGINT)

    runner = runner_of(Trace(), 1, here, 1)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(runner.results([plan("noise", [])]))
    assert time.monotonic() - began < 30


def run_by_clock(durations: dict[str, float], releases: int, usual) -> list[tuple[float, float]]:
    """The estimate and the truth, at the end of every unit, for releases of the same units."""
    hands, kinds = Hands(), list(durations)
    work = RunningWork(silent, DurationEstimate(usual), [kinds] * releases, now=hands)
    out = []
    left = sum(durations.values()) * releases
    for place in range(releases):
        for i, kind in enumerate(kinds):
            work.waiting[place] = kinds[i + 1 :]
            work.begin("one", place, kind, "", "")
            hands.at += durations[kind]
            left -= durations[kind]
            work.end("one")
            out.append((work.seconds_left(1), left))
        work.ended.add(place)
    return out


def test_after_one_release_the_estimate_of_the_others_is_exact():
    found = run_by_clock({"mask": 1.0, "slow": 100.0, "quick": 0.5}, 3, lambda kind: 1.0)
    for estimate, truth in found[2:]:
        assert estimate == pytest.approx(truth, abs=1e-9)


def test_in_the_first_release_usual_durations_are_scaled_by_the_speed_of_the_machine():
    usual = {"mask": 2.0, "slow": 200.0, "quick": 1.0}
    found = run_by_clock({"mask": 1.0, "slow": 100.0, "quick": 0.5}, 2, usual.__getitem__)
    for estimate, truth in found:
        assert estimate == pytest.approx(truth, abs=1e-9)


def test_work_that_takes_longer_than_expected_is_not_about_to_end():
    estimate = DurationEstimate(lambda kind: 1.0)
    assert estimate.seconds_left([], [("slow", 0.5)], 1) == pytest.approx(0.5)
    assert estimate.seconds_left([], [("slow", 400.0)], 1) >= 60


def test_two_at_a_time_take_half_as_long_but_not_less_than_the_longest():
    estimate = DurationEstimate({"a": 10.0, "b": 2.0}.__getitem__)
    assert estimate.seconds_left(["a", "a", "b", "b"], [], 2) == 12.0
    assert estimate.seconds_left(["a", "b"], [], 2) == 10.0


def test_usual_durations_grow_with_the_file():
    few, many = usual_seconds(3_000), usual_seconds(300_000)
    for kind in ("mask", "optimal_assignment", "unknown"):
        assert many(kind) >= 10 * few(kind)


MEASURED = [job for job in json.loads((BENCHMARKS / "study.json").read_text())["jobs"] if job["columns"] == 4 and job["stages"]]


@pytest.mark.parametrize("job", MEASURED, ids=[str(job["rows"]) for job in MEASURED])
def test_usual_durations_are_those_that_were_measured(job):
    usual, releases = usual_seconds(job["rows"]), job["releases"]
    stages = {stage.rpartition(": ")[2]: took["seconds"] for stage, took in job["stages"].items() if ": " in stage}
    expected = releases * sum(usual(kind) for kind in stages)
    assert 0.5 < expected / sum(stages.values()) < 2
    longest = max(stages, key=stages.get)
    assert 0.3 < releases * usual(longest) / stages[longest] < 3


def test_time_left_is_told_once_a_twentieth_is_done():
    said: list[str] = []
    hands = Hands()
    work = RunningWork(lambda doing, done, total: said.append(doing), DurationEstimate(lambda kind: 10.0),
                       [["a"] * 40], now=hands)
    for i in range(40):
        work.waiting[0] = ["a"] * (39 - i)
        work.begin("one", 0, "a", "noise", "attacking: a")
        work.show()
        hands.at += 10
        work.end("one")
    assert [" left" in line for line in said] == [False, False, *[True] * 38]
    assert said[20] == "about 3 min left; noise: attacking: a"
