"""Lines of a CSV file in which a cell is not what was expected. Found only for an error message; no cell is shown."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from larvatus.core.errors import ReadError
from larvatus.data.csv_files.dialect import CsvDialect
from larvatus.data.csv_files.number_notation import Notation
from larvatus.data.text_columns import MISSING
from larvatus.engines._files.looks import Looks
from larvatus.engines._files.text_stream import open_text

_NOT_STATED = "decimal = …, thousands = …"


def lines_where(path: Path, dialect: CsvDialect, unlike: Callable[[list[str]], bool]) -> Iterator[int]:
    """The line in which each record begins whose cells meet a condition; the header is in line 1."""
    quoting: Any = {"quotechar": dialect.quote} if dialect.quote else {"quoting": csv.QUOTE_NONE}
    with open_text(path, dialect) as opened:
        reader = csv.reader(opened, delimiter=dialect.delimiter, **quoting)
        next(reader)
        begins = reader.line_num + 1
        for row in reader:
            if unlike(row):
                yield begins
            begins = reader.line_num + 1


def first_ragged_line(path: Path, dialect: CsvDialect, width: int) -> str:
    """Where the first record is with too many or too few cells, as a clause; empty if it is not found."""
    with suppress(ReadError, OSError, UnicodeDecodeError, csv.Error):
        line = next(lines_where(path, dialect, lambda row: len(row) not in (0, width)), 0)
        return f" in line {line}" if line else ""
    return ""


def first_unlike(path: Path, dialect: CsvDialect, place: int) -> int:
    """The first line with a cell in this column that is not a number in the notation of the file; 0 if it is not found."""
    number = re.compile(Notation(dialect.decimal, dialect.thousands).pattern)

    def unlike(row: list[str]) -> bool:
        cell = row[place].strip() if len(row) > place else ""
        return cell not in MISSING and number.match(cell) is None

    with suppress(OSError, UnicodeDecodeError, csv.Error):
        return next(lines_where(path, dialect, unlike), 0)
    return 0


def check_notation(path: Path, dialect: CsvDialect, header: Sequence[str], looks: Mapping[str, Looks]) -> None:
    """Raise an error if numbers can be read in two ways, or if cells contradict the notation of the first records."""
    unclear = sorted(dialect.ambiguous & set(looks), key=list(header).index)
    if unclear:
        raise ReadError(
            f"{path.name}: the numbers in column {unclear[0]!r} have one comma and three digits after it: decimals or "
            'thousands. State which: decimal = "comma" or thousands = "comma".'
        )
    for name in (n for n in header if n in dialect.numeric and n in looks):
        look = looks[name]
        if look.number or look.blank or (dialect.is_usual_notation and (look.stray or not look.foreign)):
            continue
        place = list(header).index(name)
        line = first_unlike(path, dialect, place)
        mark = "point" if dialect.decimal == "." else "comma"
        where = f"line {line}, " if line else ""
        raise ReadError(
            f"{path.name}: {where}column {place + 1} ({name!r}) is not a number with decimal {mark}, "
            f"but the first records are. Correct or empty the cell, state the notation ({_NOT_STATED}), or declare the column "
            "nominal."
        )
