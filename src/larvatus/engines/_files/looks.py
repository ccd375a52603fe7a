"""What the cells of a CSV column look like, and the type that follows: numbers, decimals, booleans, dates or text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from larvatus.data.csv_files.number_notation import NOTATIONS, SEPARATORS, Notation
from larvatus.data.dates.date_forms import possible_forms, stated_form
from larvatus.data.text_columns import MISSING

USUAL = Notation()
MOST_DIGITS, _FLOAT_DIGITS = 18, 15  # of exact decimals, stored as 64-bit integers; that any 64-bit float holds


@dataclass(frozen=True, slots=True)
class Width:
    """How many digits the numbers of a column have before and after the decimal point; `wide`: floats would lose some."""

    digits: int = 0
    places: int = 0
    wide: bool = False
    powers: bool = False

    @classmethod
    def of(cls, values: Any, whole: bool) -> Width:
        import pyarrow.compute as pc

        texts = values.drop_null()
        if whole:
            return cls(pc.max(pc.utf8_length(texts)).as_py() or 0)
        if pc.any(pc.starts_with(texts, "-")).as_py() or pc.any(pc.starts_with(texts, "+")).as_py():
            texts = pc.replace_substring_regex(texts, r"^[-+]", "")
        point, length = pc.find_substring(texts, "."), pc.utf8_length(texts)
        digits = pc.if_else(pc.less(point, 0), length, point)
        places = pc.max(pc.subtract(pc.subtract(length, digits), 1)).as_py() or 0
        powers = bool(pc.any(pc.match_substring_regex(texts, "[^0-9.]")).as_py())
        return cls(pc.max(digits).as_py() or 0, max(places, 0), _is_wide(texts, length), powers)

    def __or__(self, other: Width) -> Width:
        return Width(max(self.digits, other.digits), max(self.places, other.places), self.wide or other.wide,
                     self.powers or other.powers)

    @property
    def type(self) -> tuple[int, int]:
        """Precision and scale."""
        return max(self.digits + self.places, 1), self.places

    @property
    def fits(self) -> bool:
        """Whether all numbers are plain decimals that can be stored exactly."""
        return not self.powers and self.digits + self.places <= MOST_DIGITS


def _is_wide(texts: Any, length: Any) -> bool:
    """Whether a number has digits that its 64-bit float does not have. A float printed with many digits has no others."""
    from decimal import Decimal

    import pyarrow as pa
    import pyarrow.compute as pc

    long = texts.filter(pc.greater(length, _FLOAT_DIGITS))
    if not len(long):
        return False
    floats = pc.cast(long, pa.float64())
    same = pc.equal(pc.cast(floats, pa.string()), long)
    rest, near = long.filter(pc.invert(same)), floats.filter(pc.invert(same))
    for text, value in zip(rest.to_pylist(), near.to_pylist(), strict=True):
        if not np.isfinite(value):
            continue
        exact = Decimal(text)
        if exact != Decimal(repr(value)) and exact != round_like(Decimal(value), exact):
            return True
    return False


def round_like(value: Any, other: Any) -> Any:
    """A decimal number, rounded to the last digit of another one."""
    from decimal import Context

    return value.quantize(other, context=Context(prec=1200))


def plain_numbers(values: Any, notation: Notation) -> Any:
    """Cells with their numbers in the usual notation. Cells that are not numbers in this notation are not in the usual one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if notation.is_usual:
        return values
    texts = values
    if notation.thousands:
        marks = SEPARATORS.get(notation.thousands, notation.thousands)
        for mark in marks:
            texts = pc.replace_substring(texts, mark, "")
    texts = pc.replace_substring(texts, notation.decimal, ".") if notation.decimal != "." else texts
    other = pc.binary_join_element_wise(pa.scalar("text "), values, "")
    return pc.if_else(pc.match_substring_regex(values, notation.pattern), texts, other)


def _has_separators(values: Any, notation: Notation) -> bool:
    import pyarrow.compute as pc

    marks = SEPARATORS.get(notation.thousands, notation.thousands)
    return any(pc.any(pc.match_substring(values, mark)).as_py() for mark in marks)


def _contradictions(values: Any, notation: Notation) -> tuple[bool, bool]:
    """Whether some cells are numbers in another notation only, and whether some are not numbers in any."""
    import pyarrow.compute as pc

    texts = pc.unique(values).drop_null()
    texts = texts.filter(pc.invert(pc.match_substring_regex(texts, notation.pattern)))
    foreign = pc.match_substring_regex(texts, "|".join(n.pattern for n in NOTATIONS))
    return bool(pc.any(foreign).as_py()), pc.all(foreign).as_py() is False


