"""The search itself: explore with one secret, confirm the best with fresh ones, choose. The walk runs the candidates.

Whoever takes the best of many draws takes a lucky one: its risk and its loss look better than they are. So the finalists are
drawn again, on all records, with secrets that the exploration has not seen, and one counts only if the limits hold there too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from larvatus.comparison.asking import Asking
from larvatus.comparison.found import Drawn, Finalist, Found, Tried, ranked
from larvatus.comparison.goal import Goal, Judge, Objective, loss_of, risk_of
from larvatus.comparison.search_space import Searched
from larvatus.core.errors import DiscoveryError, LarvatusError, StudyError
from larvatus.core.progress import Clock, Progress
from larvatus.core.randomness import stream_key
from larvatus.data.contracts import Mask
from larvatus.data.methods import canonical
from larvatus.data.release import Release
from larvatus.data.score import Scores

Made = tuple[Release, Scores]
Runner = Callable[[str, tuple[Mask, ...], bytes, bool], Made]
FAR = 5


@dataclass(slots=True)
class _Outcome:
    """What is told while the search goes on."""

    tried: list[Tried]
    notes: list[str]


def searched(
    spaces: Sequence[Searched], judge: Judge, objective: Objective, goal: Goal, secret: bytes, run: Runner, progress: Progress
) -> Found:
    """Explore, confirm, choose. An interruption ends the exploration, a second one the confirmation, with the best so far."""
    out = _Outcome([], [])
    try:
        _explored(out, spaces, judge, objective, goal, secret, run, progress)
    except KeyboardInterrupt:
        out.notes.append(f"interrupted after {len(out.tried)} of {goal.trials} candidates; the best so far were confirmed")
    if out.tried and all(t.problem for t in out.tried):
        raise StudyError(["search: no candidate could be made or measured.", *dict.fromkeys(t.problem for t in out.tried)])
    finalists: list[Finalist] = []
    try:
        _confirmed(finalists, out, judge, objective, goal, secret, run, progress)
    except KeyboardInterrupt:
        out.notes.append("the confirmation was interrupted: not every finalist was drawn with every secret")
    kept = [f for f in finalists if f.kept]
    chosen = min(kept, key=lambda f: f.order, default=None)
    release = None
    if chosen is not None:
        first = next(i for i, d in enumerate(chosen.draws) if d.violation <= 0)
        release, _ = run(chosen.candidate.name, chosen.candidate.steps, _fresh(secret, first), True)
        drawn = sum(len(f.draws) for f in finalists)
        out.notes.append(
            f"chosen among {len(out.tried)} candidates, {len(finalists)} of them confirmed with {drawn} draws in all: scores "
            "of the exploration are those of a selection, the ones of the fresh secrets are not"
        )
    return Found(tuple(out.tried), tuple(finalists), chosen, release, tuple(out.notes))


def _explored(
    out: _Outcome, spaces: Sequence[Searched], judge: Judge, objective: Objective, goal: Goal, secret: bytes, run: Runner,
    progress: Progress,
) -> None:
    exploring = stream_key(secret, "search: exploring")
    seen: dict[str, Tried] = {}
    clock = Clock(goal.trials)

    def tried(space: Searched, steps: tuple[Mask, ...]) -> Tried:
        text = canonical(steps)
        if text not in seen:
            progress(_left(out.tried, clock), len(out.tried), goal.trials)
            seen[text] = _one(_named(space, steps), steps, judge, objective, exploring, run)
            out.tried.append(seen[text])
            clock.done()
        return seen[text]

    for fixed in (s for s in spaces if not s.axes):
        tried(fixed, fixed.at({}))
    open_ones = [s for s in spaces if s.axes]
    asking = Asking(open_ones, goal.trials, secret) if open_ones else None
    asked = 0
    while asking is not None and len(out.tried) < goal.trials and asked < FAR * goal.trials:
        token, space, values = asking.ask()
        asked += 1
        try:
            found = tried(space, space.at(values))
        except StudyError as error:
            found = Tried(space.name, (), math.nan, math.inf, error.problems[0])
        asking.tell(token, found.loss, found.violation)


def _one(
    name: str, steps: tuple[Mask, ...], judge: Judge, objective: Objective, secret: bytes, run: Runner
) -> Tried:
    try:
        _, scores = run(name, steps, secret, False)
        loss, violation = loss_of(scores, objective), judge.violation(scores)
    except (StudyError, DiscoveryError):
        raise
    except LarvatusError as error:
        return Tried(name, steps, math.nan, math.inf, str(error))
    why = "" if math.isfinite(loss) else "the objective has no value"
    return Tried(name, steps, loss if math.isfinite(loss) else math.nan, violation, why, risk_of(scores))


def _confirmed(
    finalists: list[Finalist], out: _Outcome, judge: Judge, objective: Objective, goal: Goal, secret: bytes, run: Runner,
    progress: Progress,
) -> None:
    """Candidates that kept the limits, drawn with fresh secrets; one that breaks them too often is given up at once."""
    waiting = ranked(out.tried)
    if not waiting:
        out.notes.append("no candidate kept the limits on the secret of the exploration")
    most_broken = goal.secrets - math.ceil(goal.share * goal.secrets - 1e-9)
    places = _Places(len(waiting))
    while (place := places.next()) is not None and sum(f.kept for f in finalists) < goal.finalists:
        candidate, draws = waiting[place], list[Drawn]()
        for i in range(goal.secrets):
            progress(f"confirming: {candidate.name}, secret {i + 1}", i, goal.secrets)
            _, scores = run(candidate.name, candidate.steps, _fresh(secret, i), True)
            draws.append(Drawn(loss_of(scores, objective), judge.violation(scores), risk_of(scores), scores))
            finalist = Finalist(candidate, tuple(draws), goal.secrets, goal.share)
            finalists[:] = [*(f for f in finalists if f.candidate is not candidate), finalist]
            if sum(d.violation > 0 for d in draws) > most_broken:
                break
        places.tell(place, finalists[-1].kept)


class _Places:
    """Which place in the list to confirm next: the first; in longer strides after failures; then back between the last
    failure and what was kept; then onwards from there."""

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


def _fresh(secret: bytes, number: int) -> bytes:
    return stream_key(secret, "search: fresh", str(number))


def _named(space: Searched, steps: tuple[Mask, ...]) -> str:
    if not space.axes:
        return space.name
    values = {a.key: getattr(steps[a.step], a.setting) for a in space.axes}
    told = ", ".join(f"{a.setting}={_short(values[a.key])}" for a in space.axes)
    return f"{space.name} {told}"


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _left(tried: Sequence[Tried], clock: Clock) -> str:
    """What is being done, the best so far, and about how long it will take."""
    best = next(iter(ranked(tried)), None)
    said = f", least loss under the limits {best.loss:.3g}" if best else ", none keeps the limits yet" if tried else ""
    return f"searching{said}{clock.left()}"
