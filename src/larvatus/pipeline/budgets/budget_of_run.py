"""The budget of a study: the releases that are out already, and what one of its own would make of the total."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

from larvatus.certificates.budgets.total_of_releases import check_one_source, total_of
from larvatus.core.errors import ReadError
from larvatus.core.number_format import number_at_most, share
from larvatus.data.budgets.release_budget import ReleaseBudget
from larvatus.data.budgets.release_information import BudgetEntry
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row
from larvatus.documents.manifest import DecisionFacts
from larvatus.pipeline.budgets.manifest_entries import check_key, entry_of, read_entry
from larvatus.pipeline.budgets.privacy_statements import statement_of
from larvatus.study.budget_settings import BudgetSettings

_SCORE = "budget"


@dataclass(frozen=True, slots=True)
class RunBudget:
    """The key, the name of the source, the entries of releases that are out, and the limits."""

    settings: BudgetSettings
    key: bytes = field(repr=False)
    earlier: tuple[BudgetEntry, ...]

    @classmethod
    def of(cls, settings: BudgetSettings) -> RunBudget | None:
        """The budget that settings state; None without a key. Manifests of other sources are refused."""
        if settings.key_file is None:
            return None
        earlier = tuple(read_entry(f) for f in settings.files())
        if earlier:
            check_one_source(earlier)
        return cls(settings, check_key(settings.key()), earlier)

    def mark(self) -> str:
        """What changes if an entry of a release would: for the keys of finished releases."""
        told = [repr(e) for e in self.earlier]
        return hashlib.blake2b("\0".join([self.settings.source, *told]).encode(), digest_size=16, key=hashlib.blake2b(
            self.key).digest()).hexdigest()

    def entry(self, data: Microdata, release: Release) -> BudgetEntry:
        return entry_of(data, release, self.key, self.settings.source)

    def total(self, entry: BudgetEntry) -> ReleaseBudget:
        """The releases that are out, and this one."""
        return total_of([*(e for e in self.earlier if not entry.files or e.files != entry.files), entry])

    def rows(self, entry: BudgetEntry) -> list[Row]:
        """One row per limit, as `check` gives them."""
        return limit_rows(self.settings, self.total(entry))


def limit_rows(settings: BudgetSettings, found: ReleaseBudget) -> list[Row]:
    """How a total meets the limits of a budget. A share that cannot be forecast breaks its limit."""
    out: list[Row] = []
    many = f"{len(found.parts)} releases together" if len(found.parts) > 1 else "the first release"
    if settings.bits is not None:
        why = f"{many} tell at most {number_at_most(found.bits, 3)} bits per record"
        out.append({"score": _SCORE, "figure": "bits of all releases", "value": found.bits, "limit": settings.bits,
                    "met": found.bits <= settings.bits, "reason": why})
    if settings.forecast is not None:
        value = 1.0 if found.forecast is None else found.forecast
        why = "no forecast is known for one of the releases" if found.forecast is None else f"{many}: {share(value)} of links"
        out.append({"score": _SCORE, "figure": "links from all releases, forecast", "value": value, "limit": settings.forecast,
                    "met": found.forecast is not None and value <= settings.forecast, "reason": why})
    return out


def with_entry(
    decided: DecisionFacts | None, data: Microdata, release: Release, entry: BudgetEntry | None
) -> DecisionFacts:
    """What a manifest records, with the differential privacy of the release and its entry for budgets."""
    privacy = statement_of(data, release).plain()
    return replace(decided or DecisionFacts(), privacy=privacy, budget=None if entry is None else entry.plain())


def entry_for(settings: BudgetSettings, data: Microdata, release: Release) -> BudgetEntry | None:
    """The entry of a release if the study has a budget."""
    budget = RunBudget.of(settings)
    return None if budget is None or not release.is_paired else budget.entry(data, release)


def rows_of_manifest(settings: BudgetSettings, manifest: Any) -> list[Row]:
    """How a finished release meets the limits, by what its internal manifest records."""
    budget = RunBudget.of(settings)
    if budget is None or not settings.has_limit:
        return []
    try:
        return budget.rows(read_entry(manifest))
    except ReadError as error:
        return [{"score": _SCORE, "figure": "entry of the manifest", "value": 0.0, "limit": 1.0, "met": False,
                 "reason": str(error)}]

