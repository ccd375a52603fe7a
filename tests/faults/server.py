"""A process that has imported everything once, and runs each command in a copy of itself.

It reads one request per line: the arguments of a command, the folder to run it in, and the operation that shall fail. It
answers with the exit code, what was printed, and the operations that were seen.
"""

from __future__ import annotations

import copy
import gc
import hashlib
import importlib
import itertools
import json
import os
import pickle
import resource
import secrets
import select
import signal
import sys
import tempfile
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from injector import Injector

HANGS, _LONGEST = 124, 60.0  # the exit code of a command that was killed because it took longer, in seconds
_FIRST = (
    "pyarrow.csv", "pyarrow.parquet", "pyarrow.compute", "pyarrow.dataset", "duckdb", "numba", "scipy.stats", "optuna",
    "larvatus.pipeline", "larvatus.pipeline.run_search", "larvatus.study", "larvatus.masks.additive_noise",
    "larvatus.engines.duckdb", "larvatus.engines.memory", "larvatus.reporting.editions.internal", "jinja2", "cffi",
    "larvatus.masks.multiple_imputation", "larvatus.attacks.exact_match", "larvatus.measures.moments",
    "larvatus.reporting.page.html", "larvatus.reporting.editions.compose", "rich.progress", "tomli_w", "tomllib",
    "larvatus.documents.release_set", "larvatus.documents.verification",
)


def main() -> None:
    from larvatus.cli.main import app  # noqa: F401

    for name in (*_FIRST, *sys.argv[2:]):
        importlib.import_module(name)
    from larvatus.pipeline.candidates.cache import _code

    slow = hashlib.scrypt  # half of the time of a small run, which it takes on purpose
    hashlib.scrypt = lambda secret, **more: slow(secret, **{**more, "n": 2})
    _code()  # a digest of the package's files, which may be edited while a campaign runs
    if sys.argv[1] == "warm":
        remember_arithmetic()
        warm_up("pysail.spark" in sys.argv)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)


def remember_arithmetic() -> None:
    """What a command works out before it comes to any file, and the text of a report, is worked out once for the same input.

    That is half of the time of a command, and no file operation is in it.
    """
    from larvatus.cli.main import app
    from larvatus.comparison.comparison import Comparison

    parse, html, known = type(app).parse_args, Comparison.html, dict[Any, Any]()

    def parse_once(self: Any, tokens: Any = None, **more: Any) -> Any:
        words = tuple(tokens or ())
        if words not in known:
            known[words] = parse(self, tokens, **more)
        command, bound, ignored = known[words]
        return command, copy.deepcopy(bound), dict(ignored)

    def html_once(self: Comparison, *given: Any, **more: Any) -> str:
        try:
            asked = pickle.dumps((self, given, sorted((n, dict(v) if isinstance(v, Mapping) else v) for n, v in more.items())))
        except (TypeError, AttributeError, pickle.PicklingError):
            return html(self, *given, **more)
        if asked not in known:
            known[asked] = html(self, *given, **more)
        return str(known[asked])

    type(app).parse_args, Comparison.html = parse_once, html_once  # type: ignore[method-assign]


def warm_up(with_sail: bool) -> None:
    """Run every command once here, in memory: modules, compiled kernels and templates are then loaded in all copies.

    On Sail nothing is run here: its threads would not be in a copy.
    """
    from fault_campaign import ENGINES, SAIL, SCENARIOS, in_engine, write_inputs

    from larvatus.cli.main import app

    for scenario in SCENARIOS.values():
        for engine in (*ENGINES, *([SAIL] if with_sail else [])):
            for command in (*scenario.before, scenario.command):
                if not command.startswith("desk-job"):
                    app.parse_args(in_engine(command, engine), exit_on_error=False)
    with tempfile.TemporaryDirectory() as made, open(os.devnull, "w") as no, redirect_stdout(no), redirect_stderr(no):
        for number, scenario in enumerate(SCENARIOS.values()):
            folder = Path(made) / str(number)
            for name in ("pairs", ".larvatus-cache", "temp"):
                (folder / name).mkdir(parents=True)
            os.chdir(folder)
            os.environ["LARVATUS_TEMP"] = str(folder / "temp")
            write_inputs(folder, "memory")
            for command in (*scenario.before, scenario.command):
                if code := carry_out(in_engine(command, "memory")):
                    raise SystemExit(f"{command}: exit code {code}")
        os.chdir("/")
    gc.collect()
    gc.freeze()


def carry_out(arguments: list[str]) -> int:
    """A command of larvatus, or a job of the desk as its worker process does it; the exit code."""
    from larvatus.cli.main import main as larvatus

    if arguments[0] != "desk-job":
        return larvatus(arguments)
    from larvatus.desk.work.process import _work
    from larvatus.study import Study

    here = Path.cwd()
    cache = here / ".larvatus-cache"
    given = {
        "study": Study.read(here / "study.toml").plain(), "folder": str(here), "results": str(here / "out"),
        "secret_file": str(here / "secret.txt"), "cache": str(cache), "source": str(here / "people.csv"),
        "preview": str(cache / "preview.parquet"), "release": "noise", "by": "A.Keeper", "reason": "course",
        "target": str(here / "e.parquet"), "overwrite": True,
    }
    return _work({"id": 1, "job": arguments[1], "arguments": given}, sys.stdout.fileno())


