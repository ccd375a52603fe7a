"""Numbers as they are written in a file: the decimal mark and the thousands separator.

    number = sign?  ( digits | 1 to 3 digits ( separator 3 digits )+ )  ( mark digits? )?  exponent?

The first cells of each column decide. A notation is possible for a column if all its cells are numbers in it. Rules, in order:

1. Columns of whole numbers without any mark decide nothing. Columns that are mostly numbers, with texts among them, decide only
   if no other column does.
2. The notation under which most columns are numbers is taken; among equals, the one earlier in this list: decimal point,
   decimal comma, decimal point with a separator, decimal comma with a separator.
3. If all cells with a mark look like 1,234 and no other column decides, the column is ambiguous and the user is asked.
   1.234 is a decimal number unless another column has decimal commas; a column of such numbers alone is doubtful.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

SPACES, APOSTROPHES = " \u00a0\u202f", "'\u2019"
SEPARATORS = {" ": SPACES, "'": APOSTROPHES}
_INFINITE = r"[-+]?[iI][nN][fF]([iI][nN][iI][tT][yY])?"


@dataclass(frozen=True, slots=True)
class Notation:
    """A decimal mark and a thousands separator."""

    decimal: str = "."
    thousands: str = ""

    @property
    def is_usual(self) -> bool:
        return self.decimal == "." and not self.thousands

    @property
    def pattern(self) -> str:
        """A regular expression that matches the whole of a number."""
        return number_pattern(self.decimal, self.thousands)


def number_pattern(decimal: str, thousands: str) -> str:
    """A regular expression that matches the whole of a number in this notation, for Python and for Arrow."""
    mark = re.escape(decimal)
    whole = r"\d+"
    if thousands:
        whole = rf"(\d+|\d{{1,3}}([{_class(thousands)}]\d{{3}})+)"
    return rf"^([-+]?({whole}({mark}\d*)?|{mark}\d+)([eE][-+]?\d+)?|{_INFINITE})$"


def _class(thousands: str) -> str:
    return re.escape(SEPARATORS.get(thousands, thousands))


@cache
def _compiled(notation: Notation) -> re.Pattern[str]:
    return re.compile(notation.pattern)


NOTATIONS = (
    Notation(), Notation(","), Notation(".", ","), Notation(".", "'"), Notation(".", " "), Notation(",", "."),
    Notation(",", " "), Notation(",", "'"),
)
_WHOLE, _ONE_GROUP = re.compile(r"[-+]?\d+"), re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
_POINT_GROUP = re.compile(r"[-+]?[1-9]\d{0,2}\.\d{3}")


def possible_notations(cells: Iterable[str], notations: Sequence[Notation] = NOTATIONS) -> tuple[Notation, ...]:
    """The notations in which all cells are numbers; all of them if there is no cell."""
    left = list(notations)
    for cell in cells:
        left = [n for n in left if _compiled(n).match(cell)]
        if not left:
            break
    return tuple(left)


@dataclass(frozen=True, slots=True)
class NotationChoice:
    """The notation of a file, the columns that are numbers in it, and those for which two notations are possible.

    `doubtful` columns are read with a decimal point, which may be a thousands separator.
    """

    notation: Notation
    numeric: frozenset[str] = frozenset()
    ambiguous: frozenset[str] = frozenset()
    doubtful: frozenset[str] = frozenset()


def _mostly_numbers(columns: Mapping[str, Sequence[str]], notations: Sequence[Notation]) -> list[tuple[Notation, ...]]:
    """The notations of columns of which most cells are numbers, and the other ones are texts."""
    out = []
    for cells in columns.values():
        numbers = [c for c in cells if any(_compiled(n).match(c) for n in notations)]
        unclear = sum(bool(_WHOLE.fullmatch(c) or _ONE_GROUP.fullmatch(c)) for c in numbers)
        if len(cells) / 2 < len(numbers) < len(cells) and 2 * unclear < len(numbers):
            out.append(possible_notations(numbers, notations))
    return out


def decide_notation(columns: Mapping[str, Sequence[str]], notations: Sequence[Notation] = NOTATIONS) -> NotationChoice:
    """The notation of a file, from the non-missing first cells of its columns."""
    found = {name: possible_notations(cells, notations) for name, cells in columns.items() if cells}
    telling = {n: p for n, p in found.items() if p and not all(_WHOLE.fullmatch(c) for c in columns[n])}
    voters = list(telling.values()) or _mostly_numbers(columns, notations)
    votes = {n: sum(n in p for p in voters) for n in notations}
    notation = max(notations, key=lambda n: (votes[n], -notations.index(n)))
    numeric = frozenset(name for name, possible in found.items() if notation in possible)
    unclear = [n for n in telling if all(_WHOLE.fullmatch(c) or _ONE_GROUP.fullmatch(c) for c in columns[n])]
    both = Notation(",") in notations and Notation(".", ",") in notations
    decided = any(notation in p for n, p in telling.items() if n not in unclear)
    ambiguous = frozenset(unclear) if both and not decided else frozenset()
    notation = Notation() if ambiguous else notation
    points = notation.is_usual and Notation(",", ".") in notations
    doubtful = {n for n in telling if all(_WHOLE.fullmatch(c) or _POINT_GROUP.fullmatch(c) for c in columns[n])}
    return NotationChoice(notation, numeric - ambiguous, ambiguous, frozenset(doubtful if points else ()))
