"""A desk that serves in this process, and raw requests to it."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from larvatus.desk.server import DeskServer


@dataclass(frozen=True)
class Answer:
    """What the desk answered."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass
class RunningDesk:
    """A desk, and the cookie of a browser that entered."""

    server: DeskServer
    cookie: str = ""
    origin: str = field(init=False)

    def __post_init__(self) -> None:
        self.origin = f"http://{self.server.host}"

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str | None) -> Answer:
        """One request with exactly these headers, over the usual ones of the desk's own pages; None leaves one out."""
        usual = {"Host": self.server.host, "Cookie": self.cookie or None, "Origin": self.origin if method == "POST" else None}
        sent = {**usual, **{n.replace("_", "-"): v for n, v in headers.items()}}
        made = http.client.HTTPConnection("127.0.0.1", int(self.server.host.rpartition(":")[2]), timeout=20)
        try:
            made.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    made.putheader(name, value)
            if body is not None and "Content-Length" not in sent:
                made.putheader("Content-Length", str(len(body)))
            made.endheaders(body)
            got = made.getresponse()
            return Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read().decode("utf-8", "replace"))
        finally:
            made.close()

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, fields: Mapping[str, str] | None = None, **headers: str | None) -> Answer:
        usual = {"Content_Type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, urlencode(fields or {}).encode(), **{**usual, **headers})

    def enter(self) -> Answer:
        """Enter as the browser does, with the token of the local page."""
        _, token = self.server.new_page()
        answer = self.post("/enter", {"token": token}, Origin="null", Cookie=None)
        self.cookie = answer.headers.get("set-cookie", "").partition(";")[0]
        return answer

    def open(self, path: str) -> str:
        """Open a file and wait until it was looked at; the address of the study."""
        answer = self.post("/open", {"path": path})
        place = answer.headers["location"].rpartition("/")[0]
        self.wait(place)
        return place

    def wait(self, place: str, seconds: float = 60.0) -> None:
        """Wait until no job of the study is open."""
        until = time.monotonic() + seconds
        while json.loads(self.get(f"{place}/jobs").text):
            assert time.monotonic() < until, "a job takes too long"
            time.sleep(0.05)

    def version(self, place: str) -> str:
        return str(self.server.desk.study(place.rpartition("/")[2]).history.number)

    def act(self, place: str, action: str, **fields: str) -> Answer:
        return self.post(f"{place}/{action}", {"version": self.version(place), **fields})


@contextmanager
def running_desk(root: Path, **how: Path) -> Iterator[RunningDesk]:
    """A desk that serves a folder until the end of this context."""
    started = threading.Event()
    server = DeskServer(root, **how)
    thread = threading.Thread(target=server.serve, args=(started.set,), daemon=True)
    thread.start()
    assert started.wait(20)
    try:
        yield RunningDesk(server)
    finally:
        server.stop()
        thread.join(20)
        assert not thread.is_alive()
