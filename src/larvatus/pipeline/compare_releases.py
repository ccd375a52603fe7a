"""The loop over releases: make, attack, measure, record, discard. Each mask, attack and measure is one unit of work."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from larvatus.comparison.comparison import Candidate, Comparison, NotMade, about
from larvatus.comparison.limits import LimitsLike
from larvatus.core.errors import LarvatusError, MachineError, RiskError, RolesError
from larvatus.core.kernels import one_blas_thread
from larvatus.core.memory_size import give_back
from larvatus.core.progress import Progress, current_progress, silent
from larvatus.core.randomness import secret_or_new
from larvatus.data.accepted_types import AttackLike, IntruderLike, MeasureLike, ReleaseLike, SettingsTable
from larvatus.data.certificate import Certificates
from larvatus.data.contracts import Attack, Measure, sendable
from larvatus.data.holdout import NO_HOLDOUT
from larvatus.data.microdata import Microdata, check_microdata
from larvatus.data.notes import Note
from larvatus.data.pairing import as_release
from larvatus.data.release import Release
from larvatus.data.score import Scores
from larvatus.documents.codebook import make_codebook
from larvatus.documents.manifest import INSIDE, DecisionFacts, pairing_path, write_beside
from larvatus.measures.analyses.spec import METHOD, analyses_of
from larvatus.pipeline.attack_release import AttackedRelease, check_known, others_of
from larvatus.pipeline.budgets.budget_of_run import with_entry
from larvatus.pipeline.budgets.manifest_entries import in_original_order
from larvatus.pipeline.candidates.cache import FILES, data_digest, open_cache
from larvatus.pipeline.candidates.duration_estimate import DurationEstimate, usual_seconds
from larvatus.pipeline.candidates.parallel import Job, Outcome, not_made, room_for_two
from larvatus.pipeline.candidates.running_work import RunningWork
from larvatus.pipeline.candidates.shared_work import Work, work_of
from larvatus.pipeline.candidates.stored_outcomes import StoredOutcomes
from larvatus.pipeline.candidates.unit_runner import Plan, Unit, UnitRunner
from larvatus.pipeline.certify_releases import certificates_of
from larvatus.pipeline.engine_errors import in_main_thread
from larvatus.pipeline.make_release import mask
from larvatus.pipeline.measure_release import NULL_STAGE, MeasuredRelease, MeasureOutcome
from larvatus.study import Execution, PlannedRelease, Scoring, Study, plan_releases
from larvatus.study.redaction import redacted_study
from larvatus.study.scoring import scoring_of

_CERTIFY = "certificates"
WORTH_BLAS_THREADS = 100_000  # records from which matrix products gain by threads; in smaller files threads only wait


def compare(
    data: Microdata, releases: Sequence[ReleaseLike | PlannedRelease | SettingsTable] | Study,
    attacks: AttackLike | Sequence[AttackLike] | None = None, measures: MeasureLike | Sequence[MeasureLike] | None = None, *,
    intruder: IntruderLike | None = None, limits: LimitsLike | None = None, scoring: Scoring | None = None,
    secret: bytes | None = None, execution: Execution | None = None,
) -> Comparison:
    """Score several releases of the same data side by side.

    A release is a Release, a data frame, a file, or a table as in a study: `{"name": …, "steps": […]}`, with `grid` and
    `reverse_mapped`, or `{"name": …, "file": …, "paired": False}` for a file whose rows are no records of the original. Planned
    releases are made here with the secret, one after another, and discarded. A release that fails is listed in `not_made` with
    the reason. A Study in place of the list brings its releases, constraints, labels, purpose and scoring. The intruder's
    `other_releases` may name some of the releases. `scoring` has the less common settings: domains, analyses, null_resamples
    and combine. `execution` says how many processes work in parallel and where finished releases are stored.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> plan = [{"name": "noise", "steps": ["additive_noise"]}, {"name": "shuffled", "steps": ["data_shuffling"]}]
        >>> comparison = lv.compare(data, plan, ["nearest_record"], ["moments"], limits={"moments": 0.01})
        >>> comparison.meets().column("meets")
        [False, True]
        >>> comparison.wide().columns
        ('release', 'nearest_record', 'moments')
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
        if isinstance(r, PlannedRelease) or (isinstance(r, Mapping) and ("steps" in r or "file" in r)):
            out += plan_releases([r])
        else:
            out.append(r if isinstance(r, str | Path) else as_release(data, r))
    return out


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
    running = RunningWork(progress, DurationEstimate(usual_seconds(data.rows)), [])
    candidates = _Candidates(work, secret is not None, running)
    running.planned, running.names = [candidates.kinds(j) for j in left], [j.label for j in left]
    sent = sendable(data.engine)
    runner: UnitRunner[Outcome] = UnitRunner(
        candidates.bench.do, _do_there, _Bench(work), jobs if sent else 1, room_for_two(data), running, candidates.packed,
        candidates.store, in_main_thread(data),
    )
    with closing(runner):
        results = runner.results([candidates.plan(j) for j in left])
        outcomes: dict[int, Outcome] = {**ready, **{j.place: o for j, o in zip(left, results, strict=True)}}
    made = tuple(c for i in sorted(outcomes) if isinstance(c := outcomes[i], Candidate))
    if not made:
        raise candidates.first_error or RiskError("no release could be made.", subject="compare")
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
        return _judgeable(work, as_release(work.data, job.given))
    if job.given.file is not None:
        start, one = work.folder or Path(), job.given
        pairing = None if one.pairing is None else start / one.pairing
        return _judgeable(work, as_release(work.data, start / job.given.file, pairing, name=job.label, paired=one.paired))
    made = mask(
        work.data, *job.given.steps, secret=work.secret, name=job.label, constraints=work.constraints, folder=work.folder,
        progress=progress,
    )
    kept = [Note("rows are released in the original order", "warning", "row order")] if work.row_order == "keep" else []
    return replace(made, notes=(*made.notes, *kept))


