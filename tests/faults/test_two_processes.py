"""Two processes write into one folder: one waits or is refused, and what is there is what one of them wrote, or both in turn.

The first process is stopped at one of its file operations, at several in turn. The second one then runs, until it ends or
waits. Then the first one goes on.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fault_campaign import SCENARIOS, Server, a_server, left_over, visible, write_inputs
from injector import STOP

from larvatus.core.safe_files.file_sets import settle_sets
from larvatus.documents.verification import verify_files

RUN, SEARCH = SCENARIOS["run, first"].command, SCENARIOS["search"].command
MASK = SCENARIOS["mask, replacing"].command
PAIRS = {
    "mask and mask": ((), MASK, MASK.replace("0.5", "0.7")),
    "run and run": ((), RUN, RUN),
    "run and another run": ((), f"{RUN} --overwrite", f"{RUN} --overwrite".replace("study", "earlier")),
    "run and search": ((), RUN, SEARCH),
    "run and approve": ((RUN,), f"{RUN} --overwrite".replace("study", "earlier"), SCENARIOS["approve"].command),
    "job of the desk and run": ((), "desk-job run", f"{RUN} --overwrite".replace("study", "earlier")),
}
PATIENCE = 1.0  # seconds in which the second process can end while the first one is stopped
LAST = 60  # operations at the end, where files are moved


@dataclass
class Two:
    """Two servers, each for one of the processes."""

    first: Server
    second: Server
    home: Path

    def folder(self, name: str, before: tuple[str, ...]) -> Path:
        folder = self.home / name
        for inside in ("work/pairs", "work/.larvatus-cache", "temp"):
            (folder / inside).mkdir(parents=True)
        write_inputs(folder / "work", "memory")
        for command in before:
            assert self.first.run(folder, command.split())["code"] == 0
        return folder

    def copy(self, name: str) -> Path:
        shutil.rmtree(self.home / "tried", ignore_errors=True)
        return Path(shutil.copytree(self.home / name, self.home / "tried", symlinks=True))

    def in_turn(self, *commands: str) -> tuple[dict[str, bytes], int]:
        """The files after commands that were carried out one after another, and the operations of the first."""
        folder, seen = self.copy("base"), list[int]()
        for command in commands:
            seen.append(len(self.first.run(folder, command.split())["seen"]))
        return visible(folder), seen[0]

    def at_once(self, folder: Path, first: str, second: str, at: int) -> list[dict[str, Any]]:
        """Both commands: the second one is started while the first one is stopped."""
        with ThreadPoolExecutor(2) as threads:
            one = threads.submit(self.first.run, folder, first.split(), at, STOP)
            stopped = stopped_child(self.first.process.pid, one)
            other = threads.submit(self.second.run, folder, second.split())
            until = time.monotonic() + PATIENCE
            while not other.done() and time.monotonic() < until:
                time.sleep(0.02)
            if stopped:
                os.kill(stopped, signal.SIGCONT)
            return [one.result(120), other.result(120)]


def stopped_child(server: int, running: Any) -> int:
    """The process that a server started and that is stopped; 0 if it has ended."""
    while not running.done():
        for number in Path(f"/proc/{server}/task/{server}/children").read_text(encoding="ascii").split():
            if Path(f"/proc/{number}/stat").read_text(encoding="ascii").rpartition(") ")[2][0] == "T":
                return int(number)
        time.sleep(0.01)
    return 0


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    first, second = (tmp_path_factory.mktemp(name) for name in ("first", "second"))
    with a_server(first) as one, a_server(second) as other:
        yield Two(one, other, first)


def wrong(two: Two, first: str, second: str, at: int, results: dict[tuple[bool, bool], list[dict[str, bytes]]]) -> str:
    folder = two.copy("base")
    done = two.at_once(folder, first, second, at)
    for found in done:
        if found["code"] not in (0, 2) or "Traceback" in found["said"] or "nexpected" in found["said"]:
            return f"exit code {found['code']}: {found['said']}"
    for place in (folder / "work", folder / "work" / "out"):
        settle_sets(place)
    for manifest in (folder / "work").rglob("*.manifest.json"):
        if any(row["same"] is not True for row in verify_files(manifest, [])):
            return f"{manifest.name} does not fit"
    ended = done[0]["code"] == 0, done[1]["code"] == 0
    if visible(folder) not in results[ended]:
        return f"successes {ended}, and the files are of neither: {done[0]['said']} {done[1]['said']}"
    return f"left behind: {left_over(folder)}" if left_over(folder) else ""


@pytest.mark.parametrize("name", [n if n.startswith("mask") else pytest.param(n, marks=pytest.mark.slow) for n in PAIRS])
def test_one_process_waits_or_is_refused(name, two, request):
    before, first, second = PAIRS[name]
    shutil.rmtree(two.home / "base", ignore_errors=True)
    base = two.folder("base", before)
    (only_first, operations), (only_second, _) = two.in_turn(first), two.in_turn(second)
    results = {
        (True, False): [only_first], (False, True): [only_second], (False, False): [visible(base)],
        (True, True): [two.in_turn(first, second)[0], two.in_turn(second, first)[0]],
    }
    points = sorted({1, operations // 3, 2 * operations // 3, *range(max(1, operations - LAST), operations + 1, LAST // 4)})
    assert {at: problem for at in points if (problem := wrong(two, first, second, at, results))} == {}
