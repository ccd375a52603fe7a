"""An analysis that users of a release are expected to run: a regression, means, quantiles, correlations or a table."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from larvatus.core.errors import LarvatusError, StudyError, nearest_names
from larvatus.core.toml_text import read_toml
from larvatus.data.contracts import Column
from larvatus.data.method_parsing import validation_problems
from larvatus.data.roles import Names
from larvatus.data.settings.settings_model import SettingsModel
from larvatus.measures.analyses.formulas import Formula
from larvatus.measures.analyses.formulas import formula as read_formula

Kind = Literal["formula", "mean", "quantile", "correlation", "table"]
_KINDS: tuple[Kind, ...] = ("formula", "mean", "quantile", "correlation", "table")
_Probability = Annotated[float, Field(gt=0, lt=1)]
ColumnPair = Annotated[tuple[str, ...], Field(min_length=2, max_length=2)]


def _pairs(value: Any) -> Any:
    """A single pair may be given without outer brackets."""
    if isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value):
        return (tuple(value),)
    return value


def _listed(value: Any) -> Any:
    """A single probability may be given without brackets."""
    if isinstance(value, Mapping):
        return {k: (v,) if isinstance(v, int | float) else v for k, v in value.items()}
    return value


class Analysis(SettingsModel):
    """One kind of estimate, computed in the same way from the original and from the release.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> analysis = lv.Analysis(correlation=[["home_value", "net_assets"]], where="gender == 1")
        >>> analysis.label
        'correlation of home_value, net_assets, where gender == 1'
        >>> release = lv.mask(data, "additive_noise")
        >>> [score.method for score in lv.utility(data, release, "moments", analyses=[analysis])]
        ['moments', 'analyses']
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: Annotated[str, Field(max_length=120)] = Field(default="", description="name in tables and reports")
    formula: str | None = Field(default=None, description="a regression such as FEDTAX ~ AGI + STATETAX")
    model: Literal["ordinary", "logistic"] = Field(default="ordinary", description="type of regression")
    mean: Names | None = Field(default=None, description="columns whose means are estimated")
    quantile: Annotated[dict[str, tuple[_Probability, ...]] | None, BeforeValidator(_listed)] = Field(
        default=None, description="probabilities by column, such as {AGI = [0.5, 0.9]}"
    )
    correlation: Annotated[tuple[ColumnPair, ...] | None, BeforeValidator(_pairs)] = Field(
        default=None, description="pairs of columns, such as [[\"AGI\", \"FEDTAX\"]]"
    )
    table: Names | None = Field(default=None, description="columns whose joint shares are estimated")
    where: str | None = Field(default=None, description="condition on the records to use, evaluated on each file's own values")
    level: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.05, description="significance level; intervals have confidence 1 - level"
    )
    weighted: bool = Field(default=True, description="use the survey weight, if there is one")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        asked = [k for k in _KINDS if getattr(self, k) is not None]
        if len(asked) != 1:
            raise ValueError(f"an analysis needs exactly one of {', '.join(_KINDS)}; {' and '.join(asked) or 'none'} is given")
        if not getattr(self, asked[0]) or (self.quantile and not all(self.quantile.values())):
            raise ValueError(f"{asked[0]} is empty; give at least one column")
        if self.model != "ordinary" and self.formula is None:
            raise ValueError("model applies only to a formula; omit it")
        if self.formula is not None:
            try:
                read_formula(self.formula)
            except StudyError as error:
                raise ValueError(error.problems[0]) from None
        return self

    @property
    def kind(self) -> Kind:
        return next(k for k in _KINDS if getattr(self, k) is not None)

    @property
    def regression(self) -> Formula:
        return read_formula(self.formula or "")

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the analysis, without those of the condition."""
        if self.formula is not None:
            return self.regression.columns
        named = self.mean or self.table or (n for pair in self.correlation or () for n in pair)
        return tuple(dict.fromkeys(self.quantile or named))

    @property
    def label(self) -> str:
        """Its name, or a short description."""
        if self.name:
            return self.name
        what = f"{self.kind} of {', '.join(self.columns)}" if self.formula is None else self.formula
        model = " (logistic)" if self.model == "logistic" else ""
        return f"{what}{model}{f', where {self.where}' if self.where else ''}"

    def plain(self) -> dict[str, Any]:
        """The settings as in a study file."""
        return self.model_dump(mode="json", exclude_defaults=True)


AnalysisLike: TypeAlias = Analysis | str | Mapping[str, Any]


def analyses_of(given: Any) -> tuple[Analysis, ...]:
    """One or several analyses from an Analysis, a formula, a table of settings, or TOML text; one error lists all problems."""
    if given is None:
        return ()
    several = [given] if isinstance(given, str | Mapping | Analysis) else list(given)
    problems: list[str] = []
    made = [_tried(f"analysis {i}", one, problems) for i, one in enumerate(several, 1)]
    if problems:
        raise StudyError(problems)
    return tuple(a for a in made if a is not None)


def _tried(where: str, given: Any, problems: list[str]) -> Analysis | None:
    if isinstance(given, Analysis):
        return given
    try:
        settings = _written(given) if isinstance(given, str) else given
        if isinstance(settings, Mapping):
            return Analysis.model_validate(dict(settings))
        problems.append(f"{where}: needs a formula or a table of settings, got {type(given).__name__}.")
    except ValidationError as error:
        whole = [str(e["ctx"]["error"]) for e in error.errors() if e["type"] == "value_error" and not e["loc"]]
        problems += [f"{where}: {w.rstrip('.')}." for w in whole]
        problems += [] if whole else validation_problems(where, error, list(Analysis.model_fields))
    except (StudyError, TypeError) as error:
        problems.append(f"{where}: {error}")
    return None


def _written(text: str) -> Mapping[str, Any]:
    """A formula, `logistic: formula`, or settings in TOML such as `mean = ["AGI"], where = "AGI > 0"`."""
    try:
        whole = text.strip()
        return dict(read_toml(f"a = {whole}" if whole.startswith("{") else "a = {" + whole + "}")["a"])
    except tomllib.TOMLDecodeError:
        head, colon, tail = text.partition(":")
        if colon and head.strip() in ("ordinary", "logistic") and "~" in tail:
            return {"formula": tail.strip(), "model": head.strip()}
        return {"formula": text.strip()}


def analysis_problems(analyses: Sequence[Analysis], released: Sequence[str]) -> list[str]:
    """Problems: columns that are not released."""
    return [
        f"analysis {a.label!r}: {n!r} is not a released column; {nearest_names(n, released)} "
        f"Released columns: {', '.join(released)}."
        for a in analyses for n in a.columns if n not in released
    ]


def check_analyses(analyses: Sequence[Analysis], released: Sequence[str], columns: Mapping[str, Column]) -> None:
    """Raise an error that lists every problem of the analyses with these columns."""
    from larvatus.data.conditions import condition

    problems = analysis_problems(analyses, released)
    for a in analyses if not problems else ():
        numbers = a.columns if a.kind in ("mean", "quantile", "correlation") else ()
        problems += [
            f"analysis {a.label!r}: {n!r} is categorical; {a.kind} needs a numeric column. Use another column, or table."
            for n in numbers if columns[n].kind != "number"
        ]
        if a.formula is not None:
            asked = a.regression
            for part in (asked.outcome, *asked.parts):
                if columns[part.column].kind == "nominal" and (part.function in ("log", "sqrt") or part.power > 1):
                    problems.append(f"analysis {a.label!r}: {part}: {part.column!r} is categorical. Write {part.column}.")
            if a.model == "ordinary" and columns[asked.outcome.column].kind == "nominal":
                problems.append(
                    f"analysis {a.label!r}: {asked.outcome.column!r} is categorical; ordinary regression needs a numeric "
                    "outcome. With two levels, use model = \"logistic\"."
                )
        if a.where is not None:
            try:
                condition(a.where, {n: columns[n] for n in released})
            except LarvatusError as error:
                problems.append(f"analysis {a.label!r}: {error}")
    if problems:
        raise StudyError(problems)

METHOD = "analyses"
SIDES = ("original", "released", "corrected")