def _order_of_rows(work: Work, job: Job, release: Release) -> Literal["random", "keep"]:
    """The order of the rows in the released file. A file that is paired by position has the original one."""
    made = isinstance(job.given, PlannedRelease) and job.given.file is None
    return work.row_order if made else "keep" if release.internals.kept_order else "random"


def _judgeable(work: Work, release: Release) -> Release:
    """The release; one without pairs is refused if no attack is named and there is no holdout, as it would look safe."""
    if not release.is_paired and work.data.holdout is None and not work.must:
        raise RiskError(f"the file is not paired with the original. To compare it with others, {NO_HOLDOUT}")
    return release


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is given for a unit: which part of which candidate, and the release if the process does not have it."""

    job: Job
    part: Literal["mask", "attack", "measure", "later", "certify"]
    place: int = 0
    kind: str = ""
    found: Sequence[MeasureOutcome] = ()
    release: Release | None = None
    open: frozenset[int] = frozenset()


class _OpenRelease:
    """A release that is being scored in this process."""

    def __init__(self, work: Work, job: Job, release: Release) -> None:
        self.work, self.job, self.release = work, job, release
        self.methods = work.methods(release.steps)

    @cached_property
    def attacked(self) -> AttackedRelease:
        beside = [self.work.beside.get(n, n) for n in self.work.who.other_releases if n != self.job.label]
        others = others_of(self.work.data, beside, (), "checked")
        work = self.work
        return AttackedRelease(work.data, self.release, self.methods, work.who, others, work.must, work.limits)

    @cached_property
    def measured(self) -> MeasuredRelease:
        work = self.work
        return MeasuredRelease(work.data, self.release, work.nulls, work.domains, work.analyses, work.named)


class _Bench:
    """Does the units of all candidates, in this process or in a second one. It holds the releases that are being scored."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.held: dict[int, _OpenRelease] = {}

    def open(self, job: Job, release: Release) -> _OpenRelease:
        if job.place not in self.held or self.held[job.place].release is not release:
            self.held[job.place] = _OpenRelease(self.work, job, release)
        return self.held[job.place]

    def do(self, asked: _Asked, progress: Progress) -> Any:
        """The release, or the outcome of one attack or measure, without figures per record."""
        small = self.work.data.rows < WORTH_BLAS_THREADS
        try:
            with one_blas_thread() if small else nullcontext():
                return self._done(asked, progress)
        finally:
            give_back()

    def _done(self, asked: _Asked, progress: Progress) -> Any:
        if asked.part == "mask":
            return self.open(asked.job, _made(self.work, asked.job, progress)).release
        if asked.release is not None:
            self.open(asked.job, asked.release)
        held = self.held[asked.job.place]
        if asked.part == "certify":
            return certificates_of(self.work.data, held.release, _order_of_rows(self.work, asked.job, held.release))
        if asked.part == "later":
            return held.measured.run_later(asked.kind, asked.found)
        outcome = held.attacked.run(asked.place) if asked.part == "attack" else held.measured.run(asked.place)
        return replace(outcome, score=outcome.score and replace(outcome.score, by_record=None, records=None))


def _do_there(bench: _Bench, asked: _Asked) -> Any:
    """Do a unit in the second process, and let go of releases that are finished."""
    for place in [p for p in bench.held if p not in asked.open and p != asked.job.place]:
        del bench.held[place]
    return bench.do(asked, current_progress())


