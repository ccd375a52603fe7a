"""Commands that are made to fail at each of their file operations in turn, and what must hold afterwards.

After a fault, the visible files are those from before or all of the new ones, the manifests fit, and the same command completes
with the same bytes and leaves no temporary file behind.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from injector import COPY

from larvatus.core.errors import LarvatusError
from larvatus.core.safe_files.staging import STAGING, TEMPORARY
from larvatus.documents.verification import verify_files

ENGINES = ("memory", "duckdb")
SAIL = "sail"  # the engine spark on a server that each command starts in its own process
DEPTH = 3  # lines of the package that tell call sites apart
UNREACHED = "the operation was not reached"
SECRET = "kept for the campaign: 0123456789abcdef"
ROLES = "--confidential income,wealth --non-confidential age --sub-groups region --secret-file secret.txt"
STUDY = """
source = "people.csv"
{engine}
[roles]
confidential = ["income", "wealth"]
non_confidential = ["age"]
[sub_groups]
columns = ["region"]
[[attack]]
method = "exact_match"
[[measure]]
method = "moments"
[limits]
exact_match = {{ at_most = 1.0 }}
[[release]]
name = "noise"
steps = [{{ method = "additive_noise", variance = 0.5 }}]
[[release]]
name = "copies"
steps = [{{ method = "multiple_imputation", copies = 2 }}]
[[search]]
steps = [{{ method = "additive_noise", variance = [0.2, 0.9] }}]
[goal]
trials = 2
finalists = 1
secrets = 1
objective = "moments"
"""


SPARK_MODULES = (
    "pyspark.sql.connect.session", "pysail.spark", "pyspark.worker", "pyspark.sql.streaming.stateful_processor_util",
    "larvatus.engines.spark", "larvatus.engines._spark.reading", "larvatus.engines._spark.writing", "threadpoolctl",
)


@dataclass(frozen=True)
class Scenario:
    """A command, the commands that were run before it, and the number of forks that a point costs."""

    name: str
    command: str
    before: tuple[str, ...] = ()
    once: bool = False  # the command is refused once it has been completed
    adds: bool = False  # the command, completed and repeated, adds to what is there
    early: bool = False  # an interrupted command may end early with a result of its own, which a repetition completes

    def arguments(self, engine: str) -> list[str]:
        return in_engine(self.command, engine)


def in_engine(command: str, engine: str) -> list[str]:
    """The words of a command; only commands that read data take an engine."""
    words = command.split()
    if words[0] != "mask":
        return words
    return [*words, "--engine", "spark", "--master", SAIL] if engine == SAIL else [*words, "--engine", engine]


_MASK, _NOISE = f"mask people.csv {ROLES} --overwrite", "--method additive_noise --variance 0.5"
_EARLIER = "--method additive_noise --variance 0.1"
_COPIES = "--method multiple_imputation --copies 2"
_RUN = "run study.toml -o out --secret-file secret.txt --quiet"
_EARLIER_RUN = "run earlier.toml -o out --secret-file secret.txt --quiet"
SCENARIOS = {s.name: s for s in (
    Scenario("mask, first", f"mask people.csv {ROLES} -o r.csv --pairing pairs/p.csv {_NOISE}", once=True),
    Scenario("mask, replacing", f"{_MASK} -o r.csv --pairing pairs/p.csv {_NOISE}",
             (f"{_MASK} -o r.csv --pairing pairs/p.csv {_EARLIER}",)),
    Scenario("mask, copies", f"{_MASK} -o r.parquet --pairing p.parquet {_COPIES}",
             (f"{_MASK} -o r.parquet --pairing p.parquet --method multiple_imputation --copies 3",)),
    Scenario("mask, folder", f"{_MASK} -o r {_NOISE}", (f"{_MASK} -o r {_EARLIER}",)),
    Scenario("run, first", _RUN),
    Scenario("run, replacing", f"{_RUN} --overwrite", (_EARLIER_RUN,)),
    Scenario("run, again", _RUN, (_RUN,)),
    Scenario("search", "search study.toml -o out --secret-file secret.txt --quiet", early=True),
    Scenario("export", "export out --release noise -o e.parquet --overwrite",
             (_RUN, "export out --release copies -o e.parquet")),
    Scenario("approve", "approve out --release noise --by A.Keeper --reason course", (_RUN,), adds=True),
    Scenario("desk, run", "desk-job run"),
    Scenario("desk, run again", "desk-job run", (_EARLIER_RUN,)),
    Scenario("desk, search", "desk-job search"),
    Scenario("desk, examine", "desk-job examine"),
    Scenario("desk, approve", "desk-job approve", (_RUN,), adds=True),
    Scenario("desk, export", "desk-job export", (_RUN, "export out --release copies -o e.parquet")),
)}


class Server:
    """The process that runs the commands."""

    def __init__(self, home: Path, warm: bool = False, more: Sequence[str] = ()) -> None:
        """With `warm`, every command is first run in the process itself, so that its copies load nothing.

        `more` are modules to import first.
        """
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("server.py")), "warm" if warm else "cold", *more],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def run(
        self, folder: Path, arguments: Sequence[str], at: int = 0, fault: str = "SIGKILL", size: int = 0, again: bool = False,
        copies: Path | None = None, memory: int = 0,
    ) -> dict[str, Any]:
        """With `again`, in the process that carried out the last command with `again`, if it is still there.

        `size` is the size in bytes beyond which no file may grow, `memory` the number of bytes that the process may add.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        asked = {"home": str(self.home), "folder": str(folder / "work"), "temp": str(folder / "temp"), "at": at,
                 "fault": fault, "arguments": list(arguments), "size": size, "again": again, "copies": str(copies or ""),
                 "memory": memory}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def end_copy(self) -> None:
        """End the process that is kept for commands with `again`."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("{}\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(20)


@contextmanager
def a_server(home: Path, warm: bool = False, more: Sequence[str] = ()) -> Iterator[Server]:
    server = Server(home, warm, more)
    try:
        yield server
    finally:
        server.close()


_DRAWN = re.compile(r"(?<![0-9a-z])[0-9a-f]{8,}(?![0-9a-z])")
_TIMES = re.compile(rb"\d{4}-\d\d-\d\d(T|,? at |,? )\d\d:\d\d(:\d\d)?([+-]\d\d:\d\d|Z)?( UTC)?")


def visible(folder: Path) -> dict[str, bytes]:
    """The files that a person finds, without the times in them."""
    found = {}
    for path in sorted((folder / "work").rglob("*")):
        parts = path.relative_to(folder / "work").parts
        if path.is_file() and not any(p.startswith(STAGING) or p == ".larvatus-cache" or TEMPORARY.fullmatch(p) for p in parts):
            found["/".join(parts)] = _TIMES.sub(b"TIME", path.read_bytes())
    return found


def everything(folder: Path, process: int, at_work: bool = False) -> str:
    """A digest of all files and folders, also of hidden ones, with their modes; without times and the number of the process.

    If the process is still at work, its own temporary folder does not count.
    """
    digest, number = hashlib.blake2b(), re.compile(rf"(?<!\d){process}(?!\d)")
    own = f"{folder}/temp/larvatus-work-{process}-"
    for path in sorted(p for p in folder.rglob("*") if not (at_work and str(p).startswith(own))):
        content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        content = _TIMES.sub(b"TIME", b"PROCESS" if number.fullmatch(content.decode("latin1").strip()) else content)
        name = number.sub("PROCESS", str(path.relative_to(folder)))
        digest.update(f"{name}\0{path.lstat().st_mode}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def left_over(folder: Path) -> list[str]:
    """Temporary files and folders."""
    work = [p for p in (folder / "work").rglob("*") if p.name.startswith(STAGING) or TEMPORARY.fullmatch(p.name)]
    return [str(p.relative_to(folder)) for p in (*work, *(folder / "temp").iterdir())]


@dataclass
class Trial:
    """A scenario on an engine: the folder before the command, and what the command makes of it."""

    server: Server
    scenario: Scenario
    engine: str
    home: Path
    operations: int = 0
    equal: int = 0  # how often the folder was in one of the states that follow
    unreached: int = 0  # points whose operation the command did not come to: nothing was tried there
    completed: set[str] = field(default_factory=set)  # states of the folder from which the command completed as it should
    without_growth: set[int] = field(default_factory=set)  # points at which nothing needs space after ENOSPC
    untouched: bool = False  # whether the folder of the last trial is as before the command

    def prepare(self) -> Trial:
        folder = self.home / "base"
        for name in ("work/pairs", "work/.larvatus-cache", "temp"):
            (folder / name).mkdir(parents=True)
        write_inputs(folder / "work", self.engine)
        for command in self.scenario.before:
            done = self.server.run(folder, in_engine(command, self.engine))
            assert done["code"] == 0, done["said"]
        self.before = visible(folder)
        fresh = self._copy("fresh")
        done = self.server.run(fresh, self.scenario.arguments(self.engine))
        assert done["code"] == 0, done["said"]
        assert left_over(fresh) == []
        self.after, self.seen = visible(fresh), done["seen"]
        self.operations, self.sites, self.answer = len(done["seen"]), done["sites"], _answer(done["said"], fresh)
        self.expected = [_operation(s, fresh, done["pid"]) for s in done["seen"]]
        self.start = everything(folder, done["pid"])
        self.completed.add(self.start)
        return self

    def _copy(self, name: str) -> Path:
        folder = self.home / name
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():  # a thread that the last command left to itself still wrote into it
            self.server.end_copy()
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.home / "base", folder, symlinks=True)
        return folder

    def chosen(self) -> list[int]:
        """The operations that stand for all: the first, the middle and the last one of each call site.

        A call site is the kind of operation and the innermost lines of the package that led to it.
        """
        sites: dict[str, list[int]] = {}
        for at, site in enumerate(self.sites, 1):
            sites.setdefault(" ".join(site.split()[: 1 + DEPTH]), []).append(at)
        return sorted({of[i] for of in sites.values() for i in (0, len(of) // 2, -1)})

    def kill_states(self, points: Sequence[int]) -> Iterator[str]:
        """What is wrong after the process was killed at these operations; empty where nothing is.

        The command is carried out once, and the folder copied before each operation: that is what a killed process leaves.
        A copy from which something is wrong counts only if the process is killed there as well.
        """
        copies = self.home / "copies"
        shutil.rmtree(copies, ignore_errors=True)
        copies.mkdir()
        done = self.server.run(self._copy("tried"), self.scenario.arguments(self.engine), fault=COPY, copies=copies)
        for at in points:
            if not (copies / str(at)).is_dir():
                self.unreached += 1
                yield UNREACHED
                continue
            folder = self.home / "tried"  # absolute paths in files stay right
            shutil.rmtree(folder, ignore_errors=True)
            shutil.move(copies / str(at), folder)
            yield self._state_problem(folder, {**done, "code": -9}, "SIGKILL") and self.problem(at, "SIGKILL")
        shutil.rmtree(copies, ignore_errors=True)

    def problem(self, at: int, fault: str, size: int = 0, memory: int = 0) -> str:
        """What is wrong after a fault; empty if nothing is, UNREACHED if the command did not come to the operation.

        With `size` no file may grow beyond it, with `memory` the process may add no more than that, from the start.
        """
        if fault == "full" and at in self.without_growth:  # the same as ENOSPC, which was survived there
            return ""
        if fault != "SIGKILL" and at and self._is_survived(at, fault):
            return ""
        if self.untouched and (problem := self.end()):
            return problem
        folder, self.untouched = self._copy("tried"), False
        done = self.server.run(folder, self.scenario.arguments(self.engine), at, fault, size, memory=memory)
        reached = len(done["seen"]) >= at or done["code"] == -9  # a killed process cannot say what it has seen
        if not reached and done["code"] == 0:
            self.unreached += 1
            return UNREACHED
        problem = self._state_problem(folder, done, fault)
        self._note_growth(at, fault, problem, done)
        return problem

    def _note_growth(self, at: int, fault: str, problem: str, done: dict[str, Any]) -> None:
        """Note whether a full disk would have been the same: it refuses what needs space after the fault."""
        if fault == "ENOSPC" and at and not problem and len(done["seen"]) >= at and not done.get("grew", True):
            self.without_growth.add(at)

    def _state_problem(self, folder: Path, done: dict[str, Any], fault: str) -> str:
        """What is wrong with the folder after a command, and with what it said."""
        wrong = _wrong_ending(done, fault)
        try:
            self._read(folder)
        except LarvatusError as error:
            return f"a reader fails: {error}"
        state = visible(folder)
        early = self.scenario.early and fault == "SIGINT" and done["code"] == 0 and "note: interrupted" in done["said"]
        if state not in (self.before, self.after) and not early:
            return f"neither the earlier nor the new files: {_difference(state, self.before, self.after)}"
        if done["code"] == 0 and state != self.after and not early:
            wrong = wrong or "reported as done, but the earlier files are there"
        if done["code"] == 2 and state != self.before:
            wrong = wrong or "reported as failed, but the new files are there"
        return wrong or self._again(folder, state == self.after, done["pid"])

    def _is_survived(self, at: int, fault: str) -> bool:
        """Whether a process that carried out the command before carries it out again, is refused it, or is interrupted, with
        the fault at the same operation, and with a folder from which the command completes.

        A new process takes longer. It is started for the points at which this does not hold.
        """
        folder = self.home / "tried" if self.untouched else self._copy("tried")
        done = self.server.run(folder, self.scenario.arguments(self.engine), at, fault, again=True)
        seen = [_operation(s, folder, done["pid"]) for s in done["seen"][at - 1 : at]]
        self.untouched = everything(folder, done["pid"], at_work=True) == self.start
        if not seen or seen != self.expected[at - 1 : at] or _wrong_ending(done, fault):
            return False
        survived = self._is_known(folder, done)
        if not survived and not self.untouched:
            self.server.end_copy()  # it removes what it still used
            survived = not self._state_problem(folder, done, fault)
        if survived:
            self._note_growth(at, fault, "", done)
        return survived

    def _is_known(self, folder: Path, done: dict[str, Any]) -> bool:
        """Whether the folder is as it should be after the command, and the command is known to complete from there."""
        if self.untouched:
            return done["code"] != 0 or self.after == self.before
        try:
            self._read(folder)
        except LarvatusError:
            return False
        ends = {0: (self.after,), 2: (self.before,)}.get(done["code"], (self.before, self.after))
        known = visible(folder) in ends and everything(folder, done["pid"], at_work=True) in self.completed
        self.equal += known
        return known

    def end(self) -> str:
        """End the process of `_is_survived`, and say what it has left in the folder."""
        self.server.end_copy()
        found = left_over(self.home / "tried") if self.untouched else []
        return f"left behind by a process that was refused commands: {found}" if found else ""

    def _again(self, folder: Path, complete: bool, process: int) -> str:
        """What is wrong with the command repeated. From a folder that is equal to the last bit it was done before."""
        found = everything(folder, process)
        if found in self.completed:
            self.equal += 1
            return ""
        problem = self._repeated(folder, complete)
        if not problem:
            self.completed.add(found)
        return problem

    def _read(self, folder: Path) -> None:
        """Verify every release, as a reader would."""
        for manifest in sorted((folder / "work").rglob("*.manifest.json")):
            if STAGING in str(manifest) or ".larvatus-cache" in manifest.parts:
                continue
            rows = verify_files(manifest, [])
            if any(row["same"] is not True for row in rows):
                raise LarvatusError(f"{manifest.name}: {rows}")
        from larvatus.core.safe_files.file_sets import settle_sets

        for place in (folder / "work", folder / "work" / "out"):
            settle_sets(place)

    def _repeated(self, folder: Path, complete: bool) -> str:
        done = self.server.run(folder, self.scenario.arguments(self.engine))
        if self.scenario.once and complete:
            return "" if done["code"] == 2 and visible(folder) == self.after else f"again: {done['code']} {done['said']}"
        if done["code"] != 0:
            return f"the same command fails: {done['said']}"
        if visible(folder) != self.after and not (complete and self.scenario.adds):
            return f"the same command gives something else: {_difference(visible(folder), self.after)}"
        if _answer(done["said"], folder) != self.answer:
            return "the same job of the desk gives another answer"
        found = left_over(folder)
        return f"left behind: {found}" if found else ""


def _operation(seen: str, folder: Path, process: int) -> str:
    """An operation without the names of the folder and of the process, and without drawn ones: tasks of Spark that run at the
    same time draw them in any order. The order of some syncs is that of a set.
    """
    named = re.sub(rf"(?<!\d){process}(?!\d)", "PROCESS", seen.replace(str(folder), ""))
    return "fsync" if seen.startswith("fsync") else _DRAWN.sub("DRAWN", named)


def _wrong_ending(done: dict[str, Any], fault: str) -> str:
    expected = {"SIGKILL": (-9, 0), "SIGINT": (130, 0), "SIGTERM": (143, 0),
                "limit": (0, 2, 127, 130, -6, -11)}.get(fault, (2, 0))
    if done["code"] not in expected:
        return f"exit code {done['code']}: {done['said']}"
    if "Traceback" in done["said"] or "nexpected" in done["said"]:
        return f"said {done['said']}"
    return ""


def _answer(said: str, folder: Path) -> list[str]:
    """What a job of the desk found; nothing for commands. Which releases were reused depends on where it was stopped."""
    lines = said.replace(str(folder), "").splitlines()
    return [json.dumps({**json.loads(line)["found"], "reused": "", "at": ""}) for line in lines
            if line.startswith('{"id"') and '"found"' in line]


def _difference(state: dict[str, bytes], *known: dict[str, bytes]) -> str:
    return "; ".join(
        ", ".join(sorted(n for n in {*state, *one} if state.get(n) != one.get(n))) for one in known
    )


def write_inputs(folder: Path, engine: str) -> None:
    """A small source, a secret and two studies."""
    draw = random.Random(7)
    numbers = [(draw.lognormvariate(8, 1), draw.lognormvariate(9, 1), draw.randint(18, 90)) for _ in range(80)]
    rows = [f"{income:.2f},{wealth:.2f},{age},{i % 2}" for i, (income, wealth, age) in enumerate(numbers)]
    (folder / "people.csv").write_text("\n".join(["income,wealth,age,region", *rows, ""]), encoding="utf-8")
    (folder / "secret.txt").write_text(SECRET, encoding="utf-8")
    (folder / "secret.txt").chmod(0o600)
    chosen = {"memory": "", SAIL: f'engine = "spark"\nmaster = "{SAIL}"'}.get(engine, f'engine = "{engine}"')
    (folder / "study.toml").write_text(STUDY.format(engine=chosen), encoding="utf-8")
    (folder / "earlier.toml").write_text(STUDY.format(engine=chosen).replace("variance = 0.5", "variance = 0.4"),
                                         encoding="utf-8")
