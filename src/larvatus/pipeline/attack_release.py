"""Risks of a release: every copy is attacked, alone and together with other releases that the intruder has."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, cast

from larvatus.attacks.linkage.exception_patterns import mark_exceptions, uses_exceptions, with_exceptions
from larvatus.attacks.linkage.household_records import by_household_too, household_records, more_successful, without_units
from larvatus.attacks.linkage.joined_releases import joined_with, stronger_of, wave_notes, without_waves
from larvatus.attacks.linkage.target_sample import TargetCount, check_target_count
from larvatus.attacks.scoring.credits import with_record_ids
from larvatus.comparison.limits import Limits
from larvatus.core.errors import EngineError, LarvatusError, PairingError, RiskError, RolesError, UtilityError, nearest_names
from larvatus.core.input_paths import paths_read
from larvatus.core.interruptible import call_interruptibly
from larvatus.core.progress import Progress, default_progress, silent
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.accepted_types import AttackLike, IntruderLike, OneReleaseLike, ReleaseLike
from larvatus.data.alignment import in_groups_of
from larvatus.data.contracts import Attack, Mask, Measure
from larvatus.data.copies import copies_in_memory, single, worst_of
from larvatus.data.intruder import Intruder, intruder_of
from larvatus.data.method_parsing import all_of, canonical
from larvatus.data.microdata import Microdata, check_microdata
from larvatus.data.pairing import as_release, in_declared_groups
from larvatus.data.pairings.other_waves import as_other_release
from larvatus.data.pairings.released_keys import released_keys, with_released_keys, without_key_steps
from larvatus.data.release import Release
from larvatus.data.score import Score, Scores
from larvatus.data.verbs import hold_in_memory
from larvatus.pipeline.candidates.duration_estimate import DurationEstimate, usual_seconds
from larvatus.pipeline.candidates.running_work import RunningWork
from larvatus.pipeline.engine_errors import in_main_thread, naming_method
from larvatus.pipeline.shared_errors import shared_error, widen
from larvatus.pipeline.target_counts import count_targets, smallest_limit, state_targets

MOST_CELLS = 20_000_000
NEEDS_PAIRS = "it needs to know which released row belongs to which record, and the file is not paired with the original"


def attack_random(method: Attack | Measure) -> RecordRandom:
    return RecordRandom(stream_key(b"scores are not secret", canonical([method])))


def nemesis_of(steps: Sequence[Mask]) -> tuple[str, ...]:
    """The attacks that know the steps of a release best, as their masks name them."""
    return tuple(dict.fromkeys(name for step in steps for name in step.nemesis))


def attacks_under_tier(named: Sequence[Attack], steps: Sequence[Mask]) -> tuple[Attack, ...]:
    """The attacks named and all others. Those that know the steps also run with their defaults, however they were set."""
    have, needed = [a.name() for a in named], nemesis_of(steps)
    more = [a for a in all_of(Attack, None) if a.name() not in have or (a.name() in needed and a not in named)]
    return (*named, *more)


def risk(
    data: Microdata, release: ReleaseLike, attacks: AttackLike | Sequence[AttackLike] | None = None, *,
    intruder: IntruderLike | None = None, other_releases: ReleaseLike | None = None,
    pairing: str | Path | None = None, other_pairings: Sequence[str | Path] = (),
    row_order: Literal["checked", "keep"] = "checked", paired: bool = True, targets: TargetCount = None,
    progress: Progress | None = None,
) -> Scores:
    """Attack a release (a Release, a data frame, a path, or a list of these for its copies).

    By default every attack that applies is run, those that know the masks best among them. Every copy is attacked, and so is
    the average of the copies; the score is that of the worst. `intruder` is an Intruder or the name of a preset.
    `other_releases` lists other releases of the same records, or of other waves of the same persons, that the intruder has
    (default: those of the intruder); `other_pairings` are their pairing files, in the same order. `targets` is the number of
    records that each linkage attack takes as targets, or "all"; by default a large file is sampled
    (docs/guides/intervals.md). `paired=False` says that the rows of the file are no records of the original, as in synthetic
    data: attacks that need pairs are left out with the reason (docs/guides/is-this-synthetic-file-safe.md).

    Examples:
        >>> import larvatus as lv
        >>> frame = lv.datasets.households(500)
        >>> data = lv.read(frame, confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> found = lv.risk(data, lv.mask(data, "additive_noise"), ["nearest_record"])
        >>> found[0].value > found[0].chance
        True
        >>> lv.risk(data, "masked_elsewhere.csv", intruder="realistic")  # doctest: +SKIP
    """
    check_microdata(data)
    progress = progress or default_progress()
    methods = state_targets(all_of(Attack, attacks), check_target_count(targets))
    must = [] if attacks is None else methods
    return risk_of_methods(
        data, release, methods, must, intruder=intruder, other_releases=other_releases, pairing=pairing,
        other_pairings=other_pairings, row_order=row_order, paired=paired, progress=progress,
    )


def risk_of_methods(
    data: Microdata, release: ReleaseLike, methods: Sequence[Attack], must: Sequence[Attack] = (), *,
    intruder: IntruderLike | None = None, other_releases: ReleaseLike | None = None,
    pairing: str | Path | None = None, other_pairings: Sequence[str | Path] = (),
    row_order: Literal["checked", "keep"] = "checked", paired: bool = True,
    limits: Limits = Limits(), progress: Progress = silent,  # noqa: B008
) -> Scores:
    """As `risk`, with the attacks that apply; those in `must` raise an error if they do not."""
    who = intruder_of(intruder)
    check_known(data, who)
    candidate = as_release(data, release, pairing, row_order=row_order, paired=paired)
    others = others_of(data, who.other_releases if other_releases is None else other_releases, other_pairings, row_order)
    scores = run_attacks(data, candidate, methods, who, others, must, progress, limits)
    read_in = Scores(with_read_notes(s, candidate, release) for s in scores)
    read_in.not_run, read_in.inputs = scores.not_run, scores.inputs
    return read_in


def run_attacks(
    data: Microdata, candidate: Release, methods: Sequence[Attack], who: Intruder, others: Sequence[Release] = (),
    must: Sequence[Attack] = (), progress: Progress = silent, limits: Limits = Limits(),  # noqa: B008
) -> Scores:
    """Run the attacks that apply; those in `must` raise an error if they do not.

    `limits` decide how precise the scores of a large file must be.
    """
    attacked = AttackedRelease(data, candidate, methods, who, others, must, limits)
    estimate, kinds = DurationEstimate(usual_seconds(data.rows)), [m.name() for m in methods]
    work, out = RunningWork(progress, estimate, [kinds]), list[AttackOutcome]()
    for i, kind in enumerate(kinds):
        work.waiting[0] = kinds[i + 1 :]
        with work.doing(kind, f"attacking: {kind}"):
            out.append(call_interruptibly(partial(attacked.run, i), in_main_thread(data)))
    return attacked.scores(out)


@dataclass(frozen=True, slots=True)
class AttackOutcome:
    """The score of an attack, or why it could not be run, or why it is no attack on these masks."""

    score: Score | None = None
    left_out: str = ""
    unsuitable: str = ""


class AttackedRelease:
    """A release and the attacks on it. They are independent of each other, so they can run in any order and anywhere."""

    def __init__(
        self, data: Microdata, candidate: Release, methods: Sequence[Attack], who: Intruder, others: Sequence[Release] = (),
        must: Sequence[Attack] = (), limits: Limits = Limits(),  # noqa: B008
    ) -> None:
        self.data, self.candidate, self.methods, self.who = data, candidate, methods, who
        self.others, self.must, self.limits = others, must, limits

    @cached_property
    def _views(self) -> list[_View]:
        views = [_View.of(self.data, self.candidate)]
        return [*views, _View.of(*joined_with(self.data, self.candidate, self.others))] if self.others else views

    @cached_property
    def _whole(self) -> _View:
        """The release with its own keys beside the original with its own, for attacks that need no pairs."""
        original = in_groups_of(self.data, self.candidate.data)
        return _View(self.data, original, [(c, r, None) for c, r in single(self.candidate, False)], self.candidate)

    @cached_property
    def _original_keys(self) -> list[_View]:
        """The release beside the original with its own keys, for attacks that examine how keys were changed."""
        if not released_keys(self.data, self.candidate):
            return self._views
        return [_View.of(self.data, self.candidate, as_released=False), *self._views[1:]]

    @cached_property
    def _exceptions(self) -> _View | None:
        """The release with a column that tells which totals hold in a record; None if rules keep no totals with exceptions."""
        marked = mark_exceptions(self.data, self.candidate)
        return None if marked is None else _View.of(*marked)

    @cached_property
    def _households(self) -> list[tuple[str, _View]]:
        """One record per household with the household variables, and one per person with the person variables, if any."""
        return [(kind, _View.of(data, few)) for kind, data, few in household_records(self.data, self.candidate)]

    def run(self, place: int) -> AttackOutcome:
        """Run one attack. An attack that was asked for by name raises an error if it cannot be run."""
        method = self.methods[place]
        if not method.paired:
            return self._run_unpaired(method)
        if not self.candidate.is_paired:
            return self._refused(method, RiskError(NEEDS_PAIRS, subject=method.name()))
        asked = self._is_asked(method)
        why = "" if asked else method.why_unsuitable(self.candidate, self.who)
        if why:
            return AttackOutcome(unsuitable=why)
        try:
            views = self._original_keys if method.sees_original_keys else self._views
            first = views[0]
            excess = shared_error(method, first.original, first.copies[0][1], self.who, attack_random(method))
            limit = smallest_limit(self.limits, method.name())
            found = [_once(method, first, self.who, limit, excess)]
            if self.others:
                try:
                    found.append(_once(method, views[1], self.who, limit, excess))
                except (RiskError, UtilityError) as error:
                    if not wave_notes(self.others):
                        raise
                    return AttackOutcome(without_waves(found[0], self.others, error.reason_for(method.name())))
            if self._exceptions is not None and uses_exceptions(method):
                with suppress(RiskError, UtilityError):
                    found[0] = with_exceptions(found[0], _once(method, self._exceptions, self.who, limit, excess))
            for kind, few in self._households if by_household_too(method) else ():
                with suppress(RiskError, UtilityError):
                    try:
                        found[0] = more_successful(found[0], _once(method, few, self.who, limit, excess), kind)
                    except EngineError as error:
                        found[0] = without_units(found[0], kind, error.reason_for(method.name()))
        except (RiskError, UtilityError, EngineError) as error:
            return self._refused(method, error)
        return AttackOutcome(stronger_of(found[0], found[1], self.others) if self.others else found[0])

    def _run_unpaired(self, method: Attack) -> AttackOutcome:
        """Run an attack that needs no pairs. It compares whole files, so other releases and households change nothing."""
        why = "" if self._is_asked(method) else method.why_unsuitable(self.candidate, self.who)
        if not why and self.candidate.is_paired and self.data.holdout is None and not self._is_asked(method):
            why = "the release is paired with the original, and there is no holdout"
        if why:
            return AttackOutcome(unsuitable=why)
        try:
            return AttackOutcome(_once(method, self._whole, self.who, 0.0, 0.0))
        except (RiskError, UtilityError, EngineError) as error:
            return self._refused(method, RiskError(error.reason_for(method.name()), subject=method.name()))

    def _is_asked(self, method: Attack) -> bool:
        return method in self.must or method.name() in self.limits.scores

    def _refused(self, method: Attack, error: LarvatusError) -> AttackOutcome:
        """An attack that cannot be run: an error if it was asked for by name, else the reason."""
        if method in self.must:
            raise error
        return AttackOutcome(left_out=error.reason_for(method.name()))

    def scores(self, outcomes: Sequence[AttackOutcome]) -> Scores:
        """The scores of all attacks that could be run, from the outcomes in order."""
        names = [m.name() for m in self.methods]
        left_out = [RiskError(o.left_out, subject=n) for n, o in zip(names, outcomes, strict=True) if o.left_out]
        unsuitable = [RiskError(o.unsuitable, subject=n) for n, o in zip(names, outcomes, strict=True) if o.unsuitable]
        out = [o.score for o in outcomes if o.score is not None]
        if not out:
            none = RiskError("the list of attacks is empty. Name one, or omit it for all.", subject="risk")
            raise [*left_out, *unsuitable, none][0]
        scores = Scores(with_record_ids(out, self.candidate.data))
        scores.not_run = tuple(f"not run: {why}" for why in left_out)
        read = (p for r in (self.candidate, *self.others) for p in r.inputs)
        scores.inputs = (*self.data.inputs, *read, *paths_read(self.who.file))
        return scores


@dataclass(frozen=True, slots=True)
class _View:
    """The original and the release as an intruder has them: alone, or joined with other releases."""

    data: Microdata
    original: Microdata
    copies: list[tuple[str, Release, Release | None]]
    release: Release

    @classmethod
    def of(cls, data: Microdata, release: Release, as_released: bool = True) -> _View:
        """The view of an attack. If `as_released`, keys are given to it as S, in the form in which they are released."""
        if as_released:
            data, release = with_released_keys(data, release), without_key_steps(release)
        declared = in_declared_groups(data, release)
        return cls(data, in_groups_of(data, release.data), copies_alone(release, declared, averaged=True), release)

    def in_memory(self, method: Attack) -> tuple[Microdata, Release]:
        """The original and the release with all copies, held in memory; an error if they are too large."""
        others = self.release.internals.other_releases
        cells = self.data.rows * len(self.data.confidential) * sum(len(r.copies) for r in (self.release, *others))
        if cells > MOST_CELLS:
            raise RiskError(f"the release has {cells:,} confidential values, and this attack holds at most {MOST_CELLS:,} "
                            "in memory. The laws that it would simulate are learnt from true pairs by optimal_assignment.",
                            subject=method.name())
        return hold_in_memory(self.original), copies_in_memory(self.release)


def _once(method: Attack, view: _View, who: Intruder, limit: float, excess: float) -> Score:
    random = attack_random(method)
    with naming_method(method):
        if method.copies_together:
            return method.attack(*view.in_memory(method), who, random)
        counted = count_targets(method, view.original, view.copies[0][1], who, random, limit)
        worst = worst_of({
            copy: beside_declared(
                counted.score(view.original, here, who, random),
                counted.score(view.data, beside, who, random) if beside is not None else None,
            )
            for copy, here, beside in view.copies
        })
    return widen(worst, excess, view.copies[0][1].data.rows)


def others_of(
    data: Microdata, other_releases: ReleaseLike, pairings: Sequence[str | Path], row_order: Literal["checked", "keep"]
) -> list[Release]:
    """The other releases that the intruder has: of the same records, or of other waves of the same persons."""
    one = isinstance(other_releases, str | Path | Release) or hasattr(other_releases, "columns")
    given = [other_releases] if one else list(cast(Sequence[OneReleaseLike], other_releases))
    if len(pairings) > len(given):
        raise PairingError(f"other_pairings: {len(pairings)} pairing files for {len(given)} other releases. Name in "
                           "other_releases (--other-release) the release of each pairing file, in the same order.")
    beside = [*pairings, *[None] * (len(given) - len(pairings))]
    return [as_other_release(data, o, p, row_order) for o, p in zip(given, beside, strict=True)]


def with_read_notes(score: Score, candidate: Release, given: Any) -> Score:
    """The score of a file masked elsewhere, with the notes made when it was read."""
    return score if given is candidate else replace(score, notes=(*score.notes, *(str(n) for n in candidate.notes)))


def copies_alone(candidate: Release, declared: Release | None, averaged: bool) -> list[tuple[str, Release, Release | None]]:
    """Each copy, and their average if asked for, in effective sub-groups and, if these differ, in declared ones."""
    here = single(candidate, averaged)
    beside = [r for _, r in single(declared, averaged)] if declared is not None else [None] * len(here)
    return [(copy, one, other) for (copy, one), other in zip(here, beside, strict=True)]


def beside_declared(score: Score, declared: Score | None) -> Score:
    """A score in effective sub-groups, with the score in declared sub-groups in its details."""
    if declared is None:
        return score
    return replace(score, details={**score.details, "declared_sub_groups": declared.by_group})


def check_known(data: Microdata, intruder: Intruder) -> None:
    unknown = [n for n in intruder.known if n not in data.released]
    if unknown:
        raise RolesError(f"intruder.known: {unknown[0]!r} is not a released column; {nearest_names(unknown[0], data.released)}")
