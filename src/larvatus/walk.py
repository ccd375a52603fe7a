"""The walk from a source to a comparison: the only file that knows the order."""

from __future__ import annotations

import itertools
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal

from larvatus.comparison.analyses import analysed, check_can_be_made
from larvatus.comparison.candidates import Job, Outcome, Through, can_be_sent, not_made, room_for_two
from larvatus.comparison.combining import combinations_of
from larvatus.comparison.comparison import Candidate, Comparison, NotMade, about
from larvatus.comparison.found import Found
from larvatus.comparison.goal import Bounds, Goal, Objective, bounds_of, measures_of
from larvatus.comparison.kept import FILES, Kept, data_digest, file_digest, kept_in, key_of
from larvatus.comparison.kept import FOLDER as KEPT
from larvatus.comparison.limits import Judgement, Limits, limits_of, needed_for
from larvatus.comparison.nulls import Nulls
from larvatus.comparison.search import searched
from larvatus.comparison.search_space import space_of
from larvatus.comparison.told_study import told_study
from larvatus.core.errors import (
    EngineError,
    LarvatusWarning,
    MaskError,
    PairingError,
    RiskError,
    RolesError,
    StudyError,
    UtilityError,
    WriteError,
    nearest_names,
)
from larvatus.core.files import check_folder, moved_into, write_text
from larvatus.core.progress import Progress, heard_by, silent
from larvatus.core.randomness import RecordRandom, checked_secret, stream_key
from larvatus.data.advice import Advice, advice
from larvatus.data.alignment import in_groups_of
from larvatus.data.analyses import analyses_of
from larvatus.data.chosen import with_records
from larvatus.data.codebook import codebook
from larvatus.data.constraints import Constraints, constraints_of
from larvatus.data.contracts import Attack, Engine, Mask, Measure, Method
from larvatus.data.copies import copies_asked, mean_over, said_of_copies, single, worst_of
from larvatus.data.credits import with_record_ids
from larvatus.data.domains import Parted, domains_of, parted
from larvatus.data.groups import settings_of
from larvatus.data.intruder import Intruder, intruder_of
from larvatus.data.joined_releases import joined_with, stronger_of
from larvatus.data.lost_columns import scored
from larvatus.data.manifest import (
    INSIDE,
    Decided,
    approve,
    approved_release,
    beside,
    decided_for,
    manifest_paths,
    write_beside,
)
from larvatus.data.methods import all_of, canonical, short_text
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.nulls import checked_resamples
from larvatus.data.obedience import Obedience
from larvatus.data.pairing import as_release, in_declared_groups
from larvatus.data.release import Release, copy_paths
from larvatus.data.roles import Roles, SubGroups, released_columns
from larvatus.data.sampled import sampled
from larvatus.data.score import Row, Rows, Score, Scores, csv_text
from larvatus.data.steps import applied, check_columns, check_orders, in_workable_groups, unchanged_notes
from larvatus.data.taxonomy import with_taxonomies
from larvatus.engines._choice import engine_for
from larvatus.reporting.side_by_side import METHOD
from larvatus.study import Planned, Study, planned_of


def read(
    source: Any,
    roles: Roles | None = None,
    *,
    confidential: Sequence[str] | str | None = None,
    non_confidential: Sequence[str] | str = (),
    sub_groups: Sequence[str] | SubGroups | str = (),
    identifiers: Sequence[str] | str = (),
    weight: str | None = None,
    record_id: str | None = None,
    nominal: Sequence[str] | str = (),
    taxonomies: Mapping[str, Any] | None = None,
    engine: str | Engine = "auto",
    memory: int | str | None = None,
    master: str | None = None,
) -> Microdata:
    """Read a file, a folder or pattern of files, or a frame with the roles of its columns; others are never released.

    `taxonomies` are hierarchies of columns of names: nested tables, or the name of a CSV file from leaf to root.
    `engine` is "auto", a name, or an engine; "auto" takes what fits comfortably in memory there, and works on disk with
    DuckDB on the rest, within `memory` (an amount such as "2GB"). A Spark data frame is worked on by Spark; `master` is the
    address of a cluster to start a session on.
    """
    if roles is None:
        if confidential is None:
            raise RolesError("read: no column is declared confidential, so there is nothing to mask. Name at least one.")
        roles = Roles.model_validate({
            "confidential": confidential, "non_confidential": non_confidential, "identifiers": identifiers,
            "weight": weight, "record_id": record_id, "nominal": nominal,
            "taxonomies": dict(taxonomies or {}),
        })
    elif confidential is not None or taxonomies:
        raise RolesError(f"read: give roles, or {'taxonomies' if taxonomies else 'confidential'} = …, not both.")
    settings = settings_of(sub_groups)
    roles = with_taxonomies(roles)
    used, why = engine_for(source, engine, memory, len(released_columns(roles, settings)), master)
    if why:
        warnings.warn(why, LarvatusWarning, stacklevel=2)
    return Microdata(used.read(source, roles, settings), roles, settings, used)


