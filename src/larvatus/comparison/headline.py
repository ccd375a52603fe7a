"""One line per release: its strongest attack with its baseline, and its mean relative loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from larvatus.comparison.absolute_limits import beyond_absolute
from larvatus.comparison.by_method import by_method
from larvatus.comparison.excess_risk import at_baseline, attack_excess, baseline, baseline_ratio, excess_risk
from larvatus.comparison.tiers import INTERVAL_ABOVE
from larvatus.core.number_format import finite_number
from larvatus.data.score import Score

if TYPE_CHECKING:
    from larvatus.comparison.comparison import Candidate

_EXACT = 1e-9


@dataclass(frozen=True, slots=True)
class Headline:
    """A release with its number in the report, its strongest attack, its mean loss, and its excess risk.

    `near` says whether every counted attack meets the default rule, and `ratio` is the largest `baseline_ratio` of them. If
    they are None, the strongest attack alone answers.
    """

    number: int
    name: str
    attack: Score | None
    loss: float | None
    excess: float | None = None
    near: bool | None = None
    ratio: float | None = None

    @property
    def risk(self) -> float | None:
        return finite_number(self.attack.value) if self.attack else None

    @property
    def base(self) -> float | None:
        return baseline(self.attack) if self.attack else None


def attack_near_baseline(score: Score) -> bool:
    """Whether an attack meets the default rule: its value, the upper end of its interval, and the absolute limits."""
    high = finite_number(score.interval[1]) if score.interval else None
    wide = high is not None and high - (baseline(score) or 0.0) > INTERVAL_ABOVE + _EXACT
    return baseline_ratio(score) <= 1 + _EXACT and not wide and not beyond_absolute(score)


def clearly_beyond(score: Score) -> bool:
    """Whether an attack breaks the default rule by its value, not only because its interval is wide."""
    exact = replace(score, interval=None, sampled=False, understated_by=0.0)
    return beyond_absolute(exact) or (baseline_ratio(score) > 1 + _EXACT and not at_baseline(score))


def strongest(candidate: Candidate) -> Score | None:
    """The counted attack with the largest excess; if none has any, the one furthest beyond the default rule."""
    counted = _counted_attacks(candidate)
    return max(counted, key=lambda s: (attack_excess(s), not attack_near_baseline(s), baseline_ratio(s)), default=None)


def _counted_attacks(candidate: Candidate) -> list[Score]:
    """The attacks with a value. Those that do not decide between releases count only if no other was run."""
    usable = [s for s in candidate.of_kind("risk") if finite_number(s.value) is not None]
    return [s for s in usable if s.decides] or usable


def common_measures(candidates: Sequence[Candidate]) -> dict[str, list[Score]]:
    """The measures with a value for every release, one list of scores each; only those that decide, if there are any."""
    out: dict[str, list[Score]] = {}
    for name, scores in by_method(candidates, "loss").items():
        there = [s for s in scores if s is not None and finite_number(s.value) is not None]
        if len(there) == len(candidates):
            out[name] = there
    weighing = {name: scores for name, scores in out.items() if any(s.decides for s in scores)}
    return weighing or out


def mean_loss(scores: Sequence[Score]) -> float | None:
    """The value itself for one measure; for several, the mean of their relative losses."""
    values = [s.value if len(scores) == 1 else s.relative_loss for s in scores if s.value >= _EXACT]
    return sum(values) / len(scores) if scores else None


def mean_loss_of(scores: Sequence[Score]) -> float | None:
    """The mean loss of one release over its measures with a value; only those that decide, if there are any."""
    there = [s for s in scores if s.kind == "loss" and finite_number(s.value) is not None]
    return mean_loss([s for s in there if s.decides] or there)


def headlines(candidates: Sequence[Candidate]) -> tuple[Headline, ...]:
    """All releases in the given order, numbered from 1."""
    losses = list(common_measures(candidates).values())
    return tuple(_headline(i + 1, c, mean_loss([m[i] for m in losses])) for i, c in enumerate(candidates))


def _headline(number: int, candidate: Candidate, lost: float | None) -> Headline:
    counted = _counted_attacks(candidate)
    near = all(map(attack_near_baseline, counted)) if counted else None
    ratio = max(map(baseline_ratio, counted), default=None)
    return Headline(number, candidate.name, strongest(candidate), lost, excess_risk(candidate.scores), near, ratio)


def under(heads: Sequence[Headline], scores: Sequence[Score | None]) -> tuple[Headline, ...]:
    """The same releases under one attack, instead of each under its strongest."""
    return tuple(replace(h, attack=s, near=None, ratio=None) for h, s in zip(heads, scores, strict=True))


def unbeaten(heads: Sequence[Headline]) -> tuple[Headline, ...]:
    """Releases that no other release beats on both the value of their attack and loss, lowest value first.

    For the map of one attack: the values of different attacks cannot be compared. See `on_frontier`.
    """
    from larvatus.comparison.frontier import undominated

    known = [(h, (h.risk, h.loss)) for h in heads if h.risk is not None and h.loss is not None]
    return tuple(known[i][0] for i in undominated([figures for _, figures in known]))


def on_frontier(heads: Sequence[Headline]) -> tuple[Headline, ...]:
    """Releases that no other release beats on both excess risk and loss, lowest excess risk first."""
    from larvatus.comparison.frontier import undominated

    known = [(h, (h.excess, h.loss)) for h in heads if h.excess is not None and h.loss is not None]
    return tuple(known[i][0] for i in undominated([figures for _, figures in known]))
