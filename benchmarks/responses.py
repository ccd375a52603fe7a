"""How long `larvatus run` takes to obey an interrupt, and how long its progress line stands still.

    python benchmarks/responses.py [--case survey] [--rows 30000] [--moments 3 8 15 25] [--save]

The study is that of `study.py` for the survey or the general case with four columns. It runs on a terminal of 100 columns. In
the first run every change of what the terminal shows is timed: `longest_still_seconds` is the longest time without a change
after the first, and `longest_same_seconds` the longest time in which only figures such as a clock changed. Then the study is
begun again for each moment, and SIGINT or SIGTERM is sent in turn that many seconds after the display begins. `end_seconds` is
the time from the signal until every process of the command has ended. A run that is over before its moment is left out.

All times are wall-clock seconds, so that a busy machine lengthens them. `load` is how many processes wanted a core.
`--save` stores the results in benchmarks/responses.json.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
LIMIT = 2.0  # seconds, for both
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_FIGURES = re.compile(r"[0-9]+|[━╸╺⠁-⣿]+")


class Shown:
    """What a command writes to its terminal, with the time of every change."""

    def __init__(self, command: list[str]) -> None:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.master = master
        self.process = subprocess.Popen(command, stdout=slave, stderr=slave, stdin=slave, start_new_session=True,
                                        env={**os.environ, "TERM": "xterm-256color"})
        os.close(slave)
        self.changes: list[tuple[float, str]] = []

    def read(self, until: float = float("inf")) -> None:
        """Follow the terminal until it is closed or a time is reached."""
        while (now := time.monotonic()) < until:
            if not select.select([self.master], [], [], min(until - now, 0.2))[0]:
                if self.process.poll() is not None:
                    return
                continue
            try:
                raw = os.read(self.master, 65536)
            except OSError:
                return
            if not raw:
                return
            text = _CODES.sub("", raw.decode(errors="replace")).strip()
            if text:
                self.changes.append((time.monotonic(), text))

    def close(self) -> None:
        os.close(self.master)


def longest_pause(changes: list[tuple[float, str]], figures: bool) -> float:
    """The longest time between two changes; without `figures`, between two changes of more than figures."""
    times, before = list[float](), ""
    for at, text in changes:
        said = text if figures else _FIGURES.sub("#", text)
        if said != before:
            times.append(at)
            before = said
    return max((b - a for a, b in pairwise(times)), default=0.0)


def members(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, own = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:4]
            if int(own) == session and state != "Z":
                found.append(int(entry.parent.name))
    return found


def interrupted(command: list[str], moment: float, number: signal.Signals) -> dict[str, Any] | None:
    """Begin the command, send the signal, and wait for the end of all its processes."""
    shown = Shown(command)
    try:
        while not shown.changes and shown.process.poll() is None:
            shown.read(time.monotonic() + 0.2)
        shown.read(time.monotonic() + moment)
        if shown.process.poll() is not None:
            return None
        doing = shown.changes[-1][1].splitlines()[-1][:100]
        shown.process.send_signal(number)
        began = time.monotonic()
        while shown.process.poll() is None or members(shown.process.pid):
            shown.read(time.monotonic() + 0.02)
            if time.monotonic() - began > 60:
                break
        took = time.monotonic() - began
    finally:
        if shown.process.poll() is None:
            shown.process.kill()
        shown.process.wait()
        shown.close()
    return {"signal": number.name, "moment": moment, "doing": doing, "end_seconds": round(took, 2),
            "exit_code": shown.process.returncode, "load": round(os.getloadavg()[0], 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=["survey", "general"], default="survey")
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--moments", type=float, nargs="*", default=[3.0, 8.0, 15.0, 25.0])
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs this in the background lets it be ignored
    with tempfile.TemporaryDirectory(prefix="larvatus-responses-") as folder:
        width = "3" if given.case == "survey" else "4"
        draft = [sys.executable, str(HERE / "study.py"), "--inside", given.case, str(given.rows), width, folder, "--draft"]
        subprocess.run(draft, check=True, stdout=subprocess.DEVNULL)
        run = [sys.executable, "-m", "larvatus.cli.main", "run", f"{folder}/study.toml", "-o"]
        ends = []
        for i, moment in enumerate(given.moments):
            found = interrupted([*run, f"{folder}/out{i}"], moment, (signal.SIGINT, signal.SIGTERM)[i % 2])
            print(found or f"the run was over before {moment:g} s", flush=True)
            ends += [found] if found else []
        whole = Shown([*run, f"{folder}/whole"])
        began = time.monotonic()
        whole.read()
        code = whole.process.wait()
        whole.close()
    result = {
        "case": given.case, "rows": given.rows, "exit_code": code, "wall_seconds": round(time.monotonic() - began, 1),
        "longest_still_seconds": round(longest_pause(whole.changes, True), 2),
        "longest_same_seconds": round(longest_pause(whole.changes, False), 2),
        "load": round(os.getloadavg()[0], 1), "interrupts": ends,
    }
    print(json.dumps({k: v for k, v in result.items() if k != "interrupts"}))
    if given.save:
        (HERE / "responses.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    slow = [e for e in ends if e["end_seconds"] > LIMIT]
    return 1 if slow or result["longest_still_seconds"] > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