@dataclass(frozen=True, slots=True)
class Looks:
    """What the cells of a column look like. Objects of several blocks can be combined with `|`.

    `forms` are the ways to write dates that fit all cells, and `form` is the one in which the column is read as dates.
    """

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
    foreign: bool = False
    stray: bool = False
    width: Width = Width()
    forms: frozenset[str] = frozenset()
    form: str = ""

    @classmethod
    def of(
        cls, column: Any, code: bool = False, notation: Notation = USUAL, exact: bool = False, check: bool = False,
        form: str | None = None,
    ) -> Looks:
        """What cells look like. `exact`: every digit counts; `check`: also look for numbers in another notation.

        `form` is how dates are probably written. Dates are not looked for if it is None.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        trimmed, blank, spelled = _trimmed(column)
        values = plain_numbers(spelled, notation)
        truth = pc.or_(blank, pc.is_in(trimmed if code else pc.utf8_lower(trimmed), value_set=pa.array(["true", "false"])))
        whole = _castable(values, pa.int64())
        number = whole or _castable(values, pa.float64())
        spelling = _spelling(values, whole) if code and number else (False, False, False)
        if code and notation.thousands and not spelled.equals(values):
            spelling = (spelling[0] or _has_separators(spelled, notation), *spelling[1:])
        return cls(
            pc.all(blank).as_py() is not False,
            bool(pc.any(pc.match_substring_regex(values, r"^[-+]?0[0-9xX]")).as_py()),
            bool(pc.any(pc.match_substring_regex(values, r"^[-+]?[0-9]{19,}$")).as_py()),
            whole, number, pc.all(truth).as_py() is not False, _loses_digits(values), *spelling,
            *(_contradictions(spelled, notation) if check and not number else (False, False)),
            Width.of(values, whole) if exact and number else Width(),
            frozenset() if form is None else _date_forms(spelled, form, number),
        )

    def __or__(self, other: Looks) -> Looks:
        return Looks(
            self.blank and other.blank, self.coded or other.coded, self.long or other.long, self.whole and other.whole,
            self.number and other.number, self.truth and other.truth, self.inexact or other.inexact,
            self.respelled or other.respelled, self.bare or other.bare, self.pointed or other.pointed,
            self.foreign or other.foreign, self.stray or other.stray, self.width | other.width,
            other.forms if self.blank else self.forms if other.blank else self.forms & other.forms, self.form or other.form,
        )

    @property
    def needs_decimals(self) -> bool:
        """Whether 64-bit floats would lose digits of a column that is released unmasked."""
        return self.keeps_numbers and not self.whole and self.width.digits > 0 and (self.width.wide or self.inexact)

    @property
    def keeps_numbers(self) -> bool:
        """Whether the column is read as numbers.

        A column of codes is, unless that would merge two spellings (`1` and `1.0`) or change one (`10.10`, `1E5`).
        """
        changed = self.respelled or (self.bare and self.pointed) or (self.inexact and self.bare and not self.whole)
        return self.number and not self.coded and not changed and (self.whole or not self.long)

    def typed(self, column: Any, notation: Notation = USUAL) -> Any:
        """The column as integers, numbers, booleans or text; codes with leading zeros or too many digits stay text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        trimmed, _, spelled = _trimmed(column)
        if self.form:
            return stated_form(self.form).read(spelled)
        values = plain_numbers(spelled, notation)
        if self.blank:
            return pc.cast(values, pa.float64())
        if self.needs_decimals:
            return pc.cast(values, pa.decimal128(*self.width.type)) if self.width.fits else spelled
        if self.keeps_numbers:
            return pc.cast(values, pa.int64() if self.whole else pa.float64())
        if not self.coded and self.truth:
            return pc.cast(values, pa.bool_())
        if self.number and not self.coded and not self.long:
            return spelled
        return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), column)


def _date_forms(values: Any, form: str, number: bool) -> frozenset[str]:
    """The forms in which all cells are dates; numbers are dates only in the form that is given."""
    forms = frozenset() if number else possible_forms(values)
    return forms | {form} if form and form not in forms and stated_form(form).read(values) is not None else forms


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
