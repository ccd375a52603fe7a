"""What to do, as one frozen value that TOML files are read into and written from; nothing is carried out here."""

from __future__ import annotations

import itertools
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SerializeAsAny, ValidationError, model_validator

from larvatus.comparison.combining import Combination, combinations_of
from larvatus.comparison.goal import Goal
from larvatus.comparison.limits import Limits, limits_of
from larvatus.comparison.search_space import Searched, space_of
from larvatus.core.discovery import file_names
from larvatus.core.errors import LarvatusError, StudyError, nearest_names
from larvatus.core.files import write_text
from larvatus.core.memory import bytes_of
from larvatus.data.analyses import Analysis, analyses_of, analysis_problems
from larvatus.data.codebook import label_problems, read_labels
from larvatus.data.constraints import Constraints, constraint_fields, constraint_problems, step_problems
from larvatus.data.contracts import Attack, Mask, Measure, Method
from larvatus.data.domains import Domain, domain_of, domain_problems
from larvatus.data.intruder import Intruder
from larvatus.data.methods import method_of, validation_problems
from larvatus.data.microdata import Microdata
from larvatus.data.nulls import FEWEST, MOST
from larvatus.data.roles import Roles, SubGroups, released_columns, role_problems
from larvatus.data.taxonomy import with_taxonomies

V = TypeVar("V", bound=BaseModel)
MAPPED = "reverse_mapped"
M = TypeVar("M", bound=Method)


class Utility(BaseModel):
    """How losses are measured, whatever the measure."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    null: Annotated[int, Field(ge=0, le=MOST)] = Field(
        default=0, description="resamples of the original that every loss is held against; 0 for none, 200 will do"
    )

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if 0 < self.null < FEWEST:
            raise ValueError(f"null must be 0 or at least {FEWEST}")
        return self


SECTIONS: Mapping[str, type[BaseModel]] = {
    "roles": Roles, "sub_groups": SubGroups, "intruder": Intruder, "constraints": Constraints, "utility": Utility,
    "goal": Goal,
}
ADVISED = "'larvatus advise DATA.csv --confidential A,B -o study.toml' writes one to begin with."
LATER = ("folder", "combine", "limits")


def _reader(kind: type[Method]) -> BeforeValidator:
    return BeforeValidator(lambda given: method_of(kind, given))


AnyMask = Annotated[SerializeAsAny[Mask], _reader(Mask)]
AnyAttack = Annotated[SerializeAsAny[Attack], _reader(Attack)]
AnyMeasure = Annotated[SerializeAsAny[Measure], _reader(Measure)]


class Planned(BaseModel):
    """A release to be made: its name and its steps in order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=120)]
    steps: Annotated[tuple[AnyMask, ...], Field(min_length=1)]


