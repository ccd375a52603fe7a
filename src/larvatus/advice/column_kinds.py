"""What is in a column before it has a role: type, distinct values, missing cells, order of magnitude, codes for missing.

Only counts, shares and orders of magnitude are stated. The one exception are codes for missing values, such as -7, 99 or k.A.,
which say nothing about a person.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from larvatus.advice.texts_among_numbers import numbers_and_texts
from larvatus.data.csv_files.number_notation import Notation
from larvatus.data.dates.date_forms import possible_forms
from larvatus.data.text_columns import DATE

_WORDS = (
    "ones", "tens", "hundreds", "thousands", "tens of thousands", "hundreds of thousands", "millions", "tens of millions",
    "hundreds of millions", "billions",
)
_REPEATED = frozenset(int(d * n) for d in "678" for n in range(2, 9))  # 77, 888: next to others of the same length
_NINES = frozenset(10**n - k for n in range(2, 9) for k in range(1, 5))  # 96 to 99, 996 to 999, …
_NEGATIVE_CODES = frozenset({*range(-9, 0), *range(-99, -89), *(-v for v in _REPEATED | _NINES)})
_POSITIVE_CODES = frozenset({7, 8, 9, *_REPEATED, *_NINES})
_RARE, _FEWEST, _GAP = 0.005, 3, 0.1  # share and number of records with a code; gap below a code, as a share of it
_MOST_TEXTS, _MANY_NUMBERS = 20_000, 50
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}")
_PHONE = re.compile(r"\+?\(?\d[\d ()/.-]{7,}\d")
_ACCOUNT = re.compile(r"[A-Z]{2}\d{2} ?([A-Z0-9]{4} ?){2,7}[A-Z0-9]{0,4}")
_POSTCODE = re.compile(r"0\d{3,4}|\d{5}(-\d{4})?|\d{4} ?[A-Z]{2}|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d")
_PATTERNS = {"dates": DATE, "emails": _EMAIL, "accounts": _ACCOUNT, "postcodes": _POSTCODE, "phones": _PHONE}


@dataclass(frozen=True, slots=True)
class ColumnKind:
    """One column: its type, how many of its cells are missing and distinct, and what its cells look like.

    `pattern` is what most texts look like: dates, emails, accounts, postcodes, phones or numbers. `words` is the mean number of
    words in a text. `codes` are values that probably stand for missing, and `strays` the number of texts among numbers that do
    not. `labels` is the number of value labels if these make the column categorical, `measure` the measure that the file states
    (nominal, ordinal or scale), and `label` what the file says the column is. `forms` are the forms of dates that all of its
    texts have.
    """

    name: str
    type: str
    records: int
    missing: int
    distinct: int
    range: str = ""
    lowest: float = math.nan
    highest: float = math.nan
    running: bool = False
    pattern: str = ""
    words: float = 0.0
    smallest: int = 0
    codes: tuple[int | str, ...] = ()
    strays: int = 0
    labels: int = 0
    measure: str = ""
    label: str = ""
    forms: tuple[str, ...] = ()

    @property
    def present(self) -> int:
        return self.records - self.missing

    @property
    def numeric(self) -> bool:
        return self.type in ("whole numbers", "numbers")

    @property
    def is_ordered(self) -> bool:
        """Whether the labels of the file make it an ordered category."""
        return bool(self.labels) and self.measure == "ordinal"

    @property
    def unique(self) -> bool:
        """Whether nearly every record has a value of its own."""
        return self.present > 20 and self.distinct > 0.95 * self.present


def column_kind(name: str, column: Any, notation: Notation | None = None) -> ColumnKind:
    """What is in a column of an Arrow table. `notation` is that of numbers in texts, of files in which these can be numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind, missing, rows = column.type, column.null_count, len(column)
    if missing == rows:
        return ColumnKind(name, "empty", rows, missing, 0)
    if pa.types.is_temporal(kind):
        return ColumnKind(name, "dates", rows, missing, pc.count_distinct(column).as_py(), pattern="dates")
    if pa.types.is_boolean(kind):
        return ColumnKind(name, "yes or no", rows, missing, pc.count_distinct(column).as_py())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _of_numbers(name, np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _of_texts(name, column, notation)
    return ColumnKind(name, str(kind), rows, missing, 0)


def _of_numbers(name: str, values: Any) -> ColumnKind:
    present = values[np.isfinite(values)]
    levels, counts = np.unique(present, return_counts=True)
    if not len(levels):
        return ColumnKind(name, "empty", len(values), len(values), 0)
    whole = bool(np.all(present == np.rint(present)))
    codes = missing_codes(levels, counts)
    real = levels[~np.isin(levels, codes)]
    lowest, highest = (float(real[0]), float(real[-1])) if len(real) else (float(levels[0]), float(levels[-1]))
    steps = np.diff(present) if len(present) > 20 else np.zeros(0)
    return ColumnKind(
        name, "whole numbers" if whole else "numbers", len(values), len(values) - len(present), len(levels),
        range_class(lowest, highest), lowest, highest, bool(len(steps)) and bool(np.all(steps == steps[0]) and steps[0] != 0),
        smallest=int(counts.min()), codes=codes,
    )


def _of_texts(name: str, column: Any, notation: Notation | None) -> ColumnKind:
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    counted = pc.value_counts(trimmed.drop_null())
    texts, counts = counted.field("values"), counted.field("counts").to_numpy(zero_copy_only=False)
    found = numbers_and_texts(dict(zip(texts.to_pylist(), counts.tolist(), strict=True)), notation) if notation else None
    if found is not None and found.codes:
        numbers = np.array([found.numbers.get(t, math.nan) for t in trimmed.to_pylist()])
        about = _of_numbers(name, numbers)
        return replace(about, codes=(*found.codes, *about.codes))
    if found is not None and (found.others or len(found.numbers) > _MANY_NUMBERS):
        return ColumnKind(name, "text", len(column), column.null_count, len(texts), pattern="numbers", strays=found.others,
                          smallest=int(counts.min()))
    sample = [t.strip() for t in texts.slice(0, _MOST_TEXTS).to_pylist()]
    pattern = next((n for n, p in _PATTERNS.items() if 2 * sum(p.fullmatch(t) is not None for t in sample) > len(sample)), "")
    words = sum(len(t.split()) for t in sample) / len(sample)
    forms = possible_forms(texts.filter(pc.not_equal(texts, ""))) if pattern == "dates" else ()
    return ColumnKind(name, "text", len(column), column.null_count, len(texts), pattern=pattern, words=words,
                      smallest=int(counts.min()), forms=tuple(sorted(forms, key=lambda f: (-len(f), f))))


def range_class(lowest: float, highest: float) -> str:
    """The range of a column in orders of magnitude, such as: 0 to thousands."""
    low = "below 0" if lowest < 0 else "0" if lowest == 0 else _magnitude(lowest)
    high = "0" if highest == 0 else "below 0" if highest < 0 else _magnitude(highest)
    return low if low == high else f"{low} to {high}"


def _magnitude(value: float) -> str:
    if value < 1:
        return "fractions"
    return _WORDS[min(int(math.log10(value)), len(_WORDS) - 1)]


def missing_codes(levels: Any, counts: Any) -> tuple[int, ...]:
    """Whole numbers that probably stand for missing: apart from all other values, and in more than a few records."""
    levels, counts = np.asarray(levels), np.asarray(counts)
    total, found = int(counts.sum()), []
    often = set(levels[(counts >= max(_FEWEST, _RARE * total)) & (np.abs(levels) < 2**53)].tolist())
    below = levels[levels < 0].tolist()
    if below and len(below) <= 6 and all(v in _NEGATIVE_CODES for v in below) and levels[-1] > 0:
        found += sorted(int(v) for v in below if v in often)
    at = len(levels)
    codes = _POSITIVE_CODES & often
    while at > 1 and levels[at - 1] in codes and (at == len(levels) or _are_neighbours(levels[at - 1], levels[at])):
        at -= 1
    upper = [int(v) for v in levels[at:]]
    while upper and not _is_apart(upper[0], levels[len(levels) - len(upper) - 1]):
        upper = upper[1:]
    return (*found, *(upper if len(upper) != 1 or upper[0] not in _REPEATED else ()))


def _are_neighbours(code: float, next_code: float) -> bool:
    """Whether two codes belong together: they follow each other, or they are such as 77 and 88, 777 and 888."""
    step = next_code - code
    return step == 1 or (code in _REPEATED and step < code and len(set(str(int(next_code)))) == 1)


def _is_apart(code: int, below: float) -> bool:
    """Whether a code is farther above the values below it than these are from each other."""
    return code - below > (max(1.5, _GAP * code) if code > 9 else 1.5)
