"""Recognise the dialect of a CSV file from its first part; what is stated is not questioned.

The delimiter is the one of comma, semicolon, tab and bar that is most frequent in the header. If the first records do not have
as many cells as the header under it, and under exactly one other they have, that one is taken. Cells are enclosed in single
quotation marks if all names in the header are. In files with commas between columns, decimal points are assumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice

from larvatus.core.errors import ReadError
from larvatus.data.csv_files.dialect import NOTHING_STATED, CsvDialect, CsvFormat
from larvatus.data.csv_files.encoding import recognise_encoding, start_text
from larvatus.data.csv_files.number_notation import NOTATIONS, Notation, NotationChoice, decide_notation
from larvatus.data.text_columns import MISSING

FIRST_BYTES, LONGEST_HEADER, _RECORDS = 1 << 20, 10_000, 2_000
_TITLED, _FEWEST = 40, 3  # lines looked at for a title above the header; fewest lines that tell
_DELIMITERS = ",;\t|"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")


@dataclass(frozen=True, slots=True)
class CsvStart:
    """The first part of a file: its name, bytes, and whether it is the whole file."""

    name: str
    piece: bytes
    whole: bool


def recognise_dialect(start: CsvStart, stated: CsvFormat = NOTHING_STATED, like: CsvDialect | None = None) -> CsvDialect:
    """The dialect of a file. `like` is a dialect to prefer where the file leaves a choice."""
    encoding = stated.encoding or recognise_encoding(start.name, start.piece, start.whole)
    if encoding == "utf-16":  # stated without a byte order: the mark decides, or else the usual order
        encoding = "utf-16-be" if start.piece.startswith(b"\xfe\xff") else "utf-16-le"
    text = start_text(start.piece, encoding)
    quote = _quote(text) if stated.quote is None else stated.quote
    delimiter = stated.delimiter or _delimiter(text, quote)
    if not stated.delimiter:
        _check_first_line(start.name, text, quote)
    dates = stated.dates or (like.dates if like is not None else {})
    dialect = CsvDialect(delimiter, quote, encoding=encoding, dates=dates)
    asked = _possible(stated, delimiter, like)
    if asked == (Notation(),):
        return dialect
    found = decide_notation(_first_cells(text, dialect, start.whole), asked)
    if found.ambiguous and like is not None and Notation(like.decimal, like.thousands) in asked:
        found = NotationChoice(Notation(like.decimal, like.thousands), found.numeric | found.ambiguous)
    notation = found.notation
    return CsvDialect(delimiter, quote, notation.decimal, notation.thousands, encoding, found.numeric, found.ambiguous,
                      found.doubtful, dates)


def _possible(stated: CsvFormat, delimiter: str, like: CsvDialect | None) -> tuple[Notation, ...]:
    """The notations that agree with what is stated."""
    if stated.decimal is None and stated.thousands is None and delimiter == ",":
        return (Notation(),)
    left = [n for n in NOTATIONS if stated.decimal in (None, n.decimal) and stated.thousands in (None, n.thousands)]
    if stated.decimal is not None and stated.thousands is None and delimiter == ",":
        left = [n for n in left if not n.thousands]
    if like is not None:
        left.sort(key=lambda n: (n.decimal, n.thousands) != (like.decimal, like.thousands))
    return tuple(left) or (Notation(stated.decimal or ".", stated.thousands or ""),)


def first_line(text: str, quote: str = '"') -> str:
    """The first line, and the lines after it while a quotation mark is open."""
    marks = end = 0
    for line in islice(_LINE.finditer(text), LONGEST_HEADER):
        end = line.end()
        marks += line[0].count(quote) if quote else 0
        if marks % 2 == 0:
            break
    return text[:end]


def _quote(text: str) -> str:
    """Single marks if every name in the header is enclosed in them, else double marks."""
    header = first_line(text, "'").strip("\r\n")
    pattern = r"'[^']*'(?:([,;\t|])'[^']*')*"
    return "'" if re.fullmatch(pattern, header) else '"'


def _delimiter(text: str, quote: str) -> str:
    header = first_line(text, quote)
    bare = re.sub(f"{quote}[^{quote}]*{quote}", "", header) if quote else header
    usual = max(_DELIMITERS, key=lambda d: (bare.count(d), d == ","))
    if not bare.count(usual) or _is_regular(text, usual, quote):
        return usual
    fitting = [d for d in _DELIMITERS if d != usual and bare.count(d) and _is_regular(text, d, quote)]
    return fitting[0] if len(fitting) == 1 else usual


def _check_first_line(name: str, text: str, quote: str) -> None:
    """Raise an error if the first line cannot be the header: it is for Excel alone, or a title above the header."""
    header = first_line(text, quote).strip()
    if re.fullmatch(r"sep=.", header, re.IGNORECASE):
        raise ReadError(f"{name}: the first line is for Excel alone ({header}). Remove it.")
    if any(d in header for d in _DELIMITERS):
        return
    for delimiter in _DELIMITERS:
        rows = [row for row in islice(csv_rows(text, delimiter, quote), _TITLED) if row != [""]][:-1]
        widths = {len(row) for row in rows[1:]}
        if len(rows) > _FEWEST and len(rows[0]) == 1 and len(widths) == 1 and widths != {1}:
            raise ReadError(f"{name}: the first line is one name, and the lines after it have {widths.pop()} cells with "
                            f"{delimiter!r} between them. Remove titles above the header, or state the delimiter "
                            "(delimiter = …).")


def _is_regular(text: str, delimiter: str, quote: str) -> bool:
    """Whether all of the first records have as many cells as the header."""
    rows = [row for row in islice(csv_rows(text, delimiter, quote), 101) if row != [""]]
    rows = rows[:-1] if len(rows) > 2 else rows  # the last one may be cut
    return len({len(row) for row in rows}) == 1


def csv_rows(text: str, delimiter: str, quote: str) -> Iterator[list[str]]:
    """The rows of a text; an empty line is a row with one empty cell."""
    row: list[str] = []
    for found in _cell_pattern(delimiter, quote).finditer(text):
        quoted, bare, end = found.groups()
        if found.start() == len(text) and not row:
            return
        row.append(bare if quoted is None else quoted[1:-1].replace(quote * 2, quote))
        if end != delimiter:
            yield row
            row = []
        if found.end() == len(text) and end != delimiter:
            return


@cache
def _cell_pattern(delimiter: str, quote: str) -> re.Pattern[str]:
    """One cell and what ends it. A quotation mark inside a cell that does not begin with one is a character like any other."""
    d, q = re.escape(delimiter), re.escape(quote)
    quoted = f"({q}[^{q}]*(?:{q}{q}[^{q}]*)*{q})" if quote else r"((?!))"
    return re.compile(rf"(?:{quoted}|([^{d}\r\n]*))({d}|\r\n|\r|\n|$(?!\n))")


def _first_cells(text: str, dialect: CsvDialect, whole: bool) -> Mapping[str, list[str]]:
    """The non-missing cells of every column in the first records, without surrounding blanks."""
    rows = list(islice(csv_rows(text, dialect.delimiter, dialect.quote), _RECORDS + 1))
    header, records = (rows[0], rows[1:]) if rows else ([], [])
    records = records if whole or len(rows) > _RECORDS else records[:-1]
    cells: dict[str, list[str]] = {name: [] for name in header}
    for row in records:
        for name, cell in zip(header, row, strict=False):
            if (bare := cell.strip()) not in MISSING:
                cells[name].append(bare)
    return cells
