"""A study as one frozen value, read from and written to TOML files. Nothing is executed here."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, ConfigDict, Field, SerializeAsAny, ValidationError, model_validator

from larvatus.attacks.linkage.target_sample import Targets
from larvatus.comparison.combined_scores import Combination
from larvatus.comparison.limits import Limits
from larvatus.constraints.settings import Constraints
from larvatus.core.database_urls import address_from, check_address, database_file, is_address
from larvatus.core.errors import LarvatusError, StudyError, nearest_names
from larvatus.core.files import write_text
from larvatus.core.input_paths import refuse_inputs
from larvatus.core.toml_text import read_toml
from larvatus.data.contracts import Attack, Mask, Measure, Method
from larvatus.data.csv_files.dialect import NOTHING_STATED, CsvFormat
from larvatus.data.hierarchies.taxonomy import with_taxonomies
from larvatus.data.holdout import Holdout
from larvatus.data.intruder import Intruder
from larvatus.data.method_parsing import method_of, validation_problems
from larvatus.data.microdata import Microdata
from larvatus.data.record_selection import MARK, lists_of
from larvatus.data.roles import Roles, SubGroups, released_columns
from larvatus.data.settings.settings_model import SettingsModel
from larvatus.documents.codebook import label_problems
from larvatus.measures.analyses.spec import Analysis, analysis_problems
from larvatus.measures.scoring.domains import Domain, domain_problems
from larvatus.searching.goal import Goal, objective_problems
from larvatus.searching.space import SearchedSteps
from larvatus.study.budget_settings import BudgetSettings
from larvatus.study.planned_releases import PlannedRelease
from larvatus.study.scoring import Scoring
from larvatus.study.sections import (
    LATER,
    MEANT,
    SECTIONS,
    Utility,
    about_constraints,
    against_source,
    decisions,
    part,
    source_and_format,
)
from larvatus.study.source_section import with_source_settings


def _reader(kind: type[Method]) -> BeforeValidator:
    return BeforeValidator(lambda given: method_of(kind, given))


AnyAttack = Annotated[SerializeAsAny[Attack], _reader(Attack)]
AnyMeasure = Annotated[SerializeAsAny[Measure], _reader(Measure)]

_OF_SOURCE = ("sheet", "catalog", "query", "table", "password_file")
ADVISED = "'larvatus advise DATA.csv --confidential A,B -o study.toml' writes a draft."


class Study(SettingsModel):
    """All settings of a study. If no attacks or measures are given, all of them run with their defaults.

    Examples:
        >>> import larvatus as lv
        >>> study = lv.Study(purpose="for teaching", roles={"confidential": ["home_value", "net_assets"]},
        ...                  release=[{"name": "shuffled", "steps": ["data_shuffling"]}], limits={"tier": "public"})
        >>> study.write("study.toml")
        >>> [planned.name for planned in lv.Study.read("study.toml").release]
        ['shuffled']
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str = Field(
        default="", description="CSV, Parquet or labelled file, or the address of a database; relative paths start at the "
        "study file's folder"
    )
    sheet: str | None = Field(default=None, description="sheet of a spreadsheet (default: the first)")
    catalog: str | None = Field(default=None, description="SAS catalog with the value labels of a .sas7bdat file")
    query: str | None = Field(default=None, description="SELECT statement for a database; it ends with ORDER BY")
    table: str | None = Field(default=None, description="table of a database, instead of a query; needs record_id")
    password_file: str | None = Field(default=None, description="file that contains the password for a database")
    purpose: str = Field(default="", description="what the release is for; printed in the report")
    engine: str = Field(default="auto", description="engine that holds the data; auto chooses one by the size of the file")
    memory: str | None = Field(default=None, description="memory limit, such as 2GB (default: free memory)")
    master: str | None = Field(default=None, description="address of the Spark cluster, for engine spark")
    targets: Targets = None
    certify: bool = Field(default=False, description="compute certificates: bounds on what any intruder links")
    roles: Roles = Roles()
    sub_groups: SubGroups = SubGroups()
    intruder: Intruder = Intruder()
    constraints: Constraints = Constraints()
    utility: Utility = Utility()
    release: tuple[PlannedRelease, ...] = ()
    attack: tuple[AnyAttack, ...] | None = None
    measure: tuple[AnyMeasure, ...] | None = None
    domain: tuple[Domain, ...] = ()
    analysis: tuple[Analysis, ...] = ()
    combine: tuple[Combination, ...] = ()
    limits: Limits = Limits()
    search: tuple[SearchedSteps, ...] = ()
    goal: Goal = Goal()
    holdout: Holdout = Holdout()
    budget: BudgetSettings = BudgetSettings()
    labels: dict[str, str] = Field(default_factory=dict, description="meaning of columns, for the codebook")
    value_labels: dict[str, dict[str, str]] = Field(
        default_factory=dict, description="labels of codes by column, in place of those of the file; an empty label removes one"
    )
    csv: CsvFormat = Field(default=NOTHING_STATED, description="how a CSV source is written; keys of [source] in a file")
    folder: Path | None = Field(default=None, exclude=True, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _plain_parts(cls, given: Any) -> Any:
        """Parts that are given as plain tables are read as in a study file, so that their problems are reported alike."""
        if not isinstance(given, Mapping):
            return given
        problems: list[str] = []
        try:
            check_address(given.get("source"))
        except LarvatusError as error:
            problems.append(str(error))
        plain = {n: v for n, v in given.items() if n not in LATER and _is_plain(v)}
        made = {n: part(n, v, problems) for n, v in plain.items() if n in cls.model_fields}
        made |= decisions({n: given[n] for n in ("combine", "limits") if _is_plain(given.get(n))}, problems)
        if problems:
            raise StudyError(list(dict.fromkeys(problems)), "Study")
        return {**given, **made}

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [r.name for r in self.release]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ValueError(f"two releases are named {twice[0]!r}; give each a different name")
        return self

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """Read a study file. All problems are reported in one error."""
        file = Path(path)
        if not file.is_file():
            raise StudyError([f"there is no such file. Give a study file in TOML; {ADVISED}"], str(path))
        try:
            raw = read_toml(file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            hint = "" if file.suffix == ".toml" else f" A study file is expected; {ADVISED}"
            raise StudyError([f"it is not valid TOML: {error}.{hint}"], file.name) from None
        return cls.of(raw, file.parent, file.name)

    @classmethod
    def of(cls, raw: Mapping[str, Any], folder: Path | None = None, where: str = "study") -> Study:
        """A study from plain values. Roles are checked against the columns of the source if it can be found."""
        problems: list[str] = []
        raw, csv = source_and_format(with_source_settings(raw), problems)
        parts: dict[str, Any] = {"csv": csv}
        wrong: list[str] = []
        for name in raw:
            if name in cls.model_fields and name not in LATER:
                before = len(problems)
                parts[name] = part(name, raw[name], problems)
                wrong += [name] if len(problems) > before else []
        parts |= decisions(raw, problems)
        problems += [f"goal.{p}" for p in objective_problems(parts.get("goal", Goal()).objective, parts.get("combine", ()))]
        known = [n for n in cls.model_fields if n not in ("folder", "csv")]
        unknown = [n for n in raw if n not in known]
        problems += [f"{n}: a study has no such part; {MEANT.get(n) or nearest_names(n, known)}" for n in unknown]
        if not any(n.startswith(("roles", "sub_groups")) for n in (*wrong, *unknown)):
            roles, groups = parts.get("roles", Roles()), parts.get("sub_groups", SubGroups())
            try:
                parts["roles"] = roles = with_taxonomies(roles, folder)
            except LarvatusError as error:
                problems.append(f"roles: {error}")
            problems += against_source(str(raw.get("source", "")), folder, roles, groups, csv, parts.get("sheet"))
            known_to = released_columns(roles, groups)
            problems += [
                f"intruder.known: {n!r} is not a released column; {nearest_names(n, known_to)}"
                for n in parts.get("intruder", Intruder()).known if n not in known_to
            ]
            problems += domain_problems(parts.get("domain", ()), known_to)
            problems += analysis_problems(parts.get("analysis", ()), known_to)
            problems += [p for n in ("labels", "value_labels") for p in label_problems(n, parts.get(n, {}), known_to)]
            problems += about_constraints(parts.get("constraints", Constraints()), roles, groups, parts.get("release", ()))
        problems = list(dict.fromkeys(problems))
        if not problems:
            try:
                return cls.model_validate({**parts, "folder": folder})
            except ValidationError as error:
                problems = validation_problems("", error, known)
        raise StudyError(problems, where)

    def source_path(self) -> Path | str:
        """The path of the source, or the address of a database."""
        if not self.source:
            raise StudyError(["source: is required. Give a CSV, Parquet or labelled file, or a database."])
        if is_address(self.source):
            return address_from(self.folder or Path(), self.source)
        return Path(self.source) if self.folder is None else self.folder / self.source

    def catalog_path(self) -> Path | None:
        """The path of the catalog of the source, if it has one."""
        return None if self.catalog is None else (self.folder or Path()) / self.catalog

    def password_path(self) -> Path | None:
        """The path of the file with the password for a database, if there is one."""
        return None if self.password_file is None else (self.folder or Path()) / self.password_file

    def intruder_here(self) -> Intruder:
        """The intruder with paths to its files; relative paths start at the folder of the study file."""
        who, start = self.intruder, self.folder or Path()
        names = [r.name for r in self.release]
        return who.model_copy(update={
            "file": str(start / who.file) if who.file else None,
            "other_releases": tuple(n if n in names else str(start / n) for n in who.other_releases),
        })

    def scoring(self) -> Scoring:
        """How the study scores its releases."""
        return Scoring(
            attacks=self.attack, measures=self.measure, intruder=self.intruder_here(), limits=self.limits, combine=self.combine,
            domains=self.domain, analyses=self.analysis, null_resamples=self.utility.null_resamples,
            targets=self.targets, certify=self.certify,
            **({"budget": self.budget.in_folder(self.folder)} if self.budget.key_file else {}),
        )

    def with_release(self, name: str, steps: Sequence[Mask], folder: Path) -> Study:
        """The same study with one release instead of the search, and with file paths that are valid from another folder."""
        planned = (PlannedRelease(name=name, steps=self._steps_from(steps, folder)),)
        return self.with_paths_from(folder).model_copy(update={"release": planned, "search": ()})

    def _steps_from(self, steps: Sequence[Mask], folder: Path) -> tuple[Mask, ...]:
        """Steps of the study, with paths of lists of records that are valid from another folder."""
        start = self.folder or Path()
        return tuple(
            s.model_copy(update={"where": MARK + _from(folder, start, s.where[len(MARK) :])})
            if isinstance(s.where, str) and s.where.startswith(MARK) else s for s in steps
        )

    def with_paths_from(self, folder: Path) -> Study:
        """The same study with file paths that are valid from another folder."""
        start, names = self.folder or Path(), [r.name for r in self.release]
        who = self.intruder.model_copy(update={
            "file": _from(folder, start, self.intruder.file) if self.intruder.file else None,
            "other_releases": tuple(n if n in names else _from(folder, start, n) for n in self.intruder.other_releases),
        })
        planned = tuple(r.model_copy(update={
            "steps": self._steps_from(r.steps, folder),
            **{n: _from(folder, start, v) for n in ("file", "pairing") if (v := getattr(r, n)) is not None},
        }) for r in self.release)
        apart = {n: _from(folder, start, v) for n in ("file", "records") if (v := getattr(self.holdout, n)) is not None}
        return self.model_copy(update={
            "release": planned, "intruder": who, "folder": folder, "holdout": self.holdout.model_copy(update=apart),
            "source": _from(folder, start, self.source) if self.source else "",
            "budget": self.budget.with_paths(lambda path: _from(folder, start, path)),
            "catalog": _from(folder, start, self.catalog) if self.catalog else None,
            "password_file": _from(folder, start, self.password_file) if self.password_file else None,
        })

    def plain(self) -> dict[str, Any]:
        """The study as plain values, without defaults."""
        out: dict[str, Any] = {n: getattr(self, n) for n in ("source", "purpose") if getattr(self, n)}
        if self.csv.plain():
            out["source"] = {"file": self.source, **self.csv.plain()}
        out |= {n: getattr(self, n) for n in _OF_SOURCE if getattr(self, n) is not None}
        if self.engine != "auto":
            out["engine"] = self.engine
        if self.memory is not None:
            out["memory"] = self.memory
        if self.master is not None:
            out["master"] = self.master
        if self.targets is not None:
            out["targets"] = self.targets
        if self.certify:
            out["certify"] = True
        for name in SECTIONS:
            part = getattr(self, name).model_dump(mode="json", exclude_defaults=True)
            if part:
                out[name] = part
        if self.release:
            out["release"] = [
                {**r.plain(), **({"steps": [_method(s) for s in r.steps]} if r.steps else {})} for r in self.release
            ]
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
        if self.value_labels:
            out["value_labels"] = {n: dict(v) for n, v in self.value_labels.items()}
        return out

    def toml(self) -> str:
        """The study as TOML."""
        import tomli_w

        return tomli_w.dumps(self.plain())

    def input_paths(self) -> tuple[Path, ...]:
        """The files that the study reads: its source, the intruder's files and lists of records."""
        start, names = self.folder or Path(), [r.name for r in self.release]
        steps = [*(s for r in self.release for s in r.steps), *(s for r in self.search for s in r.steps)]
        others = [n for n in self.intruder.other_releases if n not in names]
        address = is_address(self.source)
        files = ("" if address else self.source, self.catalog, self.password_file, self.intruder.file, *others)
        files = (*files, self.holdout.path, database_file(self.source) if address else "", *self.budget.inputs())
        elsewhere = (p for r in self.release for p in r.paths_from(start))
        return (*(start / p for p in files if p), *lists_of(steps, start), *elsewhere)

    def write(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the study file."""
        refuse_inputs([path], self.input_paths())
        write_text(Path(path), self.toml(), overwrite)


def _is_plain(value: Any) -> bool:
    """Whether a part is given as a table or as a list of tables."""
    return isinstance(value, Mapping) or (
        isinstance(value, list | tuple) and bool(value) and all(isinstance(v, Mapping) for v in value))


def _from(folder: Path, start: Path, file: str) -> str:
    """The path from a folder to a file whose path is relative to another folder. An address of a database gets a full path."""
    if is_address(file):
        return address_from(start, file)
    return os.path.relpath(start / file, folder)


def study_from_advice(
    plan: Mapping[str, Any], data: Microdata, source: str = "", folder: Path | None = None, like: Study | None = None,
) -> Study:
    """The study drafted by an advice: the roles of the data, and releases to compare.

    `like` is a study whose source is the same: what it states about it is stated again.
    """
    groups = data.sub_groups.model_copy(update=plan["sub_groups"])
    raw: dict[str, Any] = {
        **({"sheet": data.labels.sheet} if data.labels.sheet else {}),
        "roles": {**data.roles.model_dump(mode="json", exclude_defaults=True), **plan.get("roles", {})},
        "release": plan["release"],
        "sub_groups": groups.model_dump(mode="json", exclude_defaults=True), "constraints": plan["constraints"],
    }
    stated = {} if like is None else like.csv.plain()
    if like is not None:
        raw |= {n: getattr(like, n) for n in ("query", "table") if getattr(like, n) is not None}
        catalog, password = like.catalog_path(), like.password_path()
        raw |= {} if catalog is None else {"catalog": os.path.relpath(catalog, folder or Path())}
        raw |= {} if password is None else {"password_file": str(password.absolute())}
    return Study.of({**raw, **({"source": {"file": source, **stated} if stated else source} if source else {})}, folder)


def _method(method: Method) -> dict[str, Any]:
    return {"method": method.name(), **method.model_dump(mode="json", exclude_defaults=True)}
