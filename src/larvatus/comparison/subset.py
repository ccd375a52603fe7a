"""Some releases of a comparison, for a report on them; decisions based on all releases do not change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from larvatus.comparison.comparison import About, Candidate, Comparison
from larvatus.data.score import Rows


@dataclass(frozen=True, slots=True)
class ReleaseSubset:
    """Candidates in the given order, with the limits and explanations of the whole comparison."""

    candidates: tuple[Candidate, ...]
    about: About
    whole: Comparison

    def decisions(self, names: Collection[str]) -> Mapping[str, Rows]:
        return self.whole.decisions(names)

    def limit_rows(self) -> Mapping[str, Rows]:
        names = {c.name for c in self.candidates}
        return {n: rows for n, rows in self.whole.limit_rows().items() if n in names}

    @property
    def limits(self) -> object:
        return self.whole.limits

    def explain(self) -> Rows:
        names = {c.name for c in self.candidates}
        return Rows.of(r for r in self.whole.explain() if r["release"] in names or not r["release"])


ComparisonLike: TypeAlias = Comparison | ReleaseSubset
