"""What all candidates of a comparison share, and the key under which a finished candidate is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal

from larvatus.attacks.linkage.target_sample import TargetCount
from larvatus.comparison.limits import Limits
from larvatus.constraints.settings import constraints_of
from larvatus.data.contracts import Attack, Mask, Measure
from larvatus.data.intruder import Intruder
from larvatus.data.method_parsing import all_of, canonical
from larvatus.data.microdata import Microdata
from larvatus.data.record_selection import with_records
from larvatus.data.release import Release
from larvatus.documents.manifest import DecisionFacts
from larvatus.measures.analyses.spec import analyses_of
from larvatus.measures.scoring.domains import domains_of
from larvatus.measures.scoring.null_placement import resample_count
from larvatus.pipeline.attack_release import attack_random, attacks_under_tier
from larvatus.pipeline.budgets.budget_of_run import RunBudget
from larvatus.pipeline.candidates.cache import SECRET, CandidateCache, cache_key, data_digest, file_digest
from larvatus.pipeline.null_distributions import Nulls
from larvatus.pipeline.target_counts import smallest_limit, state_targets
from larvatus.study import PlannedRelease, Scoring, Study


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
    spreadsheet: bool = False
    beside: Mapping[str, Release] = field(default_factory=dict)
    named: bool = False
    labels: Mapping[str, str] | None = None
    decided: DecisionFacts | None = None
    tier: bool = False
    target_count: TargetCount = None
    limits: Limits = field(default_factory=Limits)
    certify: bool = False
    budget: RunBudget | None = None

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
        held += map(str, given.paths_from(self.folder or Path())) if isinstance(given, PlannedRelease) else ()
        if (within and secret is None) or not all(Path(f).exists() for f in held):
            return token_hex(16)
        made = canonical(_with_ids(given.steps, self.folder, self.data.roles.record_id))
        release = "" if isinstance(given, PlannedRelease) else " ".join(data_digest(c) for c in given.copies)
        drawn = "fresh" if secret is None else self.kept.secret_digest(secret)
        files = [file_digest(f) for f in held]
        others = [canonical(_with_ids(self.beside[n].steps, self.folder, self.data.roles.record_id)) for n in within]
        scored = [
            canonical(self.methods(given.steps)), canonical(self.nulls.methods), str(self.nulls.resamples),
            self.who.model_dump_json(), repr(domains_of(self.domains, self.data)), repr(analyses_of(self.analyses)),
            constraints_of(self.constraints).model_dump_json(), self._precision(given.steps),
        ]
        place = f"{self.row_order} {self.targets.get(label)} {self.pairings} {self.labels}{' spreadsheet' * self.spreadsheet}"
        place += " certified" * self.certify + ("" if self.budget is None else f" budget {self.budget.mark()}")
        place += " not paired" if isinstance(given, PlannedRelease) and not given.paired else ""
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
        certify=scoring.certify, budget=RunBudget.of(scoring.budget),
    )


def _with_ids(steps: Sequence[Mask], folder: Path | None, record_id: str | None) -> list[Mask]:
    return [with_records(s, folder, record_id) for s in steps]
