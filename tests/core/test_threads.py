"""A process uses all cores, or as many as it is told to."""

from __future__ import annotations

import os

import pytest

from larvatus.core.kernels import THREADS, at_most_threads, usable_threads
from larvatus.core.progress import silent
from larvatus.core.worker_process import ONE_THREAD, Worker
from larvatus.pipeline.candidates.duration_estimate import DurationEstimate
from larvatus.pipeline.candidates.running_work import RunningWork
from larvatus.pipeline.candidates.unit_runner import Unit, UnitRunner


@pytest.fixture(autouse=True)
def four_cores(monkeypatch) -> None:
    monkeypatch.delenv(THREADS, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)


def test_all_cores_unless_a_limit_is_set_here_or_in_the_environment(monkeypatch):
    assert usable_threads() == 4
    with at_most_threads(3):
        assert usable_threads() == 3
        with at_most_threads(0):
            assert usable_threads() == 4
    monkeypatch.setenv(THREADS, "2")
    assert usable_threads() == 2
    with at_most_threads(1):
        assert usable_threads() == 1
    monkeypatch.setenv(THREADS, "many")
    assert usable_threads() == 4


def test_a_limit_above_the_number_of_cores_changes_nothing():
    with at_most_threads(9):
        assert usable_threads() == 4


def test_a_second_process_is_told_to_use_one_thread():
    worker = Worker(THREADS, ONE_THREAD)
    try:
        assert worker.call(os.getenv, None) == "1"
    finally:
        worker.stop()
        worker.close()


@pytest.mark.parametrize(("helper", "threads"), [(None, 4), (object(), 1)])
def test_work_in_this_process_uses_one_thread_while_there_is_a_second_one(helper, threads):
    def plan():
        found = yield [Unit("kind", "label", "doing", None)]
        return found

    work = RunningWork(silent, DurationEstimate(lambda kind: 1.0), [["kind"]])
    runner = UnitRunner(lambda given, progress: usable_threads(), None, None, 1, False, work, inline=True)
    runner.worker = helper
    assert list(runner.results([plan()])) == [[threads]]
