"""Limits on scores, set beforehand, and the check of a release against them.

The numbers of the access tiers are in `tiers`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from larvatus.comparison.combined_scores import Combination, add_combined_scores
from larvatus.comparison.headline import mean_loss_of
from larvatus.comparison.key_figures import AT_LEAST, KEY_LIMITS, KEY_RISK
from larvatus.comparison.limits_by_release import LIMIT_ON_MEAN_LOSS, ONLY_UPPER_END, broken_in_words, limit_figure
from larvatus.comparison.score_figures import (
    LIMITED,
    OF_ATTACKS,
    UPPER_END,
    figure_of,
    figure_of_limit,
    has_upper_end,
    known_scores,
    worst_sub_group,
)
from larvatus.comparison.tiers import TIERS
from larvatus.comparison.unmasked_columns import unmasked_in_words
from larvatus.comparison.worst_columns import worst_column
from larvatus.core.errors import StudyError, nearest_names
from larvatus.data.exposure.computable_records import INSIDERS
from larvatus.data.exposure.rare_categories import TELLING_CATEGORIES, worst_category
from larvatus.data.exposure.unchanged_records import UNCHANGED_RECORDS
from larvatus.data.method_parsing import problems_by_field
from larvatus.data.score import Row, Rows, Score
from larvatus.data.settings.settings_model import SettingsModel

Interval = Literal["upper", "value"]
_Share = Annotated[float, Field(ge=0)]

_FIGURE = {name: "value" if name == "at_most" else name for name in LIMITED}
_SLACK = 1e-12
_OWN = ("tier", "interval", "every_attack", LIMIT_ON_MEAN_LOSS)


class Limit(BaseModel):
    """The maximum of one score; every stated figure must be met."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    at_most: _Share | None = Field(default=None, description="maximum of the score")
    above_chance: _Share | None = Field(default=None, description="attacks only: maximum success above chance")
    above_baseline: _Share | None = Field(default=None, description="attacks only: maximum success above baseline")
    times_chance: _Share | None = Field(default=None, description="attacks only: maximum ratio of success to chance")
    worst_group: _Share | None = Field(default=None, description="maximum of the score in the worst sub-group")
    certain: _Share | None = Field(default=None, description="attacks that find records: maximum found with certainty")
    unmasked: _Share | None = Field(default=None, description="uniqueness only: maximum identified by S and nearly unchanged")
    worst_category: _Share | None = Field(
        default=None, description="category_disclosure only: maximum share of a released category that is one original one"
    )
    computable: _Share | None = Field(
        default=None, description="exact_equations only: maximum in sub-groups that three insiders can compute"
    )
    worst_column: _Share | None = Field(
        default=None, description="value_disclosure only: maximum explained of what S leaves open in a column"
    )
    k: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="key_risk only: minimum number of records that agree in all keys"
    )
    l: Annotated[int, Field(ge=1)] | None = Field(  # noqa: E741 (the name in the literature)
        default=None, description="key_risk only: minimum number of different confidential values among them"
    )
    t: _Share | None = Field(
        default=None, description="key_risk only: maximum distance of confidential values in a class from those in the file"
    )
    re_identifications: _Share | None = Field(
        default=None, description="key_risk only: maximum expected number of records found"
    )
    above_threshold: _Share | None = Field(
        default=None, description="key_risk only: maximum number of records with an individual risk above its threshold"
    )
    interval: Interval | None = Field(default=None, description="limit the upper end of the interval, or the value")

    @model_validator(mode="before")
    @classmethod
    def _number(cls, given: Any) -> Any:
        return {"at_most": given} if isinstance(given, int | float) and not isinstance(given, bool) else given

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.stated_figures():
            raise ValueError(f"a limit needs a number, or one of {', '.join(LIMITED)}")
        return self

    def stated_figures(self) -> dict[str, float]:
        """The limits that are set, by figure."""
        return {n: v for n in LIMITED if (v := getattr(self, n)) is not None}

    def plain(self) -> Any:
        """As a study file holds it."""
        out = self.model_dump(exclude_none=True)
        return out["at_most"] if list(out) == ["at_most"] else out


