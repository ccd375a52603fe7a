"""How releases are scored, as one value: the attacks, the measures, the intruder and the limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, ValidationError, model_validator

from larvatus.attacks.linkage.target_sample import Targets
from larvatus.comparison.combined_scores import Combination, combinations_of
from larvatus.comparison.limits import Limits, limits_of
from larvatus.core.errors import StudyError
from larvatus.data.contracts import Attack, Measure
from larvatus.data.intruder import Intruder, intruder_of
from larvatus.data.method_parsing import all_of, validation_problems
from larvatus.measures.analyses.spec import Analysis, analyses_of
from larvatus.measures.scoring.domains import Domain, domain_of
from larvatus.measures.scoring.null_placement import resample_count
from larvatus.study.budget_settings import BudgetSettings


class Scoring(BaseModel):
    """How releases are scored. Every field takes what a study file would hold: names, tables or the values themselves.

    `lv.compare` and its neighbours also take the most common fields as plain arguments. A field may be stated once.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> scoring = lv.Scoring(attacks="nearest_record", measures="moments", intruder="realistic", domains=["gender"])
        >>> comparison = lv.compare(data, [lv.mask(data, "data_shuffling")], scoring=scoring)
        >>> comparison.table().column("score")
        ['nearest_record', 'moments']
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    attacks: tuple[SerializeAsAny[Attack], ...] | None = Field(
        default=None, description="attacks to run (default: all that apply)"
    )
    measures: tuple[SerializeAsAny[Measure], ...] | None = Field(
        default=None, description="measures to compute (default: all that apply)"
    )
    intruder: Intruder = Field(default=Intruder(), description="what the intruder knows (default: the worst case)")
    limits: Limits = Field(default=Limits(), description="the most that attacks and losses may reach")
    combine: tuple[Combination, ...] = Field(default=(), description="scores made of several others")
    domains: tuple[Domain, ...] = Field(default=(), description="parts of the file that every measure is also taken in")
    analyses: tuple[Analysis, ...] = Field(default=(), description="analyses that users are known to run")
    null_resamples: Annotated[int, Field(ge=0)] = Field(
        default=0, description="bootstrap resamples for the null distribution of each loss, e.g. 200; 0 for none"
    )

    targets: Targets = None
    certify: bool = Field(default=False, description="compute certificates: bounds on what any intruder links")
    budget: BudgetSettings = Field(
        default=BudgetSettings(), description="what the releases of a source may tell together"
    )

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise StudyError(validation_problems("scoring", error, list(type(self).model_fields))) from None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        out, problems = dict(given), list[str]()
        for name in [n for n in _READERS if n in given]:
            try:
                out[name] = _READERS[name](given[name], out)
            except StudyError as error:
                problems += error.problems
        if problems:
            raise StudyError(problems)
        return out

    def stated_fields(self, *names: str) -> list[str]:
        """Those of the fields that were given."""
        return [n for n in names if n in self.model_fields_set]


def _domains(given: Any) -> tuple[Domain, ...]:
    one = isinstance(given, str | Mapping | Domain)
    return tuple(domain_of(g) for g in ([given] if one else given or ()))


_READERS: Mapping[str, Callable[[Any, Mapping[str, Any]], Any]] = {
    "attacks": lambda given, _: None if given is None else all_of(Attack, given),
    "measures": lambda given, _: None if given is None else all_of(Measure, given),
    "intruder": lambda given, _: intruder_of(given),
    "combine": lambda given, _: combinations_of(given or {}),
    "limits": lambda given, read: limits_of(given, read.get("combine", ())),
    "domains": lambda given, _: _domains(given),
    "analyses": lambda given, _: analyses_of(given),
    "null_resamples": lambda given, _: resample_count(given) if isinstance(given, int) else given,
}


def scoring_of(given: Scoring | None, plain: Mapping[str, Any], base: Scoring | None = None) -> Scoring:
    """The scoring that was asked for: plain arguments, else those of `given`, else those of `base`."""
    asked = {n: v for n, v in plain.items() if v is not None}
    twice = given.stated_fields(*asked) if given is not None else []
    if twice:
        raise StudyError([f"{n}: is given twice, as an argument and in scoring. Keep one of them." for n in twice])
    stated = {n: getattr(s, n) for s in (base, given) if s is not None for n in s.model_fields_set}
    return Scoring(**{**stated, **asked})


def refuse_unused(scoring: Scoring, where: str, *names: str) -> None:
    """Refuse settings that would have no effect here."""
    problems = [f"{n}: {where} does not use it. State it for lv.compare or lv.run." for n in scoring.stated_fields(*names)]
    if problems:
        raise StudyError(problems)
