"""Executors that are killed when their work is done: tasks are repeated on the other one, and no bit changes."""

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict
from pathlib import Path

import pandas as pd
import pytest

import larvatus as lv
from catalogue import spark_session
from larvatus.data.microdata import collect
from larvatus.engines._spark import exchange, writing
from larvatus.engines.spark import Spark
from sample import ROLES, SECRET, people

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'larvatus[spark]'")


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("lost") / "people.parquet"
    people(400, seed=6).to_parquet(path)
    return path


def bits(release) -> dict[str, bytes]:
    return {n: collect(release.data, [n])[2][n].tobytes() for n in ROLES["confidential"]}


def lethal(function, folder: Path):
    """The function; the first task that has done its work kills its executor. Each call is noted: stage, partition, attempt."""

    def work(*given):
        from pyspark import TaskContext

        out = function(*given)
        task = TaskContext.get()
        note = f"{task.stageId()} {task.partitionId()} {task.attemptNumber()} {task.taskAttemptId()}"
        (folder / f"seen {note} {time.time_ns()}").touch()
        try:
            os.close(os.open(folder / "killed", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return out
        process = os.getppid()
        while b"CoarseGrainedExecutorBackend" not in Path(f"/proc/{process}/cmdline").read_bytes():
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(process, signal.SIGKILL)
        time.sleep(60)
        return out

    return work


@pytest.fixture(scope="module")
def wanted(source, tmp_path_factory) -> tuple[dict[str, bytes], float, pd.DataFrame]:
    """The release of the memory engine, its score and its file."""
    data = lv.read(source, **ROLES)
    release = lv.mask(data, "data_shuffling", secret=SECRET)
    path = tmp_path_factory.mktemp("wanted") / "out.parquet"
    release.write(path)
    return bits(release), lv.utility(data, release, ["marginal"])[0].value, pd.read_parquet(path)


@pytest.mark.parametrize("during", ["mask", "measure", pytest.param("write", marks=pytest.mark.slow)])
def test_an_executor_lost_after_its_work_was_done_changes_no_bit(source, wanted, tmp_path, monkeypatch, during):
    """The task is repeated on the other executor, and so are the tasks whose rows the lost one held."""
    notes, received, part = tmp_path / "notes", exchange._received, writing._part
    notes.mkdir()
    data = lv.read(source, **ROLES, engine=Spark(session=spark_session(), rows=120))

    def lost_in(step: str) -> None:
        if step == during == "write":
            monkeypatch.setattr(writing, "_part", lethal(part, notes))
        elif step == during:
            monkeypatch.setattr(exchange, "_received", lambda cluster, frame, dtypes, arrived, *more: received(
                cluster, frame, dtypes, lethal(arrived, notes), *more))

    lost_in("mask")
    release = lv.mask(data, "data_shuffling", secret=SECRET)
    lost_in("measure")
    (score,) = lv.utility(data, release, ["marginal"])
    lost_in("write")
    release.write(tmp_path / "out")
    monkeypatch.undo()
    assert (notes / "killed").exists()
    attempts = defaultdict(set)
    for note in notes.glob("seen *"):
        stage, partition, _, task, _ = note.name.split()[1:]
        attempts[partition if during == "write" else (stage, partition)].add(task)
    assert max(map(len, attempts.values())) > 1
    assert bits(release) == wanted[0]
    assert score.value == wanted[1]
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out"), wanted[2], check_exact=True)
