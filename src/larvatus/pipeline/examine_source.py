"""Look at a source before its columns have roles, and guess them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from larvatus.advice.column_kinds import column_kind
from larvatus.advice.role_guesses import RoleGuesses, guesses_for
from larvatus.data.accepted_types import SourceLike
from larvatus.data.csv_files.dialect import NOTHING_STATED, CsvFormat, stated_format
from larvatus.data.dates.date_forms import form_of_field
from larvatus.engines._choice import engine_for
from larvatus.engines._databases.database_sources import NO_QUERY, SourceQuery, source_as_parquet
from larvatus.engines._files.csv import Uses
from larvatus.engines._files.missing_codes import split_table
from larvatus.engines._files.sources import arrow_table, batches_of, column_names, dialect_of
from larvatus.pipeline.read_source import with_format

_MOST_RECORDS, _MOST_CELLS = 1_000_000, 50_000_000


def guess_roles(
    source: SourceLike, csv: CsvFormat = NOTHING_STATED, sheet: str | None = None, asked: SourceQuery = NO_QUERY
) -> RoleGuesses:
    """The columns of a source, and a first guess of their roles. At most a million records are looked at."""
    source = with_format(source, csv.model_dump())
    with source_as_parquet(source, asked, sheet, needs_order=False) as opened:
        table = _first_rows(opened.source)
        dialect = dialect_of(opened.source)
    if dialect is not None:
        dialect = replace(dialect, dates={f.name: form_of_field(f) for f in table.schema if form_of_field(f)})
    codes = {n: c.missing for n, c in opened.labels.columns.items() if c.missing}
    table = split_table(table, codes)[0]
    guesses = guesses_for([column_kind(n, table.column(n)) for n in table.column_names])
    if not isinstance(source, str | os.PathLike):
        return RoleGuesses(guesses, table.num_rows)
    path = os.fspath(source)
    said = f"{Path(path).name}: {dialect.text()}" if dialect is not None else ""
    stated = {**stated_format(source)[0].plain(), **({"sheet": sheet} if sheet else {})}
    stated |= {n: str(getattr(asked, n)) for n in asked.stated()}
    return RoleGuesses(guesses, table.num_rows, path, said, stated)


def _first_rows(source: Any) -> Any:
    """The first records of a source as an Arrow table."""
    import pyarrow as pa

    if not isinstance(source, str | os.PathLike):
        from larvatus.core.frames import as_arrow, first_rows

        names = engine_for(source, "auto", None, 0)[0].names(source)
        found = as_arrow(first_rows(source, _most(len(names))))
        return arrow_table(found, names)
    names = column_names(source)
    schema, batches = batches_of(source, names, Uses(unclear_dates=True))
    taken, rows = [], 0
    for batch in batches():
        taken.append(batch.slice(0, _most(len(names)) - rows))
        rows += taken[-1].num_rows
        if rows >= _most(len(names)):
            break
    return pa.Table.from_batches(taken, schema)


def _most(columns: int) -> int:
    return max(min(_MOST_RECORDS, _MOST_CELLS // max(columns, 1)), 1_000)
