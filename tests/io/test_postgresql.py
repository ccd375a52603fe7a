"""A real PostgreSQL server as a source, started on a free port of this machine."""

from __future__ import annotations

import datetime
import decimal
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

import larvatus as lv
from larvatus.core.errors import ReadError

driver = pytest.importorskip("adbc_driver_postgresql.dbapi")
pytestmark = pytest.mark.slow
PASSWORD = "open-sesame"
PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin")) + [Path(p).parent for p in [shutil.which("initdb")] if p]
QUERY = "SELECT * FROM people ORDER BY id"
TABLE = """CREATE TABLE people (id INTEGER PRIMARY KEY, income NUMERIC(12, 2), long NUMERIC, whole NUMERIC(9, 0), big BIGINT,
    region TEXT, even BOOLEAN, born DATE, share REAL, key UUID, stay INTERVAL, note JSON)"""
ROWS = """INSERT INTO people SELECT i, CASE WHEN i <> 3 THEN 100 + i * 1.25 END, 12345678901234567890.5 + i, i,
    1152921504606846976 + i,
    CASE WHEN i <> 4 THEN 'r' || (i % 2) END, i % 2 = 0, DATE '2020-01-01' + i, i * 0.5, gen_random_uuid(), '1 day', '{}'
    FROM generate_series(0, 99) AS i"""


def _as_owner(command: list[str]) -> None:
    """Run a program of the server, which refuses to run as root."""
    how = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
    subprocess.run([*how, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", timeout=60)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of a server with a table; its password is in PGPASSWORD only while the table is made."""
    if not PROGRAMS:
        pytest.skip("PostgreSQL is not installed on this machine")
    folder = Path("/tmp") / tmp_path_factory.mktemp("server").name  # a socket needs a short path that the owner may enter
    folder = Path(f"{folder}-{os.getpid()}")
    folder.mkdir(mode=0o755)
    (folder / "password").write_text(PASSWORD)
    (folder / "password").chmod(0o600)
    try:
        if os.getuid() == 0:
            for path in (folder, folder / "password"):
                shutil.chown(path, "postgres", "postgres")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        programs = PROGRAMS[-1]
        try:
            _as_owner([str(programs / "initdb"), "-D", str(folder / "data"), "-A", "scram-sha-256", "-U", "tester", "-N",
                       f"--pwfile={folder / 'password'}"])
            settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
            _as_owner([str(programs / "pg_ctl"), "-D", str(folder / "data"), "-w", "-o", settings, "-l", str(folder / "log"),
                       "start"])
        except (OSError, subprocess.SubprocessError, LookupError):
            pytest.skip("PostgreSQL cannot be started on this machine")
        try:
            address = f"postgresql://tester@127.0.0.1:{port}/postgres"
            with driver.connect(f"{address}?password={PASSWORD}") as connection, connection.cursor() as cursor:
                cursor.execute(TABLE)
                cursor.execute(ROWS)
                cursor.execute("CREATE SEQUENCE counter")
                connection.commit()
            yield address
        finally:
            _as_owner([str(programs / "pg_ctl"), "-D", str(folder / "data"), "-m", "immediate", "-w", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def password_file(tmp_path):
    path = tmp_path / "password"
    path.write_text(f"{PASSWORD}\n")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_types(server, password_file, engine):
    columns = ["whole", "big", "region", "even", "born", "share", "key"]
    data = lv.read(server, query=QUERY, confidential=["income"], non_confidential=columns, password_file=password_file,
                   engine=engine)
    rows = data.to_arrow().to_pylist()
    assert len(rows) == 100
    plain = {n: v for n, v in rows[5].items() if n != "key"}
    assert plain == {"whole": 5, "big": 2**60 + 5, "region": "r1", "even": False, "born": datetime.date(2020, 1, 6),
                     "share": 2.5, "income": 106.25}
    assert rows[4]["region"] is None
    assert [r["whole"] for r in rows if r["income"] is None] == [3]
    assert len({r["key"] for r in rows}) == 100
    assert data.inputs == ()


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_digits_are_kept(server, password_file, engine):
    data = lv.read(server, table="people", record_id="id", confidential="share", non_confidential=["income", "long"],
                   password_file=password_file, engine=engine)
    row = data.to_arrow().to_pylist()[1]
    assert (row["income"], row["long"]) == (decimal.Decimal("101.25"), decimal.Decimal("12345678901234567891.5"))


def test_the_environment_gives_the_password(server, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert lv.read(server, table="public.people", record_id="key", confidential="income").rows == 100


def test_tables_are_listed(server, password_file):
    with pytest.raises(ReadError, match=r"The tables are: public\.people\."):
        lv.read(server, confidential="income", password_file=password_file)
    with pytest.raises(ReadError, match=r"no table 'peple'; did you mean 'people'"):
        lv.read(server, table="peple", record_id="id", confidential="income", password_file=password_file)


@pytest.mark.parametrize(("query", "text"), [
    ("SELECT * FROM secret_table ORDER BY 1", "a table in it does not exist"),
    ("SELECT secret_column FROM people ORDER BY 1", "a column in it does not exist"),
    ("SELECT CAST(region AS INTEGER) AS income FROM people ORDER BY id", "the server reports an error"),
    ("SELECT 1 / (id - 50) AS income FROM people ORDER BY id", "the server reports an error"),
])
def test_a_query_that_fails(server, password_file, query, text):
    """The error states why, without the text of the server."""
    with pytest.raises(ReadError, match=text) as caught:
        lv.read(server, query=query, confidential="income", password_file=password_file)
    shown = str(caught.value)
    assert not [word for word in ("secret", "r0", "r1", "127.0.0.1", "tester", PASSWORD) if word in shown]
    assert caught.value.__context__ is None


def test_the_session_can_only_read(server, password_file):
    """A function that writes is refused by the server, although the text of the query only reads."""
    with pytest.raises(ReadError, match="the query writes"):
        lv.read(server, query="SELECT nextval('counter') AS income ORDER BY 1", confidential="income",
                password_file=password_file)
    with driver.connect(f"{server}?password={PASSWORD}") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT is_called FROM counter")
        assert cursor.fetchall() == [(False,)]


def test_a_wrong_password_or_port(server, tmp_path, password_file):
    wrong = tmp_path / "wrong"
    wrong.write_text("close-sesame")
    wrong.chmod(0o600)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        other = f"postgresql://tester@127.0.0.1:{taken.getsockname()[1]}/postgres"
        for source, file in ((server, wrong), (other, password_file), (f"{server}x", password_file)):
            with pytest.raises(ReadError, match="cannot connect to the server") as caught:
                lv.read(source, query=QUERY, confidential="income", password_file=file)
            assert not [word for word in ("sesame", "tester", "127.0.0.1") if word in str(caught.value)]
            assert caught.value.__context__ is None
