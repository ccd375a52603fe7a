"""The goal of a search: least loss under limits on risk, confirmed with new random draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeAlias

from pydantic import ConfigDict, Field, field_validator

from larvatus.comparison.combined_scores import Combination, add_combined_scores
from larvatus.comparison.key_figures import KEY_LOSS, key_loss
from larvatus.comparison.limits import Limits, limits_of, needed_for
from larvatus.comparison.score_figures import figure_of, known_scores, upper_end
from larvatus.core.errors import StudyError, nearest_names
from larvatus.data.contracts import Attack, Measure
from larvatus.data.method_parsing import all_of
from larvatus.data.score import Score
from larvatus.data.settings.settings_model import SettingsModel

Objective: TypeAlias = str | Sequence[str] | Mapping[str, float] | Callable[[Sequence[Score]], float] | None
_NAMED = "analyses"  # the score of the user's own analyses; it is not a measure


class LimitJudge(Protocol):
    """Limits: by how much scores exceed them, 0 if all hold."""

    def violation(self, scores: Sequence[Score]) -> float: ...


class Goal(SettingsModel):
    """Settings of a search; `[goal]` in a study. The limits are those of the study.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> space = {"method": "additive_noise", "choice": {"variance": [0.5, 1.0]}}
        >>> goal = lv.Goal(objective="moments", trials=2, finalists=1, secrets=3)
        >>> found = lv.search(data, space, {"nearest_record": 0.9}, goal=goal)
        >>> len(found.tried), len(found.finalists[0].draws)
        (2, 3)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    objective: str | tuple[str, ...] | dict[str, Annotated[float, Field(ge=0)]] | None = Field(
        default=None,
        description="measure, combination or key_loss to minimise; a list or weights for several (default: all measures)",
    )
    trials: Annotated[int, Field(ge=1, le=100_000)] = Field(default=40, description="number of candidates to try")
    finalists: Annotated[int, Field(ge=1, le=20)] = Field(default=3, description="number of candidates to confirm")
    secrets: Annotated[int, Field(ge=1, le=1000)] = Field(default=5, description="fresh secrets with which each is confirmed")
    share: Annotated[float, Field(gt=0, le=1)] = Field(default=1.0, description="share of them for which the limits must hold")
    sample: Annotated[int, Field(ge=0)] = Field(default=0, description="records for the exploration, about; 0 for all")

    @field_validator("objective", mode="before")
    @classmethod
    def _readable(cls, given: Any) -> Any:
        good = given is None or isinstance(given, str)
        if isinstance(given, list | tuple):
            good = all(isinstance(n, str) for n in given)
        if isinstance(given, Mapping):
            good = all(isinstance(w, int | float) and not isinstance(w, bool) and w >= 0 for w in given.values())
        if not good:
            raise ValueError(f"must be a measure, a list of measures, or measures with weights of at least 0, got {given!r}")
        return given

    def plain(self) -> dict[str, Any]:
        """Everything but the objective, as JSON can store it."""
        return self.model_dump(mode="json", exclude={"objective"})


@dataclass(frozen=True, slots=True)
class LimitsJudge:
    """Limits, with the combinations that they may refer to."""

    limits: Limits
    combine: tuple[Combination, ...] = ()

    def violation(self, scores: Sequence[Score]) -> float:
        return self.limits.violation(scores, self.combine)

    def attacks_among(self, given: Any) -> Any:
        """The attacks to run: those given, which must include every limited one; without any, those that the limits need."""
        needed = needed_for(self.limits, self.combine, "risk")
        if given is None:
            return None if self.limits.of_attacks or not needed else needed
        run = all_of(Attack, given)
        lacking = [n for n in needed if n not in [a.name() for a in run]]
        if lacking:
            way = "Add it as [[attack]], or remove its limit."
            raise StudyError([f"limits: {n!r} has a limit, but is not among the attacks. {way}" for n in lacking])
        return run


def judge_of(given: Any, combine: Sequence[Combination] = ()) -> LimitJudge:
    """Limits from the settings of `[limits]`, or any object that judges scores."""
    if hasattr(given, "violation") and not isinstance(given, Limits):
        judge: LimitJudge = given
        return judge
    limits = limits_of(given, combine)
    if not limits:
        raise StudyError(["limits: no limit is given. State in [limits] how successful an attack may be, such as "
                          "nearest_record = { above_chance = 0.01 } (at most 1 % of records above chance)."])
    return LimitsJudge(limits, tuple(combine))