@contextmanager
def _doing(method: Method) -> Iterator[None]:
    """Errors of an engine with the name of the method that asked for too much."""
    try:
        yield
    except EngineError as error:
        raise EngineError(f"{method.name()}: {error}") from None


def mask(
    data: Microdata, *steps: Any, secret: bytes | None = None, name: str | None = None, constraints: Any = None,
    progress: Progress = silent, folder: Path | None = None,
) -> Release:
    """Run masks one after another on the data; the same secret and steps give the same release.

    From a step on that makes several copies, every step runs on each copy with draws of its own. `constraints` are rules
    that every record is to obey: Constraints, a table of their settings, or a list of rules such as "TAXINC <= AGI".
    `folder` is where files of record ids (`where = "@ids.csv"`) lie, if not in the working directory.
    """
    told_steps = all_of(Mask, list(steps[0]) if len(steps) == 1 and isinstance(steps[0], list | tuple) else list(steps))
    masks = tuple(with_records(m, folder, data.roles.record_id) for m in told_steps)
    if not masks:
        raise MaskError("mask: no step is given. Name at least one, for example \"additive_noise\".")
    secret = checked_secret(secret)
    asked = constraints_of(constraints)
    rules = Obedience.of(asked, data, masks) if asked != Constraints() else None
    seen = data
    if rules is not None:
        seen = rules.seen(data)
        masks = rules.steps(masks, seen)
    check_columns(seen, masks)
    check_orders(seen, masks)
    original, notes = in_workable_groups(seen, masks)
    context = data.roles.model_dump_json() + original.sub_groups.model_dump_json() + (asked.model_dump_json() if rules else "")
    current, said = _stepped(masks, original, secret, context, progress)
    notes += said
    table = Rows()
    if rules is not None:
        progress("masking: rules", 1, 1)
        original = original.with_confidential(data.roles.confidential)
        seen_again = rules.seen(original)
        current, said, table = rules.kept(
            current, original, lambda k: _stepped(masks, seen_again, secret, context, progress, f"attempt {k}")[0], masks
        )
        notes = [*(n for n in notes if not n.promise), *said]
    notes += said_of_copies([unchanged_notes(copy, original) for copy in current])
    order = RecordRandom(stream_key(secret, "row order", context, canonical(masks)))
    told_steps += masks[len(told_steps) :]  # what rules added; record ids from files stay out of what is told
    label = name or " + ".join(short_text(m) for m in told_steps)
    return Release(label, tuple(current), told_steps, tuple(notes), order=order, rules=table)


def _stepped(
    masks: Sequence[Mask], original: Microdata, secret: bytes, context: str, progress: Progress, *attempt: str
) -> tuple[list[Microdata], list[Note]]:
    """Every copy after all steps, and what they said; another attempt draws anew what copies do not share."""
    copies, first = copies_asked(masks)
    current = [original]
    notes: list[Note] = []
    for i, step in enumerate(masks):
        if i == first:
            current *= copies
        said: list[list[Note]] = []
        for c, copy in enumerate(current):
            doing = f"masking: {step.name()}" + (f", copy {c + 1}" if len(current) > 1 else "")
            progress(doing, i * len(current) + c, len(masks) * len(current))
            key, common = (
                stream_key(secret, "mask", context, canonical(masks[: i + 1]), str(i), *which)
                for which in ((f"copy {c}", *attempt), ("all copies",))
            )
            with _doing(step):
                current[c], told = applied(step, copy, original, RecordRandom(key, common))
            said.append([replace(n, step=n.step or step.name()) for n in told])
        if not step.keeps_promises or step.where is not None:
            notes = [n for n in notes if not n.promise]
        notes += said_of_copies(said)
    return current, notes


def _attack_random(method: Attack | Measure) -> RecordRandom:
    return RecordRandom(stream_key(b"scores are not secret", canonical([method])))


