"""Advice before a search, and the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

from larvatus.advice.advice import Advice
from larvatus.advice.roles_draft import RoleGuesses
from larvatus.comparison.key_figures import KEY_LOSS, KEY_RISK
from larvatus.comparison.limits import Limits, LimitsLike
from larvatus.constraints.settings import ConstraintsLike
from larvatus.core.errors import RolesError, StudyError
from larvatus.core.progress import Progress, silent
from larvatus.core.randomness import secret_or_new
from larvatus.data.accepted_types import SourceLike
from larvatus.data.contracts import Attack
from larvatus.data.labelling.labels import MissingCode
from larvatus.data.method_parsing import all_of
from larvatus.data.microdata import Microdata, check_microdata
from larvatus.data.verbs import sample_records
from larvatus.engines._files.text_cells import text_places
from larvatus.pipeline.candidates.cache import CandidateCache, data_digest, open_cache
from larvatus.pipeline.candidates.search_candidates import Drawing, Draws
from larvatus.pipeline.try_advice import advise_with_trial
from larvatus.searching.goal import (
    Goal,
    LimitJudge,
    LimitsJudge,
    Objective,
    analyses_problems,
    judge_of,
    measures_for,
    names_in_objective,
    objective_problems,
)
from larvatus.searching.lattice import key_risk_among, solve_lattice
from larvatus.searching.result import SearchResult
from larvatus.searching.search import search_releases
from larvatus.searching.space import SearchedSteps, SearchSpaceLike, space_of
from larvatus.study import Execution, Scoring
from larvatus.study.scoring import refuse_unused, scoring_of


@overload
def advise(data: Microdata, *, progress: Progress = silent) -> Advice: ...
@overload
def advise(
    data: SourceLike, *, sheet: str | None = None, catalog: str | Path | None = None, query: str | None = None,
    table: str | None = None, password_file: str | Path | None = None,
    missing: Mapping[str, Sequence[MissingCode]] | None = None, delimiter: str | None = None, decimal: str | None = None,
    thousands: str | None = None, encoding: str | None = None, quote: str | None = None, dates: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> RoleGuesses: ...


def advise(
    data: Microdata | SourceLike, *, sheet: str | None = None, catalog: str | Path | None = None, query: str | None = None,
    table: str | None = None, password_file: str | Path | None = None,
    missing: Mapping[str, Sequence[MissingCode]] | None = None, delimiter: str | None = None, decimal: str | None = None,
    thousands: str | None = None, encoding: str | None = None, quote: str | None = None, dates: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Advice | RoleGuesses:
    """Describe the data and recommend masks, with reasons.

    The study of the advice is tried first, on at most 30,000 records: what cannot be carried out is changed or left out, and
    the advice says so. Data without roles (a path or a data frame) are examined column by column: the result is a table of the
    columns with a first guess of their roles, to confirm or change. `sheet`, `catalog`, `query`, `table`, `password_file`,
    `missing` and what states how a CSV file is written are as in `lv.read`.

    Examples:
        >>> import larvatus as lv
        >>> frame = lv.datasets.households(300)
        >>> guesses = lv.advise(frame)
        >>> guesses.roles["non_confidential"]
        ['gender', 'marital', 'age_group']
        >>> advice = lv.advise(lv.read(frame, **guesses.roles))
        >>> [opinion.mask for opinion in advice.opinions if opinion.suits]
        ['data_shuffling', 'top_coding']
    """
    given = {"sheet": sheet, "catalog": catalog, "query": query, "table": table, "password_file": password_file,
             "missing": missing, "delimiter": delimiter, "decimal": decimal, "thousands": thousands, "encoding": encoding,
             "quote": quote, "dates": dates}
    source: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if isinstance(data, Microdata):
        if source:
            raise RolesError(f"advise: these data are read already, so that {next(iter(source))} has no use. Leave it out, or "
                             "give the path of the source.")
        return advise_with_trial(data, text_places, progress)
    if data is None or (isinstance(data, str) and "\n" in data):  # neither a path nor a frame
        check_microdata(data)
    from larvatus.pipeline.examine_source import guess_roles_of

    return guess_roles_of(data, **source)


def search(
    data: Microdata, space: SearchSpaceLike, limits: LimitsLike | LimitJudge | None = None, objective: Objective = None, *,
    scoring: Scoring | None = None, goal: Goal | None = None, secret: bytes | None = None,
    constraints: ConstraintsLike | None = None, execution: Execution | None = None,
) -> SearchResult:
    """Find the settings with the least loss among those that meet the limits, and confirm them with fresh secrets.

    `space` lists steps with `range` and `choice` instead of settings. `limits` are as in `[limits]`, such as
    {"nearest_record": {"above_chance": 0.01}}, the name of a tier, or an object with `violation(scores)`. `objective` is a
    measure or a combination in `scoring.combine`, a list, a table of weights, or a function of the scores. `goal` sets how many
    candidates are tried and confirmed. With `cache_dir` in `execution`, a search with the same secret resumes.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> space = {"method": "additive_noise", "range": {"variance": [0.1, 1.0]}}
        >>> found = lv.search(data, space, {"nearest_record": 0.9}, "moments", goal=lv.Goal(trials=4, finalists=1, secrets=2))
        >>> [step.name() for step in found.release.steps]
        ['additive_noise']
        >>> 0.1 <= found.release.steps[0].variance <= 1.0
        True
    """
    check_microdata(data)
    judge = limits if hasattr(limits, "violation") and not isinstance(limits, Limits) else None
    asked, how = scoring_of(scoring, {"limits": None if judge is not None else limits}), execution or Execution()
    refuse_unused(asked, "search", "domains", "null_resamples", *(["limits"] if judge is not None else []))
    with open_cache(how.cache_dir) if how.cache_dir is not None else nullcontext() as kept:
        found, _ = search_with_cache(
            data, space, judge, objective, asked, constraints, goal or Goal(), secret, None, kept, how.jobs, how.progress
        )
    return found


def _solved(
    data: Microdata, spaces: Sequence[SearchedSteps], judge: LimitJudge, attacks: Any, progress: Progress
) -> tuple[tuple[SearchedSteps, ...], tuple[str, ...]]:
    """The entries with the best levels of the keys in place of each lattice, and notes on them."""
    out, notes = [], []
    for space in spaces:
        if space.lattice is None:
            out.append(space)
            continue
        if not isinstance(judge, LimitsJudge):
            raise StudyError([f"search {space.name!r}: lattice needs limits on key_risk, as in [limits]."])
        method = key_risk_among(all_of(Attack, attacks) if attacks is not None else None)
        found = solve_lattice(data, space.lattice, judge.limits, method, space.name,
                              lambda n: progress(f"levels of the keys: {n:,} examined", 0, 1))
        if not found.steps and not space.steps:
            raise StudyError([f"search {space.name!r}: the keys meet the limits as they are, so there is nothing to change."])
        out.append(space.with_key_steps(found.steps))
        notes.append(f"{space.name}: {found.note}")
    return tuple(out), tuple(notes)


def search_with_cache(
    data: Microdata, space: SearchSpaceLike, own_judge: LimitJudge | None, objective: Objective, scoring: Scoring,
    constraints: ConstraintsLike | None, goal: Goal, secret: bytes | None, folder: Path | None,
    kept: CandidateCache | None, jobs: int | None, progress: Progress,
) -> tuple[SearchResult, list[str]]:
    """The result of a search, and the cache keys of its draws."""
    attacks, combine, analyses = scoring.attacks, scoring.combine, scoring.analyses
    spaces, judge = space_of(space), judge_of(scoring.limits if own_judge is None else own_judge, combine)
    problems = objective_problems(objective, combine) + analyses_problems(objective, judge, combine, analyses)
    if problems:
        raise StudyError(problems)
    if isinstance(judge, LimitsJudge):
        attacks = judge.attacks_among(attacks)
    if attacks is not None and KEY_LOSS in names_in_objective(objective, combine):
        named = all_of(Attack, attacks)
        attacks = named if any(a.name() == KEY_RISK for a in named) else (*named, *all_of(Attack, [KEY_RISK]))
    used, analysed = measures_for(objective, scoring.measures, judge, combine)
    spaces, solved = _solved(data, spaces, judge, attacks, progress)
    own = secret_or_new(secret)
    explored = sample_records(data, goal.sample, own)
    work = Drawing(
        data, explored, attacks, used, analyses if analysed else None, scoring.intruder, constraints, folder, own,
        kept, secret is not None, (data_digest(data), str(goal.sample)) if kept is not None else (),
        isinstance(judge, LimitsJudge) and judge.limits.tier is not None,
    )
    run = Draws(work, jobs, progress)
    try:
        found = search_releases(spaces, judge, objective, goal, own, run, run.tell, combine)
    finally:
        run.runner.close()
    found = replace(found, notes=(*solved, *found.notes))
    told = replace(
        found, objective=objective if not callable(objective) else "a function of the scores",
        limits=judge.limits.plain() if isinstance(judge, LimitsJudge) else "a user-defined judge", goal=goal.plain(),
        combine={c.name: c.plain() for c in combine},
    )
    return told.with_search_notes(explored.rows, data.rows), run.keys
