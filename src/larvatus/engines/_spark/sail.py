"""Sail: a server that speaks the protocol of Spark Connect and needs no Java. `master = "sail"` starts one in this process."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import threading
import warnings
from typing import TYPE_CHECKING, Any

from larvatus.core.errors import EngineError
from larvatus.engines._spark.silenced_threads import silence_grpc

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADDRESS = "sail"
_TEN_YEARS = "315360000"  # seconds
_LONGEST_CONNECT = 5.0  # seconds; this machine answers at once
_SERVERS: list[tuple[Any, SparkSession]] = []  # a process starts one, and uses it until it ends


def sail_session() -> SparkSession:
    """A session on the Sail server of this process, which is started if there is none; it listens on 127.0.0.1 only."""
    for server, session in _SERVERS:
        if server.running and _accepts_sessions(server):
            return session
    server = _started()
    silence_grpc()
    address = f"sc://127.0.0.1:{server.listening_address[1]}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # the general builder would send all of Spark in this process to Sail
            from pyspark.sql.connect.session import SparkSession as ConnectSession

            started: Any = ConnectSession.builder.remote(address).create()
            started.conf.set("spark.default.parallelism", str(os.cpu_count() or 1))
    except Exception as error:
        server.stop()
        raise EngineError(
            f"engine spark: this PySpark cannot talk to Sail ({type(error).__name__}). Sail 0.7 needs PySpark 4.2 or older: "
            "pip install 'larvatus[sail]'."
        ) from None
    _keep_interrupts_from_sail()
    _SERVERS.append((server, started))
    atexit.register(_stopped, server, started)
    return _SERVERS[-1][1]


def is_served_here(session: Any) -> bool:
    """Whether a session is that of the Sail server of this process."""
    return any(session is own for _, own in _SERVERS)


def _accepts_sessions(server: Any) -> bool:
    """Whether the server takes new sessions. One that stops does not, and still runs while an earlier session is open."""
    try:
        socket.create_connection(server.listening_address, _LONGEST_CONNECT).close()
    except OSError:
        return False
    return True


def _keep_interrupts_from_sail() -> None:
    """Give interrupts back to Python alone: the server took them over, and would stop at the first one."""
    if threading.current_thread() is threading.main_thread() and (handler := signal.getsignal(signal.SIGINT)) is not None:
        signal.signal(signal.SIGINT, handler)


def _started() -> Any:
    os.environ.setdefault("RUST_LOG", "off")  # its log could repeat parts of plans
    os.environ.setdefault("SAIL_SPARK__SESSION_TIMEOUT_SECS", _TEN_YEARS)  # a session would end after minutes without work
    os.environ.setdefault("MIMALLOC_PURGE_DELAY", "0")  # its allocator would hold what the largest exchange took
    try:
        from pysail.spark import SparkConnectServer
    except ImportError:
        raise EngineError("engine spark: master = 'sail' needs the package pysail. Install larvatus[sail].") from None
    server = SparkConnectServer()
    server.start(background=True)
    return server


def _stopped(server: Any, session: SparkSession) -> None:
    """Close the session before its server: a client without a server would try again for minutes."""
    try:
        session.client.close()
        server.stop()
    except Exception:  # the process ends in any case
        return