def risk(
    data: Microdata, release: Any, attacks: Any = None, *, intruder: Intruder | str | None = None, also: Any = None,
    pairing: str | Path | None = None, also_pairing: Sequence[str | Path] = (),
    row_order: Literal["checked", "keep"] = "checked", progress: Progress = silent,
) -> Scores:
    """Attack a release (a Release, a frame, a path, or a list of these for its copies).

    Every attack that applies to the release is run unless some are named. Of several copies every one is attacked, and their
    average; the score is that of the worst. `intruder` is one, or the name of a preset; `also` lists other releases of the
    same records that the intruder has too (by default those of `intruder.also`), in the order of their pairing files.
    """
    methods = all_of(Attack, attacks)
    who = intruder_of(intruder)
    _check_known(data, who)
    candidate = as_release(data, release, pairing, row_order=row_order)
    if not candidate.paired:
        raise PairingError("the release is not paired with the original, and attacks need the truth. Give its pairing file.")
    others = _others(data, who.also if also is None else also, also_pairing, row_order)
    views = [_View.of(data, candidate)]
    if others:
        views.append(_View.of(*joined_with(data, candidate, others)))
    out: list[Score] = []
    left_out: list[str] = []
    for i, method in enumerate(methods):
        progress(f"attacking: {method.name()}", i, len(methods))
        try:
            with heard_by(progress):
                found = [_attacked(method, view, who) for view in views]
        except (RiskError, UtilityError, EngineError) as error:
            if attacks is not None:
                raise
            left_out.append(f"{method.name()}: {str(error).removeprefix(method.name() + ': ')}")
            continue
        out.append(_told(stronger_of(found[0], found[1], others) if others else found[0], candidate, release))
    if not out:
        raise RiskError(left_out[0] if left_out else "risk: no attack is named. Name one, or none for all that apply.")
    scores = Scores(with_record_ids(out, candidate.data))
    scores.not_run = tuple(f"not run, because it does not apply: {why}" for why in left_out)
    return scores


@dataclass(frozen=True, slots=True)
class _View:
    """The original and the release as an intruder has them: alone, or joined with other releases."""

    data: Microdata
    original: Microdata
    copies: list[tuple[str, Release, Release | None]]

    @classmethod
    def of(cls, data: Microdata, release: Release) -> _View:
        declared = in_declared_groups(data, release)
        return cls(data, in_groups_of(data, release.data), _copies(release, declared, averaged=True))


def _attacked(method: Attack, view: _View, who: Intruder) -> Score:
    with _doing(method):
        return worst_of({
            copy: _beside(
                method.attack(view.original, here, who, _attack_random(method)),
                method.attack(view.data, beside, who, _attack_random(method)) if beside else None,
            )
            for copy, here, beside in view.copies
        })


def _others(data: Microdata, also: Any, pairings: Sequence[str | Path], row_order: Literal["checked", "keep"]) -> list[Release]:
    """Other releases of the same records that an intruder has too."""
    given = [also] if isinstance(also, str | Path | Release) or hasattr(also, "columns") else list(also)
    if len(pairings) > len(given):
        raise PairingError(f"also_pairing: {len(pairings)} pairing files for {len(given)} other releases. Name with also "
                           "(--also) the release that each of them pairs, in the same order.")
    beside = [*pairings, *[None] * (len(given) - len(pairings))]
    return [as_release(data, o, p, row_order=row_order) for o, p in zip(given, beside, strict=True)]


def _told(score: Score, candidate: Release, given: Any) -> Score:
    """The score of a file masked elsewhere, with what was noticed when it was read."""
    return score if given is candidate else replace(score, notes=(*score.notes, *(str(n) for n in candidate.notes)))


def _copies(candidate: Release, declared: Release | None, averaged: bool) -> list[tuple[str, Release, Release | None]]:
    """Each copy alone, and their average where asked for, in effective sub-groups and in declared ones where these differ."""
    here = single(candidate, averaged)
    beside = [r for _, r in single(declared, averaged)] if declared else [None] * len(here)
    return [(copy, one, other) for (copy, one), other in zip(here, beside, strict=True)]


def _beside(score: Score, declared: Score | None) -> Score:
    """A score in effective sub-groups, with the one in declared sub-groups in its details."""
    if declared is None:
        return score
    return replace(score, details={**score.details, "declared_sub_groups": declared.by_group})


def _check_known(data: Microdata, intruder: Intruder) -> None:
    unknown = [n for n in intruder.known if n not in data.released]
    if unknown:
        raise RolesError(f"intruder.known: {unknown[0]!r} is not a released column; {nearest_names(unknown[0], data.released)}")


