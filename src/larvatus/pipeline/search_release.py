"""The advice before a search, and the search."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from larvatus.advice.advice import Advice, advice
from larvatus.comparison.combined_scores import Combination, combinations_of
from larvatus.core.errors import StudyError
from larvatus.core.progress import Progress, silent
from larvatus.core.randomness import checked_secret
from larvatus.data.intruder import Intruder, intruder_of
from larvatus.data.microdata import Microdata
from larvatus.data.sampling import sample_records
from larvatus.measures.analyses.spec import analyses_of
from larvatus.pipeline.candidates.cache import CandidateCache, data_digest, kept_in
from larvatus.pipeline.search_candidates import Drawing, Draws
from larvatus.searching.goal import Goal, LimitsJudge, Objective, analyses_problems, judge_of, measures_for, objective_problems
from larvatus.searching.result import SearchResult
from larvatus.searching.search import search_releases
from larvatus.searching.space import space_of


def advise(data: Microdata) -> Advice:
    """Look at the data and say in plain words which masks suit and why."""
    return advice(data)


def search(
    data: Microdata, space: Any, limits: Any, objective: Objective = None, *, attacks: Any = None, measures: Any = None,
    combine: Any = (), analyses: Any = None, intruder: Intruder | str | None = None, constraints: Any = None,
    goal: Goal | None = None, secret: bytes | None = None, folder: Path | None = None, cache_dir: str | Path | None = None,
    jobs: int | None = None, progress: Progress = silent,
) -> SearchResult:
    """Find the settings with the least loss among those that keep the limits, and confirm them with fresh secrets.

    `space` lists steps with `range` and `choice` in place of settings; `limits` are in the words of `[limits]`, such as
    {"nearest_record": {"above_chance": 0.01}} or the name of a tier, or anything with `violation(scores)`. `objective` is a
    measure or a name of `combine`, several, weights of several, or a function of the scores. `goal` says how many candidates
    are tried and confirmed. `cache_dir` is a folder that stores what was drawn, so that a search with the same secret resumes;
    `jobs` is the number of candidates processed in parallel, 1 or 2 (default: automatic).
    """
    with kept_in(Path(cache_dir)) if cache_dir is not None else nullcontext() as kept:
        found, _ = search_kept(
            data, space, limits, objective, attacks, measures, combinations_of(combine or {}), analyses, intruder, constraints,
            goal or Goal(), secret, folder, kept, jobs, progress,
        )
    return found


def search_kept(
    data: Microdata, space: Any, limits: Any, objective: Objective, attacks: Any, measures: Any,
    combine: tuple[Combination, ...], analyses: Any, intruder: Intruder | str | None, constraints: Any, goal: Goal,
    secret: bytes | None, folder: Path | None, kept: CandidateCache | None, jobs: int | None, progress: Progress,
) -> tuple[SearchResult, list[str]]:
    """What was found, and the keys of what is kept of it."""
    if jobs not in (None, 1, 2):
        raise StudyError([f"jobs: 1 or 2 candidates can be worked on at a time, got {jobs!r}."])
    spaces, judge = space_of(space), judge_of(limits, combine)
    problems = objective_problems(objective, combine) + analyses_problems(objective, judge, combine, analyses_of(analyses))
    if problems:
        raise StudyError(problems)
    if isinstance(judge, LimitsJudge):
        attacks = judge.attacks_among(attacks)
    used, analysed = measures_for(objective, measures, judge, combine)
    own = checked_secret(secret)
    explored = sample_records(data, goal.sample, own)
    work = Drawing(
        data, explored, attacks, used, analyses if analysed else None, intruder_of(intruder), constraints, folder, own,
        kept, secret is not None, (data_digest(data), str(goal.sample)) if kept is not None else (),
    )
    run = Draws(work, jobs)
    try:
        found = search_releases(spaces, judge, objective, goal, own, run, progress, combine)
    finally:
        run.two.close()
    told = replace(
        found, objective=objective if not callable(objective) else "a function of the scores",
        limits=judge.limits.plain() if isinstance(judge, LimitsJudge) else "a judge of its own", goal=goal.plain(),
        combine={c.name: c.plain() for c in combine},
    )
    return told.told(explored.rows, data.rows), run.keys
