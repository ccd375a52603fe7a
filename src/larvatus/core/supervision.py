"""Run the work of a command in a child process, so that a signal is obeyed within two seconds, whatever the work is doing.

Python handles a signal between two of its own instructions. A compiled loop or a library call that runs for minutes delays it
for minutes. The parent only waits: it passes a signal on, gives the child GRACE seconds to stop and tidy up by itself, then
kills it with the processes it started, and removes its temporary files.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import threading
import time
import traceback
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from types import FrameType
from typing import NoReturn

from larvatus.core.memory_size import return_large_arrays
from larvatus.core.remains import Remains, report_pipe, report_to

GRACE = 1.2  # seconds; with the removal of files, the command ends within two
_SAME = 0.3  # a terminal sends its signal to parent and child, and the parent passes it on: the child obeys it once
_AGAIN = 0.02
_DRAIN = 0.5  # seconds in which the last reports of killed processes are awaited
_WATCH = 1.0
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_DIVIDING: list[bool] = [False]  # whether this process is being divided: exceptions are dropped then
_OBEYED: list[int] = []  # signals of this process; a library may replace the exception that they raise by one of its own


def can_supervise() -> bool:
    """Whether this process can be divided: not with other threads in it, nor where system libraries do not survive a fork."""
    return hasattr(os, "fork") and sys.platform != "darwin" and threading.active_count() == 1


def leave_no_core() -> None:
    """Let a crash of this process and of those that it starts write no image of their memory: it holds data and secret."""
    with suppress(ImportError, OSError, ValueError):  # no such limit on this system
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def run_supervised(work: Callable[[], int], killed: Callable[[int], None], obeyed_at: int = 1) -> NoReturn:
    """Run the work in a child process, wait for it, and exit with the code that it returns.

    `killed` is called with the number of the signal if the child did not end by itself. The child has to end at the
    `obeyed_at`th interrupt; earlier ones are only passed on.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # idle threads of OpenBLAS, which handles a fork itself
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
    if child == 0:
        os.close(reader)
        report_to(writer)
        return_large_arrays()
        threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
        _leave(_code_of(work))
    os.close(writer)
    _leave(_Supervisor(child, reader, obeyed_at).wait(killed))


def _code_of(work: Callable[[], int]) -> int:
    """The exit code of work, as Python itself would give it."""
    try:
        return work()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1


def _leave(code: int) -> NoReturn:
    """Exit without taking the interpreter apart, which can take a second after much work."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed by its reader
            stream.flush()
    os._exit(code)


def obey_signals() -> None:
    """Turn signals that ask a process to end into SystemExit, and in a supervised process interrupts into KeyboardInterrupt.

    A signal that comes twice at once is obeyed once. One that comes while an object is finalised, or while the process is
    divided and libraries prepare for it, is sent again a moment later: Python would print the exception and go on.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    _watch_divisions()
    last: dict[int, float] = {}
    _OBEYED.clear()

    def obey(number: int, frame: FrameType | None) -> None:
        if _DIVIDING[0] or _is_exception_dropped(frame):
            again = threading.Timer(_AGAIN, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
            return
        before, last[number] = last.get(number, -_SAME), time.monotonic()
        if last[number] - before < _SAME:
            return
        _OBEYED.append(number)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)

    for name in SIGNALS if report_pipe() is not None else SIGNALS[1:]:
        usual = (signal.SIG_DFL, signal.default_int_handler)
        if (number := getattr(signal, name, None)) is not None and signal.getsignal(number) in usual:
            signal.signal(number, obey)


def obeyed_signal() -> int | None:
    """The signal that ends this process, if one came."""
    return _OBEYED[-1] if _OBEYED else None


