"""Pieces of work two at a time where that is worth it: one in this process, one in a process beside it that stays.

The outcome is the same either way; only the time differs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from larvatus.core.worker_process import Worker, WorkerGone
from larvatus.pipeline.candidates.parallel import WORTH

J = TypeVar("J")
R = TypeVar("R")


class TwoAtOnce(Generic[J, R]):
    """`here` does one piece in this process, `there` is the same as a function of the state that the other process is given."""

    def __init__(
        self, here: Callable[[J], R], there: Callable[[Any, J], R], state: Any, jobs: int | None, fits: bool
    ) -> None:
        self.here, self.there, self.state = here, there, state
        self.jobs = jobs if fits or jobs is None else 1
        self.fits = fits
        self.spent, self.done = 0.0, 0
        self.worker: Worker | None = None

    def results(self, jobs: Sequence[J], left: int) -> Iterator[R]:
        """The result of each piece in its order, made when it is asked for; `left` is how many pieces are still to come."""
        if len(jobs) == 2 and self._helped(left):
            yield from self._both(jobs[0], jobs[1])
            return
        for job in jobs:
            began = time.monotonic()
            made = self.here(job)
            self._took(began, 1)
            yield made

    def _took(self, began: float, pieces: int) -> None:
        self.spent, self.done = self.spent + time.monotonic() - began, self.done + pieces

    def _helped(self, left: int) -> bool:
        """Whether the other process is there, started where it pays."""
        if self.worker is not None:
            return True
        pays = self.done > 0 and self.fits and self.spent / self.done * left > WORTH
        if self.jobs == 1 or not (pays or self.jobs == 2):
            return False
        try:
            self.worker = Worker(self.state)
        except WorkerGone:
            self.jobs = 1
        return self.worker is not None

    def _both(self, one: J, two: J) -> Iterator[R]:
        answer: list[R] = []
        worker = self.worker
        assert worker is not None

        def help_() -> None:
            try:
                answer.append(worker.call(self.there, two))
            except (WorkerGone, RuntimeError):
                self.jobs = 1  # what cannot be done there is done here

        thread = threading.Thread(target=help_, daemon=True)
        began = time.monotonic()
        thread.start()
        try:
            yield self.here(one)
            thread.join()
        except BaseException:  # interrupted, or nobody wants the second
            self.close()
            raise
        finally:
            thread.join()
        if not answer:
            self.close()
            answer.append(self.here(two))
        self._took(began, 2)
        yield answer[0]

    def close(self) -> None:
        """End the other process."""
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.stop()
            worker.close()
