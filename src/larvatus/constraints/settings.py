"""The constraints of a release: bounds, whole numbers, decimals, and rules between columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from larvatus.constraints.feasibility import contradicting
from larvatus.constraints.rules import DIFFERENCE, WHERE_HELD, Linear, LinearTerm, Rule, parse_rule, quote_name
from larvatus.core.errors import StudyError, nearest_names
from larvatus.core.number_format import exact_number
from larvatus.core.portable.portable_functions import power_of_ten
from larvatus.data.contracts import Mask
from larvatus.data.method_parsing import validation_problems
from larvatus.data.roles import Names, Roles, SubGroups, released_columns
from larvatus.data.settings.settings_model import SettingsModel

Repair = Literal["nearest", "redraw", "reverse_map"]
HOW_BOUNDS = "write a bound with least, most, or both, such as { least = 0, most = 100 }"


def _readable(text: str) -> str:
    parse_rule(text)
    return text


RuleText = Annotated[str, AfterValidator(_readable)]


class ColumnBounds(BaseModel):
    """The smallest and largest value allowed in a column."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    least: float | None = Field(default=None, description="smallest allowed value")
    most: float | None = Field(default=None, description="largest allowed value")

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, given: Any) -> Any:
        if isinstance(given, ColumnBounds) or (isinstance(given, Mapping) and set(given) <= set(cls.model_fields)):
            return given
        raise ValueError(HOW_BOUNDS)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.least is None and self.most is None:
            raise ValueError("a bound needs least, most, or both")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError("least is above most")
        return self


