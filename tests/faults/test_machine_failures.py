"""A failure of the machine ends the command: it is not taken for a property of a release, of an attack or of the limits."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from fault_campaign import write_inputs

import larvatus as lv
from larvatus.attacks.exact_match import ExactMatch
from larvatus.cli.main import main
from larvatus.core.errors import EngineError, MachineError, RiskError, WriteError
from larvatus.core.files import not_written
from larvatus.core.interruptible import abandon_thread, start_thread
from larvatus.core.safe_files.work_folder import WorkFolder
from larvatus.core.system_errors import is_failure_of_machine
from larvatus.desk.refusals import Refusal
from larvatus.desk.work.jobs import search_settings
from larvatus.engines._layout.stored_columns import StoredColumn
from larvatus.engines._spark.jobs import explain_error
from larvatus.engines._spark.session import start_session
from larvatus.engines._spark.sheltered import collect_rows
from larvatus.engines._spark.silenced_threads import silence_grpc, silence_py4j
from larvatus.engines.duckdb import _explained
from larvatus.masks.additive_noise import AdditiveNoise
from larvatus.pipeline.attack_release import AttackedRelease
from larvatus.pipeline.candidates.cache import open_cache
from larvatus.searching.result import SearchResult
from larvatus.study import Study


@pytest.fixture
def data(tmp_path):
    write_inputs(tmp_path, "memory")
    return lv.read(tmp_path / "people.csv", confidential=["income", "wealth"], non_confidential=["age"], engine="memory")


def failing(error: Exception):
    def fail(*_, **__):
        raise error

    return fail


@pytest.mark.parametrize("error", [MachineError("no space for temporary files"), OSError(5, "Input/output error")])
def test_a_release_is_not_listed_as_not_made_if_the_machine_fails(data, error, monkeypatch):
    """The command would report success without one of its releases."""
    monkeypatch.setattr(AdditiveNoise, "apply", failing(error))
    with pytest.raises(type(error)):
        lv.compare(data, [{"name": n, "steps": [n]} for n in ("rank_swap", "additive_noise")], ["exact_match"], ["moments"])


@pytest.mark.parametrize(("error", "ends"), [(MachineError("no space"), True), (RiskError("does not apply"), False)])
def test_an_attack_that_the_machine_stops_is_not_left_out(data, error, ends, monkeypatch):
    """The risk would be understated with a note only."""
    monkeypatch.setattr(ExactMatch, "attack", failing(error))
    release = lv.mask(data, "additive_noise")
    if not ends:
        assert "exact_match" not in {s.method for s in lv.risk(data, release)}
        return
    with pytest.raises(MachineError):
        lv.risk(data, release)


def duckdb_error(name: str) -> Exception:
    return getattr(pytest.importorskip("duckdb"), name)("confidential 4711")


@pytest.mark.parametrize("name", ["OutOfMemoryException", "IOException", "InternalException"])
def test_an_attack_that_duckdb_cannot_finish_is_not_left_out(name, tmp_path, monkeypatch):
    """It finds nothing because of the limit of memory, which says nothing about the release."""
    write_inputs(tmp_path, "duckdb")
    data = lv.read(tmp_path / "people.csv", confidential=["income", "wealth"], non_confidential=["age"], engine="duckdb")
    release = lv.mask(data, "additive_noise")
    error = _explained(duckdb_error(name), WorkFolder())
    monkeypatch.setattr(ExactMatch, "attack", failing(error))
    with pytest.raises(MachineError, match="exact_match: ") as raised:
        lv.risk(data, release)
    assert "4711" not in str(raised.value)


@pytest.mark.parametrize(("error", "ends"), [(MachineError("no space"), True), (EngineError("at most 30 records fit"), False)])
def test_an_attack_on_households_that_memory_stops_is_not_hidden(error, ends, data, monkeypatch):
    """It may be the more successful one. Where a limit of memory that was asked for stops it, a note says so."""
    attack, calls = ExactMatch.attack, list[int]()

    def later(*given):
        calls.append(1)
        if len(calls) > 1:
            raise error
        return attack(*given)

    release = lv.mask(data, "additive_noise")
    monkeypatch.setattr(AttackedRelease, "_households", property(lambda self: [("household", self._views[0])]))
    monkeypatch.setattr(ExactMatch, "attack", later)
    if ends:
        with pytest.raises(MachineError):
            lv.risk(data, release, ["exact_match"])
        return
    found = lv.risk(data, release, ["exact_match"])[0]
    assert any("not run on households" in n and "at most 30 records fit" in n for n in found.notes)


@pytest.mark.parametrize("part", ["mask", "attack"])
def test_a_release_is_not_listed_as_not_made_if_memory_is_lacking(part, data, monkeypatch):
    """Another release would look best because the machine could not examine this one."""
    attack, lacking = ExactMatch.attack, MemoryError("confidential 4711")

    def attack_one(*given):
        if given[2].steps[0].name() == "additive_noise":
            raise lacking
        return attack(*given)

    if part == "mask":
        monkeypatch.setattr(AdditiveNoise, "apply", failing(lacking))
    else:
        monkeypatch.setattr(ExactMatch, "attack", attack_one)
    with pytest.raises((MemoryError, MachineError)):
        lv.compare(data, [{"name": n, "steps": [n]} for n in ("rank_swap", "additive_noise")], ["exact_match"], ["moments"])


def test_a_trial_of_advice_that_lacks_memory_says_nothing_about_the_mask(data, monkeypatch):
    monkeypatch.setattr("larvatus.pipeline.try_advice.mask", failing(MemoryError("confidential 4711")))
    with pytest.raises(MemoryError):
        lv.advise(data)


@pytest.mark.parametrize("error", [MemoryError(), OSError(5, "Input/output error")])
def test_a_run_whose_cache_cannot_be_tidied_up_has_not_failed(error, tmp_path, monkeypatch):
    """Its files are in their places by then. What is left is removed by the next run."""
    with monkeypatch.context() as patched, open_cache(tmp_path / "cache" / "inner") as cache:
        for name in ("old", "kept"):
            (cache.folder / name / "files").mkdir(parents=True)
        (cache.folder / "a file").touch()
        for owner, function in ((shutil, "rmtree"), (Path, "unlink"), (Path, "rmdir")):
            patched.setattr(owner, function, failing(error))
        cache.finish(["kept"])
    with open_cache(tmp_path / "cache" / "inner") as cache:
        cache.finish([])
        assert not any(cache.folder.iterdir())


def test_a_column_that_cannot_be_removed_is_no_traceback(tmp_path, monkeypatch, capsys):
    """It is removed when its object is finalised; Python prints what is raised there."""
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", failing(MemoryError("confidential 4711")))
        StoredColumn(WorkFolder(tmp_path), np.dtype(float))
    assert capsys.readouterr().err == ""


class Py4JError(Exception):
    """As the error that PySpark raises once its Java process is gone."""

    __module__ = "py4j.protocol"


@pytest.mark.parametrize(("error", "said"), [
    (MemoryError("confidential 4711"), "there is not enough memory"),
    (RuntimeError("can't start new thread"), "there is not enough memory"),
    (Py4JError("confidential 4711"), "Spark's Java process"),
    (OSError(5, "confidential 4711"), "the system refused"),
])
def test_a_command_explains_a_failure_of_the_machine_without_its_text(error, said, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("larvatus.documents.verification.verify_files", failing(error))
    assert main(["verify", str(tmp_path / "x.manifest.json")]) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert "4711" not in printed


def test_a_mask_whose_spark_is_gone_raises_an_own_error(data, monkeypatch):
    monkeypatch.setattr(AdditiveNoise, "apply", failing(Py4JError("confidential 4711")))
    with pytest.raises(MachineError, match=r"additive_noise: Spark's Java process has ended") as raised:
        lv.mask(data, "additive_noise")
    assert "4711" not in str(raised.value)


def test_a_file_that_the_system_refuses_is_a_failure_of_the_machine(tmp_path):
    error = not_written(tmp_path / "r.csv", OSError(28, "No space left on device"))
    assert isinstance(error, MachineError)
    assert isinstance(error, WriteError)
    assert not isinstance(WriteError("a sheet cannot hold it"), MachineError)


def raised_after(first: Exception, later: Exception) -> Exception:
    """An error that was raised while another one was handled."""
    try:
        try:
            raise first
        except type(first):
            raise later from None
    except type(later) as found:
        return found


class Py4JJavaError(Py4JError):
    """As the error that PySpark raises for one of Java."""


@pytest.mark.parametrize(("first", "lost"), [
    (Py4JError("gone"), True), (ConnectionRefusedError(111, "Connection refused"), True), (KeyError("a"), False),
    (Py4JJavaError("no such column"), False),
])
def test_what_pyspark_raises_after_its_java_process_ended_is_recognised(first, lost, monkeypatch, tmp_path):
    """It raises errors of its own, and of Python, that do not say so."""
    monkeypatch.setitem(sys.modules, "py4j", ModuleType("py4j"))
    error = raised_after(first, ValueError("CANNOT_PARSE_DATATYPE: confidential 4711"))
    assert is_failure_of_machine(error) is lost
    said = str(explain_error(error)), str(not_written(tmp_path, raised_after(first, OSError(5, "Input/output error"))))
    assert all(("Spark's Java process has ended" in text) is lost for text in said)
    assert "4711" not in said[0]


@pytest.mark.parametrize(("interrupted", "expected"), [(True, KeyboardInterrupt), (False, Refusal)])
def test_a_search_that_is_cancelled_at_the_desk_says_nothing_about_limits(interrupted, expected, tmp_path, monkeypatch):
    write_inputs(tmp_path, "memory")
    found = SearchResult((), (), None, None, interrupted=interrupted)
    monkeypatch.setattr("larvatus.pipeline.search_release.search_with_cache", lambda *_: (found, []))
    asked = {"study": Study.read(tmp_path / "study.toml").plain(), "folder": str(tmp_path), "cache": str(tmp_path / "cache"),
             "secret_file": str(tmp_path / "secret.txt")}
    with pytest.raises(expected):
        search_settings(asked, lambda *_: None)


class Thing:
    """Something to finalise."""


def test_an_abandoned_thread_ends_although_it_finalises_an_object(capfd):
    """Python prints exceptions of finalisers and goes on: the thread would work on, and the command would print a traceback."""
    inside, ended = threading.Event(), []

    def finalise() -> None:
        inside.set()
        until = time.monotonic() + 0.1
        while time.monotonic() < until:
            pass

    def work() -> None:
        thing = Thing()
        weakref.finalize(thing, finalise)
        del thing
        with suppress(SystemExit):  # pytest reports it otherwise
            until = time.monotonic() + 20
            while time.monotonic() < until:
                pass
            ended.append("by itself")

    thread = start_thread(work)
    assert inside.wait(10)
    abandon_thread(thread)
    thread.join(10)
    assert not thread.is_alive()
    assert ended == []
    assert "Exception ignored" not in capfd.readouterr().err


WITHOUT_JAVA = """
import logging, socket, threading
from py4j.java_gateway import GatewayParameters, JavaGateway
{silence}
server = socket.create_server(("127.0.0.1", 0))

