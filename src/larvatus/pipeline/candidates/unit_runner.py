"""Work through many candidates, one unit at a time in this process and, if that saves time, one in a second process.

A unit is one mask, one attack or one measure. A plan is a generator for one candidate: it yields the units that it needs next,
receives their results in order, and returns the candidate. The units of at most two candidates are worked on at once, so two
releases are held in memory. The results do not depend on which process did what.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeVar

from larvatus.core.interruptible import abandon_thread, start_thread
from larvatus.core.kernels import at_most_threads
from larvatus.core.progress import Progress, progress_to
from larvatus.core.worker_process import ONE_THREAD, Worker, WorkerGone
from larvatus.pipeline.candidates.running_work import RunningWork

WORTH = 10.0  # seconds of remaining work above which a second process pays: it takes two or three to start
_HERE, _THERE = "this process", "the second process"
_TICK = 0.5  # seconds after which the line of progress is shown again, so that it misses no second of its clock
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of work: its kind, for the estimate of its duration, what it is about, in words, and what is given for it."""

    kind: str
    label: str
    doing: str
    given: Any


Plan = Generator[Sequence[Unit], list[Any], _R]


@dataclass(slots=True)
class _Open(Generic[_R]):
    """A plan that is being worked on: the units that it waits for, and their results so far."""

    plan: Plan[_R]
    units: Sequence[Unit] = ()
    waiting: list[int] = field(default_factory=list)
    found: dict[int, Any] = field(default_factory=dict)
    failed: dict[int, BaseException] = field(default_factory=dict)
    batches: int = 0


@dataclass(frozen=True, slots=True)
class _Task:
    place: int
    index: int
    unit: Unit


class UnitRunner(Generic[_R]):
    """Works through plans with one process or two.

    `here` does a unit in this process. `there` is the same as a function of the state that is sent to the second process, and
    `packed` prepares what is given for the way there. `finished` is called with what was given and what came of it. The
    second process starts at once with two jobs, otherwise when enough work is left and there is room. It stays until `close`
    or until it fails: what it cannot do is done here. Units of this process run in a thread of their own, so that an
    interrupt is obeyed at once, unless `inline` is set.
    """

    def __init__(
        self, here: Callable[[Any, Progress], Any], there: Callable[[Any, Any], Any], state: Any, jobs: int | None, fits: bool,
        work: RunningWork, packed: Callable[[Any], Any] = lambda given: given,
        finished: Callable[[Any, Any], None] = lambda given, found: None, inline: bool = False,
    ) -> None:
        self.here, self.there, self.state, self.jobs, self.fits = here, there, state, jobs, fits
        self.work, self.packed, self.finished, self.inline = work, packed, finished, inline
        self.lasting = 0.0  # seconds of work that will follow these plans
        self.worker: Worker | None = None
        self.alone: set[int] = set()  # units that only this process can do

    def results(self, plans: Sequence[Plan[_R]]) -> Iterator[_R]:
        """The result of each plan, in order."""
        run = _Run(self, plans)
        try:
            for place in range(len(plans)):
                while place not in run.done:
                    run.step()
                yield run.done.pop(place)
        except BaseException:  # interrupted, or nobody wants the rest
            if self.worker is not None:
                self.worker.stop()
            run.abandon()
            self.close()
            raise

    def close(self) -> None:
        """End the second process."""
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.stop()
            worker.close()

    def pays(self, tasks: int) -> bool:
        """Whether the second process is there, or worth starting for this number of units or plans."""
        if self.worker is not None:
            return True
        if tasks < 1 or self.jobs == 1:
            return False
        left = self.work.seconds_left(1) + self.lasting
        return self.jobs == 2 or (self.fits and self.work.estimate.pieces_done > 0 and left > WORTH)

    def call_there(self, unit: Unit, progress: Progress) -> Any:
        """Do a unit in the second process, which is started if it is not there."""
        if self.worker is None:
            self.worker = Worker(self.state, ONE_THREAD)
        return self.worker.call(self.there, self.packed(unit.given), progress)


