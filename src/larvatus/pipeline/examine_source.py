"""Look at a source before its columns have roles, and guess them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from larvatus.advice.column_kinds import ColumnKind, column_kind
from larvatus.advice.role_guesses import guesses_for
from larvatus.advice.roles_draft import RoleGuesses
from larvatus.core.database_urls import file_of_url
from larvatus.core.errors import LarvatusWarning, ReadError, RolesError, nearest_names
from larvatus.data.accepted_types import SourceLike
from larvatus.data.csv_files.dialect import NOTHING_STATED, CsvFormat, stated_format
from larvatus.data.csv_files.number_notation import Notation
from larvatus.data.dates.date_forms import form_of_field
from larvatus.data.labelling.labelled_roles import labels_make_categorical
from larvatus.data.labelling.labels import SHEETS, MissingCode
from larvatus.data.roles import Roles
from larvatus.engines._choice import engine_for
from larvatus.engines._databases.database_sources import (
    NO_QUERY,
    SourceQuery,
    is_unordered,
    source_as_parquet,
)
from larvatus.engines._files.csv import Uses, stated_texts
from larvatus.engines._files.labelled_files import OpenedSource
from larvatus.engines._files.missing_codes import split_table
from larvatus.engines._files.sources import arrow_table, batches_of, column_names, dialect_of
from larvatus.pipeline.read_source import stated_dates, with_dates, with_format

_MOST_RECORDS, _MOST_CELLS = 1_000_000, 50_000_000


def guess_roles_of(
    source: SourceLike, *, sheet: str | None = None, catalog: str | Path | None = None, query: str | None = None,
    table: str | None = None, password_file: str | Path | None = None,
    missing: Mapping[str, Sequence[MissingCode]] | None = None, delimiter: str | None = None, decimal: str | None = None,
    thousands: str | None = None, encoding: str | None = None, quote: str | None = None, dates: Mapping[str, str] | None = None,
) -> RoleGuesses:
    """The columns of a source, and a first guess of their roles, with the arguments of `lv.read` that say what to read."""
    stated = {"delimiter": delimiter, "decimal": decimal, "thousands": thousands, "encoding": encoding, "quote": quote,
              "dates": dict(dates) if dates else None}
    codes = Roles(missing=dict(missing or {})).missing
    asked = SourceQuery(query, table, password_file)
    source = file_of_url(source)
    own = {k: v for k, v in stated.items() if v is not None}
    with_format(source, own)  # mistakes of arguments are reported as such
    stated_dates(own)
    return guess_roles(source, CsvFormat(**own), sheet, asked, catalog, codes)


def guess_roles(
    source: SourceLike, csv: CsvFormat = NOTHING_STATED, sheet: str | None = None, asked: SourceQuery = NO_QUERY,
    catalog: str | Path | None = None, missing: Mapping[str, tuple[MissingCode, ...]] | None = None,
) -> RoleGuesses:
    """The columns of a source, and a first guess of their roles. At most a million records are looked at.

    `missing` are codes of missing values that are stated already.
    """
    given = dict(missing or {})
    source, forms = with_format(file_of_url(source), csv.model_dump()), stated_dates(csv.model_dump())
    with source_as_parquet(source, asked, sheet, catalog, needs_order=False) as opened:
        table = _first_rows(with_dates(opened.source, forms), given)
        dialect = dialect_of(opened.source)
    if table.num_rows == 0:
        raise ReadError("the source has a header but no records.")
    if opened.note:
        warnings.warn(opened.note, LarvatusWarning, stacklevel=2)
    if dialect is not None:
        dialect = replace(dialect, dates={f.name: form_of_field(f) for f in table.schema if form_of_field(f)})
    unknown = [n for n in given if n not in table.column_names]
    if unknown:
        raise RolesError(f"missing: no column {unknown[0]!r}; {nearest_names(unknown[0], table.column_names)}")
    codes = {n: c.missing for n, c in opened.labels.with_missing(given).columns.items() if c.missing}
    table = split_table(table, codes)[0]
    notation = Notation(dialect.decimal, dialect.thousands) if dialect is not None else None
    notation = Notation() if opened.labels.suffix in SHEETS else notation
    guesses = guesses_for([_with_labels(column_kind(n, table.column(n), notation), opened) for n in table.column_names])
    if not isinstance(source, str | os.PathLike):
        return RoleGuesses(guesses, table.num_rows, missing=given, unordered=is_unordered(asked))
    path = os.fspath(source)
    said = f"{Path(path).name}: {dialect.text()}" if dialect is not None else ""
    stated = {**stated_format(source)[0].plain(), **csv.plain(), **({"sheet": sheet} if sheet else {}),
              **({"catalog": os.path.abspath(catalog)} if catalog else {})}
    stated |= {n: str(getattr(asked, n)) for n in asked.stated()}
    return RoleGuesses(guesses, table.num_rows, path, said, stated, given, is_unordered(asked))


def _with_labels(column: ColumnKind, opened: OpenedSource) -> ColumnKind:
    """What is in a column, with what the labels of the file make of it."""
    labels = opened.labels[column.name]
    categorical = labels_make_categorical(labels, opened.unlabelled.get(column.name))
    return replace(column, measure=labels.measure, labels=len(labels.categories) if categorical else 0, label=labels.label)


def _first_rows(source: Any, missing: Mapping[str, tuple[MissingCode, ...]]) -> Any:
    """The first records of a source as an Arrow table."""
    import pyarrow as pa

    if not isinstance(source, str | os.PathLike):
        from larvatus.core.frames import as_arrow, first_rows

        names = engine_for(source, "auto", None, 0)[0].names(source)
        found = as_arrow(first_rows(source, _most(len(names))))
        return arrow_table(found, names)
    names = column_names(source)
    schema, batches = batches_of(source, names, Uses(unclear_dates=True, texts=stated_texts(missing)))
    taken, rows = [], 0
    for batch in batches():
        taken.append(batch.slice(0, _most(len(names)) - rows))
        rows += taken[-1].num_rows
        if rows >= _most(len(names)):
            break
    return pa.Table.from_batches(taken, schema)


def _most(columns: int) -> int:
    return max(min(_MOST_RECORDS, _MOST_CELLS // max(columns, 1)), 1_000)
