"""Another process of the same Python that works beside this one: started at once from any script, gone when told or left.

The standard library's pools run the caller's own script again in every process (spawn), or copy a process with threads in it
(fork). This one does neither: a fresh interpreter is given a state and then calls, through pipes and never through files.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_START = "from larvatus.core.worker_process import serve; serve()"


class WorkerGone(Exception):
    """The other process ended before it answered."""


class Worker:
    """One process with one state; `call` runs a function of it there. Used by one thread at a time."""

    def __init__(self, state: Any) -> None:
        first = _packed(state)
        paths = os.pathsep.join(p for p in sys.path if p)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths, "PYTHONWARNINGS": "default"},
        )
        self._write(first)

    def call(self, function: Callable[..., Any], argument: Any) -> Any:
        """What a function of a module gives for the state and the argument; its warnings are given here again."""
        self._send((function, argument))
        assert self._process.stdout is not None
        try:
            kind, result, said = pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise WorkerGone from None
        for message, category in said:
            warnings.warn(message, category, stacklevel=2)
        if kind == "failed":
            raise RuntimeError(f"unexpected {result} in a worker")
        return result

    def stop(self) -> None:
        """End the process, whatever it is doing; a call that waits for it raises WorkerGone."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Let go of the pipes, once nobody waits at them."""
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


def _packed(value: Any) -> bytes:
    """A value as it is sent; what cannot be sent, such as a method defined in a script, is done without a helper."""
    try:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        raise WorkerGone from None


def serve() -> None:
    """Answer calls until the other side is gone; what anybody prints goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        state = pickle.load(sys.stdin.buffer)
        while True:
            function, argument = pickle.load(sys.stdin.buffer)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    answer: tuple[str, Any] = ("done", function(state, argument))
                except Exception as error:
                    answer = ("failed", type(error).__name__)
            said = [(str(w.message), w.category) for w in caught if w.category.__module__.startswith("larvatus")]
            pickle.dump((*answer, said), answers, protocol=pickle.HIGHEST_PROTOCOL)
            answers.flush()
    except Exception:  # nobody is there any more, or what came cannot be read here: the other side goes on alone
        os._exit(1)