class _Candidates:
    """The candidates of a comparison as plans of units; one that fails is listed, not raised."""

    def __init__(self, work: Work, resumable: bool, running: RunningWork) -> None:
        self.work, self.bench, self.resumable, self.running = work, _Bench(work), resumable, running
        self.there: set[int] = set()  # releases that the second process has
        self.first_error: Exception | None = None

    def kinds(self, job: Job) -> list[str]:
        """Kinds of work of a candidate, as far as they are known before it is made."""
        steps = job.given.steps if isinstance(job.given, PlannedRelease | Release) else ()
        later = [*([NULL_STAGE] if self.work.nulls.resamples else []), *([METHOD] if analyses_of(self.work.analyses) else []),
                 *([_CERTIFY] if self.work.certify else [])]
        return ["mask", *(m.name() for m in (*self.work.methods(steps), *self.work.nulls.methods)), *later]

    def packed(self, asked: _Asked) -> _Asked:
        """What is given for a unit in the second process."""
        place, held = asked.job.place, frozenset(self.bench.held)
        known, self.there = self.there, (self.there & held) | {place}
        send = asked.part != "mask" and place not in known
        return replace(asked, release=self.bench.held[place].release if send else None, open=held)

    def plan(self, job: Job) -> Plan[Outcome]:
        """Make one release, attack and measure it, write its files if asked for, and discard the data."""
        try:
            release, = yield [Unit("mask", job.label, "masking", _Asked(job, "mask"))]
            held = self.bench.open(job, release)
            attacked, measured = held.attacked, held.measured
            stored = self._stored(job)
            units = [_unit(job, "attack", i, m) for i, m in enumerate(held.methods)]
            units += [_unit(job, "measure", j, m) for j, m in enumerate(self.work.nulls.methods)]
            before: list[Any] = [stored.read(u.given.part, u.given.place) for u in units]
            new = iter((yield [u for u, known in zip(units, before, strict=True) if known is None]))
            outcomes = [next(new) if known is None else known for known in before]
            risks = attacked.scores(outcomes[: len(held.methods)])
            found = outcomes[len(held.methods) :]
            measured.check(found)
            for kind in measured.later:
                found, = yield [Unit(kind, job.label, kind, _Asked(job, "later", kind=kind, found=found))]
            certificates = None
            if self.work.certify:
                certificates, = yield [Unit(_CERTIFY, job.label, "certifying", _Asked(job, "certify"))]
            made = self._finished(job, release, risks, measured.scores(found), certificates)
            stored.remove()
            return made
        except (MachineError, MemoryError, OSError):  # they say nothing about the candidate
            raise
        except Exception as error:
            if not isinstance(error, LarvatusError) and os.environ.get("LARVATUS_DEBUG"):
                raise
            self.first_error = self.first_error or error
            return not_made(job, error)
        finally:
            self.bench.held.pop(job.place, None)

    def store(self, asked: _Asked, outcome: Any) -> None:
        """Store an outcome as soon as it is there."""
        if asked.part in ("attack", "measure"):
            self._stored(asked.job).write(asked.part, asked.place, outcome)

    def _stored(self, job: Job) -> StoredOutcomes:
        usable = self.resumable and self.work.kept is not None and job.key is not None
        return StoredOutcomes(self.work.kept.folder / f".{job.key}.scores" if usable and self.work.kept else None)

    def _finished(
        self, job: Job, release: Release, risks: Scores, losses: Scores, certificates: Certificates | None
    ) -> Candidate:
        """The candidate with its scores; its files and scores are written if there is a place for them."""
        work = self.work
        told = replace(release, notes=(*release.notes, *(
            Note(why, step=step) for step, made in (("attacks", risks), ("measures", losses)) for why in made.not_run
        )))
        candidate = Candidate.of(job.label, told, Scores([*risks, *losses]), make_codebook(release, work.data, work.labels))
        entry = work.budget.entry(work.data, release) if work.budget and release.is_paired else None
        if entry is not None and _order_of_rows(work, job, release) == "keep":
            entry = in_original_order(entry)
        total = work.budget.total(entry) if work.budget and entry else None
        candidate = replace(candidate, certificates=certificates, budget=total)
        if work.kept is None or job.key is None:
            return candidate
        with self.running.aside(job.label, "writing"), work.kept.adding(job.key) as place:
            if job.label in work.targets:
                _write(work, release, place, work.targets[job.label], with_entry(work.decided, work.data, release, entry))
            return work.kept.write(place, candidate)


def _unit(job: Job, part: Literal["attack", "measure"], place: int, method: Attack | Measure) -> Unit:
    doing = f"{'attacking' if part == 'attack' else 'measuring'}: {method.name()}"
    return Unit(method.name(), job.label, doing, _Asked(job, part, place))


def _write(work: Work, release: Release, place: Path, target: Path, decided: DecisionFacts | None) -> None:
    """Write the files of a release into its folder in the cache."""
    inside = place / FILES / INSIDE
    (place / FILES / target.parent).mkdir()
    inside.mkdir(mode=0o700)
    pairing = place / FILES / pairing_path(target) if work.pairings and release.is_paired else None
    if pairing is not None:
        pairing.parent.mkdir(mode=0o700)
    release.write(place / FILES / target, work.row_order, pairing, spreadsheet=work.spreadsheet)
    write_beside(release, work.data, place / FILES / target, decided=decided, labels=work.labels, inside=inside)
