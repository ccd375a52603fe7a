"""Where the first cells are that are not numbers, in a column that would be numeric without them. No cell is shown."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path

from larvatus.core.errors import ReadError
from larvatus.data.csv_files.dialect import CsvDialect
from larvatus.data.csv_files.number_notation import Notation
from larvatus.data.csv_files.recognition import recognise_dialect
from larvatus.data.microdata import Microdata
from larvatus.data.text_columns import MISSING, is_number_or_missing
from larvatus.engines._files.cell_lines import lines_where
from larvatus.engines._files.csv import csv_header
from larvatus.engines._files.text_stream import csv_start, is_csv

_FIRST = 3


def text_places(data: Microdata, name: str) -> str:
    """The lines and the column of the first such cells in a CSV file, or their rows in a data frame; empty if unknown."""
    if not data.inputs:
        rows = [] if data.roles.record_id is not None else _rows(data, name)
        return f"{_listed('row', rows)} of the data" if rows else ""
    file = Path(data.inputs[0])
    if not is_csv(file) or not file.is_file():
        return ""
    with suppress(ReadError, OSError, UnicodeDecodeError, csv.Error):
        dialect = data.dialect or recognise_dialect(csv_start(file))
        names = csv_header(file, dialect)
        if name in names:
            lines = list(islice(lines_where(file, dialect, _unlike(dialect, names.index(name))), _FIRST))
            return f"{_listed('line', lines)}, column {names.index(name) + 1}" if lines else ""
    return ""


def _unlike(dialect: CsvDialect, place: int) -> Callable[[list[str]], bool]:
    """Whether a record has a cell in this column that is not a number."""
    if dialect.is_usual_notation:
        return lambda row: len(row) > place and not is_number_or_missing(row[place])
    number = re.compile(Notation(dialect.decimal, dialect.thousands).pattern)
    return lambda row: len(row) > place and row[place].strip() not in MISSING and not number.match(row[place].strip())


def _rows(data: Microdata, name: str) -> list[int]:
    """Rows counted from 1; a record without a declared id has the number of its row."""
    wrong = {i for i, level in enumerate(data.table.columns[name].levels) if not is_number_or_missing(str(level))}
    found = [int(record) + 1 for _, block in data.table.blocks([name])
             for record, code in zip(block.record, block[name], strict=True) if int(code) in wrong]
    return sorted(found)[:_FIRST]


def _listed(word: str, places: list[int]) -> str:
    if len(places) == 1:
        return f"{word} {places[0]}"
    more = "the first in " if len(places) == _FIRST else ""
    return f"{more}{word}s {', '.join(map(str, places[:-1]))} and {places[-1]}"
