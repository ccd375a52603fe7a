"""A command that is told to end does so within seconds, whatever it is doing; it leaves nothing behind and can be resumed.

The attacks and the mask of these tests run one library call of a minute. Some hold the interpreter, so that no Python code of
the process can run, not even that of a signal handler. So does a compiled loop.

Two seconds are promised on a machine that is not busy. How much a busy one slows this process down is measured before and
after: the wall-clock seconds that a processor second takes. The larger of the two divides the time until the command has ended.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import larvatus
from sample import SECRET, people

SOURCE = str(Path(larvatus.__file__).parents[1])
LIMIT = 2.0  # seconds of a machine that is not busy

HOLDING = "collections.deque(itertools.repeat(None, 10**11), maxlen=0)"  # the interpreter is held until the end
LETTING_GO = "hashlib.pbkdf2_hmac('sha256', b'a', b'b', 10**9)"  # other threads can run

COMPILED = "spin(1), note('spinning'), spin(10**13)"  # the kernel is compiled before it is noted; it holds the interpreter too

METHOD = '''
"""For tests."""
import collections, hashlib, itertools, os
from pathlib import Path
from larvatus.data.contracts import Attack, Mask, Masked
from larvatus.data.score import Score
from larvatus.core.kernels import kernel
from larvatus.data.verbs import map_rows

@kernel()
def spin(times):
    x = 1.0
    for i in range(times):
        x = (x * 3.7 + i) % 1.9  # nothing that a compiler can leave out
    return x

def note(name):
    with Path(os.environ["MARKS"]).open("a") as marks:
        marks.write(name + chr(10))
    return os.environ.get("QUICK")
'''
ATTACK = METHOD + '''
class {name}(Attack):
    """For tests."""
    def attack(self, original, release, intruder, random):
        if not note(self.name()):
            {work}
        return Score(self.name(), "risk", 0.25, "share of records found", chance=0.125)
'''
MASK = METHOD + '''
class HoldingMask(Mask):
    """For tests."""
    def apply(self, current, original, random):
        note(self.name())
        {work}
    def public_sentence(self):
        return "Nothing was done."
'''
METHODS = {
    "larvatus.attacks": {
        "quick_attack": ATTACK.format(name="QuickAttack", work="pass"),
        "holding_attack": ATTACK.format(name="HoldingAttack", work=HOLDING),
        "letting_attack": ATTACK.format(name="LettingAttack", work=LETTING_GO),
        "compiled_attack": ATTACK.format(name="CompiledAttack", work=COMPILED),
    },
    "larvatus.masks": {"holding_mask": MASK.format(work=HOLDING)},
}
STUDY = """
source = "people.parquet"
[roles]
confidential = ["income", "wealth"]
[[release]]
name = "noise"
steps = ["additive_noise(variance=0.2)"]
[[release]]
name = "more noise"
steps = ["additive_noise(variance=2.0)"]
[[attack]]
method = "quick_attack"
[[attack]]
method = "{attack}"
[[measure]]
method = "moments"
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A package with the methods, as an installer would leave it."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "slow_sdc").mkdir()
    (folder / "slow_sdc" / "__init__.py").write_text("")
    info = folder / "slow_sdc-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow_sdc\nVersion: 1.0\n")
    points = ""
    for group, methods in METHODS.items():
        points += f"[{group}]\n"
        for name, text in methods.items():
            (folder / "slow_sdc" / f"{name}.py").write_text(text)
            points += f"{name} = slow_sdc.{name}:{''.join(p.capitalize() for p in name.split('_'))}\n"
    (info / "entry_points.txt").write_text(points)
    return folder


def slowness() -> float:
    """Wall-clock seconds that a processor second takes now; at least 1."""
    wall, used = time.perf_counter(), time.process_time()
    while time.process_time() - used < 0.1:
        pass
    return max(1.0, (time.perf_counter() - wall) / (time.process_time() - used))


