"""The result of a search: all candidates, those confirmed with fresh secrets, and the chosen one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from larvatus.core.display import view
from larvatus.data.contracts import Mask
from larvatus.data.method_parsing import redacted_settings, short_text
from larvatus.data.notes import Note
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Scores

_DIGITS = 9  # losses equal to this many digits are ties: exact masks differ by rounding only


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate, made with the secret of the exploration; the loss is NaN if it could not be made or scored."""

    name: str
    steps: tuple[Mask, ...]
    loss: float
    violation: float
    problem: str = ""
    risk: float = math.nan

    @property
    def text(self) -> str:
        """The steps as they are shown."""
        return " + ".join(short_text(s) for s in self.steps)

    @property
    def meets_limits(self) -> bool:
        return self.violation <= 0 and self.loss == self.loss

    @property
    def order(self) -> tuple[float, float]:
        """Sort key: least loss first; among equal losses, least risk."""
        return round(self.loss, _DIGITS), self.risk

    def row(self) -> Row:
        return {
            "candidate": self.name, "steps": self.text, "loss": self.loss,
            "risk": self.risk, "violation": self.violation, "met": self.violation <= 0, "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class FreshDraw:
    """A finalist made with one fresh secret, on all records."""

    loss: float
    violation: float
    risk: float
    scores: Scores = field(repr=False)


@dataclass(frozen=True, slots=True)
class Finalist:
    """A candidate with its results for fresh secrets; `asked` is the number of secrets planned."""

    candidate: Trial
    draws: tuple[FreshDraw, ...]
    asked: int
    share: float

    @property
    def meets_limits(self) -> bool:
        """Whether the limits are met with a large enough share of the secrets."""
        met = sum(d.violation <= 0 for d in self.draws)
        return len(self.draws) == self.asked and met >= self.share * self.asked - 1e-9

    @property
    def loss(self) -> float:
        return sum(d.loss for d in self.draws) / len(self.draws)

    @property
    def order(self) -> tuple[float, float]:
        """Sort key: least loss first; among equal losses, least risk."""
        return round(self.loss, _DIGITS), sum(d.risk for d in self.draws) / len(self.draws)

    def row(self) -> Row:
        """Mean, smallest and largest loss and risk over the secrets."""
        losses = [d.loss for d in self.draws]
        out: dict[str, Any] = {
            "candidate": self.candidate.name, "met": self.meets_limits, "secrets": len(self.draws),
            "limits_met": sum(d.violation <= 0 for d in self.draws), "loss": self.loss,
            "least_loss": min(losses), "most_loss": max(losses), "explored_loss": self.candidate.loss,
        }
        for name in dict.fromkeys(s.method for d in self.draws for s in d.scores if s.kind == "risk"):
            values = [s.value for d in self.draws for s in d.scores if s.method == name]
            out |= {name: sum(values) / len(values), f"{name}_least": min(values), f"{name}_most": max(values)}
        return out


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult:
    """The result of a search. `release` is the chosen one, made with a fresh secret; None without one.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> space = {"method": "additive_noise", "choice": {"variance": [0.1, 0.5, 1.0]}}
        >>> found = lv.search(data, space, {"nearest_record": 0.9}, "moments", goal=lv.Goal(trials=3, finalists=1, secrets=2))
        >>> len(found.tried), found.chosen is not None
        (3, True)
        >>> len(found.release)
        300
    """

    tried: tuple[Trial, ...]
    finalists: tuple[Finalist, ...]
    chosen: Finalist | None
    release: Release | None
    notes: tuple[str, ...] = ()
    objective: Any = None
    limits: Any = None
    goal: Mapping[str, Any] = field(default_factory=dict)
    combine: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    interrupted: bool = False  # it ended early; without a chosen candidate, none was confirmed in time

    def __repr__(self) -> str:
        n = len(self.tried)
        return f"Search of {n} candidate{'' if n == 1 else 's'}; {self.outcome}\n{self.confirmed()}"

    @property
    def outcome(self) -> str:
        """The chosen candidate, or why there is none."""
        if self.chosen is not None:
            return f"chosen: {self.chosen.candidate.name}"
        return "interrupted before a candidate was confirmed" if self.interrupted else "no candidate met the limits"

    def _repr_html_(self) -> str:
        return str(view(self, "html_of_search"))

    def with_search_notes(self, records: int, of: int) -> SearchResult:
        """The result, with a note if the exploration used a sample; the release notes that it was selected."""
        part = (f"explored on {records:,} of {of:,} records, confirmed on all of them",) if records < of else ()
        notes, release = (*self.notes, *part), self.release
        if release is not None:
            release = replace(release, notes=(*release.notes, *(Note(n, step="search") for n in notes)))
        return replace(self, notes=notes, release=release)

    @property
    def best(self) -> Trial | None:
        """The chosen candidate, or the best so far if none was confirmed."""
        if self.chosen is not None:
            return self.chosen.candidate
        return next(iter(rank_trials(self.tried)), None)

    def table(self) -> Rows:
        """All candidates, in the order in which they were tried."""
        return Rows.of(t.row() for t in self.tried)

    def confirmed(self) -> Rows:
        """One row per finalist: whether the limits are met with fresh secrets, and the range of its results."""
        return Rows.of(f.row() for f in self.finalists)

    def selection(self) -> dict[str, Any]:
        """What was selected and among how many candidates, for the internal manifest."""
        return {
            "objective": self.objective if self.objective is not None else "mean of all losses", "limits": self.limits,
            "combine": dict(self.combine), "goal": dict(self.goal), "candidates_tried": len(self.tried),
            "could_not_be_made": sum(bool(t.problem) for t in self.tried),
            "met_the_limits": sum(t.violation <= 0 for t in self.tried),
            "finalists": [_finite(f.row()) for f in self.finalists],
            "chosen": [redacted_settings(s) for s in self.chosen.candidate.steps] if self.chosen else None,
            "notes": list(self.notes),
        }


def rank_trials(tried: Sequence[Trial]) -> list[Trial]:
    """Candidates that met the limits, without duplicates: least loss first; among equal losses, least risk."""
    seen: dict[str, Trial] = {}
    for one in tried:
        if one.meets_limits:
            seen.setdefault(one.text, one)
    return sorted(seen.values(), key=lambda t: t.order)


class BestTrial:
    """The first of `rank_trials`, kept up to date trial by trial: a long search does not rank all its trials after each."""

    def __init__(self) -> None:
        self.trial: Trial | None = None
        self._seen: set[str] = set()

    def add(self, one: Trial) -> None:
        """Take one more trial into account."""
        if not one.meets_limits or one.text in self._seen:
            return
        self._seen.add(one.text)
        if self.trial is None or one.order < self.trial.order:
            self.trial = one


def _finite(row: Mapping[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and v != v else v for k, v in row.items()}