class Study(BaseModel):
    """Everything a walk needs to know. Without attacks or measures, every one there is runs with its defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str = Field(default="", description="CSV or Parquet file; a relative path starts at the study file's folder")
    purpose: str = Field(default="", description="what the release is for; printed in the report")
    engine: str = Field(default="auto", description="where the work is done; auto chooses by size")
    memory: str | None = Field(default=None, description="how much memory may be used, such as 2GB")
    master: str | None = Field(default=None, description="address of the cluster that engine spark works on")
    roles: Roles = Roles()
    sub_groups: SubGroups = SubGroups()
    intruder: Intruder = Intruder()
    constraints: Constraints = Constraints()
    utility: Utility = Utility()
    release: tuple[Planned, ...] = ()
    attack: tuple[AnyAttack, ...] | None = None
    measure: tuple[AnyMeasure, ...] | None = None
    domain: tuple[Domain, ...] = ()
    analysis: tuple[Analysis, ...] = ()
    combine: tuple[Combination, ...] = ()
    limits: Limits = Limits()
    search: tuple[Searched, ...] = ()
    goal: Goal = Goal()
    labels: dict[str, str] = Field(default_factory=dict, description="what columns mean, for the codebook")
    folder: Path | None = Field(default=None, exclude=True, repr=False)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [r.name for r in self.release]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"two releases are named {twice[0]!r}; give each a name of its own")
        return self

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """Load a study file; every problem in it is named in one error."""
        file = Path(path)
        if not file.is_file():
            raise StudyError([f"there is no such file. Name a study in TOML; {ADVISED}"], str(path))
        try:
            raw = tomllib.loads(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            hint = "" if file.suffix == ".toml" else f" It should be a study; {ADVISED}"
            raise StudyError([f"it is not TOML: {error}.{hint}"], file.name) from None
        return cls.of(raw, file.parent, file.name)

    @classmethod
    def of(cls, raw: Mapping[str, Any], folder: Path | None = None, where: str = "study") -> Study:
        """A study from plain values, after a look at the source's columns where it can be found."""
        problems: list[str] = []
        parts = {name: _part(name, raw[name], problems) for name in raw if name in cls.model_fields and name not in LATER}
        parts |= _decisions(raw, problems)
        known = [n for n in cls.model_fields if n != "folder"]
        problems += [f"{n}: no such part of a study; {nearest_names(n, known)}" for n in raw if n not in known]
        if not any(p.startswith(("roles", "sub_groups")) for p in problems):
            roles, groups = parts.get("roles", Roles()), parts.get("sub_groups", SubGroups())
            try:
                parts["roles"] = roles = with_taxonomies(roles, folder)
            except LarvatusError as error:
                problems.append(f"roles: {error}")
            problems += _against_source(str(raw.get("source", "")), folder, roles, groups)
            known_to = released_columns(roles, groups)
            problems += [
                f"intruder.known: {n!r} is not a released column; {nearest_names(n, known_to)}"
                for n in parts.get("intruder", Intruder()).known if n not in known_to
            ]
            problems += domain_problems(parts.get("domain", ()), known_to)
            problems += analysis_problems(parts.get("analysis", ()), known_to)
            problems += label_problems(parts.get("labels", {}), known_to)
            problems += _about_constraints(parts.get("constraints", Constraints()), roles, groups, parts.get("release", ()))
        problems = list(dict.fromkeys(problems))
        if not problems:
            try:
                return cls(**parts, folder=folder)
            except ValidationError as error:
                problems = validation_problems("", error, known)
        raise StudyError(problems, where)

    def source_path(self) -> Path:
        """Where the source lies."""
        if not self.source:
            raise StudyError(["source: is needed; name a CSV or Parquet file."])
        return Path(self.source) if self.folder is None else self.folder / self.source

    def intruder_here(self) -> Intruder:
        """The intruder with the files it has, relative ones starting at the study file's folder."""
        who, start = self.intruder, self.folder or Path()
        names = [r.name for r in self.release]
        return who.model_copy(update={
            "file": str(start / who.file) if who.file else None,
            "also": tuple(n if n in names else str(start / n) for n in who.also),
        })

    def with_release(self, name: str, steps: Sequence[Mask], folder: Path) -> Study:
        """The same study with one release and no search, to lie in another folder."""
        source = os.path.relpath(self.source_path(), folder) if self.source else ""
        planned = (Planned(name=name, steps=tuple(steps)),)
        return self.model_copy(update={"release": planned, "search": (), "goal": Goal(), "source": source, "folder": folder})

    def plain(self) -> dict[str, Any]:
        """The study as a file would hold it, defaults left out."""
        out: dict[str, Any] = {n: getattr(self, n) for n in ("source", "purpose") if getattr(self, n)}
        if self.engine != "auto":
            out["engine"] = self.engine
        if self.memory is not None:
            out["memory"] = self.memory
        if self.master is not None:
            out["master"] = self.master
        for name in SECTIONS:
            part = getattr(self, name).model_dump(mode="json", exclude_defaults=True)
            if part:
                out[name] = part
        if self.release:
            out["release"] = [{"name": r.name, "steps": [_method(s) for s in r.steps]} for r in self.release]
        for name in ("attack", "measure"):
            if getattr(self, name) is not None:
                out[name] = [_method(m) for m in getattr(self, name)]
        if self.domain:
            out["domain"] = [d.model_dump(mode="json", exclude_defaults=True) for d in self.domain]
        if self.analysis:
            out["analysis"] = [a.plain() for a in self.analysis]
        if self.combine:
            out["combine"] = {c.name: c.plain() for c in self.combine}
        if self.limits:
            out["limits"] = self.limits.plain()
        if self.search:
            out["search"] = [s.plain() for s in self.search]
        if self.labels:
            out["labels"] = dict(self.labels)
        return out

    def toml(self) -> str:
        """The study as TOML, with the same meaning."""
        import tomli_w

        return tomli_w.dumps(self.plain())

    def write(self, path: str | Path, force: bool = False) -> None:
        """Write the study file."""
        write_text(Path(path), self.toml(), force)


