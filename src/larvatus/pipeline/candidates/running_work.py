"""The line that shows what is running now, and what is left of all the work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from larvatus.core.progress import PieceDisplay, PieceProgress, Progress, duration_text, progress_to, seconds_so_far, silent
from larvatus.pipeline.candidates.duration_estimate import DurationEstimate

_ONLY, _ASIDE = "this process", "aside"
_SOON = 0.05  # share of the work that must be done before the remaining time is shown
_TICK = 0.5  # seconds after which the line is shown again while one piece runs; with 1.0 it could miss every second second


@dataclass(slots=True)
class _Running:
    place: int
    kind: str
    label: str
    doing: str
    began: float

    def line(self, now: float) -> str:
        """What is being done on which candidate, and for how long already."""
        return (f"{self.label}: " if self.label else "") + self.doing + seconds_so_far(now - self.began)


@dataclass(slots=True)
class RunningWork:
    """What each hand is doing, in words and for how long; each change is reported with the time left, from the work done.

    `planned` lists the kinds of work of every candidate in order. Those of a candidate that is open, or finished, are replaced
    by what really waits.
    """

    progress: Progress
    estimate: DurationEstimate
    planned: Sequence[Sequence[str]]
    names: Sequence[str] = ()  # of the candidates, for displays that show each of them
    placed: bool = True  # whether the place among all and the time left are part of the line
    now: Callable[[], float] = time.monotonic
    running: dict[str, _Running] = field(default_factory=dict)
    waiting: dict[int, list[str]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def begin(self, hand: str, place: int, kind: str, label: str, doing: str) -> None:
        """A hand begins with a piece of work."""
        with self.lock:
            self.running[hand] = _Running(place, kind, label, doing, self.now())

    @contextmanager
    def doing(self, kind: str, doing: str) -> Iterator[None]:
        """The only hand does one piece of work inside this context."""
        self.begin(_ONLY, 0, kind, "", doing)
        self.show()
        with progress_to(self.progress_of(_ONLY)), self.ticking():
            yield
        self.end(_ONLY)

    @contextmanager
    def aside(self, label: str, doing: str) -> Iterator[None]:
        """Short work besides that of the hands, such as writing a file."""
        self.begin(_ASIDE, len(self.ended), doing, label, doing)
        self.show()
        try:
            yield
        finally:
            self.end(_ASIDE, finished=False)

    def end(self, hand: str, finished: bool = True) -> None:
        """A hand has ended its piece of work."""
        with self.lock:
            gone = self.running.pop(hand, None)
            if gone is not None and finished:
                self.estimate.record(gone.kind, self.now() - gone.began)

    def progress_of(self, hand: str) -> Progress:
        """A callback for details of what the hand is doing."""
        def report_progress(doing: str, done: int, total: int) -> None:
            with self.lock:
                if hand in self.running:
                    self.running[hand].doing = f"{doing} ({done + 1} of {total})" if total > 1 else doing
                self.show()

        return report_progress

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Show the line again and again until the end of this context."""
        if self.progress is silent:
            yield
            return
        over = threading.Event()

        def tick() -> None:
            while not over.wait(_TICK):
                self.show()

        threading.Thread(target=tick, daemon=True).start()
        try:
            yield
        finally:
            over.set()

    def seconds_left(self, hands: int) -> float:
        """Expected seconds until everything is done."""
        kinds = [k for i, planned in enumerate(self.planned) if i not in self.ended for k in self.waiting.get(i, planned)]
        running = [(r.kind, self.now() - r.began) for r in self.running.values()]
        return self.estimate.seconds_left(kinds, running, hands)

    def show(self) -> None:
        """Report the line."""
        with self.lock:
            if not self.running:
                return
            shown = sorted(self.running.values(), key=lambda r: r.place)
            place = [f"release {shown[0].place + 1} of {len(self.planned)}"] if len(self.planned) > 1 else []
            head = ", ".join([*place, *self._left()]) if self.placed else ""
            done, waiting = self.estimate.pieces_done, sum(
                len(self.waiting.get(i, planned)) for i, planned in enumerate(self.planned) if i not in self.ended)
            now = self.now()
            line = "; ".join([*([head] if head else []), " and ".join(r.line(now) for r in shown)])
            self.progress(line, done, done + waiting + len(shown))
            if isinstance(self.progress, PieceDisplay) and self.names:
                self.progress.show_pieces(self._pieces(), self.seconds_left(len(self.running)) if self._left() else None)

    def _pieces(self) -> list[PieceProgress]:
        """How far each candidate is."""
        out = []
        for i, (name, planned) in enumerate(zip(self.names, self.planned, strict=True)):
            doing = tuple(r.doing for r in self.running.values() if r.place == i)
            left = 0 if i in self.ended else len(self.waiting.get(i, planned)) + len(doing)
            out.append(PieceProgress(name, max(len(planned) - left, 0), len(planned), doing))
        return out

    def _left(self) -> list[str]:
        done, left = self.estimate.seconds_done(), self.seconds_left(len(self.running))
        return [f"{duration_text(left)} left"] if self.estimate.pieces_done and done >= _SOON * (done + left) else []
