"""The parts that keep the desk safe, each by itself: what another part would also refuse is not in the way here."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from ipaddress import ip_address
from pathlib import Path
from types import SimpleNamespace

import pytest

import larvatus.desk.server as serving
from desk.running_desk import RunningDesk
from larvatus.desk.desk import job_plain
from larvatus.desk.entrance import Entrance
from larvatus.desk.guard import POLICY, REPORT_POLICY, Guard
from larvatus.desk.refusals import Refusal
from larvatus.desk.server import DeskServer, bind_loopback
from larvatus.desk.uploads import receive_upload, upload_name
from larvatus.desk.worker import DeskJob

HOST, COOKIE = "desk-0.localhost:1", "larvatus-desk-0"


def code_of(method: str = "GET", path: str = "/enter", *more: tuple[str, str], host: str = HOST) -> int:
    """What the guard answers to a request; 200 if it may pass."""
    sent: list[dict] = []

    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: dict) -> None:
        sent.append(message)

    headers = [(n.encode("latin-1"), v.encode("latin-1")) for n, v in (("host", host), *more)]
    scope = {"type": "http", "method": method, "path": path, "headers": headers, "query_string": b""}
    asyncio.run(Guard(app, HOST, COOKIE, Entrance())(scope, None, send))
    return sent[0]["status"]


def test_one_host_and_the_right_one():
    assert code_of() == 200
    assert code_of(host="evil.example") == 421
    assert code_of("GET", "/enter", ("host", "evil.example")) == 421
    assert code_of("GET", "/enter", ("host", HOST)) == 421


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "TRACE", "CONNECT", "PATCH", "get"])
def test_only_known_methods_pass(method: str):
    assert code_of(method, "/static/x") == 405


@pytest.mark.parametrize("length", ["", "-1", "+1", "1e3", "1_0", "²", " 1"])
def test_a_length_is_a_number(length: str):
    assert code_of("POST", "/enter", ("content-length", length)) == 413
    assert code_of("POST", "/enter", ("content-length", "10")) == 200


def directives(policy: str) -> dict[str, str]:
    return dict(part.strip().partition(" ")[::2] for part in policy.split(";"))


def test_pages_load_and_send_nothing_elsewhere():
    assert directives(POLICY) == {
        "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self'", "connect-src": "'self'",
        "font-src": "'none'", "form-action": "'self'", "base-uri": "'none'", "frame-ancestors": "'none'",
    }
    assert directives(REPORT_POLICY) == {
        "sandbox": "allow-scripts allow-popups", "default-src": "'none'", "script-src": "'unsafe-inline'",
        "style-src": "'unsafe-inline'", "img-src": "data:", "form-action": "'none'", "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }


def test_every_answer_has_these_headers(desk: RunningDesk):
    for path in ("/", "/static/desk.js", "/nothing", "/enter"):
        headers = desk.get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert "server" not in headers


def test_only_the_latest_browsers_stay():
    entrance = Entrance()
    sessions = [entrance.redeem(entrance.new_token()) for _ in range(9)]
    assert [entrance.knows(s) for s in sessions] == [False, *[True] * 8]


def test_the_port_is_held_from_the_start():
    """Nobody else can listen on it between the choice of a port and the first request."""
    own = bind_loopback(0)
    try:
        assert all(ip_address(made.getsockname()[0]).is_loopback for made in own)
        with socket.socket() as thief:
            thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with pytest.raises(OSError, match="in use"):
                thief.bind(own[0].getsockname())
    finally:
        for made in own:
            made.close()


def end(server: DeskServer) -> None:
    for made in server.sockets:
        made.close()
    server.desk.private.close()


def test_two_desks_have_two_names(tmp_path: Path):
    servers = [DeskServer(tmp_path) for _ in range(2)]
    try:
        assert len({s.host.partition(".")[0] for s in servers}) == 2
    finally:
        for one in servers:
            end(one)


def test_the_local_page_goes_when_it_is_too_old_and_a_newer_one_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    waiting: list = []

    class Timer:
        daemon = False

        def __init__(self, seconds: float, does, args: tuple) -> None:
            self.seconds, self.does = seconds, lambda: does(*args)

        def start(self) -> None:
            waiting.append(self)

    server = DeskServer(tmp_path)
    monkeypatch.setattr(serving.threading, "Timer", Timer)
    monkeypatch.setattr(serving, "DeskServer", lambda *_: server)
    monkeypatch.setattr(server, "serve", lambda on_start: on_start())
    try:
        serving.run_desk(tmp_path, 0, None, False, lambda text: None)
        assert [t.seconds for t in waiting] == [60.0]
        assert server.door.path.exists()
        waiting[0].does()
        assert not server.door.path.exists()
        server.new_page()
        waiting[0].does()
        assert server.door.path.exists(), "the time of another page is over"
    finally:
        end(server)


# --- uploads --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "name"), [
    ("survey.sav", "survey.sav"), ("../../x.csv", "x.csv"), ("C:\\data\\x.csv", "x.csv"),
    (".hidden.csv", "hidden.csv"), ("a\nb\0c.csv", "abc.csv"), ("x" * 300 + ".csv", "x" * 120 + ".csv"),
])
def test_the_name_of_an_upload_is_plain(given: str, name: str):
    assert upload_name(given) == name


@pytest.mark.parametrize("given", ["x.exe", "", "..csv", " .csv", "x.csv/", "secret.toml", "x.db", "x.csv.exe"])
def test_uploads_are_data_files(given: str):
    with pytest.raises(Refusal):
        upload_name(given)


async def pieces(*sizes: int, broken: bool = False) -> AsyncIterator[bytes]:
    for size in sizes:
        yield b"x" * size
    if broken:
        raise ConnectionError


def received(folder: Path, expected: int, *sizes: int, **how) -> Path:
    largest = how.pop("largest", 1000)
    return asyncio.run(receive_upload(pieces(*sizes, **how), expected, folder, largest))


def test_an_upload_is_private_and_whole(tmp_path: Path):
    made = received(tmp_path, 30, 10, 20)
    assert made.read_bytes() == b"x" * 30
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


@pytest.mark.parametrize(("expected", "sizes"), [(0, ()), (-1, ()), (30, (10, 21)), (30, (10, 19))])
def test_an_upload_of_another_size_leaves_nothing(tmp_path: Path, expected: int, sizes: tuple[int, ...]):
    with pytest.raises(Refusal):
        received(tmp_path, expected, *sizes)
    assert not list(tmp_path.iterdir())


def test_an_upload_is_bounded(tmp_path: Path):
    with pytest.raises(Refusal, match="too large"):
        received(tmp_path, 1001, 1001)
    assert not list(tmp_path.iterdir())
    assert received(tmp_path, 1000, 1000).stat().st_size == 1000


def test_too_much_is_noticed_before_all_of_it_came(tmp_path: Path):
    with pytest.raises(Refusal):
        received(tmp_path, 30, 31, broken=True)


def test_a_broken_upload_leaves_nothing(tmp_path: Path):
    with pytest.raises(ConnectionError):
        received(tmp_path, 30, 10, broken=True)
    assert not list(tmp_path.iterdir())


def test_an_upload_leaves_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**9 + 20))
    with pytest.raises(Refusal, match="too large"):
        received(tmp_path, 30, 30)


# --- what is told ---------------------------------------------------------------------------------------------------------


def test_an_unexpected_error_of_a_job_is_told_by_its_kind():
    """Its text may hold data, so it reaches neither the page nor a log."""
    code = ("from larvatus.desk.work import jobs, process\n"
            "def broken(asked, progress): raise ValueError('income of record 17 is 12345')\n"
            "jobs.JOBS = {'broken': broken}\n"
            "process._work({'id': 1, 'job': 'broken', 'arguments': {}}, 1)")
    env = {n: v for n, v in os.environ.items() if n != "LARVATUS_DEBUG"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert "ValueError" in done.stdout
    assert "12345" not in done.stdout + done.stderr


def test_what_a_job_found_is_not_sent():
    job = DeskJob(1, "a", "keys", {"path": "/data/secret-path"}, found={"income": 12345})
    assert "12345" not in str(job_plain(job))
    assert "secret-path" not in str(job_plain(job))
