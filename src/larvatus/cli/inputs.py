"""Turn options into values: roles, settings as TOML, secrets from files."""

from __future__ import annotations

import glob
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from larvatus.core.errors import LarvatusError, ReadError, StudyError
from larvatus.core.input_paths import matching_paths
from larvatus.core.toml_text import read_toml

if TYPE_CHECKING:  # a help text needs none of these, and they take most of a second to import
    from larvatus.data.microdata import Microdata
    from larvatus.study import Study

CSV_FORMAT = ("delimiter", "decimal", "thousands", "encoding", "quote")
ROLES = (
    "confidential", "non_confidential", "key", "identifiers", "weight", "release_weight", "record_id", "person", "household",
    "household_columns", "nominal", "numeric",
)


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class RoleOptions:
    """The role of each column; options override the study file."""

    study: Annotated[Path | None, Parameter(help="study file with roles and settings")] = None
    confidential: Annotated[str | None, Parameter(help="columns to mask, separated by commas")] = None
    non_confidential: Annotated[str | None, Parameter(help="columns to release unchanged, separated by commas")] = None
    key: Annotated[str | None, Parameter(
        help="columns by which persons are recognised, separated by commas; released, and changed only by steps that name them"
    )] = None
    sub_groups: Annotated[str | None, Parameter(
        help="columns whose cross-classification forms the sub-groups (default: the whole file)"
    )] = None
    identifiers: Annotated[str | None, Parameter(help="columns that are never released")] = None
    weight: Annotated[str | None, Parameter(help="survey weight, released unless a step masks it")] = None
    release_weight: Annotated[bool | None, Parameter(
        help="whether the survey weight is released (default: yes)", negative="--no-release-weight"
    )] = None
    record_id: Annotated[str | None, Parameter(help="column that identifies each record; never released")] = None
    person: Annotated[str | None, Parameter(
        help="column that tells which records are of the same person; other waves are joined by it; never released"
    )] = None
    household: Annotated[str | None, Parameter(
        help="column that tells which records are of the same household; never released"
    )] = None
    household_columns: Annotated[str | None, Parameter(
        help="columns that stay equal within a household (default: all that are equal in the original)"
    )] = None
    nominal: Annotated[str | None, Parameter(help="numeric columns to treat as categorical")] = None
    numeric: Annotated[str | None, Parameter(help="columns with value labels to treat as numeric")] = None
    missing: Annotated[list[str] | None, Parameter(
        negative=(), help="codes of missing values: COLUMN=-7,-8 or, for a range, COLUMN=-9:-7; repeatable",
    )] = None
    sheet: Annotated[str | None, Parameter(help="sheet of a spreadsheet (default: the first)")] = None
    catalog: Annotated[Path | None, Parameter(help="SAS catalog (.sas7bcat) with the value labels of a .sas7bdat file")] = None
    query: Annotated[str | None, Parameter(help="SELECT statement for a database, ending with ORDER BY")] = None
    table: Annotated[str | None, Parameter(help="table of a database, instead of --query; needs --record-id")] = None
    password_file: Annotated[Path | None, Parameter(
        help="file that contains the password for a database (default: PGPASSWORD or ~/.pgpass)"
    )] = None
    taxonomy: Annotated[list[str] | None, Parameter(
        negative=(), help="hierarchy of a categorical column: COLUMN=FILE.csv, columns from leaf to root; repeatable",
    )] = None
    holdout: Annotated[Path | None, Parameter(
        help="file with records of the same population that no mask and no generator saw"
    )] = None
    engine: Annotated[str | None, Parameter(
        help="engine: memory, duckdb, spark, or auto to choose by size (default: auto)"
    )] = None
    memory: Annotated[str | None, Parameter(
        help="memory limit of the duckdb engine, e.g. 500MB or 2GB (default: free memory)"
    )] = None
    master: Annotated[str | None, Parameter(help="address of the Spark cluster")] = None
    delimiter: Annotated[str | None, Parameter(
        help="between columns of a CSV file: comma, semicolon, tab or pipe (default: recognised)"
    )] = None
    decimal: Annotated[str | None, Parameter(help="decimal mark of a CSV file: point or comma (default: recognised)")] = None
    thousands: Annotated[str | None, Parameter(
        help="thousands separator of a CSV file: comma, point, space, apostrophe or none (default: recognised)"
    )] = None
    encoding: Annotated[str | None, Parameter(
        help="encoding of a CSV file, e.g. utf-8, latin-1 or windows-1252 (default: recognised)"
    )] = None
    quote: Annotated[str | None, Parameter(
        help="quotation mark of a CSV file: double, single or none (default: recognised)"
    )] = None
    dates: Annotated[list[str] | None, Parameter(
        negative=(), help="form of dates written as text: COLUMN=dd.mm.yyyy (default: recognised in CSV files); repeatable",
    )] = None

    def about_small(self) -> dict[str, Any]:
        """Options for small sub-groups; none if nothing is masked."""
        return {}

    def files(self) -> list[Path | str]:
        """The files that these options name: the study file, taxonomies, a catalog, a file with a password and a holdout."""
        catalog = [self.catalog] if self.catalog is not None else []
        password = [self.password_file] if self.password_file is not None else []
        apart = [self.holdout] if self.holdout is not None else []
        return [*files_of(self.study), *_files_of(self.taxonomy or ()).values(), *catalog, *password, *apart]

    def load(self, base: Study | None = None) -> Study:
        """The study file, `base` or an empty study, with the options applied."""
        from larvatus.data.csv_files.dialect import CsvFormat
        from larvatus.data.holdout import Holdout
        from larvatus.data.roles import Roles, SubGroups
        from larvatus.study import Study

        study = Study.read(self.study) if self.study else base or Study()
        roles = {n: getattr(self, n) for n in ROLES}
        if self.taxonomy:
            roles["taxonomies"] = {**study.roles.taxonomies, **_files_of(self.taxonomy)}
        if self.missing:
            roles["missing"] = {**study.roles.missing, **_codes_of(self.missing)}
        groups = {"columns": self.sub_groups, **self.about_small()}
        csv = {n: getattr(self, n) for n in CSV_FORMAT}
        if self.dates:
            csv["dates"] = {**study.csv.dates, **_forms_of(self.dates)}
        catalog = study.catalog if self.catalog is None else str(self.catalog.absolute())
        password = study.password_file if self.password_file is None else str(self.password_file.absolute())
        held = study.holdout if self.holdout is None else Holdout(file=str(self.holdout.absolute()))
        asked = (self.query, self.table) if self.query or self.table else (study.query, study.table)
        return with_engine(study, self.engine, self.memory, self.master).model_copy(update={
            "csv": override(CsvFormat, study.csv, csv), "sheet": self.sheet or study.sheet, "catalog": catalog,
            "query": asked[0], "table": asked[1], "password_file": password, "holdout": held,
            "roles": override(Roles, study.roles, roles),
            "sub_groups": override(SubGroups, study.sub_groups, groups),
        })


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class MaskOptions(RoleOptions):
    """Roles, and options for small sub-groups and constraints."""

    smallest: Annotated[int | None, Parameter(
        help="minimum number of records in a sub-group (default: what the mask needs)"
    )] = None
    small: Annotated[str | None, Parameter(
        help="how to treat smaller sub-groups: refuse, pool, pool_all or suppress (default: refuse)"
    )] = None
    constraint: Annotated[list[str] | None, Parameter(
        negative=(), help="rule that every record must satisfy, e.g. 'TAXINC <= AGI'; repeatable",
    )] = None
    integers: Annotated[str | None, Parameter(
        help="confidential columns to release as whole numbers, separated by commas"
    )] = None
    repair: Annotated[str | None, Parameter(
        help="how to enforce rules: nearest, redraw or reverse_map (default: nearest)"
    )] = None

    def about_small(self) -> dict[str, Any]:
        return {"smallest": self.smallest, "small": self.small}

    def load(self, base: Study | None = None) -> Study:
        """The study with the roles and constraints of the command line added."""
        study = RoleOptions.load(self, base)
        asked = study.constraints.over(tuple(self.constraint or ()), self.integers, self.repair)
        if self.repair and not asked:
            raise StudyError(["--repair: there is no rule to enforce. Add --constraint or --integers."], "command line")
        return study.model_copy(update={"constraints": asked})


