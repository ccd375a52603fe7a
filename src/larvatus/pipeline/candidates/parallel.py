"""Candidates that are made and scored as a whole, two at a time if that saves time: here and in a second process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from larvatus.comparison.comparison import Candidate, NotMade
from larvatus.core.errors import LarvatusError
from larvatus.core.memory_size import usable_memory
from larvatus.core.progress import Progress, silent
from larvatus.core.worker_process import Worker
from larvatus.data.method_parsing import redacted_settings
from larvatus.data.microdata import Microdata
from larvatus.pipeline.candidates.duration_estimate import DurationEstimate
from larvatus.pipeline.candidates.running_work import RunningWork
from larvatus.pipeline.candidates.unit_runner import Plan, Unit, UnitRunner

_ROOM = 12  # peak memory of making and scoring one candidate, as a multiple of the data
Outcome = Candidate | NotMade
_WHOLE = "candidate"
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

    `here` does one piece in this process, and `there` is the same as a function of the state sent to the other process.
    `title` names a piece in the line of progress.
    """

    def __init__(
        self, here: Callable[[J, Progress], R], there: Callable[[Any, J], R], state: Any, jobs: int | None, fits: bool,
        progress: Progress = silent, title: Callable[[J], str] = str, inline: bool = False,
    ) -> None:
        self.work = RunningWork(progress, DurationEstimate(lambda kind: 1.0), (), placed=False)
        self.title = title
        self.runner: UnitRunner[R] = UnitRunner(here, there, state, jobs, fits, self.work, inline=inline)

    @property
    def worker(self) -> Worker | None:
        """The other process, while it is there."""
        return self.runner.worker

    def results(self, pieces: Sequence[J], left: int | None = None) -> Iterator[R]:
        """The result of each piece in order; `left` is how many pieces are still to come if these are not all."""
        self.work.planned, self.work.ended = [[_WHOLE]] * len(pieces), set()
        self.runner.lasting = ((left or len(pieces)) - len(pieces)) * self.work.estimate.expected_seconds(_WHOLE)
        yield from self.runner.results([self._plan(piece) for piece in pieces])

    def close(self) -> None:
        """End the other process."""
        self.runner.close()

    def _plan(self, piece: J) -> Plan[R]:
        found, = yield [Unit(_WHOLE, self.title(piece), "making and scoring", piece)]
        return found  # type: ignore[no-any-return]
