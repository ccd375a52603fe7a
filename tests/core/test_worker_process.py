"""Another process: it answers, its warnings and its end are told, and what cannot be sent is refused at once."""

from __future__ import annotations

import operator
import os
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from larvatus.core.errors import LarvatusWarning
from larvatus.core.worker_process import Worker, WorkerGone


@contextmanager
def worker_of(state: Any) -> Iterator[Worker]:
    made = Worker(state)
    try:
        yield made
    finally:
        made.stop()
        made.close()


def test_functions_of_the_state_are_called_one_after_another():
    with worker_of({"a": 2, "b": 40}) as worker:
        assert worker.call(dict.get, "a") == 2
        assert worker.call(dict.get, "b") == 40
        with pytest.raises(RuntimeError, match="unexpected TypeError"):
            worker.call(dict.get, [])
        assert worker.call(dict.__contains__, "a") is True


def test_it_is_another_process_with_its_own_standard_output():
    with worker_of(os.getpgid) as worker:
        assert worker.call(operator.call, worker._process.pid) == os.getpgid(worker._process.pid)
        assert worker._process.pid != os.getpid()
    with worker_of(print) as worker:
        assert worker.call(operator.call, "") is None


def test_a_call_that_waits_returns_when_the_process_is_ended():
    ended: list[bool] = []
    with worker_of(time.sleep) as worker:
        def wait() -> None:
            try:
                worker.call(operator.call, 600)
            except WorkerGone:
                ended.append(True)

        thread = threading.Thread(target=wait)
        thread.start()
        worker.stop()
        thread.join(60)
        assert ended == [True]
        with pytest.raises(WorkerGone):
            worker.call(operator.call, 0)


def test_what_cannot_be_sent_is_refused():
    with pytest.raises(WorkerGone):
        Worker(lambda: None)


def test_warnings_of_the_package_come_back_and_no_others():
    with worker_of(warnings.warn) as worker:
        with pytest.warns(LarvatusWarning, match="told there"):
            worker.call(operator.call, LarvatusWarning("told there"))
        worker.call(operator.call, DeprecationWarning("not ours"))
