"""A real MariaDB server as a source, through a connection of a Python driver, started on a free port of this machine."""

from __future__ import annotations

import datetime
import decimal
import getpass
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pytest

import larvatus as lv
from larvatus.core.errors import ReadError

pymysql = pytest.importorskip("pymysql", reason="the driver pymysql is not installed")
pytestmark = pytest.mark.slow
INSTALL, SERVER = (shutil.which(n, path="/usr/sbin:/usr/bin:/usr/local/bin") for n in ("mariadb-install-db", "mariadbd"))
QUERY = "SELECT * FROM people ORDER BY id"
TABLE = """CREATE TABLE people (id INTEGER PRIMARY KEY, income DECIMAL(12, 2), exact DECIMAL(30, 10), big BIGINT,
    region VARCHAR(20), born DATE, seen DATETIME, share DOUBLE) CHARACTER SET utf8mb4"""
WAIT = 60.0


def row(i: int) -> tuple[Any, ...]:
    day = datetime.date(2020, 1, 1) + datetime.timedelta(days=i)
    return (i, None if i == 3 else decimal.Decimal(100 + i) * decimal.Decimal("1.25"),
            decimal.Decimal("1234567890123456789.0123456789") + i, 2**60 + i, None if i == 4 else f"Köln {i % 2}", day,
            datetime.datetime(2021, 5, 6, 7, 8, i % 60), i * 0.5)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a server that exists only during these tests."""
    if INSTALL is None or SERVER is None:
        pytest.skip("MariaDB is not installed on this machine")
    with tempfile.TemporaryDirectory(prefix="mariadb-", ignore_cleanup_errors=True) as place, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        chosen = free.getsockname()[1]
        free.close()
        who = f"--user={getpass.getuser()}"
        try:
            subprocess.run([INSTALL, "--no-defaults", f"--datadir={place}/data", who, "--skip-test-db",
                            "--auth-root-authentication-method=normal"], check=True, capture_output=True, timeout=120)
        except (OSError, subprocess.SubprocessError):
            pytest.skip("MariaDB cannot be started on this machine")
        server = subprocess.Popen(
            [SERVER, "--no-defaults", f"--datadir={place}/data", who, "--bind-address=127.0.0.1", f"--port={chosen}",
             f"--socket={place}/socket", f"--pid-file={place}/pid", "--skip-log-bin"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _fill(chosen, server)
            yield chosen
        finally:
            server.terminate()
            server.wait(WAIT)


def _fill(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + WAIT
    while True:
        try:
            connection = connect(port, database=None)
            break
        except pymysql.err.OperationalError:
            if server.poll() is not None or time.monotonic() > end:
                pytest.skip("MariaDB cannot be started on this machine")
            time.sleep(0.2)
    with connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE survey")
        cursor.execute("USE survey")
        cursor.execute(TABLE)
        cursor.executemany("INSERT INTO people VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", [row(i) for i in range(100)])
        connection.commit()


def connect(port: int, database: str | None = "survey", **more: Any) -> Any:
    return pymysql.connect(host="127.0.0.1", port=port, user="root", database=database, charset="utf8mb4", **more)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("cursor", ["Cursor", "SSCursor"])
def test_every_type_comes_back(port, engine, cursor):
    with connect(port, cursorclass=getattr(pymysql.cursors, cursor)) as connection:
        data = lv.read(connection, query=QUERY, confidential=["income", "share"],
                       non_confidential=["big", "region", "born", "seen"], engine=engine)
        back = data.to_arrow().to_pylist()
        assert connection.open
    assert [r["income"] for r in back] == [None if row(i)[1] is None else float(row(i)[1]) for i in range(100)]
    for name, place in (("big", 3), ("region", 4), ("born", 5), ("seen", 6), ("share", 7)):
        assert [r[name] for r in back] == [row(i)[place] for i in range(100)]


def test_wide_decimals_keep_their_digits(port):
    with connect(port) as connection:
        data = lv.read(connection, query=QUERY, confidential=["income"], non_confidential=["exact"], engine="memory")
    assert [r["exact"] for r in data.to_arrow().to_pylist()] == [row(i)[2] for i in range(100)]


def test_a_masked_release_and_bad_queries(port, tmp_path):
    with connect(port) as connection:
        data = lv.read(connection, query=QUERY, confidential=["income"], non_confidential=["region"])
        lv.mask(data, "rank_swap").write(tmp_path / "out.parquet")
        for query, said in (("SELECT * FROM nobody ORDER BY id", "the query failed"), ("DROP TABLE people", "SELECT"),
                            ("SELECT * FROM people", "no defined order")):
            with pytest.raises(ReadError, match=said) as caught:
                lv.read(connection, query=query, confidential=["income"])
            assert "nobody" not in str(caught.value)
