"""A second process of the same Python, which can be started from any script and ends with its parent.

The standard library's pools either run the caller's script again in every process (spawn) or copy a process that has threads
(fork). This one does neither: a new interpreter receives a state and then calls, through pipes and never through files.

The interpreter starts in isolated mode, with the path of this one but without the working folder: that is where the data are,
and a file beside them named as a standard module would be run in its place.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, BinaryIO

from larvatus.core.kernels import THREADS
from larvatus.core.memory_size import return_large_arrays
from larvatus.core.progress import Progress, progress_to, silent
from larvatus.core.remains import report_end, report_pipe, report_process, report_to

_START = "import sys; sys.path[:] = sys.argv[2:]; from larvatus.core.worker_process import serve; serve(sys.argv[1])"
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", THREADS), "1")
_PROGRESS = 0.2  # seconds between two reports of what is being done


class WorkerGone(Exception):
    """The worker process ended before it answered."""


class Worker:
    """One process with one state; `call` runs a function there. Use it from one thread at a time."""

    def __init__(self, state: Any, environment: Mapping[str, str] | None = None) -> None:
        first = _packed(state)
        pipe = report_pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-W", "default", "-c", _START, "" if pipe is None else str(pipe), *module_folders()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **(environment or {})},
            pass_fds=() if pipe is None else (pipe,),
        )
        report_process(self._process.pid)
        self._write(first)

    def call(self, function: Callable[..., Any], argument: Any, progress: Progress = silent) -> Any:
        """The result of a module-level function for the state and the argument; its warnings are raised here again.

        What the function reports of its progress (`report_progress`) is passed on.
        """
        self._send((function, argument))
        assert self._process.stdout is not None
        kind, result, said = "progress", None, []
        while kind == "progress":
            try:
                kind, result, said = pickle.load(self._process.stdout)
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                raise WorkerGone from None
            if kind == "progress":
                progress(*result)
        for message, category in said:
            warnings.warn(message, category, stacklevel=2)
        if kind == "failed":
            raise RuntimeError(f"unexpected {result} in a worker")
        return result

    def stop(self) -> None:
        """Kill the process; a call that waits for it raises WorkerGone."""
        self._process.kill()
        self._process.wait()
        report_end(self._process.pid)

    def close(self) -> None:
        """Close the pipes, once no call is waiting."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _send(self, value: Any) -> None:
        self._write(_packed(value))

    def _write(self, raw: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(raw)
            self._process.stdin.flush()
        except OSError:
            raise WorkerGone from None


def module_folders() -> list[str]:
    """The folders from which this process imports modules, without the working folder; WorkerGone if the package is there."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # the folder was removed
        raise WorkerGone from None
    folders = [os.path.abspath(p) for p in sys.path if p]
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if os.path.realpath(own) == here:
        raise WorkerGone
    return [p for p in folders if os.path.realpath(p) != here]


def _packed(value: Any) -> bytes:
    """A value as bytes; WorkerGone if it cannot be pickled, such as a method defined in a script."""
    try:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        raise WorkerGone from None


def serve(reported_to: str = "") -> None:
    """Answer calls until the parent is gone; printed output goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return_large_arrays()
    if reported_to:
        report_to(int(reported_to))
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        state = pickle.load(sys.stdin.buffer)
        while True:
            function, argument = pickle.load(sys.stdin.buffer)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    with progress_to(_Passed(answers)):
                        answer: tuple[str, Any] = ("done", function(state, argument))
                except Exception as error:
                    answer = ("failed", type(error).__name__)
            said = [(str(w.message), w.category) for w in caught if w.category.__module__.startswith("larvatus")]
            pickle.dump((*answer, said), answers, protocol=pickle.HIGHEST_PROTOCOL)
            answers.flush()
    except Exception:  # the parent is gone, or its message cannot be read here: it continues alone
        os._exit(1)


class _Passed:
    """Progress that is sent to the parent, the first of a call at once and then a few times a second."""

    def __init__(self, answers: BinaryIO) -> None:
        self.answers, self.last, self.lock = answers, -_PROGRESS, threading.Lock()

    def __call__(self, doing: str, done: int, total: int) -> None:
        with self.lock:
            if time.monotonic() - self.last >= _PROGRESS:
                pickle.dump(("progress", (doing, done, total), []), self.answers, protocol=pickle.HIGHEST_PROTOCOL)
                self.answers.flush()
                self.last = time.monotonic()


def _watch(parent: int) -> None:
    """Exit when the parent has ended, also in the middle of a call."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
