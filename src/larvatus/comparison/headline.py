"""One line per release: its strongest attack beside the baselines, and its mean loss as a share of what could be lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from larvatus.comparison.by_method import Candidate, by_method
from larvatus.core.number_format import number
from larvatus.data.score import Score

AT_MOST_TIMES = 2.0
AT_MOST_ABOVE = 0.1
EXACT = 1e-9


@dataclass(frozen=True, slots=True)
class Headline:
    """A release with its number in the report, its strongest attack, and its mean loss over common measures."""

    number: int
    name: str
    attack: Score | None
    loss: float | None

    @property
    def risk(self) -> float | None:
        return number(self.attack.value) if self.attack else None

    @property
    def base(self) -> float | None:
        return baseline(self.attack) if self.attack else None


def baseline(score: Score) -> float | None:
    """The better of chance and S alone: what the intruder has without the masked columns."""
    known = [v for v in (number(score.chance), number(score.s_alone)) if v is not None]
    return max(known, default=None)


def excess(score: Score) -> float:
    """How far an attack goes beyond what may pass; at most 1 where it is near its baseline."""
    value, base = number(score.value), baseline(score)
    if value is None:
        return float("-inf")
    above = (value - (base or 0.0)) / AT_MOST_ABOVE
    if base is None or value == 0:
        return above
    return max(above, value / (AT_MOST_TIMES * base) if base > 0 else float("inf"))


def strongest(candidate: Candidate) -> Score | None:
    """The attack that goes furthest beyond its baseline, among those that decide between releases where there are any."""
    usable = [s for s in candidate.of_kind("risk") if number(s.value) is not None]
    return max([s for s in usable if s.weighs] or usable, key=excess, default=None)


def common_measures(candidates: Sequence[Candidate]) -> dict[str, list[Score]]:
    """The measures with a figure for every release, those that decide where there are any; one list of scores each."""
    out: dict[str, list[Score]] = {}
    for name, scores in by_method(candidates, "loss").items():
        there = [s for s in scores if s is not None and number(s.value) is not None]
        if len(there) == len(candidates):
            out[name] = there
    weighing = {name: scores for name, scores in out.items() if any(s.weighs for s in scores)}
    return weighing or out


def mean_loss(scores: Sequence[Score]) -> float | None:
    """Of one measure its own value; of several the mean of what each lost, as a share of what it could lose."""
    values = [s.value if len(scores) == 1 else s.lost for s in scores if s.value >= EXACT]
    return sum(values) / len(scores) if scores else None


def headlines(candidates: Sequence[Candidate]) -> tuple[Headline, ...]:
    """All releases in the order they were given, numbered from 1."""
    losses = list(common_measures(candidates).values())
    return tuple(
        Headline(i + 1, c.name, strongest(c), mean_loss([m[i] for m in losses])) for i, c in enumerate(candidates)
    )


def under(heads: Sequence[Headline], scores: Sequence[Score | None]) -> tuple[Headline, ...]:
    """The same releases under one attack instead of each one's strongest."""
    return tuple(replace(h, attack=s) for h, s in zip(heads, scores, strict=True))


def unbeaten(heads: Sequence[Headline]) -> tuple[Headline, ...]:
    """Releases that no other one beats on both risk and loss, lowest risk first."""
    drawn = [(h, h.risk, h.loss) for h in heads]
    placed = sorted(((r, x, h) for h, r, x in drawn if r is not None and x is not None), key=lambda p: (p[0], p[1]))
    out: list[Headline] = []
    least = float("inf")
    for _, x, h in placed:
        if x < least:
            out.append(h)
            least = x
    return tuple(out)
