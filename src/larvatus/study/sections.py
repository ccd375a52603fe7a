"""The parts of a study, built from plain values. All problems are collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from larvatus.attacks.linkage.target_sample import check_target_count
from larvatus.comparison.combined_scores import combinations_of
from larvatus.comparison.limits import limits_of
from larvatus.constraints.settings import Constraints, constraint_fields, constraint_problems, step_problems
from larvatus.core.database_urls import check_address, database_kind, is_address
from larvatus.core.discovery import file_names
from larvatus.core.errors import LarvatusError, StudyError, nearest_names
from larvatus.core.memory_size import bytes_of
from larvatus.data.contracts import Attack, Measure, Method
from larvatus.data.csv_files.dialect import NOTHING_STATED, CsvFormat, SourceFile
from larvatus.data.holdout import Holdout
from larvatus.data.intruder import Intruder
from larvatus.data.method_parsing import validation_problems
from larvatus.data.roles import Roles, SubGroups, role_problems
from larvatus.documents.codebook import read_labels, read_value_labels
from larvatus.measures.analyses.spec import analyses_of
from larvatus.measures.scoring.domains import Domain, domain_of
from larvatus.measures.scoring.null_placement import FEWEST_RESAMPLES, MOST_RESAMPLES
from larvatus.searching.goal import Goal
from larvatus.searching.space import space_of
from larvatus.study.budget_settings import BudgetSettings
from larvatus.study.planned_releases import PlannedRelease, releases, tables, try_method

_V = TypeVar("_V", bound=BaseModel)


class Utility(BaseModel):
    """How losses are measured, for all measures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    null_resamples: Annotated[int, Field(ge=0, le=MOST_RESAMPLES)] = Field(
        default=0, description="bootstrap resamples for the null distribution of each loss, e.g. 200 (default: none)"
    )

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if 0 < self.null_resamples < FEWEST_RESAMPLES:
            raise ValueError(f"null_resamples must be 0 or at least {FEWEST_RESAMPLES}")
        return self


SECTIONS: Mapping[str, type[BaseModel]] = {
    "roles": Roles, "sub_groups": SubGroups, "intruder": Intruder, "constraints": Constraints, "utility": Utility,
    "goal": Goal, "holdout": Holdout, "budget": BudgetSettings,
}
LATER = ("folder", "combine", "limits", "csv")
MEANT = {
    "risk": "attacks belong in [[attack]].", "risks": "attacks belong in [[attack]].",
    "utilities": "measures belong in [[measure]].", "mask": "masks are the steps of [[release]].",
    "csv": "it belongs in [source].",
    "objective": "it belongs in [goal].", "missing": "it belongs in [source] or [roles].",
    "tier": "it belongs in [limits].", "grid": "it belongs in a step of [[release]].",
}


def part(name: str, value: Any, problems: list[str]) -> Any:
    """One part of a study; its problems are added to the list."""
    if name == "goal" and isinstance(value, Mapping):
        value = {k: v for k, v in value.items() if k != "limits"}
    if name in SECTIONS:
        return _section(name, SECTIONS[name], value, problems)
    if name == "release":
        return releases(value, problems)
    if name in ("attack", "measure"):
        method: type[Method] = Attack if name == "attack" else Measure
        made = [try_method(f"{name} {i}", method, v, problems) for i, v in enumerate(tables(name, value, problems), 1)]
        return [m for m in made if m is not None]
    if name == "search":
        try:
            return space_of(tables(name, value, problems))
        except StudyError as error:
            problems += error.problems
            return ()
    if name == "labels":
        return read_labels(value, problems)
    if name == "value_labels":
        return read_value_labels(value, problems)
    if name == "domain":
        found = [_domain(i, v, problems) for i, v in enumerate(tables(name, value, problems), 1)]
        return [d for d in found if d is not None]
    if name == "analysis":
        try:
            return analyses_of(tables(name, value, problems))
        except StudyError as error:
            problems += error.problems
            return ()
    if name == "targets":
        try:
            return check_target_count(value)
        except LarvatusError as error:
            problems.append(str(error))
            return None
    if name == "certify":
        if not isinstance(value, bool):
            problems.append(f"certify: must be true or false, got {type(value).__name__}.")
        return value is True
    if not isinstance(value, str):
        problems.append(f"{name}: must be text, got {type(value).__name__}.")
    elif name == "engine" and value not in (engines := ["auto", *file_names("larvatus.engines")]):
        problems.append(f"engine: there is no engine {value!r}; {nearest_names(value, engines)}")
    elif name == "memory":
        try:
            bytes_of(value)
        except LarvatusError as error:
            problems.append(str(error))
    return value


