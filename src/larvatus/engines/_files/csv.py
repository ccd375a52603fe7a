"""CSV files: header, delimiter, and column types that are determined from all cells."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from larvatus.core.errors import ReadError
from larvatus.data.roles import Roles, SubGroups, has_order, persons_and_households
from larvatus.data.text_columns import MISSING
from larvatus.engines._files.quotation_marks import check_quotation_marks

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK, LONGEST_HEADER = 1 << 24, 10_000


def csv_header(path: Path) -> tuple[list[str], str]:
    """Column names, and the delimiter: whichever of comma, semicolon, tab and bar is most frequent in the header."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            bare = re.sub(r'"[^"]*"', "", _first_record(file))
            delimiter = max(",;\t|", key=lambda d: (bare.count(d), d == ","))
            file.seek(0)
            names = next(csv.reader(file, delimiter=delimiter, strict=True), [])
    except UnicodeDecodeError:
        raise ReadError(f"{path.name} is not UTF-8 text. Convert it, for example with iconv.") from None
    except csv.Error:
        check_quotation_marks(path, delimiter)
        raise ReadError(f"{path.name} has a header that cannot be parsed. Look for an unclosed quotation mark in it.") from None
    except OSError as error:
        raise ReadError(f"{path.name} cannot be read: {error.strerror}.") from None
    blank = [str(i) for i, n in enumerate(names, 1) if not n.strip()]
    if not names or len(blank) == len(names):
        raise ReadError(f"{path.name} has no header line.")
    if blank:
        names = [n if n.strip() else f"column {i}" for i, n in enumerate(names, 1)]
    return names, delimiter


def _first_record(file: IO[str]) -> str:
    """The first line, and the lines after it while a quotation mark is open."""
    lines, marks = [file.readline()], 0
    while (marks := marks + lines[-1].count('"')) % 2 and lines[-1] and len(lines) < LONGEST_HEADER:
        lines.append(file.readline())
    return "".join(lines)


@dataclass(frozen=True, slots=True)
class Uses:
    """What columns are used for: `codes` are categories or record ids, of which each spelling is one; `masked` ones change."""

    codes: frozenset[str] = frozenset()
    masked: frozenset[str] = frozenset()

    @classmethod
    def of(cls, roles: Roles, sub_groups: SubGroups, names: Sequence[str]) -> Uses:
        codes = {n for n in names if is_category(n, roles, sub_groups) or n == roles.record_id}
        return cls(frozenset(codes), frozenset(roles.confidential))


def is_category(name: str, roles: Roles, sub_groups: SubGroups) -> bool:
    """Whether a column is categorical because of its role."""
    return name in (*sub_groups.columns, *roles.nominal, *persons_and_households(roles)) or has_order(roles, name)


def csv_looks(path: Path, names: Sequence[str], uses: Uses) -> dict[str, Looks]:
    """What the cells of the named columns look like. A file with an open quotation mark is refused."""
    check_quotation_marks(path, csv_header(path)[1])
    looks = {n: Looks() for n in names}
    for batch in csv_texts(path, names):
        looks = {n: looks[n] | Looks.of(batch.column(n), n in uses.codes) for n in names}
    return looks


def check_digits(looks: Mapping[str, Looks], uses: Uses) -> None:
    """Raise an error if a column that is released unchanged would lose digits."""
    for name, look in looks.items():
        if look.inexact and not look.whole and name not in uses.codes | uses.masked and look.keeps_numbers:
            raise ReadError(
                f"{name!r} has decimals and whole numbers above 2**53 that would lose digits. Declare it nominal if the values "
                "are codes, or round it."
            )


def csv_texts(path: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The named columns as text, block by block."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    header, delimiter = csv_header(path)
    read = arrow_csv.ReadOptions(column_names=header, skip_rows=_header_lines(path, delimiter), block_size=_BLOCK)
    parse = arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(header) > 1)
    convert = arrow_csv.ConvertOptions(
        include_columns=list(names), column_types={n: pa.string() for n in names}, strings_can_be_null=False
    )
    try:
        yield from arrow_csv.open_csv(path, read, parse, convert)
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error) or "skip initial" in str(error):
            raise ReadError(f"{path.name} has a header but no records.") from None
        raise ReadError(f"{path.name} cannot be read as CSV with {delimiter!r} between columns: "
                        f"{_shape_of(str(error))}. Check for rows with too many or too few cells.") from None
    except OSError as error:
        raise ReadError(f"{path.name} cannot be read: {error.strerror or 'the file is damaged'}.") from None