def advised(plan: Mapping[str, Any], data: Microdata, source: str = "", folder: Path | None = None) -> Study:
    """The study that an advice on data planned: their roles, and releases to compare."""
    groups = data.sub_groups.model_copy(update=plan["sub_groups"])
    raw: dict[str, Any] = {
        "roles": {**data.roles.model_dump(mode="json", exclude_defaults=True), **plan.get("roles", {})},
        "release": plan["release"],
        "sub_groups": groups.model_dump(mode="json", exclude_defaults=True), "constraints": plan["constraints"],
    }
    return Study.of({**raw, **({"source": source} if source else {})}, folder)


def _method(method: Method) -> dict[str, Any]:
    return {"method": method.name(), **method.model_dump(mode="json", exclude_defaults=True)}


def _part(name: str, value: Any, problems: list[str]) -> Any:
    """One part of a study, its problems added to the list."""
    if name in SECTIONS:
        return _section(name, SECTIONS[name], value, problems)
    if name == "release":
        return _releases(value, problems)
    if name in ("attack", "measure"):
        method: type[Method] = Attack if name == "attack" else Measure
        made = [_tried(f"{name} {i}", method, v, problems) for i, v in enumerate(_list(name, value, problems), 1)]
        return [m for m in made if m is not None]
    if name == "search":
        try:
            return space_of(_list(name, value, problems))
        except StudyError as error:
            problems += error.problems
            return ()
    if name == "labels":
        return read_labels(value, problems)
    if name == "domain":
        found = [_domain(i, v, problems) for i, v in enumerate(_list(name, value, problems), 1)]
        return [d for d in found if d is not None]
    if name == "analysis":
        try:
            return analyses_of(_list(name, value, problems))
        except StudyError as error:
            problems += error.problems
            return ()
    if not isinstance(value, str):
        problems.append(f"{name}: needs text, got {type(value).__name__}.")
    elif name == "engine" and value not in (engines := ["auto", *file_names("larvatus.engines")]):
        problems.append(f"engine: there is no {value!r}; {nearest_names(value, engines)}")
    elif name == "memory":
        try:
            bytes_of(value)
        except LarvatusError as error:
            problems.append(str(error))
    return value