def utility(
    data: Microdata, release: Any, measures: Any = None, *, analyses: Any = None, pairing: str | Path | None = None,
    row_order: Literal["checked", "keep"] = "checked", domains: Any = (), null: int = 0, progress: Progress = silent,
) -> Scores:
    """Measure what analysts lost; every measure there is unless some are named. Of several copies, the mean loss.

    `analyses` are those that users are known to run: an Analysis, a formula such as "FEDTAX ~ AGI", a table of settings, or a
    list of these. They are made of both files, and the last score, `analyses`, holds them side by side.
    `domains` are parts of the file that every measure is also taken in: a column, a condition, or a column with quantiles,
    as text ("REGION", "AGE >= 65", "INCOME: 0.25, 0.5, 0.75") or as tables with `name`, `column`, `where`, `quantiles`.
    `null` is how many resamples of the original, drawn with replacement, every loss is held against; 200 will do.
    """
    methods = all_of(Measure, measures)
    nulls = Nulls(methods, checked_resamples(null), _attack_random)
    return _measured(data, release, nulls, domains, analyses, pairing, row_order, progress, named=measures is not None)


def _measured(
    data: Microdata, release: Any, nulls: Nulls, domains: Any, analyses: Any, pairing: str | Path | None = None,
    row_order: Literal["checked", "keep"] = "checked", progress: Progress = silent, named: bool = True,
) -> Scores:
    methods, planned = nulls.methods, analyses_of(analyses)
    asked = domains_of(domains, data)
    candidate = as_release(data, release, pairing, must_pair=any(m.paired for m in methods), row_order=row_order)
    original, declared = in_groups_of(data, candidate.data), in_declared_groups(data, candidate)
    found: list[Score | None] = []
    left_out: list[str] = []
    copies = _copies(candidate, declared, averaged=False)
    inside = {copy: [parted(d, data, here) for d in asked] for copy, here, _ in copies}
    for i, method in enumerate(methods):
        progress(f"measuring: {method.name()}", i, len(methods))
        try:
            with _doing(method):
                each = {
                    copy: _in_domains(method, inside[copy], _beside(
                        scored(method, original, here, _attack_random(method)),
                        scored(method, data, beside, _attack_random(method)) if beside else None,
                    ))
                    for copy, here, beside in copies
                }
        except UtilityError as error:
            why = f"{method.name()}: {str(error).removeprefix(method.name() + ': ')}"
            if named:
                raise UtilityError(why) from None
            left_out.append(why)
            found.append(None)
            continue
        found.append(_told(mean_over(each), candidate, release))
    if left_out and not any(found) and not planned:
        raise UtilityError(left_out[0])
    out = list(nulls.beside(found, original, candidate, progress))
    if planned:
        random = RecordRandom(stream_key(b"scores are not secret", METHOD))
        out.append(_told(analysed(data, candidate, planned, random, progress), candidate, release))
    scores = Scores(out)
    scores.not_run = tuple(f"not measured, because it does not apply: {why}" for why in left_out)
    return scores


def _in_domains(method: Measure, domains: Sequence[Parted], score: Score) -> Score:
    """The score with what the measure finds in every part of every domain, or why it finds nothing there."""
    rows: list[Row] = []
    notes = list(score.notes)
    for domain in domains:
        if domain.gone:
            named = ", ".join(domain.gone[:5]) + (f" and {len(domain.gone) - 5} more" if len(domain.gone) > 5 else "")
            notes.append(f"no record of {domain.title}: {named} is released, so that nothing is measured there")
        try:
            rows += domain.scored(method, _attack_random(method))
        except UtilityError as error:
            notes.append(f"not measured in the domain {domain.title}: {str(error).removeprefix(method.name() + ': ')}")
    return replace(score, by_domain=Rows.of(rows), notes=tuple(notes))


