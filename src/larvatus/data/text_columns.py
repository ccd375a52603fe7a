"""Columns that were read as categorical: how many of their cells are numbers, dates or other text. No cell is shown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from larvatus.data.microdata import Microdata

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "#N/A", ".")
MANY_NAMES = 50
FEW_CODES = 12  # distinct whole numbers that may be codes
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
CODE = re.compile(r"[-+]?0[0-9xX].*|[-+]?\d{19,}")
DRESSED = re.compile(
    r"[-+]?[$€£¥]?\s?[-+]?(\d{1,3}([,.'’\s]\d{3})+([.,]\d+)?|\d+,\d+|\d+(\.\d+)?)\s?([%$€£¥]|USD|EUR|GBP|CHF|JPY)?|\(\d[\d.,]*\)"
)
DATE = re.compile(
    r"(\d{4}[-/]\d{1,2}([-/]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}|\d{4}\.\d{1,2}\.\d{1,2})"
    r"([ T]\d{1,2}:.*)?|\d{1,2}:\d{2}(:\d{2})?"
)
_KINDS = (("dates", DATE), ("codes", CODE), ("numbers", _NUMBER), ("dressed", DRESSED))


@dataclass(frozen=True, slots=True)
class Text:
    """One categorical column: counts of non-empty cells by what they contain."""

    name: str
    cells: int
    distinct: int
    numbers: int = 0
    dressed: int = 0
    dates: int = 0
    codes: int = 0

    @property
    def stray(self) -> int:
        """Cells that are not numbers, even with currency signs or separators removed."""
        return self.cells - self.numbers - self.dressed

    @property
    def spoilt(self) -> bool:
        """Whether the column would be numeric but for the way some cells are written."""
        return not self.codes and 2 * (self.numbers + self.dressed) > self.cells

    @property
    def dated(self) -> bool:
        return 2 * self.dates > self.cells

    @property
    def naming(self) -> bool:
        """Whether nearly every record has a value of its own, as in identifiers and remarks."""
        return self.distinct > MANY_NAMES and 2 * self.distinct > self.cells

    @property
    def usable(self) -> bool:
        """Whether it can be masked as a categorical column."""
        return not (self.dated or self.naming or (self.spoilt and self.distinct > FEW_CODES))

    def sentence(self, places: str = "") -> str:
        """The problem and its remedy, with counts and without any cell; empty if there is no problem.

        `places` says where the first cells are that are not numbers.
        """
        of = f"{self.cells:,} cells"
        if self.dated:
            return (f"{self.name}: {self.dates:,} of {of} are dates or times, but not all of one form, so the whole column was "
                    "read as categorical. Write them alike, for example as 2024-03-01, with years of four digits.")
        if self.spoilt:
            said = []
            if self.dressed:
                said.append(f"{self.dressed:,} of {of} are numbers with extra signs (thousands separators, decimal commas, "
                            "currency or per cent signs)")
            if self.stray:
                are = "is not a number" if self.stray == 1 else "are not numbers"
                said.append(f"{self.stray:,} of {of} {are}")
            if not said:
                return (f"{self.name}: all {of} are numbers stored as text, so the whole column was read as categorical. "
                        f"Convert the column to numbers, or use --nominal {shlex.quote(self.name)} if the values are codes.")
            said[-1] += f" ({places})" if places else ""
            notation = "state how its numbers are written (--decimal, --thousands), " if self.dressed else ""
            return (f"{self.name}: {' and '.join(said)}, so the whole column was read as categorical. Correct or empty these "
                    f"cells in the file and try again, {notation}or use --nominal {shlex.quote(self.name)} if the values are "
                    "codes.")
        if self.naming:
            return (f"{self.name}: {self.distinct:,} distinct categories in {of}, as in identifiers or remarks. No mask of "
                    "categories hides them. Declare it in --identifiers, or recode it into fewer classes.")
        return ""


def is_number_or_missing(cell: str) -> bool:
    """Whether a cell contains a plain number or nothing."""
    text = cell.strip()
    return text in MISSING or _NUMBER.fullmatch(text) is not None


def texts(data: Microdata, names: Sequence[str]) -> tuple[Text, ...]:
    """Those of the columns that were read as categorical because of their cells, and not because they were declared so."""
    columns, roles = data.table.columns, data.roles
    said = {*roles.nominal, *roles.ordered, *roles.taxonomies, *data.sub_groups.columns}
    asked = [n for n in names if n in columns and columns[n].kind == "nominal" and n not in said]
    return tuple(text_of(n, {level: times for (level,), times in data.table.counts([n]).items()}) for n in asked)


def text_of(name: str, counted: dict[object, int]) -> Text:
    """Counts for a column from its levels and how often each occurs."""
    cells = {str(level).strip(): 0 for level in counted if isinstance(level, str)}
    for level, times in counted.items():
        if isinstance(level, str):
            cells[level.strip()] += times
    there = {cell: times for cell, times in cells.items() if cell not in MISSING}
    found = dict.fromkeys((kind for kind, _ in _KINDS), 0)
    for cell, times in there.items():
        kind = next((k for k, pattern in _KINDS if pattern.fullmatch(cell)), None)
        if kind is not None:
            found[kind] += times
    others = sum(times for level, times in counted.items() if level is not None and not isinstance(level, str))
    return Text(name, sum(there.values()) + others, len(counted) - (None in counted), **found)
