"""What a search is for: the least loss, under limits to risk, confirmed on draws that the search has not seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from larvatus.core.errors import StudyError, nearest_names
from larvatus.data.contracts import Attack, Measure
from larvatus.data.methods import all_of
from larvatus.data.score import Score

Objective: TypeAlias = str | Sequence[str] | Mapping[str, float] | Callable[[Sequence[Score]], float] | None
FIGURES = ("above_chance", "above_baseline", "at_most")


class Judge(Protocol):
    """Limits: how far scores break them, 0 where all are kept."""

    def violation(self, scores: Sequence[Score]) -> float: ...


class Goal(BaseModel):
    """How a search is carried out; `[goal]` in a study."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    objective: str | tuple[str, ...] | dict[str, Annotated[float, Field(ge=0)]] | None = Field(
        default=None, description="measure, measures, or weights of measures whose loss is to be least; all without one"
    )
    limits: dict[str, float | dict[str, float]] = Field(
        default_factory=dict, description="by attack: the most its upper end may reach, or above_chance, above_baseline"
    )
    trials: Annotated[int, Field(ge=1, le=100_000)] = Field(default=40, description="candidates to try")
    finalists: Annotated[int, Field(ge=1, le=20)] = Field(default=3, description="candidates to confirm")
    secrets: Annotated[int, Field(ge=1, le=1000)] = Field(default=5, description="fresh secrets to confirm each with")
    share: Annotated[float, Field(gt=0, le=1)] = Field(default=1.0, description="share of them that must keep the limits")
    sample: Annotated[int, Field(ge=0)] = Field(default=0, description="records to explore on, about; 0 for all")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits to attacks: upper ends of intervals against what is had without the release."""

    limits: tuple[tuple[str, str, float], ...]

    def attacks_among(self, given: Any) -> tuple[Attack, ...]:
        """The attacks to run: those given, of which every limited one must be one; the limited ones where none are given."""
        limited = tuple(dict.fromkeys(name for name, _, _ in self.limits))
        run = all_of(Attack, limited if given is None else given)
        lacking = [n for n in limited if n not in [a.name() for a in run]]
        if lacking:
            way = "Add it as [[attack]], or leave its limit out."
            raise StudyError([f"limits: {n!r} is limited and not among the attacks. {way}" for n in lacking])
        return run

    def violation(self, scores: Sequence[Score]) -> float:
        """How far limits are broken, added up; infinite where an attack did not run."""
        return math.fsum(self._beyond(scores, name, figure, most) for name, figure, most in self.limits)

    @staticmethod
    def _beyond(scores: Sequence[Score], name: str, figure: str, most: float) -> float:
        reached = [_reached(s, figure) for s in scores if s.method == name]
        if not reached or any(math.isnan(v) for v in reached):
            return math.inf
        return max(0.0, max(reached) - most)


def _reached(score: Score, figure: str) -> float:
    upper = score.interval[1] if score.interval else score.value
    chance = score.chance or 0.0
    return upper - {"at_most": 0.0, "above_chance": chance, "above_baseline": max(chance, score.s_alone or 0.0)}[figure]


def risk_of(scores: Sequence[Score]) -> float:
    """How far the attack that gains most gets beyond what is had without the release, by the upper end of its interval."""
    return max((_reached(s, "above_baseline") for s in scores if s.kind == "risk" and s.weighs), default=0.0)


def bounds_of(given: Any) -> Judge:
    """Limits from anything that judges scores, or from a table by attack; a number is the most it may reach."""
    if hasattr(given, "violation"):
        judge: Judge = given
        return judge
    if not isinstance(given, Mapping) or not given:
        raise StudyError(["limits: none is given. State the most that an attack may reach, such as nearest_record = "
                          "{ above_chance = 0.01 } (at most one per cent of the records more than by chance)."])
    problems: list[str] = []
    limits: list[tuple[str, str, float]] = []
    for name, limit in given.items():
        try:
            all_of(Attack, name)
        except StudyError as error:
            problems += [f"limits: {p}" for p in error.problems]
        figures = limit if isinstance(limit, Mapping) else {"at_most": limit}
        for figure, most in figures.items():
            if figure not in FIGURES:
                problems.append(f"limits.{name}: no such figure {figure!r}; {nearest_names(str(figure), FIGURES)}")
            elif not isinstance(most, int | float) or isinstance(most, bool) or not most >= 0:
                problems.append(f"limits.{name}: needs a number of at least 0.")
            else:
                limits.append((name, figure, float(most)))
    if problems:
        raise StudyError(problems)
    return Bounds(tuple(limits))


def measures_of(objective: Objective, measures: Any) -> Any:
    """The measures that an objective needs: those named in it, with the settings that were given for them."""
    if objective is None or callable(objective):
        return measures
    names = [objective] if isinstance(objective, str) else list(objective)
    there = all_of(Measure, measures) if measures is not None else ()
    lacking = [n for n in names if n not in [m.name() for m in there]]
    return [*(m for m in there if m.name() in names), *all_of(Measure, lacking)]


def loss_of(scores: Sequence[Score], objective: Objective) -> float:
    """The loss to be least: of a measure, the weighted mean of several, or the mean of all that have one."""
    if callable(objective):
        return float(objective(scores))
    losses = {s.method: s.value for s in scores if s.kind == "loss"}
    if objective is None:
        shares = [v for s in scores if s.kind == "loss" and s.weighs and not math.isnan(v := s.lost)]
        return math.fsum(shares) / len(shares) if shares else math.nan
    if isinstance(objective, Mapping):
        weights: Mapping[str, float] = objective
    else:
        weights = dict.fromkeys([objective] if isinstance(objective, str) else objective, 1.0)
    total = math.fsum(weights.values())
    if total <= 0:
        raise StudyError(["objective: the weights add up to nothing. Give one measure at least a weight above 0."])
    return math.fsum(w * losses.get(n, math.nan) for n, w in weights.items()) / total