def risk_of(scores: Sequence[Score]) -> float:
    """The largest excess of an attack over its baseline, by the upper end of its interval."""
    weigh = [s for s in scores if s.kind == "risk" and s.decides]
    found = (figure_of(s, "above_baseline", upper=True) for s in weigh)
    return max((upper_end(s) if f is None else f for s, f in zip(weigh, found, strict=True)), default=0.0)


def names_in_objective(objective: Objective, combine: Sequence[Combination] = ()) -> tuple[str, ...]:
    """The measures in an objective, with combinations replaced by their parts; empty if it names none."""
    if objective is None or callable(objective):
        return ()
    inside = {c.name: c.parts for c in combine}
    named = [objective] if isinstance(objective, str) else list(objective)
    return tuple(dict.fromkeys(p for n in named for p in inside.get(n, (n,))))


def objective_problems(objective: Objective, combine: Sequence[Combination] = ()) -> list[str]:
    """Problems of an objective: names that are not losses, and weights that sum to zero."""
    if objective is None or callable(objective):
        return []
    kinds = {**known_scores(), KEY_LOSS: "loss", **{c.name: c.kind for c in combine}}
    named = [objective] if isinstance(objective, str) else list(objective)
    losses = [n for n, kind in kinds.items() if kind == "loss"]
    problems = ["objective: it names no measure. Name one, or leave it out to use the mean of all."] if not named else []
    for name in named:
        if name not in kinds:
            problems.append(f"objective: no measure {name!r}; {nearest_names(name, losses)}")
        elif kinds[name] == "risk":
            problems.append(f"objective: {name!r} is a risk, and the objective must be a loss. Limit it in [limits] instead.")
    if isinstance(objective, Mapping) and named and math.fsum(objective.values()) <= 0:
        problems.append("objective: the weights sum to zero. Give at least one measure a weight above 0.")
    return problems


def measures_for(
    objective: Objective, measures: Any, judge: LimitJudge | None = None, combine: Sequence[Combination] = ()
) -> tuple[Any, bool]:
    """The measures to run, with their settings, and whether to run the user's own analyses.

    These are the measures in the objective and those with limits; all measures if the objective names none.
    """
    limited = needed_for(judge.limits, judge.combine, "loss") if isinstance(judge, LimitsJudge) else ()
    names = names_in_objective(objective, combine)
    everything = not names
    wanted = [n for n in dict.fromkeys([*names, *limited]) if n not in (_NAMED, KEY_LOSS)]
    analysed = _NAMED in (*names, *limited)
    if everything and measures is None:
        return None, True
    there = all_of(Measure, measures) if measures is not None else ()
    lacking = [n for n in wanted if n not in [m.name() for m in there]]
    return [*(m for m in there if everything or m.name() in wanted), *all_of(Measure, lacking)], everything or analysed


def analyses_problems(objective: Objective, judge: LimitJudge, combine: Sequence[Combination],
                      analyses: Sequence[Any]) -> list[str]:
    """Problems if the objective or a limit refers to `analyses`, but none are given."""
    limited = needed_for(judge.limits, judge.combine, "loss") if isinstance(judge, LimitsJudge) else ()
    asked = [what for what,
             names in (("objective", names_in_objective(objective, combine)), ("limits", limited)) if _NAMED in names]
    way = "Add [[analysis]], such as formula = \"income ~ age\"."
    return [f"{what}: {_NAMED!r} is named, but no analysis is given. {way}" for what in asked] if not analyses else []


def objective_loss(scores: Sequence[Score], objective: Objective, combine: Sequence[Combination] = ()) -> float:
    """The loss to minimise: of a measure or combination, a weighted mean of several, or the mean relative loss of all."""
    if callable(objective):
        return float(objective(scores))
    losses = {s.method: s.value for s in add_combined_scores(scores, combine) if s.kind == "loss"}
    losses[KEY_LOSS] = math.nan if (lost := key_loss(scores)) is None else lost
    if objective is None:
        shares = [v for s in scores if s.kind == "loss" and s.decides and not math.isnan(v := s.relative_loss)]
        return math.fsum(shares) / len(shares) if shares else math.nan
    if isinstance(objective, Mapping):
        weights: Mapping[str, float] = objective
    else:
        weights = dict.fromkeys([objective] if isinstance(objective, str) else objective, 1.0)
    return math.fsum(w * losses.get(n, math.nan) for n, w in weights.items()) / math.fsum(weights.values())
