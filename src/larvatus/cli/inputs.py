"""From options to values: roles, settings as TOML, secrets from files."""

from __future__ import annotations

import glob
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from larvatus.core.errors import LarvatusError, ReadError, StudyError
from larvatus.core.randomness import checked_secret
from larvatus.data.microdata import Microdata
from larvatus.data.roles import Roles, SubGroups
from larvatus.study import Study

ROLES = ("confidential", "non_confidential", "identifiers", "weight", "record_id", "nominal")


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class RoleOptions:
    """What each column is; options win over the study file."""

    study: Annotated[Path | None, Parameter(help="study file with roles and everything else")] = None
    confidential: Annotated[str | None, Parameter(help="columns to be masked, comma between them")] = None
    non_confidential: Annotated[str | None, Parameter(help="columns released as they are, comma between them")] = None
    sub_groups: Annotated[str | None, Parameter(
        help="columns whose cross-classification masks run within; the whole file without it"
    )] = None
    identifiers: Annotated[str | None, Parameter(help="columns that are never released")] = None
    weight: Annotated[str | None, Parameter(help="survey weight, released as it is")] = None
    record_id: Annotated[str | None, Parameter(help="column that names each record; never released")] = None
    nominal: Annotated[str | None, Parameter(help="numeric codes to be read as names")] = None
    taxonomy: Annotated[list[str] | None, Parameter(
        negative=(), help="hierarchy of a column of names, COLUMN=FILE.csv with columns from leaf to root; repeat it",
    )] = None
    engine: Annotated[str | None, Parameter(
        help="where the work is done: memory, duckdb, spark, or auto by size [default: auto]"
    )] = None
    memory: Annotated[str | None, Parameter(
        help="most memory that engine duckdb may use, such as 500MB or 2GB; what is free without it"
    )] = None
    master: Annotated[str | None, Parameter(help="address of the cluster that engine spark works on")] = None

    def about_small(self) -> dict[str, Any]:
        """What was said of small sub-groups: nothing, where nothing is masked."""
        return {}

    def load(self) -> Study:
        """The study file, or an empty study, with the options laid over it."""
        study = Study.read(self.study) if self.study else Study()
        roles = {n: getattr(self, n) for n in ROLES}
        if self.taxonomy:
            roles["taxonomies"] = {**study.roles.taxonomies, **_files_of(self.taxonomy)}
        groups = {"columns": self.sub_groups, **self.about_small()}
        return with_engine(study, self.engine, self.memory, self.master).model_copy(update={
            "roles": override(Roles, study.roles, roles),
            "sub_groups": override(SubGroups, study.sub_groups, groups),
        })


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class MaskOptions(RoleOptions):
    """Roles, and what becomes of small sub-groups when they are masked."""

    smallest: Annotated[int | None, Parameter(
        help="fewest records a sub-group may have; what the mask needs without it"
    )] = None
    small: Annotated[str | None, Parameter(
        help="what becomes of smaller ones: refuse, pool or suppress [default: refuse]"
    )] = None
    constraint: Annotated[list[str] | None, Parameter(
        negative=(), help="a rule that every record obeys, such as 'TAXINC <= AGI'; repeat it",
    )] = None
    integers: Annotated[str | None, Parameter(
        help="confidential columns that leave as whole numbers, comma between them"
    )] = None
    repair: Annotated[str | None, Parameter(help="how rules are met: nearest, redraw or reverse_map [default: nearest]")] = None

    def about_small(self) -> dict[str, Any]:
        return {"smallest": self.smallest, "small": self.small}

    def load(self) -> Study:
        """The study with the roles and, after its own constraints, those of the command line."""
        study = RoleOptions.load(self)
        asked = study.constraints.over(tuple(self.constraint or ()), self.integers, self.repair)
        if self.repair and not asked:
            raise StudyError(["--repair: there is no rule to meet. Add --constraint or --integers."], "command line")
        return study.model_copy(update={"constraints": asked})


def _files_of(given: Sequence[str]) -> dict[str, str]:
    """Columns and the files of their taxonomies."""
    parts = [text.partition("=") for text in given]
    wrong = [text for text, (column, _, file) in zip(given, parts, strict=True) if not column.strip() or not file.strip()]
    if wrong:
        raise StudyError([f"--taxonomy: {t!r} cannot be read; write COLUMN=FILE.csv." for t in wrong], "command line")
    return {column.strip(): file.strip() for column, _, file in parts}


def override(kind: Any, value: Any, options: Mapping[str, Any]) -> Any:
    """A part of a study with the options that were given in place of its own."""
    given = {k: v for k, v in options.items() if v is not None}
    if not given:
        return value
    from pydantic import ValidationError

    from larvatus.data.method_parsing import validation_problems

    try:
        return kind.model_validate({**value.model_dump(), **given})
    except ValidationError as error:
        raise StudyError(validation_problems("", error, list(kind.model_fields)), "command line") from None


def with_engine(study: Study, engine: str | None, memory: str | None, master: str | None = None) -> Study:
    """The study with the engine, the memory and the cluster of the command line in place of its own."""
    given = {"engine": engine or study.engine, "memory": memory or study.memory, "master": master or study.master}
    return study.model_copy(update=given)




def data_of(source: str, study: Study) -> Microdata:
    """The source with the study's roles."""
    from larvatus.pipeline.read_source import read_for_study

    return read_for_study(source, study)


def copies_of(released: Sequence[str]) -> list[str]:
    """The released files: a pattern of copies (name-1, name-2 …) as one file each; any other is one file in parts."""
    out: list[str] = []
    for text in released:
        out += _numbered(text) if glob.has_magic(text) and not Path(text).exists() else [text]
    return out


def _numbered(pattern: str) -> list[str]:
    """What fits a pattern in the order of its numbers, where all are copies of one release, else the pattern."""
    found = [Path(p) for p in glob.glob(pattern, recursive=True) if Path(p).is_file()]
    parts = [re.fullmatch(r"(.+)-([1-9][0-9]*)", p.stem) for p in found]
    copies = {int(m[2]): str(p) for m, p in zip(parts, found, strict=True) if m}
    one_release = len({(p.parent, m[1], p.suffix) for m, p in zip(parts, found, strict=True) if m}) == 1
    if len(copies) < 2 or not all(parts) or not one_release or sorted(copies) != list(range(1, len(found) + 1)):
        return [pattern]
    return [copies[i] for i in sorted(copies)]


def toml_value(text: str) -> Any:
    """The value as TOML reads it, or the text itself."""
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text


def secret_of(path: Path | None) -> bytes | None:
    """The secret in a file, without a line break at its end; never from an argument."""
    if path is None:
        return None
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ReadError(
            f"secret file {path} cannot be read: {error.strerror}. Write 16 random bytes or more into it (head -c 32 "
            f"/dev/urandom | base64 > {path}), or leave --secret-file out for a fresh secret that nobody keeps."
        ) from None
    try:
        return checked_secret(raw.removesuffix(b"\n").removesuffix(b"\r"))
    except LarvatusError as error:
        raise ReadError(f"secret file {path}: {error}") from None
