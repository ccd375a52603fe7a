"""The loop over candidates: make, attack, measure, write down, let go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal

from larvatus.comparison.combined_scores import combinations_of
from larvatus.comparison.comparison import Candidate, Comparison, NotMade, about
from larvatus.comparison.limits import limits_of
from larvatus.constraints.settings import constraints_of
from larvatus.core.errors import RiskError, RolesError, StudyError
from larvatus.core.progress import Progress, silent
from larvatus.core.randomness import checked_secret, stream_key
from larvatus.data.contracts import Attack, Mask, Measure, sendable
from larvatus.data.intruder import Intruder, intruder_of
from larvatus.data.method_parsing import all_of, canonical
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.pairing import as_release
from larvatus.data.record_selection import with_records
from larvatus.data.release import Release
from larvatus.data.score import Scores
from larvatus.documents.codebook import make_codebook
from larvatus.documents.manifest import INSIDE, DecisionFacts, write_beside
from larvatus.measures.analyses.spec import analyses_of
from larvatus.measures.scoring.domains import domains_of
from larvatus.measures.scoring.null_placement import checked_resamples
from larvatus.pipeline.attack_release import attack_random, check_known, others_of, run_attacks
from larvatus.pipeline.candidates.cache import FILES, SECRET, CandidateCache, cache_key, data_digest, file_digest, kept_in
from larvatus.pipeline.candidates.parallel import CandidateRunner, Job, Outcome, not_made, room_for_two
from larvatus.pipeline.make_release import mask
from larvatus.pipeline.measure_release import run_measures
from larvatus.pipeline.null_distributions import Nulls
from larvatus.study import PlannedRelease, planned_of


def compare(
    data: Microdata, releases: Sequence[Any], attacks: Any = None, measures: Any = None, *,
    analyses: Any = None, intruder: Intruder | str | None = None, domains: Any = (), null: int = 0,
    combine: Any = (), limits: Any = None, secret: bytes | None = None, constraints: Any = None,
    keep: str | Path | None = None, at_once: int | None = None, progress: Progress = silent, purpose: str = "",
    study: str = "", labels: Mapping[str, str] | None = None,
) -> Comparison:
    """Score several releases of the same data side by side; `intruder.also` may name some of them.

    A release is one that was made, a frame, a file, or a table `{"name": …, "steps": […]}` as a study holds it, with `grid` and
    `reverse_mapped`: these are made here with the secret, one after another, and let go. One that fails is listed with its
    reason in `not_made`. `keep` names a folder in which finished ones are kept, so that a later call goes on from there.
    `at_once` is how many are worked on at a time, 1 or 2; without it, two where that pays and memory allows.
    `analyses`, `domains` and `null` are those of `utility`; `combine` and `limits` are those of a study;
    `study` is the text that the report gives for making it again; `labels` say what columns mean, for the codebook.
    """
    given: list[Any] = []
    for r in releases:
        if isinstance(r, PlannedRelease) or (isinstance(r, Mapping) and "steps" in r):
            given += planned_of([r])
        else:
            given.append(r if isinstance(r, str | Path) else as_release(data, r))
    if not given:
        raise RolesError("compare: no release is given. Pass at least one.")
    work = Work(
        data, attacks, Nulls(all_of(Measure, measures), checked_resamples(null), attack_random), intruder_of(intruder),
        tuple(domains) if isinstance(domains, list | tuple) else domains, analyses, checked_secret(secret), constraints,
        named=measures is not None, labels=labels,
    )
    judged = (combine, limits, purpose, study)
    if keep is None:
        return compare_candidates(work, given, judged, None, at_once, progress)
    with kept_in(Path(keep)) as kept:
        return compare_candidates(replace(work, kept=kept), given, judged, secret, at_once, progress)


@dataclass(frozen=True, slots=True)
class Work:
    """What all candidates of a comparison share; it can be sent to another process."""

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

    @property
    def methods(self) -> tuple[Attack, ...]:
        """The attacks that are named, or all; under an access tier, which limits every attack, the others after those named."""
        named = all_of(Attack, self.attacks)
        have = [a.name() for a in named]
        return (*named, *(a for a in all_of(Attack, None) if a.name() not in have)) if self.tier else tuple(named)

    @property
    def must(self) -> list[str]:
        """The attacks that are not to be left out."""
        return [] if self.attacks is None else [a.name() for a in all_of(Attack, self.attacks)]

    def key(self, given: Any, label: str, secret: bytes | None, digest: str) -> str | None:
        """The name of a candidate among kept ones, never used again where it cannot be told whether it is still the same."""
        if self.kept is None or not isinstance(given, PlannedRelease | Release):
            return None
        within = [n for n in self.who.also if n in self.beside]
        held = [f for f in (self.who.file, *(n for n in self.who.also if n not in within)) if f]
        if (within and secret is None) or not all(Path(f).exists() for f in held):
            return token_hex(16)
        made = canonical(_with_ids(given.steps, self.folder, self.data.roles.record_id))
        release = "" if isinstance(given, PlannedRelease) else " ".join(data_digest(c) for c in given.copies)
        drawn = "fresh" if secret is None else stream_key(secret, "kept").hex()[:32]
        files = [file_digest(f) for f in held]
        others = [canonical(_with_ids(self.beside[n].steps, self.folder, self.data.roles.record_id)) for n in within]
        scored = [
            canonical(self.methods), canonical(self.nulls.methods), str(self.nulls.resamples),
            self.who.model_dump_json(), repr(domains_of(self.domains, self.data)), repr(analyses_of(self.analyses)),
            constraints_of(self.constraints).model_dump_json(),
        ]
        place = f"{self.row_order} {self.targets.get(label)} {self.pairings} {self.labels}"
        return cache_key(digest, label, made, release, place, *files, *others, *scored) + SECRET + drawn


def _with_ids(steps: Sequence[Mask], folder: Path | None, record_id: str | None) -> list[Mask]:
    return [with_records(s, folder, record_id) for s in steps]


def compare_candidates(
    work: Work, given: Sequence[Any], judged: tuple[Any, Any, str, str], secret: bytes | None, at_once: int | None,
    progress: Progress, fresh: bool = False, check_keys: Callable[[Mapping[str, str]], None] = lambda keys: None,
) -> Comparison:
    """Go through all candidates, but for those that are kept; in the order they were given."""
    if at_once not in (None, 1, 2):
        raise StudyError([f"at_once: 1 or 2 candidates can be worked on at a time, got {at_once!r}."])
    combined = combinations_of(judged[0] or {})
    asked = limits_of(judged[1], combined)
    data, labels = work.data, _labels(given)
    check_known(data, work.who)
    work = replace(work, tier=asked.tier is not None)
    work = replace(work, beside=_beside_others(work, given, labels))
    digest = data_digest(data) if work.kept is not None else ""
    keys = [work.key(g, n, secret, digest) for n, g in zip(labels, given, strict=True)]
    if work.kept is not None and secret is None and not fresh:
        keys = [work.kept.like(k) if k else k for k in keys]
    jobs = [Job(i, n, g, k) for i, (n, g, k) in enumerate(zip(labels, given, keys, strict=True))]
    check_keys({j.label: j.key or "" for j in jobs})
    ready = {j.place: k for j in jobs if work.kept and j.key and not fresh and (k := work.kept.read(j.key)) is not None}
    if ready:
        progress(f"{len(ready)} of {len(jobs)} releases are there already", len(ready), len(jobs))
    through = CandidateRunner(
        [j for j in jobs if j.place not in ready], lambda job, tell: _candidate(work, job, tell), _candidate_there,
        lambda: work, at_once if sendable(data.engine) else 1, room_for_two(data), progress,
    )
    outcomes: dict[int, Outcome] = {**ready, **through.run()}
    made = tuple(c for i in sorted(outcomes) if isinstance(c := outcomes[i], Candidate))
    if not made:
        raise through.first_error or RiskError("compare: no release could be made.")
    lost = tuple(n for i in sorted(outcomes) if isinstance(n := outcomes[i], NotMade))
    there = tuple(labels[i] for i in ready)
    return Comparison(made, about(data, work.who, *judged[2:]), lost, combined, asked, there)


def _labels(given: Sequence[Any]) -> list[str]:
    names = [getattr(g, "name", None) or (Path(g).name if isinstance(g, str | Path) else "released") for g in given]
    return [n if names.count(n) == 1 else f"{n} ({names[: i + 1].count(n)})" for i, n in enumerate(names)]


def _beside_others(work: Work, given: Sequence[Any], labels: Sequence[str]) -> dict[str, Release]:
    """The releases that the intruder has beside each of the others: the only ones that are held all the time."""
    return {n: _made(work, Job(0, n, g), silent) for n, g in zip(labels, given, strict=True) if n in work.who.also}


def _made(work: Work, job: Job, progress: Progress) -> Release:
    if job.label in work.beside:
        return work.beside[job.label]
    if not isinstance(job.given, PlannedRelease):
        return as_release(work.data, job.given)
    made = mask(
        work.data, *job.given.steps, secret=work.secret, name=job.label, constraints=work.constraints, folder=work.folder,
        progress=progress,
    )
    kept = [Note("rows leave in the original's order", "warning", "row order")] if work.row_order == "keep" else []
    return replace(made, notes=(*made.notes, *kept))


def _candidate(work: Work, job: Job, progress: Progress) -> Candidate:
    """Make one release, attack it, measure it and, where it is to be kept, write it down; then let it go."""
    release = _made(work, job, progress)
    also = [work.beside.get(n, n) for n in work.who.also if n != job.label]
    others = others_of(work.data, also, (), "checked")
    risks = run_attacks(work.data, release, work.methods, work.who, others, work.must, progress)
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
            pairing = place / FILES / "pairings" / f"{target.stem}.parquet" if work.pairings else None
            if pairing is not None:
                pairing.parent.mkdir(mode=0o700)
            release.write(place / FILES / target, work.row_order, pairing)
            inside = place / FILES / INSIDE
            inside.mkdir(mode=0o700)
            write_beside(
                release, work.data, place / FILES / target, decided=work.decided, labels=work.labels, inside=inside
            )
        return work.kept.write(place, candidate)


def _candidate_there(work: Work, job: Job) -> Outcome:
    """The same in another process, which has nobody to tell."""
    try:
        return _candidate(work, job, silent)
    except Exception as error:
        return not_made(job, error)