def end_each():
    while True:
        server.accept()[0].close()

threading.Thread(target=end_each, daemon=True).start()
gateway = JavaGateway(gateway_parameters=GatewayParameters(address="127.0.0.1", port=server.getsockname()[1]))
try:
    gateway.jvm.java.lang.System.gc()
except Exception as error:
    print(type(error).__name__)
logging.warning("of another library")
"""


@pytest.mark.parametrize("silent", [True, False])
def test_the_traceback_of_py4j_is_not_printed(silent):
    """It logs some of them without a name of its own. Nothing else is kept from being printed."""
    pytest.importorskip("py4j")
    silence = "from larvatus.engines._spark.silenced_threads import silence_py4j\nsilence_py4j()" if silent else ""
    code = WITHOUT_JAVA.format(silence=silence)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "Error" in ran.stdout
    assert ("Traceback" in ran.stderr) is not silent
    assert "of another library" in ran.stderr


class Handler:
    """As PySpark's, when its other side has ended."""

    def handle(self) -> None:
        raise EOFError


def test_the_end_of_java_is_no_traceback_where_pyspark_waits_for_counts(monkeypatch):
    accumulators = pytest.importorskip("pyspark.accumulators")
    monkeypatch.setattr(accumulators, "UpdateRequestHandler", Handler)
    silence_py4j()
    silence_py4j()
    Handler().handle()


