"""How long `larvatus run` takes to obey an interrupt, how long its progress line stands still, and how good its estimate is.

    python benchmarks/responses.py [--case survey | general] [--rows 30000] [--moments 3 8 15 25] [--save]

The study is that of `study.py` for the survey or the general case with four columns, on a terminal of 250 columns. It is begun
for each moment, and SIGINT or SIGTERM is sent in turn that many seconds after the display begins. `end_seconds` is the time
from the signal until every process of the command has ended. A run that is over before its moment is left out.

Then the whole study runs, and every change of what the terminal shows is timed from the first one to the end of the command:

* `longest_still_seconds`: the longest time without any change, spinner and clock included;
* `longest_unchanged_seconds`: the longest time in which the text after the bar and the clock did not change;
* `longest_step_seconds`: the longest time in which only figures in that text changed, that is, the longest step;
* `estimates`: after 25, 50 and 75 % of the time, the seconds that the line said were left, those that really were, and the
  ratio of the two. The line rounds to 5 seconds or to minutes. `first_estimate_share` is the share of the time after which
  the line said how much is left.

All times are wall-clock seconds, so that a busy machine lengthens them. `load` is how many processes wanted a core.
`--save` stores the results in benchmarks/responses.json, one entry for each case and size.
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
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
LIMIT = 2.0  # seconds, for both
WIDTH = 250  # columns of the terminal
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_DISPLAY = re.compile(r"[⠁-⣿━╸╺]+|\b[0-9]+:[0-9]{2}:[0-9]{2}\b")  # spinner, bar and clock
_FIGURES, _SPACES = re.compile("[0-9]+"), re.compile(r"\s+")
_LEFT = re.compile(r"about ([0-9]+) (s|min|hours) left|(a few seconds) left")
_UNIT = {"s": 1.0, "min": 60.0, "hours": 3600.0}
_FEW = 2.5  # seconds, where the line says "a few"
SHARES = (0.25, 0.5, 0.75)


class Shown:
    """What a command writes to its terminal, with the time of every change."""

    def __init__(self, command: list[str]) -> None:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, WIDTH, 0, 0))
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


def text_of(shown: str) -> str:
    """What the display says, without spinner, bar and clock."""
    return _SPACES.sub(" ", _DISPLAY.sub("", shown)).strip()


def step_of(shown: str) -> str:
    """What the display says, without any figures."""
    return _FIGURES.sub("#", text_of(shown))


def longest_pause(changes: list[tuple[float, str]], end: float, seen: Callable[[str], str] = str) -> float:
    """The longest time between two changes of what is seen of the display, from the first one to the end."""
    times, before = list[float](), ""
    for at, shown in changes:
        if (now := seen(shown)) and now != before:
            times.append(at)
            before = now
    return max((b - a for a, b in pairwise([*times, end])), default=0.0)


def seconds_left(shown: str) -> float | None:
    """The seconds that the last estimate in a text says are left."""
    found = list(_LEFT.finditer(shown))
    if not found:
        return None
    number, unit, few = found[-1].groups()
    return _FEW if few else float(number) * _UNIT[unit]


def estimates(changes: list[tuple[float, str]], began: float, end: float) -> list[dict[str, float | None]]:
    """What the line said was left after some shares of the time, and what really was."""
    out: list[dict[str, float | None]] = []
    for share in SHARES:
        at = began + share * (end - began)
        said = [left for when, shown in changes if when <= at and (left := seconds_left(shown)) is not None]
        out.append({"share": share, "said": said[-1] if said else None, "true": round(end - at, 1),
                    "ratio": round(said[-1] / (end - at), 2) if said else None})
    return out


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


def save(target: Path, result: dict[str, Any]) -> None:
    """Store a result; results of other cases and sizes stay."""
    before = json.loads(target.read_text(encoding="utf-8"))["runs"] if target.exists() else []
    kept = [r for r in before if (r["case"], r["rows"]) != (result["case"], result["rows"])]
    runs = sorted([*kept, result], key=lambda r: (r["case"], r["rows"]))
    target.write_text(json.dumps({"runs": runs}, indent=1) + "\n", encoding="utf-8")


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
        began = time.monotonic()
        whole = Shown([*run, f"{folder}/whole"])
        whole.read()
        code = whole.process.wait()
        end = time.monotonic()
        whole.close()
    shown, live = whole.changes, [c for c in whole.changes if _DISPLAY.search(c[1])]
    over = live[-1][0] if live else end
    first = next((at for at, text in shown if seconds_left(text) is not None), None)
    result = {
        "case": given.case, "rows": given.rows, "exit_code": code, "wall_seconds": round(end - began, 1),
        "longest_still_seconds": round(longest_pause(live, over), 2),
        "longest_unchanged_seconds": round(longest_pause(live, over, text_of), 2),
        "longest_step_seconds": round(longest_pause(live, over, step_of), 2),
        "first_estimate_share": None if first is None else round((first - began) / (end - began), 2),
        "estimates": estimates(live, began, over), "load": round(os.getloadavg()[0], 1), "interrupts": ends,
    }
    print(json.dumps({k: v for k, v in result.items() if k != "interrupts"}))
    if given.save:
        save(HERE / "responses.json", result)
    slow = [e for e in ends if e["end_seconds"] > LIMIT]
    return 1 if slow or result["longest_unchanged_seconds"] > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
