"""A comparison with the values that every section of a report needs, and the releases that come first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from larvatus.comparison.comparison import Candidate
from larvatus.comparison.headline import Headline, common_measures, headlines
from larvatus.comparison.limits_by_release import JudgedLimits, judge_limits
from larvatus.comparison.selection_rule import closeness, closest_release, passes_rule, preferred_release
from larvatus.comparison.subset import ComparisonLike
from larvatus.data.score import Score
from larvatus.reporting.board.figures_in_words import frequency_base

MOST_CARDS = 6
WITH_PAIRS, WITHOUT_PAIRS = "paired", "not paired"


@dataclass(frozen=True)
class Subject:
    """The comparison, its headlines, the measures that all releases have, and what was decided."""

    comparison: ComparisonLike
    heads: tuple[Headline, ...]
    measures: dict[str, list[Score]]
    version: str
    chosen: str | None
    why: tuple[str, ...]
    limits: JudgedLimits | None
    warned: tuple[str, ...]
    approved: Mapping[str, str]

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        return self.comparison.candidates

    @cached_property
    def rules_choice(self) -> Headline | None:
        """The release that the rule chooses, if any passes it."""
        return preferred_release(self.heads, self.limits)

    @cached_property
    def favourite(self) -> Headline:
        """The release that the report is about: the proposed one, the rule's choice, the closest one, or the least loss."""
        proposed = next((h for h in self.heads if h.name == self.chosen), None)
        found = proposed or self.rules_choice or closest_release(self.heads, self.limits)
        return found or min(self.heads, key=lambda h: (h.loss is None, h.loss or 0.0))

    @cached_property
    def in_order(self) -> tuple[Headline, ...]:
        """All releases: the favourite, the rule's choice, those that pass by loss, then the others, best first."""
        first = {self.favourite.number, self.rules_choice.number if self.rules_choice else 0}

        def key(head: Headline) -> tuple[bool, bool, bool, tuple[float, ...], int]:
            passes = passes_rule(head, self.limits)
            broken, excess, lost = closeness(head, self.limits)
            order = (broken, lost, excess) if passes else (broken, excess, lost)
            return head.number != self.favourite.number, head.number not in first, not passes, order, head.number

        return tuple(sorted(self.heads, key=key))

    @property
    def on_cards(self) -> tuple[Headline, ...]:
        """The releases that have a card and are drawn in the pictures."""
        return self.in_order[:MOST_CARDS]

    @property
    def out_of(self) -> int | None:
        """The number of all natural frequencies of the report: that of the strongest attacks."""
        return frequency_base(h.attack for h in self.heads if h.attack is not None and h.risk is not None)

    def candidate(self, head: Headline) -> Candidate:
        return self.candidates[head.number - 1]

    def pairing_of(self, head: Headline) -> str:
        """Whether a release is paired with the original; empty if all releases are."""
        if all(c.paired for c in self.candidates):
            return ""
        return WITH_PAIRS if self.candidate(head).paired else WITHOUT_PAIRS

    def name_in_drawings(self, head: Headline) -> str:
        """The name of a release in a drawing, and that it is not paired with the original."""
        return head.name if self.candidate(head).paired else f"{head.name} ({WITHOUT_PAIRS})"


def subject_of(
    comparison: ComparisonLike, version: str = "", chosen: str | None = None, why: tuple[str, ...] = (),
    warned: tuple[str, ...] = (), approved: Mapping[str, str] = MappingProxyType({}),
) -> Subject:
    """The subject of a report, or of a plot, on a comparison."""
    candidates = comparison.candidates
    return Subject(comparison, headlines(candidates), common_measures(candidates), version, chosen, why,
                   judge_limits(comparison), warned, approved)
