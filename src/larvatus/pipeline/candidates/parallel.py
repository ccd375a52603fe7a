"""Process many candidates, two at a time if that saves time: in this process and in a second one.

The caller defines how a candidate is made and scored. This module decides which process does which.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from larvatus.comparison.comparison import Candidate, NotMade
from larvatus.core.errors import LarvatusError
from larvatus.core.memory_size import usable_memory
from larvatus.core.worker_process import Worker, WorkerGone
from larvatus.data.method_parsing import redacted_settings
from larvatus.data.microdata import Microdata

WORTH = 30.0  # seconds of remaining work above which a second process pays: it takes a few to start
_ROOM = 12  # peak memory of making and scoring one candidate, as a multiple of the data
Outcome = Candidate | NotMade
J = TypeVar("J")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Job:
    """One candidate: its position and label, what is given for it, and its cache key."""

    place: int
    label: str
    given: Any
    key: str | None = None


def not_made(job: Job, error: Exception) -> NotMade:
    """Why a candidate was not made. For an unexpected error only its type is shown, because its text may contain data."""
    foreseen = isinstance(error, LarvatusError)
    reason = str(error) if foreseen else f"unexpected {type(error).__name__}; details hidden because they may contain data"
    return NotMade(job.label, tuple(redacted_settings(s) for s in getattr(job.given, "steps", ())), reason)


def room_for_two(data: Microdata) -> bool:
    """Whether there are enough cores and memory for two candidates at once."""
    if (os.cpu_count() or 1) < 2:
        return False
    return 2 * _ROOM * 8 * data.rows * max(len(data.released), 1) < usable_memory()


class CandidateRunner(Generic[J, R]):
    """Works through pieces, two at a time if that is worth it; the results are the same either way.

    `here` does one piece in this process, `there` is the same as a function of the state sent to the other process, and
    `finished` is called after each. The other process is started at once with two jobs, otherwise when enough work is left.
    It stays until `close`, or until it fails: what it cannot do is done here.
    """

    def __init__(
        self, here: Callable[[J], R], there: Callable[[Any, J], R], state: Any, jobs: int | None, fits: bool,
        finished: Callable[[], None] = lambda: None,
    ) -> None:
        self.here, self.there, self.state, self.jobs, self.fits, self.finished = here, there, state, jobs, fits, finished
        self.spent, self.done = 0.0, 0
        self.lock = threading.Lock()
        self.worker: Worker | None = None

    def results(self, pieces: Sequence[J], left: int | None = None) -> Iterator[R]:
        """The result of each piece in order; `left` is how many pieces are still to come if these are not all."""
        waiting, found = deque(enumerate(pieces)), dict[int, R]()
        later = (left or len(pieces)) - len(pieces)
        helper: threading.Thread | None = None
        try:
            for place in range(len(pieces)):
                while place not in found:
                    if helper is None and len(waiting) > 1 and self._helped(len(waiting) + later):
                        helper = threading.Thread(target=self._help, args=(self.worker, waiting, found), daemon=True)
                        helper.start()
                    piece = self._next(waiting)
                    if piece is not None:
                        self._keep(found, piece[0], partial(self.here, piece[1]))
                    elif helper is not None:
                        helper.join()
                        helper = None
                yield found.pop(place)
        except BaseException:  # interrupted, or nobody wants the rest
            if self.worker is not None:
                self.worker.stop()
            if helper is not None:
                helper.join()
            self.close()
            raise

    def close(self) -> None:
        """End the other process."""
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.stop()
            worker.close()

    def _next(self, waiting: deque[tuple[int, J]]) -> tuple[int, J] | None:
        with self.lock:
            return waiting.popleft() if waiting else None

    def _keep(self, found: dict[int, R], place: int, made: Callable[[], R]) -> None:
        began = time.monotonic()
        result = made()
        with self.lock:
            found[place] = result
            self.spent, self.done = self.spent + time.monotonic() - began, self.done + 1
            self.finished()

    def _helped(self, left: int) -> bool:
        """Whether the other process is there, started where it pays."""
        if self.worker is None:
            pays = self.jobs is None and self.fits and self.done > 0 and self.spent / self.done * left > WORTH
            if pays or self.jobs == 2:
                self._start()
        return self.worker is not None

    def _start(self) -> None:
        try:
            self.worker = Worker(self.state)
        except WorkerGone:
            self.jobs = 1

    def _help(self, worker: Worker, waiting: deque[tuple[int, J]], found: dict[int, R]) -> None:
        while (piece := self._next(waiting)) is not None:
            try:
                self._keep(found, piece[0], partial(worker.call, self.there, piece[1]))
            except (WorkerGone, RuntimeError):
                with self.lock:
                    waiting.appendleft(piece)
                self.jobs = 1
                self.close()
                return