def _header_lines(path: Path, delimiter: str) -> int:
    """Number of lines of the header: more than one if a quoted name contains a line break."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        next(reader)
        return reader.line_num


def _shape_of(message: str) -> str:
    """Arrow's message on the shape of a row, without the row itself."""
    head = message.split(":")
    for part in head:
        if "Expected" in part:
            return part.strip()
    return "its rows do not have the same number of cells, or its text is not UTF-8"


@dataclass(frozen=True, slots=True)
class Looks:
    """What the cells of a column look like. Objects of several blocks can be combined with `|`."""

    blank: bool = True
    coded: bool = False
    long: bool = False
    whole: bool = True
    number: bool = True
    truth: bool = True
    inexact: bool = False
    respelled: bool = False
    bare: bool = False
    pointed: bool = False

    @classmethod
    def of(cls, column: Any, code: bool = False) -> Looks:
        import pyarrow as pa
        import pyarrow.compute as pc

        trimmed, blank, values = _trimmed(column)
        truth = pc.or_(blank, pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(["true", "false"])))
        whole = _castable(values, pa.int64())
        number = whole or _castable(values, pa.float64())
        spelling = _spelling(values, whole) if code and number else (False, False, False)
        return cls(
            pc.all(blank).as_py() is not False,
            bool(pc.any(pc.match_substring_regex(values, r"^[-+]?0[0-9xX]")).as_py()),
            bool(pc.any(pc.match_substring_regex(values, r"^[-+]?[0-9]{19,}$")).as_py()),
            whole, number, pc.all(truth).as_py() is not False, _loses_digits(values), *spelling,
        )

    def __or__(self, other: Looks) -> Looks:
        return Looks(
            self.blank and other.blank, self.coded or other.coded, self.long or other.long, self.whole and other.whole,
            self.number and other.number, self.truth and other.truth, self.inexact or other.inexact,
            self.respelled or other.respelled, self.bare or other.bare, self.pointed or other.pointed,
        )

    @property
    def keeps_numbers(self) -> bool:
        """Whether the column is read as numbers.

        A column of codes is, unless that would merge two spellings (`1` and `1.0`) or change one (`10.10`, `1E5`).
        """
        changed = self.respelled or (self.bare and self.pointed) or (self.inexact and self.bare and not self.whole)
        return self.number and not self.coded and not changed and (self.whole or not self.long)

    def typed(self, column: Any) -> Any:
        """The column as integers, numbers, booleans or text; codes with leading zeros or too many digits stay text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        trimmed, _, values = _trimmed(column)
        if self.blank:
            return pc.cast(values, pa.float64())
        if self.keeps_numbers:
            return pc.cast(values, pa.int64() if self.whole else pa.float64())
        if not self.coded and self.truth:
            return pc.cast(values, pa.bool_())
        if self.number and not self.coded and not self.long:
            return values
        return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), column)


def _trimmed(column: Any) -> tuple[Any, Any, Any]:
    """The cells without surrounding blanks, which of them are missing, and the non-missing ones."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    blank = pc.is_in(trimmed, value_set=pa.array(list(MISSING)))
    return trimmed, blank, pc.if_else(blank, pa.scalar(None, pa.string()), trimmed)


def _spelling(values: Any, whole: bool) -> tuple[bool, bool, bool]:
    """Whether a number is not spelled in the usual way, and whether some are spelled as `1` and some as `1.0`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.unique(values).drop_null()
    usual = pc.cast(pc.cast(texts, pa.int64() if whole else pa.float64()), pa.string())
    bare = pc.equal(texts, usual)
    pointed = pc.and_(pc.equal(texts, pc.binary_join_element_wise(usual, "0", ".")), pc.not_equal(usual, "-0"))
    whole_number = pc.match_substring_regex(texts, r"^-?[0-9]+$")
    return (
        not pc.all(pc.or_(pc.and_(bare, pc.not_equal(texts, "-0")), pointed)).as_py() if len(texts) else False,
        bool(pc.any(whole_number).as_py()), bool(pc.any(pointed).as_py()),
    )


def _loses_digits(values: Any) -> bool:
    """Whether there are whole numbers that a 64-bit float cannot represent; those of 19 digits or more are text anyway."""
    import pyarrow as pa
    import pyarrow.compute as pc

    long = values.filter(pc.fill_null(pc.match_substring_regex(values, r"^[-+]?[1-9][0-9]{15,17}$"), False))
    if not len(long):
        return False
    whole = np.asarray(pc.cast(pc.replace_substring_regex(long, r"^[+]", ""), pa.int64()).to_numpy(zero_copy_only=False))
    return bool((whole.astype(np.float64).astype(np.int64) != whole).any())


def _castable(values: Any, kind: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.cast(values, kind)
    except pa.ArrowInvalid:
        return False
    return True