@cache
def _watch_divisions() -> None:
    """Note when this process is divided. Our functions are the first to be called before it, and the last after it."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_begin_division, after_in_parent=_end_division, after_in_child=_end_division)


def _begin_division() -> None:
    _DIVIDING[0] = True


def _end_division() -> None:
    _DIVIDING[0] = False


_DROPPING = {weakref.finalize.__call__.__code__, _begin_division.__code__, _end_division.__code__}


def _is_exception_dropped(frame: FrameType | None) -> bool:
    """Whether Python prints an exception that is raised here, and goes on."""
    while frame is not None:
        if frame.f_code in _DROPPING or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


class _Supervisor:
    """Waits for a child process, for signals, and for reports of what the child would leave behind."""

    def __init__(self, child: int, reader: int, obeyed_at: int) -> None:
        self.child, self.reader, self.obeyed_at = child, reader, obeyed_at
        self.left = Remains()
        self.received: list[int] = []
        self.deadline: float | None = None
        self.status: int | None = None

    def wait(self, killed: Callable[[int], None]) -> int:
        """The exit code of the child, or that of the signal which it did not obey."""
        wake, woken = os.pipe()
        for end in (wake, woken):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for name in SIGNALS:
            number = getattr(signal, name)
            if signal.getsignal(number) != signal.SIG_IGN:  # as set by nohup
                signal.signal(number, lambda received, frame: self.received.append(received))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # whoever started this process may have held it up
        while not self._ended():
            self._pass_on()
            if self.deadline is not None and time.monotonic() >= self.deadline:
                return self._end(killed)
            timeout = None if self.deadline is None else max(self.deadline - time.monotonic(), 0)
            ready = select.select([wake] if self.reader < 0 else [wake, self.reader], [], [], timeout)[0]
            if wake in ready:
                os.read(wake, 512)
            if self.reader in ready:
                self._read()
        return self._code()

    def _pass_on(self) -> None:
        """Pass signals on to the child, and set the time at which it must have ended."""
        waiting, self.received = self.received, []
        for number in waiting:
            with suppress(OSError):
                os.kill(self.child, number)
            self.obeyed_at -= number == signal.SIGINT
            if self.deadline is None and (number != signal.SIGINT or self.obeyed_at <= 0):
                self.deadline, self.number = time.monotonic() + GRACE, number

    def _ended(self) -> bool:
        if self.status is None:
            ended, status = os.waitpid(self.child, os.WNOHANG)
            self.status = status if ended else None
        return self.status is not None

    def _read(self) -> None:
        raw = os.read(self.reader, 1 << 16)
        self.left.read(raw)
        if not raw:
            os.close(self.reader)
            self.reader = -1

    def _clear(self) -> None:
        """Kill what the child started, and remove its files once nothing can write any more."""
        until = time.monotonic() + _DRAIN
        while True:
            self.left.kill()
            if self.reader < 0 or not select.select([self.reader], [], [], max(until - time.monotonic(), 0))[0]:
                break
            self._read()
        self.left.remove()

    def _end(self, killed: Callable[[int], None]) -> int:
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        self._clear()
        _restore_terminal()
        killed(self.number)
        return 128 + self.number

    def _code(self) -> int:
        """The child's exit code. A child that was killed from outside has left files, and one that could not remove them."""
        assert self.status is not None
        code = os.waitstatus_to_exitcode(self.status)
        self._clear()
        if code < 0:
            _restore_terminal()
            print(f"larvatus: ended by signal {-code}; no incomplete file was left."
                  + (" The machine may have run out of memory." if -code == signal.SIGKILL else ""), file=sys.stderr)
            return 128 - code
        return code


def _restore_terminal() -> None:
    """Clear the line of progress and show the cursor again, after a process was killed that had hidden it."""
    if sys.stderr.isatty():
        print("\r\x1b[2K\x1b[?25h", end="", file=sys.stderr)


def _watch(parent: int) -> None:
    """End this process soon after its supervisor was killed."""
    while os.getppid() == parent:
        time.sleep(_WATCH)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(128 + signal.SIGTERM)