class Constraints(SettingsModel):
    """The constraints that every released record must obey, and how to repair records that break them.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> constraints = lv.Constraints(non_negative="home_value", decimals={"net_assets": 2})
        >>> release = lv.mask(data, "additive_noise(variance=1)", constraints=constraints)
        >>> min(release.frame()["home_value"].to_pylist()) >= 0
        True
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    bounds: dict[str, ColumnBounds] = Field(default_factory=dict, description="smallest and largest value of a column, by name")
    non_negative: Names = Field(default=(), description="columns without negative values")
    integers: Names = Field(default=(), description="columns rounded to whole numbers, halves away from zero")
    decimals: dict[str, Annotated[int, Field(ge=0, le=15)]] = Field(
        default_factory=dict, description="number of decimals that a column is rounded to, by name"
    )
    rules: tuple[RuleText, ...] = Field(default=(), description="identities, inequalities, and if … then … between columns")
    repair: Repair = Field(default="nearest", description="how records that break a rule are repaired")
    attempts: Annotated[int, Field(ge=1, le=1000)] = Field(default=20, description="most redraws of a record")
    tolerance: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="largest violation that still counts as kept, in addition to rounding in the last digits"
    )

    def __bool__(self) -> bool:
        return bool(self.bounds or self.non_negative or self.integers or self.decimals or self.rules)

    def read_rules(self) -> tuple[Rule, ...]:
        """The parsed rules, followed by the bounds as rules."""
        out = [parse_rule(text) for text in self.rules]
        for name in dict.fromkeys((*self.non_negative, *self.bounds)):
            bound = self.bounds.get(name, ColumnBounds(least=0))
            least = max(0.0, bound.least or 0.0) if name in self.non_negative else bound.least
            column = Linear(((name, 1.0),))
            if least is not None:
                out.append(Rule(f"{quote_name(name)} >= {_bound(least)}", (LinearTerm(Linear((), least), "<=", column),)))
            if bound.most is not None:
                most = LinearTerm(column, "<=", Linear((), bound.most))
                out.append(Rule(f"{quote_name(name)} <= {_bound(bound.most)}", (most,)))
        return tuple(out)

    def units(self) -> dict[str, float]:
        """The rounding unit of each rounded column."""
        return {**{n: power_of_ten(-d) for n, d in self.decimals.items()}, **dict.fromkeys(self.integers, 1.0)}

    def over(self, rules: tuple[str, ...], integers: str | None, repair: str | None) -> Constraints:
        """The same with more rules and whole-number columns, and another repair if given."""
        more = {"rules": (*self.rules, *rules), "integers": (*self.integers, *_listed(integers))}
        return constraints_of({**self.model_dump(), **more, **({"repair": repair} if repair else {})})


def _bound(value: float) -> str:
    """A bound as a rule states it, without separators."""
    return exact_number(value).replace(",", "")


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


ConstraintsLike: TypeAlias = Constraints | str | Sequence[str] | Mapping[str, Any]


def constraints_of(given: Any) -> Constraints:
    """Constraints from a Constraints object, a table, one rule, a list of rules, or None; all problems in one error."""
    if isinstance(given, Constraints):
        return given
    raw = {"rules": [given]} if isinstance(given, str) else {"rules": list(given)} if isinstance(given, list | tuple) else given
    if raw is not None and not isinstance(raw, Mapping):
        raise StudyError([f"constraints: cannot be read from a {type(given).__name__}; give rules or a table of settings."])
    try:
        return Constraints.model_validate(dict(raw or {}))
    except ValidationError as error:
        raise StudyError(validation_problems("constraints", error, constraint_fields(raw))) from None


def constraint_fields(raw: Any) -> list[str]:
    """Names that an error may refer to: settings, and columns with settings of their own."""
    named = [str(n) for part in ("bounds", "decimals") for n in (raw or {}).get(part, {}) if isinstance(raw[part], Mapping)]
    return [*Constraints.model_fields, *named, "least", "most"]


def constraint_problems(
    asked: Constraints, roles: Roles, sub_groups: SubGroups, names: Collection[str] | None = None
) -> list[str]:
    """All problems of the constraints with these roles; `names` are the columns known to hold text."""
    if not asked:
        idle = asked.model_dump(exclude_defaults=True)
        return [f"constraints.{n}: is set, but there is nothing to obey. Add bounds, integers or rules." for n in idle]
    known = released_columns(roles, sub_groups)
    texts = {*roles.nominal, *sub_groups.columns, *roles.ordered} if names is None else set(names)
    problems: list[str] = []
    for field in ("bounds", "non_negative", "integers", "decimals"):
        for name in getattr(asked, field):
            problems += _column_problems(f"constraints.{field}", name, known, texts, roles)
    rules = [parse_rule(text) for text in asked.rules]
    for rule in rules:
        problems += _rule_problems(rule, known, texts, roles)
    if not problems:
        problems += _identity_problems([r for r in rules if r.equation], asked, roles)
    if not problems:
        against = contradicting([r for r in asked.read_rules() if not r.exceptions])
        if len({n for r in against for n in r.columns}) > 1:
            said = "; ".join(r.text for r in against)
            problems.append(f"constraints: no record can obey all of: {said}. Leave one of them out, or correct it.")
    both = [n for n in asked.integers if n in asked.decimals]
    problems += [f"constraints: {n!r} is in integers and in decimals. Keep it in one of the two." for n in both]
    return list(dict.fromkeys(problems))


def _column_problems(where: str, name: str, known: Collection[str], texts: Collection[str], roles: Roles) -> list[str]:
    if name not in known:
        return [f"{where}: no released column {name!r}; {nearest_names(name, known)}"]
    if name not in roles.confidential:
        return [f"{where}: {name!r} is not masked, so it cannot be constrained. Use confidential columns only."]
    if name in texts:
        return [f"{where}: {name!r} holds text, but numbers are needed. Leave it out."]
    return []


def _rule_problems(rule: Rule, known: Collection[str], texts: Collection[str], roles: Roles) -> list[str]:
    said = f"constraints.rules: rule {rule.text!r}"
    unknown = [n for n in dict.fromkeys(rule.columns + rule.conditions) if n not in known]
    if unknown:
        return [f"{said}: no released column {n!r}; {nearest_names(n, known)}" for n in unknown]
    held = [n for n in rule.columns if n in texts]
    if held:
        return [f"{said}: {n!r} holds text, but sums need numbers. Use text only in a condition (if … then …)." for n in held]
    if rule.equation:
        left = rule.lines[0].left.lone
        if left not in roles.confidential:
            return [f"{said}: {left!r} is not masked and cannot be recomputed. Put a confidential column on the left."]
    elif not any(n in roles.confidential for n in rule.columns):
        return [f"{said}: has no confidential column, so masking does not affect it. Leave it out."]
    return []


def _identity_problems(identities: list[Rule], asked: Constraints, roles: Roles) -> list[str]:
    given: dict[str, Linear] = {}
    problems = []
    for rule in identities:
        left = rule.lines[0].left.columns[0]
        if left in given:
            problems.append(f"constraints.rules: {left!r} is on the left of two identities. Keep one of them.")
        given[left] = rule.lines[0].right
    circle = [n for n in given if n in _reached(n, given)]
    if circle:
        problems.append(f"constraints.rules: circular identities between {', '.join(circle)}. Leave one of them out.")
        return problems
    for name in given:
        if not any(c and n in roles.confidential for n, c in given[name].gather(given).items()):
            problems.append(f"constraints.rules: {name!r} follows from columns that are not confidential, so it would be "
                            "released unmasked. Do not release it, or leave the rule out.")
    units = asked.units()
    for name in (n for n in units if n in given):
        parts = [p for p in _reached(name, given) if p not in given]
        whole = all(float(c).is_integer() for c in given[name].gather(given).values())
        if not whole or not all(_multiple(units.get(p, 0.0), units[name]) for p in parts):
            problems.append(
                f"constraints: {name!r} is recomputed from {', '.join(parts)}, and rounding it would break the rule. Round "
                "these columns instead."
            )
    return problems


def _multiple(unit: float, of: float) -> bool:
    return round(unit / of) >= 1 and abs(unit / of - round(unit / of)) < 1e-9


def _reached(name: str, given: Mapping[str, Linear]) -> list[str]:
    """Every column that a column is derived from, directly or indirectly."""
    out: list[str] = []
    waiting = list(given[name].columns)
    while waiting:
        column = waiting.pop(0)
        if column not in out:
            out.append(column)
            waiting += given[column].columns if column in given else ()
    return out


def derived_order(rules: Collection[Rule], everywhere: bool = True) -> dict[str, Linear]:
    """The expression of each derived column, ordered so that its parts come first.

    With `everywhere`, only columns that are derived in every record: not totals that are kept where they held.
    """
    kinds = ("", DIFFERENCE) if everywhere else ("", DIFFERENCE, WHERE_HELD)
    given = {r.lines[0].left.columns[0]: r.lines[0].right for r in rules if r.equation and r.exceptions in kinds}
    return dict(sorted(given.items(), key=lambda pair: len([n for n in _reached(pair[0], given) if n in given])))


def step_problems(asked: Constraints, steps: Collection[Mask]) -> list[str]:
    """Conflicts between the constraints and the steps of a release."""
    rules = [r for r in asked.read_rules() if not r.exceptions]
    derived = derived_order(asked.read_rules())
    problems = [
        f"{step.name()}.columns: {name!r} is recomputed by a rule and cannot be masked. Leave it out of the step."
        for step in steps for name in step.columns or () if name in derived
    ]
    if asked.repair == "redraw" and any(not r.identity for r in rules):
        whole = [s.name() for s in steps if not s.record_wise]
        if whole:
            problems.append(
                f"constraints.repair: redraw needs steps that draw each record separately, but {whole[0]} does not. Use "
                'repair = "nearest" or "reverse_map".'
            )
        elif not any(s.random for s in steps):
            problems.append('constraints.repair: redraw needs a random step, but there is none. Use repair = "nearest".')
    return problems