@dataclass
class Copy:
    """A copy of this process that carries out one command after another, until one of them ends it."""

    process: int
    requests: Any
    answers: Any

    def ask(self, asked: dict[str, Any]) -> None:
        """Hand a request over."""
        self.requests.write(json.dumps(asked) + "\n")
        self.requests.flush()

    def end(self) -> int:
        """The exit code; HANGS if it does not end by itself."""
        with suppress(BrokenPipeError):
            self.requests.close()
        self.answers.close()
        ended = os.pidfd_open(self.process)
        hangs = not select.select([ended], [], [], _LONGEST)[0]
        os.close(ended)
        if hangs:
            os.kill(self.process, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        return HANGS if hangs else code


_IN_USE: list[Copy] = []


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Carry out a command in a new copy; or, with `again`, in the one that has carried out the last one, if it is there."""
    if not asked.get("again") and _IN_USE:
        _IN_USE.pop().end()
    if not asked:
        return {}
    if not _IN_USE:
        _IN_USE.append(_new_copy(asked))
    try:
        _IN_USE[0].ask(asked)
    except BrokenPipeError:  # a signal of the last command came late
        _IN_USE.pop().end()
        _IN_USE.append(_new_copy(asked))
        _IN_USE[0].ask(asked)
    copy = _IN_USE[0]
    hangs = not select.select([copy.answers], [], [], _LONGEST)[0]
    if hangs:
        os.kill(copy.process, signal.SIGKILL)
    said, answer = Path(asked["home"]) / ".said", copy.answers.readline()
    found = json.loads(answer) if answer else {"seen": []}
    if not answer or not asked.get("again"):
        code = _IN_USE.pop().end()
        found["code"] = HANGS if hangs else code
    return {**found, "said": said.read_text(encoding="utf-8"), "pid": copy.process}


def _new_copy(asked: dict[str, Any]) -> Copy:
    reading, requests = os.pipe()
    answers, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(requests)
        os.close(answers)
        _run(asked, os.fdopen(reading), os.fdopen(writing, "w"))
    os.close(reading)
    os.close(writing)
    return Copy(child, os.fdopen(requests, "w"), os.fdopen(answers))


def _draw_the_same() -> None:
    """The same temporary names and salts in every command: folders with the same files are then equal to the last bit."""
    drawn = (hashlib.blake2b(str(i).encode()).digest() for i in itertools.count())
    os.urandom = lambda size: next(drawn)[:size]
    secrets.token_bytes = lambda size=32: next(drawn)[:size]
    secrets.token_hex = lambda size=32: next(drawn)[:size].hex()


def _run(asked: dict[str, Any], requests: Any, answers: Any) -> None:
    """Run commands in this copy, which ends with the last one."""
    from larvatus.core.remains import report_to

    out = os.open(Path(asked["home"]) / ".said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.umask(0o022)
    report_to(os.open(os.devnull, os.O_WRONLY))  # as in the child process of a command
    injector = Injector((asked["folder"] + "/", asked["temp"] + "/"))
    injector.start()
    code = 99
    try:
        for line in requests:
            os.truncate(out, 0)
            code, asked = 99, json.loads(line)
            code = _carried_out(asked, injector)
            if not asked.get("again"):
                break
            _say(answers, injector, code)
    finally:
        import atexit

        try:
            atexit._run_exitfuncs()
        finally:
            _say(answers, injector, code)
            os._exit(code)


def _say(answers: Any, injector: Injector, code: int) -> None:
    injector.active = False
    sys.stdout.flush()
    sys.stderr.flush()
    with suppress(OSError):
        answers.write(json.dumps({"code": code, "seen": injector.seen, "sites": injector.sites, "grew": injector.grew}) + "\n")
        answers.flush()


def obey_signals_anew() -> None:
    """The handlers of a new process: those that a command set before take a signal that comes soon after another for the same.

    Whoever started this in the background has interrupts ignored.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    sys.unraisablehook = sys.__unraisablehook__


def check_anew() -> None:
    """Forget that Spark was checked, so that the check, which writes a file, is made as in a new process."""
    if spark := sys.modules.get("larvatus.engines.spark"):
        spark._CHECKED.clear()


def _carried_out(asked: dict[str, Any], injector: Injector) -> int:
    """The exit code of a command whose operation `at` fails."""
    os.chdir(asked["folder"])
    os.environ["LARVATUS_TEMP"] = asked["temp"]
    if asked.get("size"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["size"], resource.RLIM_INFINITY))
    if asked.get("memory"):
        held = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + asked["memory"], resource.RLIM_INFINITY))
    _draw_the_same()
    obey_signals_anew()
    if asked.get("again"):
        check_anew()
        gc.collect()  # what earlier commands left in memory is not tidied up while operations are counted
    injector.copied, injector.copies = str(Path(asked["folder"]).parent), asked["copies"]
    injector.prepare(asked["at"], asked["fault"])
    try:
        return carry_out(asked["arguments"])
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1


if __name__ == "__main__":
    main()