class Limits(SettingsModel):
    """Limits by name of an attack, a measure or a combination, and by access tier.

    `tier` and `every_attack` apply to every attack that decides between releases; if both are given, both apply. A limit for
    an attack by name replaces them for that attack. `mean_loss` is the maximum of the mean relative loss over the measures.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> limits = lv.Limits(every_attack={"above_chance": 0.05}, scores={"moments": 0.02})
        >>> release = lv.mask(data, "additive_noise(variance=0.001)")
        >>> judgement = lv.check(data, release, limits, scoring=lv.Scoring(attacks="nearest_record"))
        >>> judgement.meets_limits, judgement.broken.column("score")
        (False, ['nearest_record'])
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tier: Literal["public", "scientific", "secure"] | None = None
    interval: Interval = "upper"
    every_attack: Limit | None = None
    mean_loss: _Share | None = None
    scores: dict[str, Limit] = Field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.tier or self.every_attack or self.scores or self.mean_loss is not None)

    @property
    def of_attacks(self) -> tuple[Limit, ...]:
        """The limits for every attack: the tier's and the stated one; the stricter if both limit the same figure."""
        own = self.every_attack
        if self.tier is None:
            return (own,) if own is not None else ()
        tier = Limit(above_baseline=TIERS[self.tier].above_baseline)
        if own is None:
            return (tier,)
        if own.above_baseline is None or own.interval not in (None, self.interval):
            return (tier, own)
        return (own.model_copy(update={"above_baseline": min(own.above_baseline, TIERS[self.tier].above_baseline)}),)

    def plain(self) -> dict[str, Any]:
        """As a study file holds it."""
        out: dict[str, Any] = {"tier": self.tier} if self.tier else {}
        if self.interval != "upper":
            out["interval"] = self.interval
        if self.every_attack is not None:
            out["every_attack"] = self.every_attack.plain()
        if self.mean_loss is not None:
            out[LIMIT_ON_MEAN_LOSS] = self.mean_loss
        return {**out, **{name: limit.plain() for name, limit in self.scores.items()}}

    def judge(
        self, scores: Sequence[Score], combinations: Sequence[Combination] = (), not_run: Mapping[str, str] | None = None
    ) -> Judgement:
        """Check scores against every limit. A score that did not run, or lacks the figure, breaks its limit."""
        found = add_combined_scores(scores, combinations)
        why = dict(not_run or {})
        rows: list[Row] = []
        for name, limit in self.scores.items():
            mine = [s for s in found if s.method == name]
            absent = why.get(name) or _absent(name, combinations, found)
            rows += self._rows(mine, limit) if mine else [_not_run(name, limit, absent)]
        attacks = [s for s in scores if s.kind == "risk" and s.decides and s.method not in self.scores]
        limited = [s for s in scores if s.kind == "risk" and s.method in self.scores]
        failed = [n for n in why if known_scores().get(n) == "risk" and n not in self.scores]
        for every in self.of_attacks:
            rows += self._rows(attacks, every)
            rows += [_not_run(n, every, why[n]) for n in failed]
            if not attacks and not limited and not failed:
                rows.append(_not_run("every_attack", every, "no attack was run"))
        rows += self._absolute(attacks)
        if self.tier is not None and KEY_RISK not in self.scores:
            rows += self._rows([s for s in scores if s.method == KEY_RISK], Limit(at_most=TIERS[self.tier].key_risk))
        if self.mean_loss is not None:
            lost = mean_loss_of(scores)
            why_not = "" if lost is not None else "no measure was run"
            rows.append(_row(LIMIT_ON_MEAN_LOSS, "value", lost, self.mean_loss, why_not))
        return Judgement(Rows.of(rows), unmasked_in_words(scores))

    def violation(self, scores: Sequence[Score], combinations: Sequence[Combination] = ()) -> float:
        """By how much limits are broken, summed; 0 if all are met, infinite if a figure is missing."""
        return self.judge(scores, combinations).violation

    def _absolute(self, attacks: Sequence[Score]) -> list[Row]:
        """The absolute limits of the tier, each on the attack that comes furthest."""
        if self.tier is None:
            return []
        tier = TIERS[self.tier]
        out: list[Row] = []
        found = [s for s in attacks if s.identifies]
        for name, most in (("at_most", tier.at_most), ("certain", tier.certain)):
            known = [(v, s) for s in found if (v := figure_of(s, _FIGURE[name], self.interval == "upper")) is not None]
            if known:
                first = max(known, key=lambda pair: pair[0])[1]
                out += self._rows([first], Limit(**{name: most}))
        groups = [(worst[1], worst[0], s) for s in found if (worst := worst_sub_group(s)) is not None]
        if groups:
            low, where, score = max(groups, key=lambda g: g[0])
            out.append(_row(score.method, LIMITED["worst_group"], low, tier.worst_group, f"lower end, {where}"))
        out += [_row(s.method, LIMITED["worst_category"], low, tier.worst_group, f"lower end, {where}" if low else "")
                for s in attacks if TELLING_CATEGORIES in s.details
                for where, low in [worst_category(s.details[TELLING_CATEGORIES])]]
        out += [_row(s.method, LIMITED["worst_column"], low, tier.worst_group, f"lower end, {where}" if low else "")
                for s in attacks if (worst := worst_column(s)) is not None for where, low in [worst]]
        unchanged = [s for s in attacks if UNCHANGED_RECORDS in s.details]
        solved = [s for s in attacks if INSIDERS in s.details]
        return [*out, *self._rows(unchanged, Limit(unmasked=0.0)), *self._rows(solved, Limit(computable=0.0))]

    def _rows(self, scores: Iterable[Score], limit: Limit) -> list[Row]:
        upper = (limit.interval or self.interval) == "upper"
        out: list[Row] = []
        for score in scores:
            for name, most in limit.stated_figures().items():
                value = figure_of(score, _FIGURE[name], upper)
                shown = LIMITED[name] + (UPPER_END if upper and has_upper_end(score, name) else "")
                if value is None:
                    out.append(_row(score.method, LIMITED[name], None, most, "the score has no such figure"))
                else:
                    plain = figure_of(score, _FIGURE[name])
                    within = upper and _within(plain, most) and not _within(value, most)
                    reason = _unmasked_groups(score) if name == "unmasked" and value > most else ""
                    row = _row(score.method, shown, value, most, reason, name in AT_LEAST)
                    out.append({**row, "reason": _estimate_meets(row, plain, score)} if within else row)
        return out


