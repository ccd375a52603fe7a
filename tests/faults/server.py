"""A process that has imported everything once, and runs each command in a copy of itself.

It reads one request per line: the arguments of a command, the folder to run it in, and the operation that shall fail. It
answers with the exit code, what was printed, and the operations that were seen.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import itertools
import json
import os
import resource
import secrets
import signal
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from injector import Injector

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

    for name in _FIRST:
        importlib.import_module(name)
    from larvatus.pipeline.candidates.cache import _code

    slow = hashlib.scrypt  # half of the time of a small run, which it takes on purpose
    hashlib.scrypt = lambda secret, **more: slow(secret, **{**more, "n": 2})
    _code()  # a digest of the package's files, which may be edited while a campaign runs
    if sys.argv[1:] == ["warm"]:
        warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)


def warm_up() -> None:
    """Run every command once here, in memory: modules, compiled kernels and templates are then loaded in all copies."""
    from fault_campaign import SCENARIOS, in_engine, write_inputs

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


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    home = Path(asked["home"])
    said, seen = home / ".said", home / ".seen"
    child = os.fork()
    if child == 0:
        _run(asked, said, seen)
    _, status = os.waitpid(child, 0)
    operations = seen.read_text(encoding="utf-8").splitlines() if seen.exists() else []
    code = os.waitstatus_to_exitcode(status)
    return {"code": code, "said": said.read_text(encoding="utf-8"), "seen": operations, "pid": child}


def _draw_the_same() -> None:
    """The same temporary names and salts in every copy: folders with the same files are then equal to the last bit."""
    drawn = (hashlib.blake2b(str(i).encode()).digest() for i in itertools.count())
    os.urandom = lambda size: next(drawn)[:size]
    secrets.token_bytes = lambda size=32: next(drawn)[:size]
    secrets.token_hex = lambda size=32: next(drawn)[:size].hex()


def _run(asked: dict[str, Any], said: Path, seen: Path) -> None:
    """Run the command in this copy, which ends with it."""
    from larvatus.core.remains import report_to

    seen.unlink(missing_ok=True)
    out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.chdir(asked["folder"])
    os.environ["LARVATUS_TEMP"] = asked["temp"]
    os.umask(0o022)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started this in the background has it ignored
    report_to(os.open(os.devnull, os.O_WRONLY))  # as in the child process of a command
    injector = Injector((asked["folder"] + "/", asked["temp"] + "/"), asked["at"], asked["fault"])
    if asked.get("size"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["size"], resource.RLIM_INFINITY))
    _draw_the_same()
    injector.start()
    code = 99
    try:
        code = carry_out(asked["arguments"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        import atexit

        try:
            atexit._run_exitfuncs()
        finally:
            injector.active = False
            if not asked["at"]:
                seen.write_text("\n".join(injector.seen), encoding="utf-8")
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


if __name__ == "__main__":
    main()
