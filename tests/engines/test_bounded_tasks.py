"""Tasks of one process do not hold more than its cores can work on, and whole sub-groups are counted as they are held."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from larvatus.core.errors import EngineError
from larvatus.data.sub_groups import Groups
from larvatus.engines._layout.base_table import LaidOut, bytes_of_whole, most_whole_records
from larvatus.engines._spark import exchange, jobs
from larvatus.engines._spark.rows_aside import RowsAside


class Seen:
    """How many are inside at once, and the most that ever were."""

    def __init__(self) -> None:
        self.now, self.most, self._lock = 0, 0, threading.Lock()

    def stay(self, seconds: float) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(seconds)
        with self._lock:
            self.now -= 1


@pytest.fixture
def three_cores(monkeypatch):
    monkeypatch.setattr(jobs, "_CORES", 3)
    monkeypatch.setattr(jobs, "_TURNS", threading.BoundedSemaphore(3))


def test_as_many_tasks_as_cores_have_a_turn_and_one_that_wants_to_be_alone_is(three_cores):
    every, lonely = Seen(), Seen()

    def task(i: int) -> None:
        alone = i % 4 == 0
        with jobs.in_turn(alone):
            if alone:
                assert every.now == 0
                lonely.stay(0.005)
            else:
                assert lonely.now == 0
                every.stay(0.005)

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(task, range(48)))
    assert lonely.most == 1
    assert every.most <= 3


def test_a_failed_task_gives_its_turns_back(three_cores):
    for alone in (True, False):
        with pytest.raises(ValueError, match="no"), jobs.in_turn(alone):
            raise ValueError("no")
    with jobs.in_turn(alone=True):
        pass


def test_tasks_that_send_rows_aside_wait_for_a_core(three_cores, monkeypatch):
    """Sail starts them all at once; before they had turns, all of them held their rows."""
    seen, files = Seen(), {}
    place = SimpleNamespace(write=files.__setitem__)
    monkeypatch.setattr(exchange, "in_arrow", lambda frame, work, schema: work)

    def rows(job: int):
        seen.stay(0.01)
        yield {"row": np.arange(job, job + 5)}

    source = exchange.Outgoing(rows, list(range(12)), {"row": "int64"})
    cluster = SimpleNamespace(numbers=lambda count: None)
    work = exchange._sent(cluster, source, lambda columns: iter([(0, columns)]), RowsAside(place, "aside"))
    batches = [pa.record_batch({"id": [i]}) for i in range(12)]
    with ThreadPoolExecutor(12) as pool:
        sent = list(pool.map(lambda b: list(work(iter([b]))), batches))
    assert seen.most <= 3
    assert len(files) == len(sent) == 12
    assert sorted(np.frombuffer(f, dtype=np.int64)[0] for f in files.values()) == list(range(12))


def test_results_of_blocks_are_unpacked_in_turn(monkeypatch):
    """A fold never holds the results of two tasks beside what it has folded."""
    pytest.importorskip("pysail", reason="pysail is not installed: pip install 'larvatus[sail]'")
    import pandas as pd

    import larvatus as lv
    from larvatus.data.verbs import reduce_groups
    from larvatus.engines._spark import table
    from larvatus.engines.spark import Spark

    data = lv.read(pd.DataFrame({"x": np.arange(500.0)}), confidential=["x"], engine=Spark(master="sail", rows=50))
    monkeypatch.setattr(table, "CHUNK", 50)
    steps: list[str] = []
    load = table.load_function
    monkeypatch.setattr(table, "load_function", lambda packed: steps.append("unpack") or load(packed))

    def both(one: float, other: float) -> float:
        steps.append("fold")
        return one + other

    (total,) = reduce_groups(data, ["x"], lambda g, b: float(b["x"].sum()), both)
    assert total == 500 * 499 / 2
    assert steps.count("fold") == 9
    assert steps == ["unpack", *["unpack", "fold"] * 9]


def test_no_more_whole_records_are_given_out_than_the_memory_holds():
    """At any memory, number of rows that may be sorted, and number of columns."""
    for memory in (4 * 10**8, 2 * 10**9, 10**11):
        for rows in (1, 10**6, 8 * 10**6, 10**9):
            for columns in (1, 2, 8, 9, 40):
                most = most_whole_records(memory, rows, columns)
                assert bytes_of_whole(most, columns) <= memory
                assert most >= min(rows, memory // bytes_of_whole(1, columns))


def test_a_sub_group_that_a_method_would_hold_several_times_is_refused():
    """72 bytes a record in nine columns, held four times, are more than 400 MB."""
    space = SimpleNamespace(memory=400_000_000, whole=lambda columns: most_whole_records(400_000_000, 10**7, columns))
    laid = LaidOut()
    for size, fits in ((1_388_888, True), (1_388_889, False)):
        held = SimpleNamespace(groups=Groups((), ((),), (size,)))
        if fits:
            type(laid).refuse_larger(held, space, 9, "may be used")
        else:
            with pytest.raises(EngineError, match="at most 1,388,888 records"):
                type(laid).refuse_larger(held, space, 9, "may be used")