class Place:
    """A folder with data, and commands started in it."""

    def __init__(self, folder: Path, site: Path) -> None:
        self.folder, self.marks = folder, folder / "marks"
        self.environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join([str(site), SOURCE]), "MARKS": str(self.marks),
            "LARVATUS_TEMP": str(folder / "temporary"), "PYTHONWARNINGS": "error",
        }
        people(200).to_parquet(folder / "people.parquet")
        (folder / "key").write_bytes(SECRET)
        (folder / "key").chmod(0o600)

    def started(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "larvatus.cli.main", *arguments], cwd=self.folder, stderr=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env={**self.environment, **environment},
        )

    def marked(self, name: str) -> int:
        """How often a method was begun."""
        return self.marks.read_text().split().count(name) if self.marks.exists() else 0

    def interrupted(self, process: subprocess.Popen[str], number: int, name: str, times: int = 1) -> tuple[str, float]:
        """Send the signal once a method runs; what the command says then, and how long it takes to end, without other work."""
        for _ in range(1200):
            if self.marked(name) >= times or process.poll() is not None:
                break
            time.sleep(0.1)
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.2)
        before, began = slowness(), time.monotonic()
        process.send_signal(number)
        said = process.communicate(timeout=100)[1]
        seconds = time.monotonic() - began
        return said, seconds / max(before, slowness())

    def processes(self) -> list[int]:
        """Processes of commands started here."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and f"MARKS={self.marks}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def check_clean(self, *expected: str) -> None:
        """No process is left, and no file but the data and what is expected."""
        for _ in range(50):
            if not self.processes():
                break
            time.sleep(0.1)
        assert self.processes() == []
        files = {p.relative_to(self.folder).parts[0] for p in self.folder.rglob("*") if p.is_file()}
        assert files <= {"people.parquet", "study.toml", "key", "marks", *expected}
        assert [p for p in self.folder.rglob("*") if p.name.endswith(".tmp") or "larvatus-work" in p.name] == []


@pytest.fixture
def place(tmp_path, site) -> Place:
    return Place(tmp_path, site)


@pytest.mark.parametrize(("number", "attack"), [
    (signal.SIGINT, "holding_attack"), (signal.SIGTERM, "letting_attack"),
    *(pytest.param(*case, marks=pytest.mark.slow) for case in
      ((signal.SIGINT, "letting_attack"), (signal.SIGTERM, "holding_attack"))),
])
def test_a_study_in_one_process(place, number, attack):
    (place.folder / "study.toml").write_text(STUDY.format(attack=attack))
    process = place.started("run", "study.toml", "-o", "out", "--jobs", "1")
    said, seconds = place.interrupted(process, number, attack)
    assert process.returncode == 128 + number
    assert seconds < LIMIT
    assert "Traceback" not in said
    assert number == signal.SIGTERM or "interrupted; no incomplete file was left. Rerunning resumes" in said
    place.check_clean()


def test_a_study_in_a_compiled_loop(place):
    (place.folder / "study.toml").write_text(STUDY.format(attack="compiled_attack"))
    process = place.started("run", "study.toml", "-o", "out", "--jobs", "1")
    said, seconds = place.interrupted(process, signal.SIGINT, "spinning")
    assert process.returncode == 130
    assert seconds < LIMIT
    assert "interrupted; no incomplete file was left. Rerunning resumes" in said
    place.check_clean()


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_a_study_in_two_processes_ends_both(place, number):
    (place.folder / "study.toml").write_text(STUDY.format(attack="letting_attack"))
    process = place.started("run", "study.toml", "-o", "out", "--jobs", "2")
    said, seconds = place.interrupted(process, number, "letting_attack", 2)
    assert process.returncode == 128 + number
    assert seconds < LIMIT
    assert "Traceback" not in said
    place.check_clean()


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_mask_on_disk(place, number):
    process = place.started(
        "mask", "people.parquet", "-o", "out.csv", "--confidential", "income", "--method", "holding_mask", "--engine", "duckdb")
    _, seconds = place.interrupted(process, number, "holding_mask")
    assert process.returncode == 128 + number
    assert seconds < LIMIT
    place.check_clean()


def test_a_risk(place):
    process = place.started(
        "risk", "people.parquet", "people.parquet", "--confidential", "income", "--record-id", "id", "--method",
        "holding_attack")
    said, seconds = place.interrupted(process, signal.SIGINT, "holding_attack")
    assert (process.returncode, seconds < LIMIT) == (130, True)
    assert "interrupted" in said
    place.check_clean()


SEARCH = """
source = "people.parquet"
[roles]
confidential = ["income", "wealth"]
[[search]]
steps = [{ method = "additive_noise", range.variance = [0.1, 2.0] }]
[[attack]]
method = "letting_attack"
[[measure]]
method = "moments"
[limits.letting_attack]
at_most = 0.5
[goal]
trials = 4
"""


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_a_search_that_has_tried_nothing(place, number):
    (place.folder / "study.toml").write_text(SEARCH)
    process = place.started("search", "study.toml", "-o", "out", "--jobs", "1")
    said, seconds = place.interrupted(process, number, "letting_attack")
    assert process.returncode == 128 + number, said
    assert seconds < LIMIT
    place.check_clean()


def test_a_command_whose_work_is_killed_from_outside_leaves_nothing(place):
    (place.folder / "study.toml").write_text(STUDY.format(attack="holding_attack"))
    process = place.started("run", "study.toml", "-o", "out", "--jobs", "1")
    while not place.marked("holding_attack"):
        time.sleep(0.1)
    child, = (p for p in place.processes() if p != process.pid)
    os.kill(child, signal.SIGKILL)
    assert "ended by signal 9" in process.communicate(timeout=60)[1]
    assert process.returncode == 128 + signal.SIGKILL
    place.check_clean()


def test_the_work_ends_if_the_command_is_killed(place):
    (place.folder / "study.toml").write_text(STUDY.format(attack="letting_attack"))
    process = place.started("run", "study.toml", "-o", "out", "--jobs", "1")
    while not place.marked("letting_attack"):
        time.sleep(0.1)
    process.kill()
    process.communicate()
    place.check_clean()


def test_a_second_run_repeats_no_score(place):
    (place.folder / "study.toml").write_text(STUDY.format(attack="letting_attack"))
    command = ("run", "study.toml", "--secret-file", "key", "--jobs", "1", "-o")
    process = place.started(*command, "out")
    place.interrupted(process, signal.SIGINT, "letting_attack")
    place.check_clean("out")
    assert (place.marked("quick_attack"), place.marked("letting_attack")) == (1, 1)
    assert {p.name for p in (place.folder / "out").iterdir()} == {".larvatus-cache"}
    for file in (place.folder / "out").rglob("*.json"):
        assert SECRET not in file.read_bytes()
        assert file.stat().st_mode & 0o077 == 0
    again = place.started(*command, "out", QUICK="1")
    said = again.communicate(timeout=120)[1]
    assert again.returncode == 0, said
    assert (place.marked("quick_attack"), place.marked("letting_attack")) == (2, 3)  # two releases, one attack begun twice
    whole = place.started(*command, "whole", QUICK="1")
    assert whole.communicate(timeout=120)
    assert whole.returncode == 0
    one, other = (json.loads((place.folder / name / "scores.json").read_text()) for name in ("out", "whole"))
    assert one == other
    assert {p.name for p in (place.folder / "out" / ".larvatus-cache").iterdir() if p.name.startswith(".")} == {".salt"}
