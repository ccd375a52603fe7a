"""Where the first cells are that are not numbers, in a column that would be numeric without them. No cell is shown."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from larvatus.core.errors import ReadError
from larvatus.data.microdata import Microdata
from larvatus.data.text_columns import is_number_or_missing
from larvatus.engines._files.csv import csv_header

_FIRST = 3
_PLAIN = {".csv", ".tsv", ".txt"}


def text_places(data: Microdata, name: str) -> str:
    """The lines and the column of the first such cells in a CSV file, or their rows in a data frame; empty if unknown."""
    if not data.inputs:
        rows = [] if data.roles.record_id is not None else _rows(data, name)
        return f"{_listed('row', rows)} of the data" if rows else ""
    file = Path(data.inputs[0])
    if file.suffix.lower() not in _PLAIN or not file.is_file():
        return ""
    with suppress(ReadError, OSError, UnicodeDecodeError, csv.Error):
        names, delimiter = csv_header(file)
        if name in names:
            lines = list(islice(_lines(file, delimiter, names.index(name)), _FIRST))
            return f"{_listed('line', lines)}, column {names.index(name) + 1}" if lines else ""
    return ""


def _lines(file: Path, delimiter: str, place: int) -> Iterator[int]:
    """The line in which each record with such a cell begins; the header is in line 1."""
    with file.open(encoding="utf-8-sig", newline="") as opened:
        reader = csv.reader(opened, delimiter=delimiter)
        next(reader)
        begins = reader.line_num + 1
        for row in reader:
            if len(row) > place and not is_number_or_missing(row[place]):
                yield begins
            begins = reader.line_num + 1


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
