"""The draws of a search: candidates made and scored in one or two processes, and cached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from larvatus.comparison.comparison import Candidate
from larvatus.constraints.settings import constraints_of
from larvatus.core.errors import DiscoveryError, LarvatusError, MachineError, StudyError
from larvatus.core.progress import Progress, current_progress, silent
from larvatus.data.contracts import Attack, Measure, sendable
from larvatus.data.intruder import Intruder
from larvatus.data.method_parsing import all_of, canonical
from larvatus.data.microdata import Microdata
from larvatus.data.record_selection import with_records
from larvatus.data.release import Release
from larvatus.data.score import Score, Scores
from larvatus.measures.analyses.spec import analyses_of
from larvatus.pipeline.attack_release import risk
from larvatus.pipeline.candidates.cache import CandidateCache, cache_key, file_digest
from larvatus.pipeline.candidates.parallel import CandidateRunner, room_for_two
from larvatus.pipeline.engine_errors import in_main_thread
from larvatus.pipeline.make_release import mask
from larvatus.pipeline.measure_release import utility
from larvatus.searching.search import Draw, ScoredDraw


@dataclass(frozen=True, slots=True)
class Drawing:
    """What all draws of a search share. It can be sent to another process."""

    data: Microdata
    explored: Microdata
    attacks: Any
    measures: Any
    analyses: Any
    who: Intruder
    constraints: Any
    folder: Path | None
    secret: bytes = field(repr=False)
    kept: CandidateCache | None = None
    given: bool = False
    digest: tuple[str, ...] = ()
    tier: bool = False

    def key(self, draw: Draw) -> str | None:
        """Cache key of a draw. Without a secret, a fresh draw cannot be made again and has no key."""
        files = [f for f in (self.who.file, *self.who.other_releases) if f]
        if self.kept is None or (draw.whole and not self.given) or not all(Path(f).exists() for f in files):
            return None
        steps = canonical([with_records(s, self.folder, self.data.roles.record_id) for s in draw.steps])
        drawn = self.kept.secret_digest(self.secret) if self.given else "fresh"
        named = ["every one"] if self.measures is None else [canonical(all_of(Measure, self.measures))]
        return cache_key(
            "search", *self.digest, draw.which, steps, drawn, canonical(all_of(Attack, self.attacks)), str(self.tier), *named,
            repr(analyses_of(self.analyses)), self.who.model_dump_json(), constraints_of(self.constraints).model_dump_json(),
            *(file_digest(f) for f in files),
        )

    def release(self, draw: Draw, progress: Progress = silent) -> Release:
        of = self.data if draw.whole else self.explored
        key = draw.key(self.secret)
        return mask(
            of, *draw.steps, secret=key, name=draw.name, constraints=self.constraints, folder=self.folder, progress=progress
        )

    def score(self, draw: Draw, progress: Progress = silent) -> ScoredDraw:
        """Make, attack and measure one candidate, and store the result."""
        try:
            made = self.release(draw, progress)
            of = self.data if draw.whole else self.explored
            risks = self._risks(of, made, progress)
            scores = [*risks, *utility(of, made, self.measures, analyses=self.analyses, progress=progress)]
        except MachineError:
            raise
        except LarvatusError as error:
            return ScoredDraw(problem=str(error), fatal=isinstance(error, StudyError | DiscoveryError))
        candidate, key = Candidate.of(draw.name, made, Scores(scores)), self.key(draw)
        if self.kept is not None and key is not None:
            with self.kept.adding(key) as place:
                self.kept.write(place, candidate)
        return ScoredDraw(candidate.scores)

    def _risks(self, of: Microdata, made: Release, progress: Progress) -> list[Score]:
        """The attacks named, or all; under an access tier, which limits every attack, those named and all others."""
        if not self.tier or self.attacks is None:
            return list(risk(of, made, self.attacks, intruder=self.who, progress=progress))
        found = list(risk(of, made, None, intruder=self.who, progress=progress))
        run = [s.method for s in found]
        own = [a for a in all_of(Attack, self.attacks) if a.name() not in run or a != type(a)()]
        return [*found, *(risk(of, made, own, intruder=self.who, progress=progress) if own else ())]


def _scored_there(work: Drawing, draw: Draw) -> ScoredDraw:
    return work.score(draw, current_progress())


class Draws:
    """Draws in this process and a second one, except those in the cache."""

    def __init__(self, work: Drawing, jobs: int | None, progress: Progress = silent) -> None:
        self.work, self.keys, self.progress = work, list[str](), progress
        self.stage = ("searching", 0, 1)
        self.heavier = work.data.rows / max(work.explored.rows, 1)
        sent = sendable(work.data.engine)
        self.runner = CandidateRunner(
            work.score, _scored_there, work, jobs if sent else 1, room_for_two(work.data), self._show, lambda d: d.name,
            in_main_thread(work.data),
        )

    def tell(self, doing: str, done: int, total: int) -> None:
        """Report the stage of the search."""
        self.stage = (doing, done, total)
        self.progress(doing, done, total)

    def _show(self, doing: str, done: int, total: int) -> None:
        """Report what is running, after the stage of the search."""
        stage, count, of = self.stage
        self.progress(f"{stage}; {doing}", count, of)

    def score(self, draws: Sequence[Draw], left: int) -> Iterator[ScoredDraw]:
        keys = [self.work.key(d) for d in draws]
        there = [self.work.kept.read(k) if self.work.kept is not None and k is not None else None for k in keys]
        made = self.runner.results([d for d, c in zip(draws, there, strict=True) if c is None], left)
        for key, candidate in zip(keys, there, strict=True):
            got = ScoredDraw(candidate.scores, reused=True) if candidate is not None else next(made)
            self.keys += [key] if key is not None else []
            yield got

    def release(self, draw: Draw) -> Release:
        return self.work.release(draw)
