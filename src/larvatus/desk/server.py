"""Serve the desk: an address of this machine only, a page that opens it in the browser, and an end with the terminal."""

from __future__ import annotations

import asyncio
import secrets
import select
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from larvatus.core.errors import LarvatusError
from larvatus.desk.app import make_app
from larvatus.desk.desk import Desk
from larvatus.desk.entrance import LIFETIME, DoorPage, Entrance
from larvatus.desk.root_folder import RootFolder

_LOOPBACK, _LOOPBACK_6 = "127.0.0.1", "::1"
_LAST_PORT = 65_535
_TRIES = 50  # ports that are tried until one is free at both addresses


def bind_loopback(port: int) -> list[socket.socket]:
    """Sockets that only this machine can reach, at both loopback addresses; port 0 is any that is free.

    Browsers try ::1 first. If the desk did not hold its port there, another user of this machine could, and would be sent
    the token and the cookie.
    """
    if not 0 <= port <= _LAST_PORT:
        raise LarvatusError(f"port {port} does not exist. Choose one from 1 to {_LAST_PORT} with --port, or none.")
    for _ in range(1 if port else _TRIES):
        first = _bound(socket.AF_INET, _LOOPBACK, port)
        if not _has_loopback_6():
            return [first]
        try:
            return [first, _bound(socket.AF_INET6, _LOOPBACK_6, first.getsockname()[1])]
        except LarvatusError:
            first.close()
    raise LarvatusError(f"port {port} is in use at ::1. Choose another one with --port, or none." if port else
                        "no port is free at both 127.0.0.1 and ::1. Choose one with --port.")


def _bound(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((address, port))
        made.listen()  # from now on nobody else can have this port
    except OSError as error:
        made.close()
        raise LarvatusError(f"port {port} cannot be used: {error.strerror}. Choose another one with --port, or none.") from None
    return made


def _has_loopback_6() -> bool:
    """Whether anybody can listen at ::1 of this machine."""
    try:
        _bound(socket.AF_INET6, _LOOPBACK_6, 0).close()
    except (LarvatusError, OSError):
        return False
    return True


class _Server(uvicorn.Server):
    """A server that does something as soon as it is asked to end, before it waits for its connections."""

    def __init__(self, config: uvicorn.Config, on_exit: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_exit = on_exit

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._on_exit()


class DeskServer:
    """One desk on one port. Its address has a random name, so that no other port of this machine is sent its cookie."""

    def __init__(self, root: Path, port: int = 0, work: Path | None = None) -> None:
        self.desk = Desk(RootFolder(root), None if work is None else RootFolder(work).path)
        self.sockets = bind_loopback(port)
        name = f"desk-{secrets.token_hex(6)}.localhost"
        self.host = f"{name}:{self.sockets[0].getsockname()[1]}"
        self.entrance = Entrance()
        self.door = DoorPage(self.desk.private.path, f"http://{self.host}")
        app = make_app(self.desk, self.entrance, self.host, f"larvatus-{name.partition('.')[0]}", self.door)
        self._server = _Server(uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, date_header=False, lifespan="on", ws="none",
            timeout_graceful_shutdown=1, proxy_headers=False,
        ), self._leave)

    def new_page(self) -> tuple[Path, str]:
        """A local page that opens the desk, and its token; both work once within a minute."""
        token = self.entrance.new_token()
        return self.door.write(token), token

    def serve(self, on_start: Callable[[], None] = lambda: None) -> None:
        """Serve until the process is asked to end."""
        async def work() -> None:
            serving = asyncio.create_task(self._server.serve(sockets=self.sockets))
            while not self._server.started and not serving.done():
                await asyncio.sleep(0.02)
            on_start()
            await serving

        try:
            asyncio.run(work())
        except KeyboardInterrupt:
            pass
        finally:
            self.desk.private.close()

    def stop(self) -> None:
        """Ask the server to end; from any thread."""
        self.desk.events.close()
        self._server.should_exit = True

    def _leave(self) -> None:
        """Remove what is private at once: little time may be left."""
        self.desk.events.close()
        self.desk.private.close()


def run_desk(root: Path, port: int, work: Path | None, browser: bool, say: Callable[[str], None]) -> None:
    """Open the desk in the browser and serve it until Ctrl-C, or until the terminal is closed."""
    server = DeskServer(root, port, work)

    def open_page(again: bool = False) -> None:
        path, token = server.new_page()
        opened = browser and webbrowser.open(path.as_uri())
        if again:
            say(f"Open http://{server.host}/enter and type this code, which works once within {LIFETIME:.0f} seconds:\n{token}")
        elif not opened:
            say(f"Open this page in your browser within {LIFETIME:.0f} seconds; only you can read it:\n{path.as_uri()}")
        removal = threading.Timer(LIFETIME, _remove_if_old, (server.door, path.stat().st_mtime_ns))
        removal.daemon = True
        removal.start()

    def start() -> None:
        say(f"The desk is open. It reads files below {server.desk.root.path}. Ctrl-C ends it.")
        open_page()
        say("Press Enter to open another browser window.")
        threading.Thread(target=_listen_to_terminal, args=(lambda: open_page(True), server), daemon=True).start()

    server.serve(start)
    say("The desk is closed. Studies and results are in their folders; open the desk again to continue.")


def _remove_if_old(door: DoorPage, written: int) -> None:
    if door.path.exists() and door.path.stat().st_mtime_ns == written:
        door.remove()


def _listen_to_terminal(again: Callable[[], None], server: DeskServer) -> None:
    """Enter opens the desk again; if the terminal is closed, the desk ends."""
    if sys.stdin is None or not sys.stdin.isatty():
        return
    while not server._server.should_exit:
        if select.select([sys.stdin], [], [], 1.0)[0]:
            line = sys.stdin.readline()
            if not line:  # the terminal is gone
                server.stop()
                return
            again()
            time.sleep(1)