def _files_of(given: Sequence[str]) -> dict[str, str]:
    """Columns with the files of their taxonomies."""
    parts = [text.partition("=") for text in given]
    wrong = [text for text, (column, _, file) in zip(given, parts, strict=True) if not column.strip() or not file.strip()]
    if wrong:
        raise StudyError([f"--taxonomy: {t!r} cannot be read; write COLUMN=FILE.csv." for t in wrong], "command line")
    return {column.strip(): file.strip() for column, _, file in parts}


def _forms_of(given: Sequence[str]) -> dict[str, str]:
    """Columns with the forms of their dates."""
    parts = [stated.rpartition("=") for stated in given]
    wrong = [stated for stated, (column, _, form) in zip(given, parts, strict=True) if not column.strip() or not form.strip()]
    if wrong:
        raise StudyError([f"--dates: {t!r} cannot be read; write COLUMN=dd.mm.yyyy." for t in wrong], "command line")
    return {column.strip(): form.strip() for column, _, form in parts}


def _codes_of(given: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Columns with their codes of missing values; `low:high` is a range."""
    out: dict[str, tuple[Any, ...]] = {}
    for stated in given:
        column, _, codes = stated.rpartition("=")
        if not column.strip() or not codes.strip():
            raise StudyError([f"--missing: {stated!r} cannot be read; write COLUMN=-7,-8."], "command line")
        out[column.strip()] = (*out.get(column.strip(), ()), *(_code(c.strip()) for c in codes.split(",") if c.strip()))
    return out


def _code(stated: str) -> Any:
    """A number, a range, or a text such as `.a`."""
    low, colon, high = stated.partition(":")
    try:
        number = (float(low), float(high)) if colon else float(stated)
    except ValueError:
        return stated
    return int(number) if isinstance(number, float) and number.is_integer() else number


def files_of(study: Path | None) -> list[Path | str]:
    """A study file, and the taxonomies that it names. A file that cannot be read is reported by what reads it."""
    if study is None:
        return []
    try:
        roles = read_toml(study.read_text(encoding="utf-8")).get("roles", {})
        trees = roles.get("taxonomies", {}).values()
    except (OSError, ValueError, AttributeError):
        trees = ()
    return [study, *(study.parent / tree for tree in trees if isinstance(tree, str))]


def override(kind: Any, value: Any, options: Mapping[str, Any]) -> Any:
    """A part of a study, overridden by the given options."""
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
    """The study, with engine, memory and cluster overridden by the command line."""
    given = {"engine": engine or study.engine, "memory": memory or study.memory, "master": master or study.master}
    return study.model_copy(update=given)


def data_of(source: str, study: Study, secret: bytes | None = None) -> Microdata:
    """The source with the study's roles, without the records that are held out."""
    from larvatus.pipeline.read_source import read_for_study

    return read_for_study(source, study, secret)


def source_from(folder: Path, source: str) -> str:
    """The source as a study in a folder names it: a relative path, or the address of a database with a full path."""
    import os

    from larvatus.core.database_urls import address_from, is_address

    return address_from(Path(), source) if is_address(source) else os.path.relpath(source, folder)


def copies_of(released: Sequence[str]) -> list[str]:
    """The released files. A pattern of copies (name-1, name-2 …) becomes one file each; any other is one file in parts."""
    out: list[str] = []
    for text in released:
        out += _numbered(text) if glob.has_magic(text) and not Path(text).exists() else [text]
    return out


def _numbered(pattern: str) -> list[str]:
    """The matching files in the order of their numbers if all are copies of one release, else the pattern."""
    found = [Path(p) for p in matching_paths(pattern) if Path(p).is_file()]
    parts = [re.fullmatch(r"(.+)-([1-9][0-9]*)", p.stem) for p in found]
    copies = {int(m[2]): str(p) for m, p in zip(parts, found, strict=True) if m}
    one_release = len({(p.parent, m[1], p.suffix) for m, p in zip(parts, found, strict=True) if m}) == 1
    if len(copies) < 2 or not all(parts) or not one_release or sorted(copies) != list(range(1, len(found) + 1)):
        return [pattern]
    return [copies[i] for i in sorted(copies)]


def toml_value(text: str) -> Any:
    """The value parsed as TOML, or the text itself."""
    try:
        return read_toml(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text


def secret_of(path: Path | None) -> bytes | None:
    """Read the secret from a file, without a final line break; it is never an argument."""
    if path is None:
        return None
    from larvatus.core.randomness import secret_or_new
    from larvatus.core.safe_files.private_files import check_private
    from larvatus.core.safe_files.secret_files import read_secret

    check_private(path, "secret file")
    try:
        secret = read_secret(path)
    except OSError as error:
        raise ReadError(
            f"secret file {path} cannot be read: {error.strerror}. Write at least 16 random bytes into it (head -c 32 "
            f"/dev/urandom | base64 > {path}), or omit --secret-file to use a fresh secret that is not stored."
        ) from None
    try:
        return secret_or_new(secret)
    except LarvatusError as error:
        raise ReadError(f"secret file {path}: {error}") from None