def check(
    data: Microdata, release: Any, limits: Any, attacks: Any = None, measures: Any = None, *, combine: Any = (),
    analyses: Any = None, intruder: Intruder | str | None = None, also: Any = None, pairing: str | Path | None = None,
    also_pairing: Sequence[str | Path] = (), row_order: Literal["checked", "keep"] = "checked", progress: Progress = silent,
) -> Judgement:
    """Hold a release against limits: Limits, the name of an access tier, or a table as `[limits]` holds it.

    Without attacks or measures, those that the limits need are run; for an access tier, every attack that applies. A limit
    on a score that did not run is broken.
    """
    combined = combinations_of(combine or {})
    asked = limits_of(limits, combined)
    if not asked:
        raise StudyError(["limits: none is stated. Add [limits] to the study, or name a tier such as \"public\"."])
    given = as_release(data, release, pairing, row_order=row_order)
    found: list[Score] = []
    not_run: dict[str, str] = {}
    if asked.tier is not None or (attacks is None and asked.of_attacks is not None):
        found += risk(data, given, None, intruder=intruder, also=also, also_pairing=also_pairing, progress=progress)
        have = [s.method for s in found]
        more = [a for a in all_of(Attack, attacks or []) if a.name() not in have or a != type(a)()]
        attacks = [*more, *(n for n in needed_for(asked, combined, "risk") if n not in have)]
    for attack in all_of(Attack, needed_for(asked, combined, "risk") if attacks is None else attacks):
        with _noted(attack, not_run):
            found += risk(data, given, [attack], intruder=intruder, also=also, also_pairing=also_pairing, progress=progress)
    for measure in all_of(Measure, needed_for(asked, combined, "loss") if measures is None else measures):
        if measure.name() != METHOD:
            with _noted(measure, not_run):
                found += utility(data, given, [measure], progress=progress)
    if analyses:
        found += [s for s in utility(data, given, [], analyses=analyses, progress=progress) if s.method == METHOD]
    return asked.judge(found, combined, not_run)


@contextmanager
def _noted(method: Method, not_run: dict[str, str]) -> Iterator[None]:
    """Why a method did not run, for the limits that speak of it."""
    try:
        yield
    except (RiskError, UtilityError, EngineError) as error:
        not_run[method.name()] = str(error).removeprefix(f"{method.name()}: ")


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
        if isinstance(r, Planned) or (isinstance(r, Mapping) and "steps" in r):
            given += planned_of([r])
        else:
            given.append(r if isinstance(r, str | Path) else as_release(data, r))
    if not given:
        raise RolesError("compare: no release is given. Pass at least one.")
    work = _Work(
        data, attacks, Nulls(all_of(Measure, measures), checked_resamples(null), _attack_random), intruder_of(intruder),
        tuple(domains) if isinstance(domains, list | tuple) else domains, analyses, checked_secret(secret), constraints,
        named=measures is not None, labels=labels,
    )
    judged = (combine, limits, purpose, study)
    if keep is None:
        return _compared(work, given, judged, None, at_once, progress)
    with kept_in(Path(keep)) as kept:
        return _compared(replace(work, kept=kept), given, judged, secret, at_once, progress)


@dataclass(frozen=True, slots=True)
class _Work:
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
    kept: Kept | None = None
    row_order: Literal["random", "keep"] = "random"
    targets: Mapping[str, Path] = field(default_factory=dict)
    pairings: bool = False
    beside: Mapping[str, Release] = field(default_factory=dict)
    named: bool = False
    labels: Mapping[str, str] | None = None
    decided: Decided | None = None

    def key(self, given: Any, label: str, secret: bytes | None, digest: str) -> str | None:
        """The name of a candidate among kept ones, never used again where it cannot be told whether it is still the same."""
        if self.kept is None or not isinstance(given, Planned | Release):
            return None
        within = [n for n in self.who.also if n in self.beside]
        held = [f for f in (self.who.file, *(n for n in self.who.also if n not in within)) if f]
        if (within and secret is None) or not all(Path(f).exists() for f in held):
            return token_hex(16)
        made = canonical(_with_ids(given.steps, self.folder, self.data.roles.record_id))
        release = "" if isinstance(given, Planned) else " ".join(data_digest(c) for c in given.copies)
        drawn = "fresh" if secret is None else stream_key(secret, "kept").hex()
        files = [file_digest(f) for f in held]
        others = [canonical(_with_ids(self.beside[n].steps, self.folder, self.data.roles.record_id)) for n in within]
        scored = [
            canonical(all_of(Attack, self.attacks)), canonical(self.nulls.methods), str(self.nulls.resamples),
            self.who.model_dump_json(), repr(domains_of(self.domains, self.data)), repr(analyses_of(self.analyses)),
            constraints_of(self.constraints).model_dump_json(),
        ]
        place = f"{self.row_order} {self.targets.get(label)} {self.pairings} {self.labels}"
        return key_of(digest, label, made, release, drawn, place, *files, *others, *scored)


def _with_ids(steps: Sequence[Mask], folder: Path | None, record_id: str | None) -> list[Mask]:
    return [with_records(s, folder, record_id) for s in steps]


