"""CSV files: header, cells as text, and column types that are determined from all cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from larvatus.core.errors import ReadError
from larvatus.data.csv_files.dialect import CsvDialect
from larvatus.data.csv_files.encoding import start_text
from larvatus.data.csv_files.number_notation import Notation
from larvatus.data.csv_files.recognition import first_line
from larvatus.data.labelling.labels import MissingCode
from larvatus.data.roles import Roles, SubGroups, changeable_columns, has_order, persons_and_households
from larvatus.engines._files.cell_lines import check_notation, first_ragged_line
from larvatus.engines._files.looks import Looks
from larvatus.engines._files.quotation_marks import check_quotation_marks
from larvatus.engines._files.text_stream import check_utf8, csv_start, is_plain, open_utf8

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK, _SHORT = 1 << 24, 1 << 16


def csv_header(path: Path, dialect: CsvDialect) -> list[str]:
    """Column names; those without a name are numbered."""
    names = _header(path, dialect)[0]
    blank = [str(i) for i, n in enumerate(names, 1) if not n.strip()]
    if not names or len(blank) == len(names):
        raise ReadError(f"{path.name} has no header line.")
    if len(names) > 2 and names[0].strip() and len(blank) == len(names) - 1:
        raise ReadError(f"{path.name}: the first line has a name for 1 of {len(names)} columns. Remove titles above the "
                        "header, or name all columns.")
    if blank:
        names = [n if n.strip() else f"column {i}" for i, n in enumerate(names, 1)]
    return names


def _header(path: Path, dialect: CsvDialect) -> tuple[list[str], int]:
    """The cells of the header, and its number of lines: more than one if a quoted name contains a line break."""
    start = csv_start(path, _SHORT)
    text = start_text(start.piece, dialect.encoding)
    if not start.whole and first_line(text, dialect.quote) == text:
        text = start_text(csv_start(path).piece, dialect.encoding)
    quoting: Any = {"quotechar": dialect.quote} if dialect.quote else {"quoting": csv.QUOTE_NONE}
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=dialect.delimiter, strict=True, **quoting)
    try:
        names = next(reader, [])
    except csv.Error:
        check_quotation_marks(path, dialect)
        raise ReadError(f"{path.name} has a header that cannot be parsed. Look for an unclosed quotation mark in it.") from None
    if any("\ufffd" in n for n in names) and dialect.encoding == "utf-8":
        check_utf8(path, dialect)
    return names, reader.line_num


@dataclass(frozen=True, slots=True)
class Uses:
    """What columns are used for: `codes` are categories or record ids, of which each spelling is one; `masked` ones change.

    `dates` is false if dates are not recognised. `unclear_dates` says whether a column in which day and month cannot be told
    apart may be text; else it is refused. `texts` are texts that stand for missing values, by column.
    """

    codes: frozenset[str] = frozenset()
    masked: frozenset[str] = frozenset()
    dates: bool = True
    unclear_dates: bool = False
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, roles: Roles, sub_groups: SubGroups, names: Sequence[str]) -> Uses:
        codes = {n for n in names if is_category(n, roles, sub_groups) or n == roles.record_id}
        texts = stated_texts({n: given for n, given in roles.missing.items() if n not in codes})
        return cls(frozenset(codes), frozenset(changeable_columns(roles, sub_groups)), texts=texts)


def stated_texts(missing: Mapping[str, Sequence[MissingCode]]) -> dict[str, tuple[str, ...]]:
    """Texts that are stated as missing values, by column."""
    texts = {n: tuple(c for c in given if isinstance(c, str)) for n, given in missing.items()}
    return {n: given for n, given in texts.items() if given}


def is_category(name: str, roles: Roles, sub_groups: SubGroups) -> bool:
    """Whether a column is categorical because of its role."""
    return name in (*sub_groups.columns, *roles.nominal, *persons_and_households(roles)) or has_order(roles, name)


def csv_looks(path: Path, names: Sequence[str], uses: Uses, dialect: CsvDialect) -> dict[str, Looks]:
    """What the cells of the named columns look like. A file with an open quotation mark is refused.

    So is one whose cells contradict the notation of numbers that was recognised.
    """
    check_quotation_marks(path, dialect)
    looks, notation = {n: Looks() for n in names}, Notation(dialect.decimal, dialect.thousands)
    exact = {n for n in names if n not in uses.codes | uses.masked}
    checked = dialect.numeric - uses.codes
    forms = {n: dialect.dates.get(n, "") for n in names if uses.dates and n not in uses.codes}
    for batch in csv_texts(path, names, dialect):
        looks = {n: looks[n] | Looks.of(batch.column(n), n in uses.codes, notation, n in exact, n in checked, forms.get(n))
                 for n in names}
    plain = {n: k for n, k in looks.items() if n not in uses.codes and n not in uses.texts}
    check_notation(path, dialect, csv_header(path, dialect), plain)
    return looks


def csv_texts(path: Path, names: Sequence[str], dialect: CsvDialect) -> Iterator[pa.RecordBatch]:
    """The named columns as text, block by block."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    header, lines = csv_header(path, dialect), _header(path, dialect)[1]
    read = arrow_csv.ReadOptions(column_names=header, skip_rows=lines, block_size=_BLOCK)
    parse = arrow_csv.ParseOptions(delimiter=dialect.delimiter, quote_char=dialect.quote or False, newlines_in_values=True,
                                   ignore_empty_lines=len(header) > 1)
    convert = arrow_csv.ConvertOptions(
        include_columns=list(names), column_types={n: pa.string() for n in names}, strings_can_be_null=False
    )
    try:
        yield from arrow_csv.open_csv(path if is_plain(path, dialect) else open_utf8(path, dialect), read, parse, convert)
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error) or "skip initial" in str(error):
            raise ReadError(f"{path.name} has a header but no records.") from None
        where = first_ragged_line(path, dialect, len(header))
        if dialect.encoding == "utf-8" and not where:
            check_utf8(path, dialect)
        raise ReadError(f"{path.name} cannot be read as CSV with {dialect.delimiter!r} between columns: "
                        f"{_shape_of(str(error))}{where}. Check for rows with too many or too few cells.") from None
    except OSError as error:
        raise ReadError(f"{path.name} cannot be read: {error.strerror or 'the file is damaged'}.") from None


def _shape_of(message: str) -> str:
    """Arrow's message on the shape of a row, without the row itself."""
    head = message.split(":")
    for part in head:
        if "Expected" in part:
            return part.strip()
    return "its rows do not have the same number of cells, or its text is not UTF-8"
