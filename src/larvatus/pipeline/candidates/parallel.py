"""Many candidates, two at a time where that is worth it: this process works through them, and one beside it helps.

The walk says how a candidate is made and scored. Here is decided who does which, how long it will take, and what becomes of
one that fails: it is listed with its reason, and the others go on.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from larvatus.comparison.comparison import Candidate, NotMade
from larvatus.core.errors import LarvatusError
from larvatus.core.memory_size import usable_memory
from larvatus.core.progress import Clock, Progress
from larvatus.core.worker_process import Worker, WorkerGone
from larvatus.data.method_parsing import redacted_settings
from larvatus.data.microdata import Microdata

WORTH = 30.0  # seconds of work left from which a second process pays: it needs a few to start
_ROOM = 12  # times the data that making and scoring one candidate may take at its peak
Outcome = Candidate | NotMade


@dataclass(frozen=True, slots=True)
class Job:
    """One candidate: its place and label, what is given of it, and the key under which it is kept."""

    place: int
    label: str
    given: Any
    key: str | None = None


def not_made(job: Job, error: Exception) -> NotMade:
    """Why a candidate is not there; of an error that nobody foresaw only its kind, because its text may hold data."""
    foreseen = isinstance(error, LarvatusError)
    reason = str(error) if foreseen else f"unexpected {type(error).__name__}; its text is kept back because it may hold data"
    return NotMade(job.label, tuple(redacted_settings(s) for s in getattr(job.given, "steps", ())), reason)


def room_for_two(data: Microdata) -> bool:
    """Whether there are cores and memory for two candidates at once."""
    if (os.cpu_count() or 1) < 2:
        return False
    return 2 * _ROOM * 8 * data.rows * max(len(data.released), 1) < usable_memory()


class CandidateRunner:
    """Goes through jobs in order; `here` does one in this process, `there` is the same as a function of the state."""

    def __init__(
        self, jobs: Sequence[Job], here: Callable[[Job, Progress], Outcome], there: Callable[[Any, Job], Outcome],
        state: Callable[[], Any], at_once: int | None, fits: bool, progress: Progress,
    ) -> None:
        self.here, self.there, self.state, self.at_once, self.fits, self.progress = here, there, state, at_once, fits, progress
        self.waiting, self.total, self.clock = deque(jobs), len(jobs), Clock(len(jobs))
        self.found: dict[int, Outcome] = {}
        self.first_error: Exception | None = None
        self.lock, self.worker, self.helper = threading.Lock(), None, None
        self.trouble: list[BaseException] = []

    worker: Worker | None
    helper: threading.Thread | None

    def run(self) -> dict[int, Outcome]:
        """Outcomes by place."""
        try:
            if self.at_once == 2 and self.total > 1:
                self._start()
            while (job := self._next()) is not None:
                self._one(job)
                if self.helper is None and self._worth_it():
                    self._start()
            if self.helper is not None:
                self.helper.join()
            while (job := self._next()) is not None:  # given back by a process that was ended from outside
                self._one(job)
        finally:
            if self.worker is not None:
                self.worker.stop()
            if self.helper is not None:
                self.helper.join()
            if self.worker is not None:
                self.worker.close()
        if self.trouble:
            raise self.trouble[0]
        return self.found

    def _one(self, job: Job) -> None:
        self._done(job, self._tried(job))

    def _tried(self, job: Job) -> Outcome:
        try:
            return self.here(job, self._told(job))
        except Exception as error:
            if not isinstance(error, LarvatusError) and os.environ.get("LARVATUS_DEBUG"):
                raise
            self.first_error = self.first_error or error
            return not_made(job, error)

    def _told(self, job: Job) -> Progress:
        """Progress inside one candidate with its place among all and the time left."""
        def tell(doing: str, done: int, total: int) -> None:
            if self.total == 1:
                return self.progress(f"{job.label}: {doing}", done, total)
            ready = len(self.found)
            said = f"release {ready + 1} of {self.total}{self.clock.left()}; {job.label}: {doing}"
            return self.progress(said, done, total)

        return tell

    def _next(self) -> Job | None:
        with self.lock:
            return self.waiting.popleft() if self.waiting else None

    def _done(self, job: Job, outcome: Outcome) -> None:
        with self.lock:
            self.found[job.place] = outcome
            self.clock.done()

    def _worth_it(self) -> bool:
        each = (time.monotonic() - self.clock.began) / max(len(self.found), 1)
        return self.at_once is None and self.fits and len(self.waiting) > 1 and each * len(self.waiting) > WORTH

    def _start(self) -> None:
        try:
            self.worker = Worker(self.state())
        except WorkerGone:
            self.at_once = 1
            return
        self.helper = threading.Thread(target=self._help, args=(self.worker,), daemon=True)
        self.helper.start()

    def _help(self, worker: Worker) -> None:
        while (job := self._next()) is not None:
            try:
                self._done(job, worker.call(self.there, job))
            except WorkerGone:
                with self.lock:
                    self.waiting.appendleft(job)
                return
            except Exception as error:
                self.trouble.append(error)
                return