def _compared(
    work: _Work, given: Sequence[Any], judged: tuple[Any, Any, str, str], secret: bytes | None, at_once: int | None,
    progress: Progress, fresh: bool = False, check_keys: Callable[[Mapping[str, str]], None] = lambda keys: None,
) -> Comparison:
    """Go through all candidates, but for those that are kept; in the order they were given."""
    if at_once not in (None, 1, 2):
        raise StudyError([f"at_once: 1 or 2 candidates can be worked on at a time, got {at_once!r}."])
    combined = combinations_of(judged[0] or {})
    asked = limits_of(judged[1], combined)
    data, labels = work.data, _labels(given)
    work = replace(work, beside=_beside_others(work, given, labels))
    digest = data_digest(data) if work.kept is not None else ""
    jobs = [Job(i, n, g, work.key(g, n, secret, digest)) for i, (n, g) in enumerate(zip(labels, given, strict=True))]
    check_keys({j.label: j.key or "" for j in jobs})
    ready = {j.place: k for j in jobs if work.kept and j.key and not fresh and (k := work.kept.read(j.key)) is not None}
    if ready:
        progress(f"{len(ready)} of {len(jobs)} releases are there already", len(ready), len(jobs))
    through = Through(
        [j for j in jobs if j.place not in ready], lambda job, tell: _candidate(work, job, tell), _candidate_there,
        lambda: work, at_once if can_be_sent(data) else 1, room_for_two(data), progress,
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


def _beside_others(work: _Work, given: Sequence[Any], labels: Sequence[str]) -> dict[str, Release]:
    """The releases that the intruder has beside each of the others: the only ones that are held all the time."""
    return {n: _made(work, Job(0, n, g), silent) for n, g in zip(labels, given, strict=True) if n in work.who.also}


def _made(work: _Work, job: Job, progress: Progress) -> Release:
    if job.label in work.beside:
        return work.beside[job.label]
    if not isinstance(job.given, Planned):
        return as_release(work.data, job.given)
    made = mask(
        work.data, *job.given.steps, secret=work.secret, name=job.label, constraints=work.constraints, folder=work.folder,
        progress=progress,
    )
    kept = [Note("rows leave in the original's order", "warning", "row order")] if work.row_order == "keep" else []
    return replace(made, notes=(*made.notes, *kept))


def _candidate(work: _Work, job: Job, progress: Progress) -> Candidate:
    """Make one release, attack it, measure it and, where it is to be kept, write it down; then let it go."""
    release = _made(work, job, progress)
    also = [work.beside.get(n, n) for n in work.who.also if n != job.label]
    risks = risk(work.data, release, work.attacks, intruder=work.who, also=also, progress=progress)
    losses = _measured(work.data, release, work.nulls, work.domains, work.analyses, progress=progress, named=work.named)
    told = replace(release, notes=(*release.notes, *(
        Note(why, step=step) for step, made in (("attacks", risks), ("measures", losses)) for why in made.not_run
    )))
    candidate = Candidate.of(job.label, told, Scores([*risks, *losses]), codebook(release, work.data, work.labels))
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


def _candidate_there(work: _Work, job: Job) -> Outcome:
    """The same in another process, which has nobody to tell."""
    try:
        return _candidate(work, job, silent)
    except Exception as error:
        return not_made(job, error)


def run(
    study: Study, out: str | Path | None = None, *, secret: bytes | None = None, force: bool = False,
    suffix: str = ".parquet", row_order: Literal["random", "keep"] = "random", pairings: bool = False,
    public: str | None = None, intruder: Intruder | str | None = None, chosen: str | None = None, why: str = "",
    approved_by: str = "", at_once: int | None = None, fresh: bool = False, progress: Progress = silent,
) -> Comparison:
    """Carry out a study: make every release, score them, and write releases, scores and report into a folder.

    With `pairings`, a file for each release that pairs its rows with the original's is kept in a folder only the owner can
    read; `public` names the release that a public edition of the report is written for, `chosen` the one that the report puts
    forward, for the reasons in `why`; `intruder` stands in for the study's.
    Beside each release lie a codebook and a manifest that may leave with it; manifests with everything but the secret lie in
    `internal/`, and that of the public release, or else of the chosen or the only one, names who approved it.
    Each release is written as soon as it is scored, and let go. Run again, the same study goes on where it was stopped, and
    makes only what is new in it, unless `fresh` asks for everything anew; `at_once` is that of `compare`.
    """
    if not study.release:
        raise StudyError(["release: none is planned. Add [[release]] with a name and steps."])
    for what, wanted in (("public", public), ("chosen", chosen)):
        if wanted is not None and wanted not in [r.name for r in study.release]:
            raise StudyError([f"{what}: no release {wanted!r}; {nearest_names(wanted, [r.name for r in study.release])}"])
    approved = approved_release(approved_by, public or chosen, [r.name for r in study.release])
    data = read(
        study.source_path(), study.roles, sub_groups=study.sub_groups, engine=study.engine, memory=study.memory,
        master=study.master,
    )
    check_can_be_made(study.analysis, data)
    work = _Work(
        data, study.attack, Nulls(all_of(Measure, study.measure), checked_resamples(study.utility.null), _attack_random),
        study.intruder_here() if intruder is None else intruder_of(intruder), study.domain, study.analysis,
        checked_secret(secret), study.constraints, study.folder, named=study.measure is not None,
        labels=study.labels, decided=decided_for(study, row_order),
    )
    judged = (study.combine, study.limits, study.purpose, told_study(study.plain()))
    if out is None:
        return _compared(work, study.release, judged, secret, at_once, progress)
    folder = Path(out)
    targets = _targets(folder, study, suffix)
    with kept_in(folder / KEPT, folder) as kept:
        there = replace(work, kept=kept, row_order=row_order, targets=targets, pairings=pairings)
        keys: dict[str, str] = {}

        def check_keys(found: Mapping[str, str]) -> None:
            keys.update(found)
            _check_free(kept, folder, targets, study, {} if fresh else found, force)

        comparison = _compared(there, study.release, judged, secret, at_once, progress, fresh, check_keys)
        made = [keys[c.name] for c in comparison.candidates]
        with moved_into(folder) as temporary:
            (temporary / "releases").mkdir()
            for key in made:
                kept.hand_over(key, temporary)
            _write_scores(comparison, temporary, public, chosen, why)
            files = [str(p.relative_to(temporary)) for p in sorted(temporary.rglob("*")) if p.is_file()]
        if approved is not None and approved in [c.name for c in comparison.candidates]:
            approve(manifest_paths(folder / targets[approved], folder / INSIDE)[1], approved_by)
        before = [f for f in kept.written()["files"] if f not in files and (folder / f).is_file()]
        kept.finish(made, [*files, *before])
    return comparison


def _write_scores(comparison: Comparison, folder: Path, public: str | None, chosen: str | None, why: str) -> None:
    made = [c.name for c in comparison.candidates]
    lost = next((n for n in (public, chosen) if n is not None and n not in made), None)
    if lost is not None:
        reason = next(n.reason for n in comparison.not_made if n.name == lost)
        raise MaskError(f"the release {lost!r}, which the report is about, could not be made: {reason}")
    write_text(folder / "scores.json", json.dumps(comparison.plain(), indent=1, ensure_ascii=False), False)
    write_text(folder / "scores.csv", csv_text(comparison.tidy()), False)
    comparison.report(folder / "report.html", chosen=chosen, why=why)
    if public is not None:
        comparison.report(folder / "report_public.html", "public", release=public)


def _check_free(
    kept: Kept, folder: Path, targets: Mapping[str, Path], study: Study, keys: Mapping[str, str], force: bool
) -> None:
    """Refuse to overwrite anything unasked, but for what an earlier run of these same releases has written."""
    files = [folder / f for r in study.release for f in _made_of(targets[r.name], copies_asked(r.steps)[0])]
    names = [folder / n for n in ("scores.json", "scores.csv", "report.html")]
    there = [p for p in (*names, *files) if p.exists()]
    if force or not there:
        return
    written = kept.written()
    ours = written["files"] if set(written["keys"]) <= set(keys.values()) else {}
    taken = [p for p in there if (name := str(p.relative_to(folder))) not in ours or ours[name] != file_digest(p)]
    if taken:
        raise WriteError(f"{taken[0]} exists already. Choose another folder, or overwrite with --force (force=True).")


def advise(data: Microdata) -> Advice:
    """Look at the data and say in plain words which masks suit and why."""
    return advice(data)


def search(
    data: Microdata, space: Any, limits: Any, objective: Objective = None, *, attacks: Any = None, measures: Any = None,
    intruder: Intruder | str | None = None, constraints: Any = None, goal: Goal | None = None, secret: bytes | None = None,
    folder: Path | None = None, progress: Progress = silent,
) -> Found:
    """Find the settings with the least loss among those that keep the limits, and confirm them with fresh secrets.

    `space` lists steps with `range` and `choice` in place of settings; `limits` is anything with `violation(scores)`, or a
    table such as {"nearest_record": {"above_chance": 0.01}}, judged by the upper end of intervals. `objective` is a measure,
    several, weights of several, or a function of the scores. `goal` says how many candidates are tried and confirmed.
    """
    goal, spaces, judge = goal or Goal(), space_of(space), bounds_of(limits)
    if isinstance(judge, Bounds):
        attacks = judge.attacks_among(attacks)
    elif isinstance(judge, Limits) and attacks is None and judge.of_attacks is None:
        attacks = needed_for(judge, (), "risk") or None
    secret, used = checked_secret(secret), measures_of(objective, measures)
    explored = sampled(data, goal.sample, secret)

    def candidate(name: str, steps: tuple[Mask, ...], key: bytes, whole: bool) -> tuple[Release, Scores]:
        of = data if whole else explored
        made = mask(of, *steps, secret=key, name=name, constraints=constraints, folder=folder)
        scores = [*risk(of, made, attacks, intruder=intruder), *utility(of, made, used)]
        return made, Scores(scores)

    found = searched(spaces, judge, objective, goal, secret, candidate, progress)
    return found.told(explored.rows, data.rows)


def search_study(
    study: Study, out: str | Path | None = None, *, secret: bytes | None = None, force: bool = False, suffix: str = ".parquet",
    row_order: Literal["random", "keep"] = "random", approved_by: str = "", progress: Progress = silent,
) -> Found:
    """Carry out the search of a study; write what was tried and confirmed, and the chosen release with everything beside it."""
    if not study.search:
        raise StudyError(["search: nothing is to be tried. Add [[search]] with steps whose settings have a range."])
    data = read(
        study.source_path(), study.roles, sub_groups=study.sub_groups, engine=study.engine, memory=study.memory,
        master=study.master,
    )
    names = ("tried.csv", "confirmed.csv", "study.toml", "scores.json", "report.html")
    for name in names if out is not None else ():
        if (Path(out or "") / name).exists() and not force:
            raise WriteError(f"{Path(out or '') / name} exists already. Choose another folder, or overwrite with --force.")
    limits = study.limits or study.goal.limits
    found = search(
        data, study.search, limits, study.goal.objective, attacks=study.attack, measures=study.measure, goal=study.goal,
        intruder=study.intruder_here(), constraints=study.constraints, secret=secret, folder=study.folder, progress=progress,
    )
    if out is None:
        return found
    with moved_into(Path(out)) as folder:
        write_text(folder / "tried.csv", csv_text(found.table()), force)
        write_text(folder / "confirmed.csv", csv_text(found.confirmed()), force)
        if found.release is not None and found.chosen is not None:
            release = found.release
            target = folder / "releases" / f"chosen{suffix}"
            for inner, mode in (("releases", 0o777), (INSIDE, 0o700)):
                (folder / inner).mkdir(mode=mode)
            release.write(target, row_order)
            decided = decided_for(study, row_order, approved_by, found.selection())
            write_beside(release, data, target, decided=decided, labels=study.labels, inside=folder / INSIDE)
            chosen = study.with_release(release.name, found.chosen.candidate.steps, Path(out))
            chosen.write(folder / "study.toml", force)
            compared = compare(
                data, [release], study.attack, study.measure, intruder=study.intruder_here(), domains=study.domain,
                null=study.utility.null, analyses=study.analysis, progress=progress, purpose=study.purpose, labels=study.labels,
            )
            write_text(folder / "scores.json", json.dumps(compared.plain(), indent=1, ensure_ascii=False), force)
            compared.report(folder / "report.html")
    return found


def _targets(folder: Path, study: Study, suffix: str) -> dict[str, Path]:
    """The file of each release inside the folder."""
    targets: dict[str, Path] = {}
    files: list[Path] = []
    for planned in study.release:
        stem, copies = file_stem(planned.name), copies_asked(planned.steps)[0]
        named = (Path("releases") / f"{stem}{f'~{i}' if i > 1 else ''}{suffix}" for i in itertools.count(1))
        targets[planned.name] = next(t for t in named if not {*files, *targets.values()} & {t, *_made_of(t, copies)})
        files += _made_of(targets[planned.name], copies)
    check_folder(folder)
    return targets


def _made_of(target: Path, copies: int) -> list[Path]:
    """Every file that is written for a release."""
    return [*copy_paths(target, copies), *beside(target, Path(INSIDE))]


def file_stem(name: str) -> str:
    """A release's name as a file name."""
    kept = "".join(c if c.isalnum() or c in "-_.=" else "-" for c in name)
    return re.sub(r"-+", "-", kept).strip("-.") or "release"