@pytest.mark.parametrize("silent", [True, False])
def test_a_thread_of_grpc_prints_no_traceback(silent, monkeypatch, capfd):
    """A command that is ended while Sail works ends the work that gRPC reports to, at any instruction."""
    thread = pytest.importorskip("grpc._cython.cygrpc").ForkManagedThread
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    if silent:
        silence_grpc()
        silence_grpc()

    def fail() -> None:
        raise KeyError("confidential 4711")

    for working in (thread(target=fail), threading.Thread(target=fail, name="own")):
        working.start()
        working.join()
    printed = capfd.readouterr().err
    assert "in thread own" in printed
    assert printed.count("KeyError: 'confidential 4711'") == (1 if silent else 2)


def test_an_interrupt_does_not_reach_the_code_of_grpc(monkeypatch):
    """It could leave a lock of the channel taken: all later calls of the session waited for ever. The job is cancelled."""
    pytest.importorskip("pysail", reason="pysail is not installed: pip install 'larvatus[sail]'")
    session = start_session("sail")
    frame, goes_on, ended, cancelled = session.range(3), threading.Event(), threading.Event(), threading.Event()

    def collect(of):
        signal.raise_signal(signal.SIGINT)  # Python calls the handler in the main thread
        goes_on.wait(20)
        ended.set()

    monkeypatch.setattr(type(frame), "collect", collect)
    monkeypatch.setattr(type(session), "interruptTag", lambda self, tag: cancelled.set())
    with pytest.raises(KeyboardInterrupt):
        collect_rows(frame)
    goes_on.set()
    assert ended.wait(20)
    assert cancelled.wait(20)


@pytest.mark.parametrize(("master", "said"), [
    ("sail;rm -rf x", "no address of a Spark cluster"), ("", "no address"),
    ("sc://127.0.0.1:{free}", "no Spark Connect server"), ("sc://127.0.0.1:4711x/;token=confidential", "a number as port"),
    ("sc://", "no Spark Connect server"),
])
def test_a_cluster_that_does_not_answer_is_refused_at_once(master, said, monkeypatch):
    """PySpark tries to connect for many minutes, and prints traces of Java."""
    pytest.importorskip("pyspark")
    for name in ("grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    started = time.monotonic()
    with pytest.raises(EngineError, match=said) as raised:
        start_session(master.format(free=free))
    assert "confidential" not in str(raised.value)
    assert time.monotonic() - started < 60
