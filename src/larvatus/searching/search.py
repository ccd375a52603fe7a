"""The search: explore with one secret, confirm the best candidates with fresh secrets, choose one.

The best of many draws is partly lucky: its risk and loss look better than they are. The finalists are therefore drawn again
on all records with fresh secrets, and a finalist counts only if the limits hold there too.

Candidates are proposed in pairs even if only one is processed at a time, so that the same secret always gives the same search.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol, TypeVar

from larvatus.comparison.combined_scores import Combination
from larvatus.core.errors import StudyError
from larvatus.core.progress import Progress, duration_text
from larvatus.core.randomness import stream_key
from larvatus.data.contracts import Mask
from larvatus.data.method_parsing import canonical
from larvatus.data.release import Release
from larvatus.data.score import Scores
from larvatus.searching.goal import Goal, LimitJudge, Objective, objective_loss, risk_of
from larvatus.searching.optimiser import Optimiser
from larvatus.searching.result import BestTrial, Finalist, FreshDraw, SearchResult, Trial, rank_trials
from larvatus.searching.space import SearchedSteps

_FAR, TWO, _SOON = 5, 2, 0.05
EXPLORING = "exploring"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Draw:
    """A candidate to be made: with the secret of the exploration, or with a fresh one on all records."""

    name: str
    steps: tuple[Mask, ...]
    which: str = EXPLORING

    @property
    def whole(self) -> bool:
        return self.which != EXPLORING

    def key(self, secret: bytes) -> bytes:
        """The secret of this draw."""
        return stream_key(secret, f"search: {EXPLORING}") if not self.whole else stream_key(secret, "search: fresh", self.which)


@dataclass(frozen=True, slots=True)
class ScoredDraw:
    """The scores of a draw, or why there are none. `fatal`: no other candidate can succeed. `reused`: read from the cache."""

    scores: Scores = field(default_factory=Scores)
    problem: str = ""
    fatal: bool = False
    reused: bool = False


class Runner(Protocol):
    """Makes and scores draws. `heavier` is about how many times longer a draw on all records takes than an exploratory one."""

    heavier: float

    def score(self, draws: Sequence[Draw], left: int) -> Iterator[ScoredDraw]: ...
    def release(self, draw: Draw) -> Release: ...


@dataclass(slots=True)
class _Search:
    """The inputs of a search, and its state so far."""

    judge: LimitJudge
    objective: Objective
    combine: Sequence[Combination]
    goal: Goal
    run: Runner
    progress: Progress
    tried: list[Trial] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    clock: _Clock = field(default_factory=lambda: _Clock())
    best: BestTrial = field(default_factory=BestTrial)

    def add(self, trial: Trial) -> None:
        """Record an explored candidate."""
        self.tried.append(trial)
        self.best.add(trial)

    def trial_of(self, draw: Draw, got: ScoredDraw) -> Trial:
        """An explored candidate with its result."""
        if got.fatal:
            raise StudyError([got.problem])
        if got.problem:
            return Trial(draw.name, draw.steps, math.nan, math.inf, got.problem)
        loss, violation = objective_loss(got.scores, self.objective, self.combine), self.judge.violation(got.scores)
        why = "" if math.isfinite(loss) else "the objective has no value"
        return Trial(draw.name, draw.steps, loss if not why else math.nan, violation, why, risk_of(got.scores))

    def fresh_draw(self, got: ScoredDraw) -> FreshDraw:
        """A fresh draw with its result; one that could not be made or scored counts as breaking every limit."""
        if got.problem:
            return FreshDraw(math.nan, math.inf, math.nan, got.scores)
        loss = objective_loss(got.scores, self.objective, self.combine)
        return FreshDraw(loss, self.judge.violation(got.scores), risk_of(got.scores), got.scores)


@dataclass(slots=True)
class _Clock:
    """Measures how long draws take; draws read from the cache are not counted."""

    spent: float = 0.0
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    def tick(self, reused: bool) -> None:
        now = time.monotonic()
        if not reused:
            self.spent, self.done = self.spent + now - self.began, self.done + 1
        self.began = now

    def left(self, draws: float) -> str:
        """Estimated time for the remaining draws, as a clause; empty until a twentieth of all draws are done."""
        if self.done < max(1.0, _SOON * (self.done + draws)):
            return ""
        seconds = self.spent / self.done * draws
        return f", {duration_text(seconds)} left"


def search_releases(
    spaces: Sequence[SearchedSteps], judge: LimitJudge, objective: Objective, goal: Goal, secret: bytes, run: Runner,
    progress: Progress,
    combine: Sequence[Combination] = (),
) -> SearchResult:
    """Explore, confirm, choose. An interruption ends the exploration, a second one the confirmation, with the best so far.

    If nothing was tried before the first interruption, it ends the search.
    """
    search, interrupted = _Search(judge, objective, combine, goal, run, progress), False
    try:
        _explored(search, spaces, secret)
    except KeyboardInterrupt:
        if not search.tried:
            raise
        interrupted = True
        search.notes.append(
            f"interrupted after {len(search.tried)} of {goal.trials} candidates; the best of these were confirmed"
        )
    tried = search.tried
    if tried and all(t.problem for t in tried):
        raise StudyError(["search: no candidate could be made and scored.", *dict.fromkeys(t.problem for t in tried)])
    finalists: list[Finalist] = []
    try:
        _confirmed(finalists, search)
    except KeyboardInterrupt:
        interrupted = True
        search.notes.append("the confirmation was interrupted: not every finalist was drawn with every secret")
    kept = [f for f in finalists if f.meets_limits]
    chosen = min(kept, key=lambda f: f.order, default=None)
    release = None
    if chosen is not None:
        first = next(i for i, d in enumerate(chosen.draws) if d.violation <= 0)
        release = run.release(Draw(chosen.candidate.name, chosen.candidate.steps, str(first)))
        drawn = sum(len(f.draws) for f in finalists)
        search.notes.append(
            f"chosen among {len(tried)} candidates, {len(finalists)} of them confirmed with {drawn} fresh draws in all: scores "
            "from the exploration are biased by the selection, those from fresh secrets are not"
        )
    return SearchResult(tuple(tried), tuple(finalists), chosen, release, tuple(search.notes), interrupted=interrupted)


def _explored(search: _Search, spaces: Sequence[SearchedSteps], secret: bytes) -> None:
    """Try steps with nothing to search once each, then what the optimiser proposes, two at a time."""
    seen: dict[str, Trial] = {}
    goal = search.goal
    for pair in _in_twos(s for s in spaces if not s.axes):
        _tried(search, seen, [Draw(_named(s, steps), steps) for s in pair for steps in [s.at({})]])
    open_ones = [s for s in spaces if s.axes]
    asking = Optimiser(open_ones, goal.trials, secret) if open_ones else None
    asked = 0
    while asking is not None and len(search.tried) < goal.trials and asked < _FAR * goal.trials:
        tokens: list[tuple[Any, Draw | Trial]] = []
        for _ in range(min(TWO, goal.trials - len(search.tried))):
            token, space, values = asking.ask()
            asked += 1
            tokens.append((token, _asked_for(space, values)))
        _tried(search, seen, [draw for _, draw in tokens if isinstance(draw, Draw)])
        for token, one in tokens:
            found = seen[canonical(one.steps)] if isinstance(one, Draw) else one
            asking.tell(token, found.loss, found.violation)


def _in_twos(items: Iterable[_T]) -> Iterator[tuple[_T, ...]]:
    waiting = iter(items)
    while pair := tuple(islice(waiting, TWO)):
        yield pair


def _asked_for(space: SearchedSteps, values: dict[str, Any]) -> Draw | Trial:
    try:
        steps = space.at(values)
    except StudyError as error:
        return Trial(space.name, (), math.nan, math.inf, error.problems[0])
    return Draw(_named(space, steps), steps)


def _tried(search: _Search, seen: dict[str, Trial], asked: Sequence[Draw]) -> None:
    """Make and score the draws that are new, and record the results."""
    draws = [d for text, d in {canonical(d.steps): d for d in reversed(asked)}.items() if text not in seen][::-1]
    goal, later = search.goal, search.goal.finalists * search.goal.secrets * search.run.heavier
    if not draws:
        return
    left = max(goal.trials - len(search.tried), len(draws))
    _tell(search, left + later)
    for draw, got in zip(draws, search.run.score(draws, left), strict=False):
        search.clock.tick(got.reused)
        seen[canonical(draw.steps)] = found = search.trial_of(draw, got)
        search.add(found)
        _tell(search, max(goal.trials - len(search.tried), 0) + later)


def _tell(search: _Search, left: float) -> None:
    """Report the current candidate, the best so far, and the estimated time left."""
    done, goal = len(search.tried), search.goal
    best = search.best.trial
    said = f", least loss under the limits {best.loss:.3g}" if best else ", none meets the limits yet" if done else ""
    if done < goal.trials:
        search.progress(f"searching{said}{search.clock.left(left)}", done, goal.trials)


def _confirmed(finalists: list[Finalist], search: _Search) -> None:
    """Draw candidates that met the limits with fresh secrets; one that breaks them too often is dropped at once."""
    waiting, goal = rank_trials(search.tried), search.goal
    if not waiting:
        search.notes.append("no candidate met the limits in the exploration")
    most_broken = goal.secrets - math.ceil(goal.share * goal.secrets - 1e-9)
    places, clock = _Places(len(waiting)), _Clock()
    while (place := places.next()) is not None and (good := sum(f.meets_limits for f in finalists)) < goal.finalists:
        candidate, draws = waiting[place], list[FreshDraw]()
        to_come = goal.secrets * (min(goal.finalists, len(waiting)) - good)
        for pair in _in_twos(range(goal.secrets)):
            asked = [Draw(candidate.name, candidate.steps, str(i)) for i in pair]
            said = f"confirming: {candidate.name}, secret {pair[0] + 1}{clock.left(to_come - len(draws))}"
            search.progress(said, pair[0], goal.secrets)
            for got in search.run.score(asked, to_come - len(draws)):
                clock.tick(got.reused)
                draws.append(search.fresh_draw(got))
                finalist = Finalist(candidate, tuple(draws), goal.secrets, goal.share)
                finalists[:] = [*(f for f in finalists if f.candidate is not candidate), finalist]
                if sum(not d.violation <= 0 for d in draws) > most_broken:
                    break
            if sum(not d.violation <= 0 for d in draws) > most_broken:
                break
        places.tell(place, finalists[-1].meets_limits)


class _Places:
    """Which finalist to confirm next: the first; after failures, in growing steps down the list; then back between the last
    failure and the first success; then onwards from there."""

    def __init__(self, count: int) -> None:
        self._count, self._stride = count, 1
        self._seen: dict[int, bool] = {}

    def tell(self, place: int, kept: bool) -> None:
        self._seen[place] = kept
        self._stride *= 1 if kept else 2

    def next(self) -> int | None:
        kept = [p for p, good in self._seen.items() if good]
        failed = [p for p, good in self._seen.items() if not good]
        if not kept:
            place = max(failed) + self._stride // 2 if failed else 0
            place = min(place, self._count - 1)
        else:
            below = max((p for p in failed if p < min(kept)), default=-1)
            place = (below + min(kept)) // 2 if min(kept) - below > 1 else max(self._seen) + 1
        return place if 0 <= place < self._count and place not in self._seen else None


def _named(space: SearchedSteps, steps: tuple[Mask, ...]) -> str:
    if not space.axes:
        return space.name
    values = {a.key: getattr(steps[a.step], a.setting) for a in space.axes}
    told = ", ".join(f"{a.setting}={_short(values[a.key])}" for a in space.axes)
    return f"{space.name} {told}"


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
