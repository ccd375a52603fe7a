"""A headless Chromium over its own pipe: opens a page, runs lines of script in it, moves the mouse, draws pictures."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
)
START = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
PROGRAM = next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass
class Browser:
    """One tab; every call waits for its answer."""

    to: int
    come: int
    session: str = ""
    calls: int = 0
    rest: bytes = b""
    seen: list[dict[str, Any]] = field(default_factory=list)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.calls += 1
        sent: dict[str, Any] = {"id": self.calls, "method": method, "params": parameters}
        if self.session:
            sent["sessionId"] = self.session
        os.write(self.to, json.dumps(sent).encode() + b"\0")
        while True:
            found = self._message()
            if found.get("id") == self.calls:
                assert "error" not in found, found["error"]
                return found["result"]
            self.seen.append(found)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            more = os.read(self.come, 1 << 20)
            assert more, "Chromium ended"
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def open(self, file: Path | str, width: int = 1280, height: int = 900) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.seen.clear()
        self.call("Page.navigate", url=file if isinstance(file, str) else file.as_uri())
        while not any(m.get("method") == "Page.loadEventFired" for m in self.seen):
            self.seen.append(self._message())

    def run(self, script: str) -> Any:
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def point_at(self, script: str, click: bool = False) -> None:
        """Bring the mouse to the middle of what a line of script finds."""
        self.run(f"({script}).scrollIntoView({{block: 'center', behavior: 'instant'}})")
        x, y = self.run(f"(r => [r.x + r.width / 2, r.y + r.height / 2])(({script}).getBoundingClientRect())")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased") if click else ():
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, code: int) -> None:
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def media(self, scheme: str = "light", kind: str = "") -> None:
        self.call("Emulation.setEmulatedMedia", media=kind, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, file: Path, whole: bool = False) -> None:
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}}
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **(clip if whole else {}))
        file.write_bytes(base64.b64decode(found["data"]))

    def pdf(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"]))


@contextmanager
def browser() -> Iterator[Browser]:
    """A fresh one with a profile of its own, which ends with the block."""
    assert PROGRAM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        low = (*os.pipe(), *os.pipe())
        theirs_in, to, come, theirs_out = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in low)
        for fd in low:
            os.close(fd)
        process = subprocess.Popen(
            [sys.executable, "-c", START, str(theirs_in), str(theirs_out), PROGRAM, *FLAGS, f"--user-data-dir={profile}",
             "about:blank"], pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            made = Browser(to, come)
            target = made.call("Target.createTarget", url="about:blank")["targetId"]
            made.session = made.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            made.call("Page.enable")
            yield made
        finally:
            process.kill()
            process.wait()
            os.close(to)
            os.close(come)
