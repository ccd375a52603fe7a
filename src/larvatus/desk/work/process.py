"""The worker process: it waits for jobs on standard input, and runs each in a supervised child of its own.

A job and its answer are one JSON line each. A child can be paused, continued and cancelled while it works; its supervisor ends
it within two seconds and removes its temporary files (core/supervision). If the desk is gone, so is the work: standard input
ends, and the child is cancelled.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from larvatus.core.errors import LarvatusError, LarvatusWarning
from larvatus.core.memory_size import return_large_arrays
from larvatus.core.progress import PieceProgress
from larvatus.core.supervision import can_supervise, obey_signals, run_supervised
from larvatus.core.system_errors import is_failure_of_machine, machine_failure
from larvatus.desk.refusals import Refusal

_PAUSE = 0.15  # seconds between two reports of progress
_TICK = 0.1
_DONE, _FAILED, _CANCELLED = 0, 2, 130
_READING = ("pandas", "pyarrow.parquet", "pyreadstat", "larvatus.pipeline.examine_source")
_SCORING = (*_READING, "numba", "scipy.linalg", "larvatus.reporting.editions")
_MODULES = {
    **dict.fromkeys(("examine", "keys", "coarser", "training"), _READING),
    **dict.fromkeys(("advise", "run", "search", "elsewhere"), _SCORING),
}


def serve_jobs() -> None:
    """Run jobs until standard input ends. What jobs print goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the desk passes on what the terminal sends
    os.environ["LARVATUS_PROGRESS"] = "off"
    answers = os.dup(1)
    os.dup2(2, 1)
    _preload()
    waiting = _Lines()
    while (line := waiting.next()) is not None:
        asked = json.loads(line)
        if "job" in asked:
            _import_for(asked["job"])
            code = _run_beside(asked, answers, waiting)
            _say(answers, {"id": asked["id"], "ended": code})


def _preload() -> None:
    """Import what every job needs, so that a job starts at once; nothing here starts a thread."""
    import larvatus.desk.work.jobs
    import larvatus.pipeline.run_study  # noqa: F401


def _import_for(job: str) -> None:
    """Import here what the first job of a kind would import, so that the next ones have it.

    No module starts a thread of Python, and the memory pool of pyarrow handles a fork itself. The collector of garbage leaves
    alone what is there: it would make copies of its pages in each job.
    """
    for name in _MODULES.get(job, ()) if can_supervise() else ():
        if name not in sys.modules:
            with suppress(ImportError):
                importlib.import_module(name)
    gc.freeze()


def _run_beside(asked: dict[str, Any], answers: int, waiting: _Lines) -> int:
    """Run a job in a child, and obey what comes meanwhile; the exit code of the child."""
    if not hasattr(os, "fork"):
        return _work(asked, answers)
    alive, held = os.pipe()  # it ends with this process, and the child notices
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # an interrupt waits until the child obeys it
    child = os.fork()
    if child == 0:
        os.close(held)
        os.setpgid(0, 0)  # the job, its supervisor and the processes they start are paused together
        _child(asked, answers, alive)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.close(alive)
    with suppress(OSError):
        os.setpgid(child, child)
    cancelled = False
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            os.close(held)
            return _CANCELLED if cancelled else os.waitstatus_to_exitcode(status)
        line = waiting.next(_TICK)
        order = "cancel" if line is None else json.loads(line)["order"] if line else ""
        with suppress(OSError):
            if order == "pause":
                os.killpg(child, signal.SIGSTOP)
            elif order == "continue":
                os.killpg(child, signal.SIGCONT)
            elif order == "cancel" and not cancelled:
                cancelled = True
                os.killpg(child, signal.SIGCONT)
                os.kill(child, signal.SIGINT)


def _child(asked: dict[str, Any], answers: int, alive: int) -> NoReturn:
    def work() -> int:
        threading.Thread(target=_end_with, args=(alive, os.getppid()), daemon=True).start()
        return _work(asked, answers)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.close(0)
    os.open(os.devnull, os.O_RDONLY)
    if can_supervise():
        run_supervised(work, lambda number: None)
    os._exit(_work(asked, answers))


def _end_with(alive: int, supervisor: int) -> None:
    """End the job when the worker is gone: its end of the pipe is closed."""
    os.read(alive, 1)
    with suppress(OSError):
        os.kill(supervisor, signal.SIGTERM)


def _work(asked: dict[str, Any], answers: int) -> int:
    """Do a job, and say what it found or why it failed. An unexpected error is named without its text, which may hold data."""
    from larvatus.core.progress import progress_to
    from larvatus.desk.work.jobs import JOBS

    obey_signals()
    return_large_arrays()
    progress = _Reported(answers, asked["id"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if hasattr(signal, "pthread_sigmask"):
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            with progress_to(progress):
                found = JOBS[asked["job"]](asked["arguments"], progress)
        except Refusal as error:
            _say(answers, {"id": asked["id"], "refused": error.keys})
            return _FAILED
        except LarvatusError as error:
            _say(answers, {"id": asked["id"], "failed": str(error)})
            return _FAILED
        except KeyboardInterrupt:
            return _CANCELLED
        except Exception as error:
            if os.environ.get("LARVATUS_DEBUG"):
                raise
            if is_failure_of_machine(error):
                _say(answers, {"id": asked["id"], "failed": machine_failure(error)})
                return _FAILED
            _say(answers, {"id": asked["id"], "unexpected": type(error).__name__})
            return _FAILED
    told = list(dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, LarvatusWarning)))
    _say(answers, {"id": asked["id"], "found": found, "warnings": told})
    return _DONE


class _Reported:
    """Progress as lines, a few times a second."""

    def __init__(self, answers: int, job: int) -> None:
        self.answers, self.job, self.lock = answers, job, threading.Lock()
        self.last = self.shown = -_PAUSE

    def __call__(self, doing: str, done: int, total: int) -> None:
        with self.lock:
            if time.monotonic() - self.last >= _PAUSE:
                _say(self.answers, {"id": self.job, "doing": doing, "done": done, "total": total})
                self.last = time.monotonic()

    def show_pieces(self, pieces: Sequence[PieceProgress], seconds_left: float | None) -> None:
        with self.lock:
            if time.monotonic() - self.shown >= _PAUSE:
                plain = [[p.name, p.done, p.total, list(p.doing)] for p in pieces]
                _say(self.answers, {"id": self.job, "pieces": plain, "left": seconds_left})
                self.shown = time.monotonic()


def _say(answers: int, plain: dict[str, Any]) -> None:
    raw = json.dumps(plain, default=str).encode() + b"\n"
    while raw:
        raw = raw[os.write(answers, raw) :]


class _Lines:
    """Lines of standard input, without a buffer that a child would share."""

    def __init__(self) -> None:
        self.rest, self.ended = b"", False

    def next(self, seconds: float | None = None) -> str | None:
        """The next line; an empty text if none comes in time; None at the end."""
        while b"\n" not in self.rest:
            if self.ended:
                if seconds:
                    time.sleep(seconds)
                return None
            if not select.select([0], [], [], seconds)[0]:
                return ""
            raw = os.read(0, 1 << 16)
            self.rest, self.ended = self.rest + raw, not raw
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()