def _decisions(raw: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Combinations and limits: what releases are judged by."""
    out: dict[str, Any] = {}
    for name in ("combine", "limits"):
        try:
            if name in raw:
                combined = out.get("combine", ())
                out[name] = combinations_of(raw[name]) if name == "combine" else limits_of(raw[name], combined)
        except StudyError as error:
            problems += error.problems
    return out


def _domain(place: int, given: Any, problems: list[str]) -> Domain | None:
    try:
        return domain_of(given)
    except StudyError as error:
        problems += [p.replace("domain", f"domain {place}", 1) for p in error.problems]
        return None


def _section(name: str, kind: type[V], value: Any, problems: list[str]) -> V:
    if not isinstance(value, Mapping):
        problems.append(f"{name}: needs a table, [{name}], got {type(value).__name__}.")
        return kind()
    try:
        return kind(**value)
    except ValidationError as error:
        fields = constraint_fields(value) if kind is Constraints else list(kind.model_fields)
        problems += validation_problems(name, error, fields)
        return kind()


def _list(name: str, value: Any, problems: list[str]) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return value
    problems.append(f"{name}: needs [[{name}]] with two brackets, one for each.")
    return []


def _tried(where: str, kind: type[M], given: Any, problems: list[str]) -> M | None:
    try:
        return method_of(kind, given)
    except StudyError as error:
        problems += [f"{where}: {p}" for p in error.problems]
        return None


def _releases(value: Any, problems: list[str]) -> list[Planned]:
    out: list[Planned] = []
    for i, raw in enumerate(_list("release", value, problems), 1):
        if isinstance(raw, Planned):
            out.append(raw)
            continue
        if not isinstance(raw, Mapping):
            problems.append(f"release {i}: needs a table with name and steps.")
            continue
        name = str(raw.get("name", f"release {i}"))
        where = f"release {name!r}"
        known = [*Planned.model_fields, MAPPED]
        problems += [f"{where}: no such setting {k!r}; {nearest_names(k, known)}" for k in raw if k not in known]
        steps = raw.get("steps", [])
        if not isinstance(steps, list | tuple):
            steps = [steps]
        if not steps:
            problems.append(f"{where}: has no steps. Give at least one, such as steps = [{{ method = \"additive_noise\" }}].")
            continue
        problems += [f"{where}: grid.{key} is empty. Give it at least one value." for _, key, v in _axes(steps) if not v]
        for suffix, chosen in _mapped(_expanded(steps), raw.get(MAPPED, False), where, problems):
            made = [_tried(where, Mask, s, problems) for s in chosen]
            if None in made:
                continue
            try:
                out.append(Planned(name=name + suffix, steps=tuple(m for m in made if m is not None)))
            except ValidationError as error:
                problems += validation_problems(f"release {i}", error, list(Planned.model_fields))
    names = [r.name for r in out]
    twice = sorted({n for n in names if names.count(n) > 1})
    problems += [f"two releases are named {n!r}; give each a name of its own." for n in twice]
    return out


def _axes(steps: Sequence[Any]) -> list[tuple[int, str, Sequence[Any]]]:
    """The step, the setting and the values of everything under `grid`."""
    axes: list[tuple[int, str, Sequence[Any]]] = []
    for i, step in enumerate(steps):
        grid = step.get("grid") if isinstance(step, Mapping) else None
        if isinstance(grid, Mapping):
            axes += [(i, key, values if isinstance(values, list | tuple) else [values]) for key, values in grid.items()]
    return axes


def _expanded(steps: Sequence[Any]) -> list[tuple[str, list[Any]]]:
    """Every combination of the values under `grid` in the steps, with the part of the name that tells them apart."""
    axes = _axes(steps)
    if not axes:
        return [("", list(steps))]
    out = []
    for chosen in itertools.product(*(values for _, _, values in axes)):
        made = [{k: v for k, v in s.items() if k != "grid"} if isinstance(s, Mapping) else s for s in steps]
        for (i, key, _), value in zip(axes, chosen, strict=True):
            made[i] = {**made[i], key: value}
        suffix = " " + ", ".join(f"{key}={value}" for (_, key, _), value in zip(axes, chosen, strict=True))
        out.append((suffix, made))
    return out


def _mapped(
    made: Sequence[tuple[str, list[Any]]], asked: Any, where: str, problems: list[str]
) -> Sequence[tuple[str, list[Any]]]:
    """Every release as it is, reverse-mapped, or both side by side."""
    if asked not in (True, False, "both"):
        problems.append(f"{where}: {MAPPED} is true, false or \"both\", got {asked!r}.")
        return made
    return [
        one for suffix, steps in made
        for one in ([] if asked is True else [(suffix, steps)]) + (
            [(f"{suffix}, reverse-mapped", [*steps, "reverse_map"])] if asked else []
        )
    ]


def planned_of(given: Any) -> tuple[Planned, ...]:
    """Releases to be made, from tables as a study file holds them; every problem in one error."""
    problems: list[str] = []
    out = _releases(given, problems)
    if problems:
        raise StudyError(list(dict.fromkeys(problems)))
    return tuple(out)


def _about_constraints(asked: Constraints, roles: Roles, groups: SubGroups, releases: Sequence[Planned]) -> list[str]:
    """Constraints against the roles, and against the steps of every release."""
    problems = constraint_problems(asked, roles, groups)
    for planned in releases if asked and not problems else ():
        problems += [f"release {planned.name!r}: {p}" for p in step_problems(asked, planned.steps)]
    return problems


def _against_source(source: str, folder: Path | None, roles: Roles, sub_groups: SubGroups) -> list[str]:
    """Roles against the columns of the source, where there is one."""
    if not source:
        return role_problems(roles, sub_groups)
    from larvatus.engines.memory import Memory

    path = Path(source) if folder is None else folder / source
    try:
        return role_problems(roles, sub_groups, Memory().names(path))
    except LarvatusError as error:
        return [f"source: {error}", *role_problems(roles, sub_groups)]