@dataclass(frozen=True, slots=True, repr=False)
class Judgement:
    """One row per limit: score, figure, value of that figure, limit, met, and the reason if there is something to explain.

    If the upper end of an interval is compared with the limit, `figure` says so and `value` is that upper end.
    `warnings` are sentences on what the unmasked columns alone reveal, and on records that are not masked.
    """

    rows: Rows
    warnings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.meets_limits

    def __repr__(self) -> str:
        said = "".join(f"\n{w}" for w in self.warnings)
        return f"{'all limits are met' if self.meets_limits else 'limits are broken'}{said}\n{self.rows}"

    @property
    def meets_limits(self) -> bool:
        return all(row["met"] is True for row in self.rows)

    @property
    def broken(self) -> Rows:
        """The rows of the broken limits."""
        return Rows.of(row for row in self.rows if row["met"] is not True)

    @property
    def violation(self) -> float:
        """By how much limits are broken, summed; infinite if a figure is missing."""
        return math.fsum(_beyond(row) for row in self.broken)

    def in_words(self) -> str:
        """The broken limits in one line."""
        return "; ".join(broken_in_words(row) for row in self.broken)


def _unmasked_groups(score: Score) -> str:
    """The sub-groups of which no record is masked, by name; empty if there are none."""
    names = [str(r["sub_group"]) for r in score.details[UNCHANGED_RECORDS] if r.get("sub_group") is not None]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"not masked: {'; '.join(names[:3])}{more}" if names else ""


def _beyond(row: Row) -> float:
    """By how much a limit is broken; counts of key risk relative to the limit, so that they compare with shares."""
    value, limit = row["value"], row["limit"]
    if not isinstance(value, float) or not isinstance(limit, float):
        return math.inf
    return abs(value - limit) / (max(limit, 1.0) if figure_of_limit(row) in KEY_LIMITS else 1.0)


def _within(value: float | None, most: float) -> bool:
    return value is not None and value <= most + _SLACK


def _row(score: str, figure: str, value: float | None, limit: float, reason: str, at_least: bool = False) -> Row:
    met = value is not None and value >= limit - _SLACK if at_least else _within(value, limit)
    return {
        "score": score, "figure": figure, "value": None if value is None else float(value), "limit": float(limit),
        "met": met, "reason": reason,
    }


