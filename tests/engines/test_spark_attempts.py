"""Tasks that run more than once: both attempts at the same time, and attempts that stop or go on after the end.

Spark starts a second attempt of a slow task on another machine only, and a local cluster is one machine. Both attempts are
therefore started by hand.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

import larvatus as lv
from catalogue import SAIL_IS_HERE
from larvatus.data.microdata import collect
from larvatus.engines._spark import exchange, jobs, writing
from larvatus.engines._spark.rows_aside import RowsAside
from larvatus.engines.spark import Spark
from sample import ROLES, SECRET, people

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'larvatus[spark]'")
ON_SAIL = pytest.mark.skipif(not SAIL_IS_HERE, reason="pysail is not installed")


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("attempts") / "people.parquet"
    people(400, seed=6).to_parquet(path)
    return path


def bits(release) -> dict[str, bytes]:
    return {n: collect(release.data, [n])[2][n].tobytes() for n in ROLES["confidential"]}


def written(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*"))}


def at_once(function):
    """Call a function twice at the same time; the later result counts."""

    def both(*given):
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(2) as pool:
            attempts = [pool.submit(function, *given) for _ in range(2)]
            return [attempt.result() for attempt in attempts][1]

    return both


@ON_SAIL
def test_two_attempts_of_every_task_at_once_change_nothing(source, tmp_path, monkeypatch):
    """Every job, every file of rows on their way, every arrival and every part of the release."""
    engine = Spark(master="sail", rows=120, folder=tmp_path)
    monkeypatch.setattr(writing, "ROWS_WRITTEN", 60)
    monkeypatch.setattr(writing, "PART", 60)
    data = lv.read(source, **ROLES, engine=engine)
    release = lv.mask(data, "data_shuffling", secret=SECRET)
    release.write(tmp_path / "once")
    scores = lv.utility(data, release, ["marginal"])
    run, received, put, twice = jobs.SparkCluster.run, exchange._received, RowsAside.put, defaultdict(int)

    def run_twice(cluster, function, tasks):
        twice["run"] += 1
        return run(cluster, at_once(function), tasks)

    def received_twice(cluster, frame, dtypes, arrived, *more):
        twice["received"] += 1
        return received(cluster, frame, dtypes, at_once(arrived), *more)

    def put_twice(aside, values):
        twice["put"] += 1
        return at_once(put)(aside, values)

    monkeypatch.setattr(jobs.SparkCluster, "run", run_twice)
    monkeypatch.setattr(exchange, "_received", received_twice)
    monkeypatch.setattr(RowsAside, "put", put_twice)
    again = lv.read(source, **ROLES, engine=engine)
    repeated = lv.mask(again, "data_shuffling", secret=SECRET)
    assert bits(repeated) == bits(release)
    assert [s.value for s in lv.utility(again, repeated, ["marginal"])] == [s.value for s in scores]
    repeated.write(tmp_path / "twice")
    assert written(tmp_path / "twice") == written(tmp_path / "once")
    assert len(written(tmp_path / "once")) == 7
    assert min(twice[n] for n in ("run", "received", "put")) >= 3


@ON_SAIL
def test_an_attempt_that_is_stopped_or_goes_on_after_the_end_leaves_nothing(source, tmp_path, monkeypatch):
    """One attempt stops in the middle of its file. Others begin when the release is complete and when it is in its place."""
    engine = Spark(master="sail", folder=tmp_path)
    release = lv.mask(lv.read(source, **ROLES, engine=engine), "additive_noise", secret=SECRET)
    release.write(tmp_path / "wanted")
    part, remove, late, errors = writing._part, writing._remove_unfinished, [], []

    def stopped(leaving, folder, row_order, job):
        (Path(folder) / writing._UNFINISHED / "half").write_bytes(b"half of a file")
        late.append((leaving, folder, row_order, job))
        part(leaving, folder, row_order, job)

    def begin_late() -> None:
        for job in late:
            try:
                part(*job)
            except lv.LarvatusError as error:
                errors.append(error)

    def removed(folder):
        remove(folder)
        begin_late()

    def on_this_process(cluster, function, tasks):
        return [function(task) for task in tasks]

    monkeypatch.setattr(writing, "_part", stopped)
    monkeypatch.setattr(writing, "_remove_unfinished", removed)
    monkeypatch.setattr(jobs.SparkCluster, "run", on_this_process)
    release.write(tmp_path / "out")
    begin_late()
    assert written(tmp_path / "out") == written(tmp_path / "wanted")
    assert len(errors) == 2 * len(late) > 0


def test_a_task_that_goes_on_after_the_end_does_not_create_the_work_folder_again(tmp_path):
    import shutil

    from larvatus.core.errors import LarvatusError
    from larvatus.engines._spark.store import Place

    (tmp_path / "work").mkdir()
    place = Place(str(tmp_path / "work"))
    place.write("columns/one", b"1")
    shutil.rmtree(tmp_path / "work")
    with pytest.raises(LarvatusError):
        place.write("columns/two", b"2")
    assert not (tmp_path / "work").exists()