class _Run(Generic[_R]):
    """One run through a list of plans: which unit goes where, and what comes back."""

    def __init__(self, runner: UnitRunner[_R], plans: Sequence[Plan[_R]]) -> None:
        self.runner, self.work = runner, runner.work
        self.closed = deque(enumerate(plans))
        self.open: dict[int, _Open[_R]] = {}
        self.done: dict[int, _R] = {}
        self.threads: dict[str, tuple[Thread | None, _Task]] = {}
        self.back: SimpleQueue[tuple[str, _Task, Any, BaseException | None]] = SimpleQueue()

    def step(self) -> None:
        """Give work to idle processes, then wait for something to come back."""
        if self._give(_HERE) or self._may_help():
            return
        if not self.threads:
            return
        try:
            self._take(*self.back.get(timeout=_TICK))
        except Empty:
            self.work.show()

    def abandon(self) -> None:
        """Let go of what is running."""
        for hand, (thread, _) in self.threads.items():
            self.work.end(hand, finished=False)
            if thread is not None:
                abandon_thread(thread)

    def _may_help(self) -> bool:
        """Give a unit to the second process, if it is idle and worth it."""
        tasks = sum(len(o.waiting) for o in self.open.values()) + len(self.closed)
        return not self.runner.inline and self.runner.pays(tasks) and self._give(_THERE)

    def _give(self, hand: str) -> bool:
        """Whether an idle hand was given a unit, or a plan was ended on the way."""
        if hand in self.threads:
            return False
        task = self._next(hand)
        if task is None:
            most = 2 if self.runner.worker is not None or hand == _THERE else 1
            if not self.closed or len(self.open) >= most:
                return False
            place, plan = self.closed.popleft()
            self.open[place] = _Open(plan)
            self._advance(place, lambda: next(plan))
            return True
        unit = task.unit
        self.work.begin(hand, task.place, unit.kind, unit.label, unit.doing)
        self._note_waiting(task.place)
        if self.runner.inline:
            self.threads[hand] = (None, task)
            with self.work.ticking():
                self._do(hand, task)
        else:
            self.threads[hand] = (start_thread(lambda: self._do(hand, task)), task)
        return True

    def _next(self, hand: str) -> _Task | None:
        """The next unit of the oldest plan; with two hands the longest first, so that none waits at the end."""
        for place, opened in self.open.items():
            able = [i for i in opened.waiting if hand == _HERE or id(opened.units[i]) not in self.runner.alone]
            if able:
                both = self.runner.worker is not None or hand == _THERE
                index = max(able, key=lambda i: self.work.estimate.expected_seconds(opened.units[i].kind)) if both else able[0]
                opened.waiting.remove(index)
                return _Task(place, index, opened.units[index])
        return None

    def _do(self, hand: str, task: _Task) -> None:
        """Do a unit, in the thread of a hand."""
        progress = self.work.progress_of(hand)
        try:
            self.work.show()
            if hand == _THERE:
                found = self.runner.call_there(task.unit, progress)
            else:
                alone = self.runner.worker is None
                with progress_to(progress), at_most_threads(0 if alone else 1):
                    found = self.runner.here(task.unit.given, progress)
        except BaseException as error:
            self.back.put((hand, task, None, error))
        else:
            self.back.put((hand, task, found, None))

    def _take(self, hand: str, task: _Task, found: Any, error: BaseException | None) -> None:
        """Take in what came back."""
        del self.threads[hand]
        self.work.end(hand, finished=error is None)
        opened = self.open[task.place]
        if hand == _THERE and isinstance(error, WorkerGone | RuntimeError):
            self._returned(task, opened, isinstance(error, WorkerGone))
            return
        if error is not None and not isinstance(error, Exception):
            raise error
        if error is not None:
            opened.failed[task.index] = error
            opened.waiting = [i for i in opened.waiting if i < task.index]  # the first error of the plan counts
        else:
            opened.found[task.index] = found
            self.runner.finished(task.unit.given, found)
        self._note_waiting(task.place)
        busy = any(t.place == task.place for _, t in self.threads.values())
        if not opened.waiting and not busy:
            self._batch_done(task.place, opened)

    def _returned(self, task: _Task, opened: _Open[_R], gone: bool) -> None:
        """Put back a unit that the second process could not do."""
        opened.waiting = sorted([*opened.waiting, task.index])
        self._note_waiting(task.place)
        self.runner.alone.add(id(task.unit))
        if gone:
            self.runner.jobs = 1
            self.runner.close()

    def _batch_done(self, place: int, opened: _Open[_R]) -> None:
        if opened.failed:
            error = opened.failed[min(opened.failed)]
            self._advance(place, lambda: opened.plan.throw(error))
        else:
            found = [opened.found[i] for i in range(len(opened.units))]
            self._advance(place, lambda: opened.plan.send(found))

    def _advance(self, place: int, onwards: Callable[[], Sequence[Unit]]) -> None:
        """Let a plan go on to its next units, or to its end."""
        opened = self.open[place]
        try:
            units = onwards()
            while not units:
                units = opened.plan.send([])
        except StopIteration as end:
            del self.open[place]
            self.work.waiting.pop(place, None)
            self.work.ended.add(place)
            self.done[place] = end.value
            return
        opened.units, opened.waiting, opened.found, opened.failed = units, list(range(len(units))), {}, {}
        opened.batches += 1
        self._note_waiting(place)

    def _note_waiting(self, place: int) -> None:
        opened = self.open[place]
        with self.work.lock:
            later = self.work.planned[place][1:] if opened.batches == 1 else ()  # not asked for yet
            self.work.waiting[place] = [*(opened.units[i].kind for i in opened.waiting), *later]