def _estimate_meets(row: Row, estimate: float | None, score: Score) -> str:
    """The reason if only the upper end of an interval breaks a limit."""
    why = "only a sample of the records was attacked" if score.sampled else "there are few records"
    if score.method == KEY_RISK:
        why = "the number of persons with the same keys is estimated"
    if any(row["outcome"] != "found" for row in score.details.get("searches", ())):
        why = "equations determine the order of some sub-groups, although it was not found"
    return f"the estimate, {limit_figure(row, estimate)}, {ONLY_UPPER_END}, because {why}"


def _not_run(name: str, limit: Limit, reason: str) -> Row:
    figure, most = next(iter(limit.stated_figures().items()))
    return _row(name, LIMITED[figure], None, most, reason)


def _absent(name: str, combinations: Sequence[Combination], scores: Sequence[Score]) -> str:
    parts = next((c.missing(scores) for c in combinations if c.name == name), ())
    return f"its part {parts[0]} did not run" if parts else "it did not run"


LimitsLike: TypeAlias = Limits | str | Mapping[str, Any]


def limits_of(given: Any, combinations: Sequence[Combination] = ()) -> Limits:
    """Read limits from Limits, the name of a tier, or a table such as `[limits]`; all problems in one error."""
    if isinstance(given, Limits):
        return given
    if isinstance(given, str):
        given = {"tier": given}
    if given is None:
        return Limits()
    if not isinstance(given, Mapping):
        raise StudyError([f"limits: needs a table, [limits], got {type(given).__name__}."])
    own = _OWN
    names = [n for n in given if n not in own]
    unknown = _name_problems(names, combinations)
    try:
        made = Limits.model_validate({**{n: given[n] for n in own if n in given}, "scores": {n: given[n] for n in names}})
    except ValidationError as error:
        raise StudyError(_told(error, [*own, *Limit.model_fields, *names], unknown)) from None
    problems = [*unknown.values(), *_figure_problems(made, combinations)]
    if problems:
        raise StudyError(problems)
    return made


def needed_for(limits: Limits, combinations: Sequence[Combination], kind: Literal["risk", "loss"]) -> tuple[str, ...]:
    """The attacks or measures that limits name; combinations are replaced by their parts."""
    inside = {c.name: c.parts for c in combinations}
    named = [part for name in limits.scores for part in inside.get(name, (name,))]
    return tuple(n for n in dict.fromkeys(named) if known_scores().get(n) == kind)


def _told(error: ValidationError, fields: Sequence[str], unknown: Mapping[str, str]) -> list[str]:
    """All problems; of a score with an unknown name only that."""
    extra = [item["loc"] for item in error.errors(include_url=False) if item["type"] == "extra_forbidden"]
    wrong = [_no_figure(str(where[-2]), str(where[-1])) for where in extra if len(where) > 1]
    said = problems_by_field("limits", error, fields, unknown=not wrong)
    return [*unknown.values(), *wrong, *(text for where, text in said.items() if where not in unknown)]


def _no_figure(name: str, figure: str) -> str:
    own = "put it directly in [limits]; it applies to all attacks."
    way = own if figure in _OWN else nearest_names(figure, Limit.model_fields)
    return f"limits.{name}.{figure}: no such figure; {way}"


def _name_problems(names: Sequence[str], combinations: Sequence[Combination]) -> dict[str, str]:
    """The problem of each score that does not exist, by its place."""
    known = [*_OWN, *(c.name for c in combinations), *known_scores()]
    return {f"limits.{n}": f"limits.{n}: no score of that name; {nearest_names(n, known)}" for n in names if n not in known}


def _figure_problems(limits: Limits, combinations: Sequence[Combination]) -> list[str]:
    """Problems with figures that scores of that kind never have."""
    kinds = known_scores()
    out = []
    for name, limit in limits.scores.items():
        beyond = [f for f in OF_ATTACKS if f in limit.stated_figures()] if kinds.get(name) != "risk" else []
        out += [f"limits.{name}.{f}: only attacks have that figure. Limit the score itself: {name} = 0.05." for f in beyond]
        own = [f for f in KEY_LIMITS if f in limit.stated_figures()] if name != KEY_RISK else []
        out += [f"limits.{name}.{f}: only key_risk has that figure. Set it there: key_risk = {{ {f} = … }}." for f in own]
        if name in [c.name for c in combinations] and "worst_group" in limit.stated_figures():
            out.append(f"limits.{name}.worst_group: a combination has no figures by sub-group. Limit its parts, or the score "
                       f"itself: {name} = 0.05.")
    return out
