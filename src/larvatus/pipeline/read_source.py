"""Read a source into microdata: roles, sub-groups, and the engine that holds the data."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from larvatus.core.database_urls import check_address, file_of_url, is_store, store_settings
from larvatus.core.errors import EngineError, LarvatusWarning, ReadError, RolesError
from larvatus.core.input_paths import paths_read
from larvatus.core.safe_files.source_changes import unchanged
from larvatus.data.accepted_types import SourceLike, TaxonomyLike
from larvatus.data.contracts import Column, Engine
from larvatus.data.csv_files.dialect import USUAL_DIALECT, CsvDialect, CsvFormat, SourceFile, stated_format
from larvatus.data.hierarchies.taxonomy import with_taxonomies
from larvatus.data.labelling.labelled_roles import roles_with_labels
from larvatus.data.labelling.labels import (
    INSTEAD,
    LABELLED,
    ColumnLabels,
    FileFormat,
    MissingCode,
    code_column,
    is_missing_code,
    missing_in_words,
)
from larvatus.data.method_parsing import validation_problems
from larvatus.data.microdata import Microdata
from larvatus.data.roles import Roles, SubGroups, column_list, columns_read, released_columns
from larvatus.data.sub_groups import settings_of
from larvatus.data.weights import check_weight
from larvatus.engines._choice import engine_for
from larvatus.engines._databases.database_sources import SourceQuery, database_names, is_database, source_as_parquet
from larvatus.engines._files.arrow_sources import is_arrow_file, is_arrow_stream
from larvatus.engines._files.labelled_files import is_labelled, labelled_names
from larvatus.engines._files.missing_codes import is_tag
from larvatus.engines._files.sources import column_names, dialect_of, parts_of
from larvatus.engines._files.text_cells import text_places
from larvatus.pipeline.split_holdout import hold_out_for_study
from larvatus.study import Study

_SMALL, _SMALL_PACKED = 200 * 10**6, 20 * 10**6  # bytes of a file that can surely be written in memory
_PACKED = {".zsav", ".xlsx", ".xlsm", ".xlsb", ".ods"}


def format_of_source(source: str | Path) -> FileFormat:
    """The format in which releases of a source are written by default: that of the source.

    It is Parquet for a labelled file that may be too large to write in memory, and for databases, data frames and folders.
    """
    suffix = Path(store_settings(source)[0] if isinstance(source, str) and is_store(source) else source).suffix.lower()
    if is_store(source):
        kept = suffix[1:] if suffix == ".csv" else INSTEAD.get(suffix, suffix)[1:] if suffix in LABELLED else "parquet"
        return cast(FileFormat, kept)
    if is_labelled(source):
        small = Path(source).stat().st_size <= (_SMALL_PACKED if suffix in _PACKED else _SMALL)
        return cast(FileFormat, INSTEAD.get(suffix, suffix)[1:]) if small else "parquet"
    try:
        return "csv" if parts_of(source).text else "parquet"
    except ReadError:  # whoever reads the source reports it
        return "parquet"


def read(
    source: SourceLike,
    roles: Roles | None = None,
    *,
    confidential: Sequence[str] | str | None = None,
    non_confidential: Sequence[str] | str = (),
    key: Sequence[str] | str = (),
    sub_groups: Sequence[str] | SubGroups | str = (),
    identifiers: Sequence[str] | str = (),
    weight: str | None = None,
    release_weight: bool = True,
    record_id: str | None = None,
    person: str | None = None,
    household: str | None = None,
    household_columns: Sequence[str] | str = (),
    nominal: Sequence[str] | str = (),
    numeric: Sequence[str] | str = (),
    missing: Mapping[str, Sequence[MissingCode]] | None = None,
    taxonomies: Mapping[str, TaxonomyLike] | None = None,
    sheet: str | None = None,
    catalog: str | Path | None = None,
    query: str | None = None,
    table: str | None = None,
    password_file: str | Path | None = None,
    engine: str | Engine = "auto",
    memory: int | str | None = None,
    master: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    quote: str | None = None,
    dates: Mapping[str, str] | None = None,
) -> Microdata:
    """Read a file, a folder or pattern of files, a data frame or a database. Columns without a role are never released.

    Files may be in an object store ("s3://bucket/folder"). In Python, the source can also be an Arrow table, a stream of record
    batches or a dataset. A folder that is a Delta table is read in its latest version.

    A file of SPSS, Stata or SAS keeps its labels: a column with value labels is categorical, unless `numeric` names it.
    `missing` gives codes of missing values by column, such as {"income": [-7, -8]}; (low, high) is a range. These cells are
    not masked, and are released with their code. `sheet` is a sheet of a spreadsheet (default: the first). `catalog` is a
    .sas7bcat file with the value labels of a .sas7bdat file.

    A database is "postgresql://user@host:port/name", "sqlite:///file.db", a .duckdb file, or a connection of a Python driver.
    `query` is a SELECT statement that ends with ORDER BY, or `table` a table; declare `record_id` for anything without an
    order. `password_file` contains the password of a server, which the address must not contain
    (docs/guides/your-data-are-in-a-database.md).

    `key` lists columns by which persons are recognised. They are released, masks condition on them as released, and only
    steps that name them change them (docs/guides/what-keys-give-away.md).

    `person` and `household` are columns that tell which records belong together; they are never released. Releases of other
    waves are joined by person (docs/guides/intruders.md). Confidential columns that are equal within every household stay so:
    those in `household_columns`, or by default all of them (docs/guides/households-and-weights.md). A `weight` is released
    unless `release_weight` is false.

    `taxonomies` are hierarchies of categorical columns: nested tables, or the name of a CSV file from leaf to root. `engine` is
    "auto", the name of an engine, or an engine. "auto" keeps data in memory if they fit comfortably, and otherwise works on
    disk with DuckDB, within `memory` (such as "2GB"). A Spark data frame is processed by Spark; `master` is the address of a
    cluster on which to start a session.

    How a CSV file is written is recognised and reported: `delimiter` ("semicolon" or ";"), `decimal` ("comma"), `thousands`
    ("point", "space", "apostrophe"), `encoding` ("windows-1252"), `quote` ("single", "none") and `dates` ({"birth":
    "dd.mm.yyyy"}) state it instead. `dates` also names texts of other files and of databases that are dates.

    Examples:
        >>> import larvatus as lv
        >>> frame = lv.datasets.households(300)  # or a path, such as "households.csv"
        >>> data = lv.read(frame, confidential=["home_value", "net_assets"], key=["age_group"], sub_groups=["gender"])
        >>> data
        Microdata(300 records, confidential: home_value, net_assets, 2 sub-groups by gender)
        >>> data.columns
        ('gender', 'age_group', 'home_value', 'net_assets')
    """
    stated = {"delimiter": delimiter, "decimal": decimal, "thousands": thousands, "encoding": encoding, "quote": quote,
              "dates": dict(dates) if dates else None}
    asked = SourceQuery(query, table, password_file)
    check_address(source)
    source, forms = with_format(file_of_url(source), stated), stated_dates(stated)
    if roles is None:
        if confidential is None and not key:
            names = _names_of(source, asked, sheet, lambda: engine_for(source, engine, memory, 0, master)[0])
            raise RolesError("read: no column is declared confidential, so there is nothing to mask. Declare at least one "
                             f"(confidential=[…]); the columns are: {column_list(names)}. "
                             "lv.advise(source) guesses their roles.")
        given: dict[str, Any] = {
            "confidential": confidential or (), "non_confidential": non_confidential, "key": key, "identifiers": identifiers,
            "weight": weight, "release_weight": release_weight, "record_id": record_id, "nominal": nominal, "numeric": numeric,
            "person": person, "household": household, "household_columns": household_columns,
            "missing": dict(missing or {}), "taxonomies": dict(taxonomies or {}),
        }
        roles = Roles(**given)
    elif confidential is not None or taxonomies or missing:
        other = "taxonomies" if taxonomies else "missing" if missing else "confidential"
        raise RolesError(f"read: give roles, or {other} = …, not both.")
    settings, declared = settings_of(sub_groups), roles.missing
    inputs = paths_read(source, catalog, *(tree for tree in roles.taxonomies.values() if isinstance(tree, str | Path)))
    database = set(paths_read(source) if is_database(source) else ())  # one statement reads one state of it
    with ExitStack() as guards:
        guards.enter_context(unchanged([p for p in inputs if p not in database]))
        roles = with_taxonomies(roles)
        wanted = {*columns_read(roles, settings), *([roles.record_id] if roles.record_id else [])}
        opened = guards.enter_context(
            source_as_parquet(source, asked, sheet, catalog, needs_order=roles.record_id is None, wanted=wanted)
        )
        used, why = engine_for(opened.source, engine, memory, len(released_columns(roles, settings)), master)
        for text in filter(None, (why, opened.note)):
            warnings.warn(text, LarvatusWarning, stacklevel=2)
        if used.name == "spark" and dates:
            raise EngineError("engine spark: reads dates of CSV files as text. Leave dates out, or use engine duckdb.")
        if used.name == "spark" and opened.source is not source and (opened.labels or not is_store(source)):
            what = "databases" if is_database(source) else "labelled files" if opened.labels else "Arrow files and streams"
            raise EngineError(f"engine spark: cannot read {what}. Use engine duckdb, or write the data as Parquet.")
        roles = roles_with_labels(roles, settings, opened.labels, opened.unlabelled) if opened.labels else roles
        labels = opened.labels.only(released_columns(roles, settings))
        dialect = dialect_of(opened.source)
        if dialect is None:
            _refuse_notation(source)
        held = used.read(with_dates(opened.source, forms), roles, settings)
        dialect = with_recognised_dates(dialect, held.columns)
        data = Microdata(held, roles, settings, used, inputs, labels, dialect)
    if dialect is not None and not _is_stated(source, dialect):
        warnings.warn(f"{Path(str(source)).name}: {dialect.text()}", LarvatusWarning, stacklevel=2)
    doubtful = [n for n in data.numeric(data.released) if dialect is not None and n in dialect.doubtful]
    if doubtful:
        warnings.warn(f"{Path(str(source)).name}: the point in numbers such as 1.234 is read as a decimal point "
                      f"({column_list(doubtful)}). State it (decimal = \"point\"), or that it separates thousands "
                      "(thousands = \"point\").", LarvatusWarning, stacklevel=2)
    check_weight(data, text_places)
    _check_numeric(data)
    for text in _unused_codes(data, declared):
        warnings.warn(text, LarvatusWarning, stacklevel=2)
    return data


def _check_numeric(data: Microdata) -> None:
    """Refuse columns that are declared numeric and contain text."""
    named = [n for n in data.roles.numeric if n in data.table.columns and data.table.columns[n].kind != "number"]
    if named:
        raise RolesError(f"{column_list(named)} cannot be read as numeric, because it contains text. Leave it out, or convert "
                         "the text to numbers.", subject="numeric")


def _unused_codes(data: Microdata, declared: Mapping[str, Sequence[MissingCode]]) -> list[str]:
    """A sentence for each column with declared codes of missing values that no cell has.

    Codes that the file states too are not counted, and neither are ranges and letters (.a) if another code occurs: they are
    often declared for several columns at once.
    """
    out = []
    for name, codes in declared.items():
        held = data.table.columns.get(code_column(name))
        there = held.levels if held is not None else ()
        unused = [c for c in codes if c not in data.labels[name].missing
                  and not any(is_missing_code(v, (c,)) or str(v) == str(c) for v in there)]
        unused = [c for c in unused if not there or not (isinstance(c, tuple) or is_tag(c))]
        if unused and name in data.table.columns:
            listed = missing_in_words(unused, ColumnLabels()).replace("; ", ", ")
            out.append(f"missing: no cell of {name!r} has {listed}. Check the code, or leave it out.")
    return out


def _names_of(source: Any, asked: SourceQuery, sheet: str | None, engine: Callable[[], Engine]) -> Sequence[str]:
    """The columns of a source."""
    if is_database(source):
        return database_names(source, asked)
    if is_store(source):
        with source_as_parquet(source, sheet=sheet) as opened:
            return column_names(opened.source)
    if is_arrow_file(source) or is_arrow_stream(source):
        return column_names(source)
    return labelled_names(source, sheet) if is_labelled(source) else engine().names(source)


def with_recognised_dates(dialect: CsvDialect | None, columns: Mapping[str, Column]) -> CsvDialect | None:
    """The dialect of a CSV file, with the forms in which its dates are written."""
    forms = {n: c.dates.form for n, c in columns.items() if c.dates is not None and c.dates.form}
    return None if dialect is None else replace(dialect, dates=forms)


def with_format(source: Any, stated: Mapping[str, Any]) -> Any:
    """A source with what is stated about its CSV format; the same source if nothing is stated."""
    given = {k: v for k, v in stated.items() if v is not None and v != {} and not (k == "dates" and is_database(source))}
    if not given:
        return source
    if not isinstance(source, str | os.PathLike) or is_database(source):
        what = "database" if is_database(source) else "data frame"
        how = "Convert the column to dates" if list(given) == ["dates"] else "Leave it out"
        raise ReadError(f"read: {', '.join(given)}: a {what} has no CSV format. {how}.")
    try:
        return SourceFile(os.fspath(source), CsvFormat(**given))
    except ValidationError as error:
        raise ReadError(" ".join(validation_problems("", error, list(CsvFormat.model_fields))), subject="read") from None


def stated_dates(stated: Mapping[str, Any]) -> CsvFormat:
    """The stated forms of dates alone."""
    try:
        return CsvFormat(dates=stated.get("dates") or {})
    except ValidationError as error:
        raise ReadError(" ".join(validation_problems("", error, list(CsvFormat.model_fields))), subject="read") from None


def with_dates(opened: Any, forms: CsvFormat) -> Any:
    """A source that an engine reads, with the form in which texts of it are dates. A CSV file states its form already."""
    is_file = isinstance(opened, str | os.PathLike) and not isinstance(opened, SourceFile)
    return SourceFile(Path(opened), forms) if forms.dates and is_file else opened


def _refuse_notation(source: Any) -> None:
    """Refuse what is stated about the notation of a source that is not a CSV file."""
    named = [n for n in stated_format(source)[0].plain() if n != "dates"]
    if named:
        raise ReadError(f"{Path(str(source)).name} is not a CSV file: leave out {', '.join(named)}.")


def _is_stated(source: Any, dialect: CsvDialect) -> bool:
    """Whether the user stated everything that is unusual about the file."""
    stated, usual = stated_format(source)[0], USUAL_DIALECT
    return all(getattr(stated, name) is not None or getattr(dialect, name) == getattr(usual, name)
               for name in ("decimal", "thousands", "encoding", "quote")) and all(
        name in stated.dates or form.startswith("yyyy-mm-dd") for name, form in dialect.dates.items())


def read_for_study(source: str | Path, study: Study, secret: bytes | None = None) -> Microdata:
    """Read the source with the roles and settings of a study, without the records that are held out with the secret."""
    return hold_out_for_study(_read_labelled(source, study), study.holdout, study.folder, secret)


def _read_labelled(source: str | Path, study: Study) -> Microdata:
    """The source with the roles and settings of a study. Labels that it states replace those of the file."""
    data = read(
        source, study.roles, sub_groups=study.sub_groups, sheet=study.sheet, catalog=study.catalog_path(), query=study.query,
        table=study.table, password_file=study.password_path(), engine=study.engine, memory=study.memory,
        master=study.master, **study.csv.model_dump(),
    )
    if not study.value_labels and not data.labels:
        return data
    if data.engine.name == "spark":
        raise EngineError("engine spark: cannot write value labels. Leave [value_labels] out, or use engine duckdb.")
    named = [n for n in study.value_labels if n in data.table.columns]
    levels = {n: [level for level in data.table.columns[n].levels if level is not None] for n in named}
    return replace(data, labels=data.labels.with_stated(study.labels, study.value_labels, levels))
