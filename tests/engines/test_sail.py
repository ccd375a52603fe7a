"""What only Sail has: a server in this process, no Java, and an explanation where PySpark is too new."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.core.errors import EngineError
from larvatus.data.microdata import collect
from larvatus.engines._spark import sail
from larvatus.engines.spark import Spark
from sample import ROLES, SECRET, people

pytest.importorskip("pysail", reason="pysail is not installed: pip install 'larvatus[sail]'")

STEPS = ["data_shuffling", "additive_noise(variance=0.01)"]


def test_one_server_serves_the_process_and_listens_here_only():
    one, other = sail.sail_session(), sail.sail_session()
    assert one is other
    (server, _), = sail._SERVERS
    assert server.listening_address[0] == "127.0.0.1"


def test_the_release_has_the_bits_of_the_memory_engine_in_record_order_also_where_rows_move_between_tasks(tmp_path):
    """120 rows to a task: sub-groups are sorted and put back by exchange."""
    table = people(700, seed=3)
    source = tmp_path / "people.parquet"
    table.to_parquet(source)
    one, other = (
        collect(lv.mask(lv.read(source, **ROLES, engine=engine), *STEPS, secret=SECRET).data, ROLES["confidential"])
        for engine in ("memory", Spark(master="sail", rows=120))
    )
    np.testing.assert_array_equal(one[0], other[0])
    for name in ROLES["confidential"]:
        assert one[2][name].tobytes() == other[2][name].tobytes()


def test_an_interrupt_ends_what_python_does_and_not_the_server():
    """The server would refuse all later sessions, and PySpark try again for minutes."""
    sail.sail_session()
    (server, _), = sail._SERVERS
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    for _ in range(20):  # it would stop a moment later
        socket.create_connection(server.listening_address, 1).close()
        time.sleep(0.01)


@pytest.mark.parametrize(("seconds", "lasts"), [("1", False), ("", True)])
def test_a_session_is_there_after_a_pause(seconds, lasts):
    """Somebody reads a file in a notebook, and masks it after lunch. A server with the limit of one second shows the error."""
    limit = f"os.environ['SAIL_SPARK__SESSION_TIMEOUT_SECS'] = {seconds!r}" if seconds else "pass"
    script = f"""if True:
        import os, time
        {limit}
        from larvatus.engines._spark.sail import sail_session
        session = sail_session()
        print(session.range(3).count(), int(os.environ['SAIL_SPARK__SESSION_TIMEOUT_SECS']) > 10**8)
        time.sleep(2.5)
        print(session.range(3).count())
        """
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True)
    assert done.stdout.split() == ["3", str(lasts), "3"][: 3 if lasts else 2]
    assert ("is not running" in done.stderr) != lasts


def test_a_server_that_takes_no_session_is_replaced(monkeypatch):
    """It was started by another thread, so that it hears interrupts; it says that it runs while an earlier session is open."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        closed = SimpleNamespace(running=True, listening_address=nobody.getsockname())
        monkeypatch.setattr(sail, "_SERVERS", [(closed, None)])
        assert sail.sail_session().range(3).count() == 3
    sail._stopped(*sail._SERVERS[-1])


def test_spark_itself_still_starts_in_a_process_that_uses_sail(monkeypatch):
    """PySpark's own builder would mark the process: every session after it would be sent to Sail, or not start."""
    from pyspark.sql.utils import is_remote

    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED", raising=False)
    monkeypatch.setattr(sail, "_SERVERS", [])
    assert sail.sail_session().range(3).count() == 3
    assert not is_remote()
    (server, session), = sail._SERVERS
    sail._stopped(server, session)


def test_a_study_runs_on_sail_by_its_name(tmp_path):
    from larvatus.cli.main import main

    people(300, seed=4).to_parquet(tmp_path / "people.parquet")
    released = tmp_path / "released.parquet"
    columns = ",".join(ROLES["confidential"])
    code = main(["mask", str(tmp_path / "people.parquet"), "-o", str(released), "--confidential", columns,
                 "--method", "additive_noise", "--engine", "spark", "--master", "sail"])
    assert code == 0
    assert len(pd.read_parquet(released)) == 300


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pysail.spark", None)
    monkeypatch.setattr(sail, "_SERVERS", [])
    with pytest.raises(EngineError, match=r"pysail.*larvatus\[sail\]"):
        sail.sail_session()


def test_a_process_with_a_session_ends_at_once():
    """A client that outlives its server would try again for minutes."""
    script = "from larvatus.engines._spark.sail import sail_session as s; print(s().range(3).count())"
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["3"]
    assert done.stderr == ""


def test_rows_wait_in_the_folder_while_they_are_exchanged(tmp_path, monkeypatch):
    """Only addresses travel through Sail's memory, and nothing of an exchange is left."""
    from larvatus.engines._spark import rows_aside

    removed: list[str] = []
    remove = rows_aside.Place.remove
    monkeypatch.setattr(rows_aside.Place, "remove", lambda place, name: (removed.append(name), remove(place, name))[1])
    written: list[int] = []
    put = rows_aside.RowsAside.put

    def noted(aside, values):
        written.append(sum(map(len, values)))
        found = put(aside, values)
        assert all(len(address) < 100 for address in found)
        assert [aside.get(a) for a in found] == list(values)
        return found

    monkeypatch.setattr(rows_aside.RowsAside, "put", noted)
    people(700, seed=3).to_parquet(tmp_path / "people.parquet")
    data = lv.read(tmp_path / "people.parquet", **ROLES, engine=Spark(master="sail", rows=120, folder=tmp_path / "work"))
    lv.mask(data, "data_shuffling", secret=SECRET)
    assert sum(written) > 700 * 8
    root = data.engine._cluster.place.root
    assert removed
    assert not [name for name in removed if (Path(root) / name).exists()]


def test_functions_and_results_larger_than_a_message_reach_the_other_side(tmp_path):
    """Spark Connect refuses messages of more than 128 MB; these have 140 MB, and nothing of them is left in the folder."""
    engine, held = Spark(master="sail", folder=tmp_path), np.full(17_500_000, 0.5)
    values, small = engine._on(None).run(lambda size: held[:size], [len(held), 3])
    assert (len(values), values.min(), values.max(), len(small)) == (len(held), 0.5, 0.5, 3)
    assert engine._on(None).run(lambda row: held[row], [5]) == [0.5]
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and p.stat().st_size > 1000]


def test_as_many_tasks_work_at_a_time_as_there_are_cores(tmp_path, monkeypatch):
    """Sail starts all tasks of a job at once; 12 tasks of a tenth of a second show how many overlap."""
    import os
    import time

    from larvatus.engines._spark import jobs

    spans: list[tuple[float, float]] = []
    monkeypatch.setattr(jobs, "spans", spans, raising=False)  # tasks find it by the name of the module

    def task(number: int) -> int:
        from larvatus.engines._spark import jobs as there

        began = time.perf_counter()
        time.sleep(0.1)
        there.spans.append((began, time.perf_counter()))  # type: ignore[attr-defined]
        return number

    engine = Spark(master="sail", rows=1 << 20, folder=tmp_path)
    assert engine._on(None).run(task, range(12)) == list(range(12))
    overlap = max(sum(a <= began < b for a, b in spans) for began, _ in spans)
    assert len(spans) == 12
    assert overlap <= (os.cpu_count() or 1)
