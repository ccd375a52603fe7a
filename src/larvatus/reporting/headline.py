"""One line per release: its strongest attack beside the baselines, and its mean loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from larvatus.data.score import Score
from larvatus.reporting.compared import Candidate, by_method
from larvatus.reporting.numbers import number


@dataclass(frozen=True, slots=True)
class Headline:
    """A release with its number in the report, the attack that gains most, and its loss over common measures."""

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


def gain(score: Score) -> float:
    """The share of the way from the baseline to certainty that an attack goes."""
    value, base = number(score.value), baseline(score) or 0.0
    if value is None:
        return float("-inf")
    return (value - base) / (1 - base) if base < 1 else 0.0


def strongest(candidate: Candidate) -> Score | None:
    """The attack that gains most over its baseline."""
    usable = [s for s in candidate.of_kind("risk") if number(s.value) is not None]
    return max(usable, key=gain, default=None)


def common_measures(candidates: Sequence[Candidate]) -> dict[str, list[float]]:
    """The measures with a figure for every release, one list of losses each."""
    out: dict[str, list[float]] = {}
    for name, scores in by_method(candidates, "loss").items():
        values = [number(s.value) if s else None for s in scores]
        there = [v for v in values if v is not None]
        if len(there) == len(candidates):
            out[name] = there
    return out


def headlines(candidates: Sequence[Candidate]) -> tuple[Headline, ...]:
    """All releases in the order they were given, numbered from 1."""
    losses = list(common_measures(candidates).values())
    return tuple(
        Headline(i + 1, c.name, strongest(c), sum(m[i] for m in losses) / len(losses) if losses else None)
        for i, c in enumerate(candidates)
    )


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