def decisions(raw: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Combinations and limits, by which releases are judged. `[goal] limits` is another place for the same settings."""
    out: dict[str, Any] = {}
    try:
        if "combine" in raw:
            out["combine"] = combinations_of(raw["combine"])
        in_goal = "limits" in raw["goal"] if isinstance(raw.get("goal"), Mapping) else False
        if in_goal and "limits" in raw:
            problems.append("limits: given in both [limits] and [goal]. Keep only [limits], with all limits: it "
                            "applies to run, check and search.")
        elif in_goal or "limits" in raw:
            out["limits"] = limits_of(raw["goal"]["limits"] if in_goal else raw["limits"], out.get("combine", ()))
    except StudyError as error:
        problems += error.problems
    return out


def _domain(place: int, given: Any, problems: list[str]) -> Domain | None:
    try:
        return domain_of(given)
    except StudyError as error:
        problems += [p.replace("domain", f"domain {place}", 1) for p in error.problems]
        return None


def _section(name: str, kind: type[_V], value: Any, problems: list[str]) -> _V:
    if not isinstance(value, Mapping):
        way = " Measures belong in [[measure]]." if kind is Utility else ""
        problems.append(f"{name}: must be a table, [{name}], got {type(value).__name__}.{way}")
        return kind()
    try:
        return kind.model_validate(dict(value))
    except ValidationError as error:
        fields = constraint_fields(value) if kind is Constraints else list(kind.model_fields)
        fields += ["file", "database"] if kind is CsvFormat else []
        if kind is Goal:
            fields.append("limits")
        problems += validation_problems(name, error, fields)
        return kind()


def source_and_format(raw: Mapping[str, Any], problems: list[str]) -> tuple[Mapping[str, Any], CsvFormat]:
    """A study with its source as a path, and what `[source]` states about a CSV file besides it."""
    source = raw.get("source")
    if not isinstance(source, Mapping):
        return raw, CsvFormat()
    if not isinstance(source.get("file"), str):
        problems.append("source.file: is required. Give a CSV or Parquet file, or a database (database = \"sqlite:///…\").")
    stated = {k: v for k, v in source.items() if k != "file"}
    found = _section("source", CsvFormat, stated, problems)
    return {**raw, "source": str(source.get("file", ""))}, found


def about_constraints(asked: Constraints, roles: Roles, groups: SubGroups, releases: Sequence[PlannedRelease]) -> list[str]:
    """Problems of the constraints with the roles, and with the steps of every release."""
    problems = constraint_problems(asked, roles, groups)
    for planned in releases if asked and not problems else ():
        problems += [f"release {planned.name!r}: {p}" for p in step_problems(asked, planned.steps)]
    return problems


def against_source(
    source: str, folder: Path | None, roles: Roles, sub_groups: SubGroups, csv: CsvFormat = NOTHING_STATED,
    sheet: str | None = None,
) -> list[str]:
    """Problems of the roles with the columns of the source, if the source exists."""
    if not source:
        return role_problems(roles, sub_groups)
    try:
        check_address(source)
    except LarvatusError as error:
        return [str(error), *role_problems(roles, sub_groups)]
    if database_kind(source) or is_address(source):  # its columns are checked when it is read
        return role_problems(roles, sub_groups)
    from larvatus.engines._files.sources import source_names

    path = Path(source) if folder is None else folder / source
    try:
        return role_problems(roles, sub_groups, source_names(SourceFile(path, csv), sheet))
    except LarvatusError as error:
        return [f"source: {error}", *role_problems(roles, sub_groups)]
