"""The loop over releases: make, attack, measure, record, discard."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal

from larvatus.attacks.linkage.target_sample import TargetCount
from larvatus.comparison.comparison import Candidate, Comparison, NotMade, about
from larvatus.comparison.limits import Limits, LimitsLike
from larvatus.constraints.settings import constraints_of
from larvatus.core.errors import LarvatusError, RiskError, RolesError
from larvatus.core.progress import Clock, Progress, silent
from larvatus.core.randomness import secret_or_new, stream_key
from larvatus.data.accepted_types import AttackLike, IntruderLike, MeasureLike, ReleaseLike, SettingsTable
from larvatus.data.contracts import Attack, Mask, Measure, sendable
from larvatus.data.intruder import Intruder
from larvatus.data.method_parsing import all_of, canonical
from larvatus.data.microdata import Microdata, check_microdata
from larvatus.data.notes import Note
from larvatus.data.pairing import as_release
from larvatus.data.record_selection import with_records
from larvatus.data.release import Release
from larvatus.data.score import Scores
from larvatus.documents.codebook import make_codebook
from larvatus.documents.manifest import INSIDE, DecisionFacts, write_beside
from larvatus.measures.analyses.spec import analyses_of
from larvatus.measures.scoring.domains import domains_of
from larvatus.measures.scoring.null_placement import resample_count
from larvatus.pipeline.attack_release import attack_random, attacks_under_tier, check_known, others_of, run_attacks
from larvatus.pipeline.candidates.cache import FILES, SECRET, CandidateCache, cache_key, data_digest, file_digest, open_cache
from larvatus.pipeline.candidates.parallel import CandidateRunner, Job, Outcome, not_made, room_for_two
from larvatus.pipeline.make_release import mask
from larvatus.pipeline.measure_release import run_measures
from larvatus.pipeline.null_distributions import Nulls
from larvatus.pipeline.target_counts import smallest_limit, state_targets
from larvatus.study import Execution, PlannedRelease, Scoring, Study, plan_releases
from larvatus.study.redaction import redacted_study
from larvatus.study.scoring import scoring_of

PAIRINGS = "pairings"


def compare(
    data: Microdata, releases: Sequence[ReleaseLike | PlannedRelease | SettingsTable] | Study,
    attacks: AttackLike | Sequence[AttackLike] | None = None, measures: MeasureLike | Sequence[MeasureLike] | None = None, *,
    intruder: IntruderLike | None = None, limits: LimitsLike | None = None, scoring: Scoring | None = None,
    secret: bytes | None = None, execution: Execution | None = None,
) -> Comparison:
    """Score several releases of the same data side by side.

    A release is a Release, a data frame, a file, or a table `{"name": …, "steps": […]}` as in a study, with `grid` and
    `reverse_mapped`. Tables are made here with the secret, one after another, and discarded. A release that fails is listed
    in `not_made` with the reason. A Study in place of the list brings its releases, constraints, labels, purpose and scoring.
    The intruder's `other_releases` may name some of the releases. `scoring` has the less common settings: domains, analyses,
    null_resamples and combine. `execution` says how many releases are processed in parallel and where finished ones are stored.
    """
    check_microdata(data)
    study = releases if isinstance(releases, Study) else None
    plain = {"attacks": attacks, "measures": measures, "intruder": intruder, "limits": limits}
    asked = scoring_of(scoring, plain, study.scoring() if study else None)
    given = list(study.release) if study else _given(data, releases)
    if not given:
        raise RolesError("compare: no release is given. Pass at least one.")
    work, how = work_of(data, asked, secret_or_new(secret), study), execution or Execution()
    if how.cache_dir is None:
        return compare_candidates(work, given, asked, study, None, how.jobs, how.progress)
    with open_cache(how.cache_dir) as kept:
        return compare_candidates(replace(work, kept=kept), given, asked, study, secret, how.jobs, how.progress)


def _given(data: Microdata, releases: Any) -> list[Any]:
    """Releases to compare: planned ones spread out, others as they are."""
    out: list[Any] = []
    for r in releases:
        if isinstance(r, PlannedRelease) or (isinstance(r, Mapping) and "steps" in r):
            out += plan_releases([r])
        else:
            out.append(r if isinstance(r, str | Path) else as_release(data, r))
    return out


@dataclass(frozen=True, slots=True)
class Work:
    """What all candidates of a comparison share. It can be sent to another process."""

    data: Microdata
    attacks: Any
    nulls: Nulls
    who: Intruder
    domains: Any
    analyses: Any
    secret: bytes = field(repr=False)
    constraints: Any = None
    folder: Path | None = None
    kept: CandidateCache | None = None
    row_order: Literal["random", "keep"] = "random"
    targets: Mapping[str, Path] = field(default_factory=dict)
    pairings: bool = False
    beside: Mapping[str, Release] = field(default_factory=dict)
    named: bool = False
    labels: Mapping[str, str] | None = None
    decided: DecisionFacts | None = None
    tier: bool = False
    target_count: TargetCount = None
    limits: Limits = field(default_factory=Limits)

    def methods(self, steps: Sequence[Mask]) -> tuple[Attack, ...]:
        """The attacks named, or all; under an access tier, which limits every attack, the others follow those named."""
        named = tuple(all_of(Attack, self.attacks))
        return state_targets(attacks_under_tier(named, steps) if self.tier else named, self.target_count)

    @property
    def must(self) -> Sequence[Attack]:
        """The attacks that must be run."""
        return () if self.attacks is None else state_targets(all_of(Attack, self.attacks), self.target_count)

    def key(self, given: Any, label: str, secret: bytes | None, digest: str) -> str | None:
        """Cache key of a candidate; a key that never recurs if it cannot be determined whether the candidate is unchanged."""
        if self.kept is None or not isinstance(given, PlannedRelease | Release):
            return None
        within = [n for n in self.who.other_releases if n in self.beside]
        held = [f for f in (self.who.file, *(n for n in self.who.other_releases if n not in within)) if f]
        if (within and secret is None) or not all(Path(f).exists() for f in held):
            return token_hex(16)
        made = canonical(_with_ids(given.steps, self.folder, self.data.roles.record_id))
        release = "" if isinstance(given, PlannedRelease) else " ".join(data_digest(c) for c in given.copies)
        drawn = "fresh" if secret is None else stream_key(secret, "kept").hex()[:32]
        files = [file_digest(f) for f in held]
        others = [canonical(_with_ids(self.beside[n].steps, self.folder, self.data.roles.record_id)) for n in within]
        scored = [
            canonical(self.methods(given.steps)), canonical(self.nulls.methods), str(self.nulls.resamples),
            self.who.model_dump_json(), repr(domains_of(self.domains, self.data)), repr(analyses_of(self.analyses)),
            constraints_of(self.constraints).model_dump_json(), self._precision(given.steps),
        ]
        place = f"{self.row_order} {self.targets.get(label)} {self.pairings} {self.labels}"
        return cache_key(digest, label, made, release, place, *files, *others, *scored) + SECRET + drawn

    def _precision(self, steps: Sequence[Mask]) -> str:
        """What decides how many targets are drawn, besides the data and the attacks."""
        drawn = [m.name() for m in self.methods(steps) if m.most_targets is not None and self.data.rows > m.most_targets]
        return " ".join(f"{n} {smallest_limit(self.limits, n)}" for n in drawn)


def work_of(data: Microdata, scoring: Scoring, secret: bytes, study: Study | None = None) -> Work:
    """What all candidates share, from how they are scored and the study they belong to."""
    nulls = Nulls(all_of(Measure, scoring.measures), resample_count(scoring.null_resamples), attack_random)
    return Work(
        data, scoring.attacks, nulls, scoring.intruder, scoring.domains, scoring.analyses, secret,
        study.constraints if study else None, study.folder if study else None, named=scoring.measures is not None,
        labels=study.labels if study else None, target_count=scoring.targets, limits=scoring.limits,
    )


def _with_ids(steps: Sequence[Mask], folder: Path | None, record_id: str | None) -> list[Mask]:
    return [with_records(s, folder, record_id) for s in steps]


def compare_candidates(
    work: Work, given: Sequence[Any], scoring: Scoring, study: Study | None, secret: bytes | None, jobs: int | None,
    progress: Progress, fresh: bool = False, check_keys: Callable[[Mapping[str, str]], None] = lambda keys: None,
) -> Comparison:
    """Make and score all candidates that are not in the cache, and return all in the order given."""
    data, labels = work.data, _labels(given)
    check_known(data, work.who)
    work = replace(work, tier=scoring.limits.tier is not None)
    work = replace(work, beside=_beside_others(work, given, labels))
    digest = data_digest(data) if work.kept is not None else ""
    keys = [work.key(g, n, secret, digest) for n, g in zip(labels, given, strict=True)]
    if work.kept is not None and secret is None and not fresh:
        keys = [work.kept.like(k) if k else k for k in keys]
    planned = [Job(i, n, g, k) for i, (n, g, k) in enumerate(zip(labels, given, keys, strict=True))]
    check_keys({j.label: j.key or "" for j in planned})
    ready = {j.place: k for j in planned if work.kept and j.key and not fresh and (k := work.kept.read(j.key)) is not None}
    if ready:
        progress(f"{len(ready)} of {len(planned)} releases are already finished", len(ready), len(planned))
    left = [j for j in planned if j.place not in ready]
    here = _Here(work, progress, len(left))
    runner = CandidateRunner(
        here.candidate, _candidate_there, work, jobs if sendable(data.engine) else 1, room_for_two(data), here.clock.done
    )
    with closing(runner):
        outcomes: dict[int, Outcome] = {**ready, **{j.place: o for j, o in zip(left, runner.results(left), strict=True)}}
    made = tuple(c for i in sorted(outcomes) if isinstance(c := outcomes[i], Candidate))
    if not made:
        raise here.first_error or RiskError("no release could be made.", subject="compare")
    lost = tuple(n for i in sorted(outcomes) if isinstance(n := outcomes[i], NotMade))
    there = tuple(labels[i] for i in ready)
    told = (study.purpose, redacted_study(study.plain())) if study else ()
    return Comparison(made, about(data, work.who, *told), lost, scoring.combine, scoring.limits, there, inputs=data.inputs)


def _labels(given: Sequence[Any]) -> list[str]:
    names = [getattr(g, "name", None) or (Path(g).name if isinstance(g, str | Path) else "released") for g in given]
    return [n if names.count(n) == 1 else f"{n} ({names[: i + 1].count(n)})" for i, n in enumerate(names)]


def _beside_others(work: Work, given: Sequence[Any], labels: Sequence[str]) -> dict[str, Release]:
    """The releases that the intruder has besides each of the others. Only these are kept in memory throughout."""
    return {n: _made(work, Job(0, n, g), silent) for n, g in zip(labels, given, strict=True) if n in work.who.other_releases}


def _made(work: Work, job: Job, progress: Progress) -> Release:
    if job.label in work.beside:
        return work.beside[job.label]
    if not isinstance(job.given, PlannedRelease):
        return as_release(work.data, job.given)
    made = mask(
        work.data, *job.given.steps, secret=work.secret, name=job.label, constraints=work.constraints, folder=work.folder,
        progress=progress,
    )
    kept = [Note("rows are released in the original order", "warning", "row order")] if work.row_order == "keep" else []
    return replace(made, notes=(*made.notes, *kept))


def _candidate(work: Work, job: Job, progress: Progress) -> Candidate:
    """Make one release, attack and measure it, write its files if asked for, and discard the data."""
    release = _made(work, job, progress)
    beside = [work.beside.get(n, n) for n in work.who.other_releases if n != job.label]
    others = others_of(work.data, beside, (), "checked")
    risks = run_attacks(work.data, release, work.methods(release.steps), work.who, others, work.must, progress,
                        work.limits)
    losses = run_measures(work.data, release, work.nulls, work.domains, work.analyses, progress=progress, named=work.named)
    told = replace(release, notes=(*release.notes, *(
        Note(why, step=step) for step, made in (("attacks", risks), ("measures", losses)) for why in made.not_run
    )))
    candidate = Candidate.of(job.label, told, Scores([*risks, *losses]), make_codebook(release, work.data, work.labels))
    if work.kept is None or job.key is None:
        return candidate
    with work.kept.adding(job.key) as place:
        if job.label in work.targets:
            target = work.targets[job.label]
            (place / FILES / target.parent).mkdir()
            pairing = place / FILES / PAIRINGS / f"{target.stem}.parquet" if work.pairings else None
            if pairing is not None:
                pairing.parent.mkdir(mode=0o700)
            release.write(place / FILES / target, work.row_order, pairing)
            inside = place / FILES / INSIDE
            inside.mkdir(mode=0o700)
            write_beside(
                release, work.data, place / FILES / target, decided=work.decided, labels=work.labels, inside=inside
            )
        return work.kept.write(place, candidate)


class _Here:
    """Candidates of this process: each tells its place among all and the time left; one that fails is listed, not raised."""

    def __init__(self, work: Work, progress: Progress, total: int) -> None:
        self.work, self.progress, self.total, self.clock = work, progress, total, Clock(total)
        self.first_error: Exception | None = None

    def candidate(self, job: Job) -> Outcome:
        try:
            return _candidate(self.work, job, self._progress_of(job))
        except Exception as error:
            if not isinstance(error, LarvatusError) and os.environ.get("LARVATUS_DEBUG"):
                raise
            self.first_error = self.first_error or error
            return not_made(job, error)

    def _progress_of(self, job: Job) -> Progress:
        def report_progress(doing: str, done: int, total: int) -> None:
            place = f"release {len(self.clock.marks) + 1} of {self.total}{self.clock.time_left()}; " if self.total > 1 else ""
            self.progress(f"{place}{job.label}: {doing}", done, total)

        return report_progress


def _candidate_there(work: Work, job: Job) -> Outcome:
    """The same in another process, without progress reports."""
    try:
        return _candidate(work, job, silent)
    except Exception as error:
        return not_made(job, error)
