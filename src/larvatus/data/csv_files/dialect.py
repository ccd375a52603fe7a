"""The dialect of a CSV file: what a user states about it, and what it is once the rest is recognised."""

from __future__ import annotations

import codecs
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from larvatus.core.errors import nearest_names
from larvatus.data.dates.date_forms import stated_form

DELIMITERS: Mapping[str, str] = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " ", "colon": ":"}
QUOTES: Mapping[str, str] = {"double": '"', "single": "'", "none": ""}
DECIMALS: Mapping[str, str] = {"point": ".", "comma": ","}
THOUSANDS: Mapping[str, str] = {"none": "", "point": ".", "comma": ",", "space": " ", "apostrophe": "'"}
_SHOWN = {"utf-8": "UTF-8", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16", "cp1252": "Windows-1252", "iso8859-1": "Latin-1"}


def encoding_name(text: str) -> str:
    """The usual name of a text encoding; raises LookupError if there is none."""
    found = codecs.lookup(text)
    if not getattr(found, "_is_text_encoding", True) or found.name in ("utf-7", "punycode", "idna", "unicode_escape"):
        raise LookupError(text)
    return {"utf-8-sig": "utf-8", "utf_8_sig": "utf-8", "ascii": "utf-8"}.get(found.name, found.name)


class CsvFormat(BaseModel):
    """What the user states about a CSV file. What is not stated is recognised from the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    delimiter: str | None = Field(default=None, description="between columns: comma, semicolon, tab, pipe or one character")
    decimal: str | None = Field(default=None, description="decimal mark: point or comma")
    thousands: str | None = Field(
        default=None, description="thousands separator: comma, point, space, apostrophe or none"
    )
    encoding: str | None = Field(default=None, description="text encoding, such as utf-8, utf-16, latin-1 or windows-1252")
    quote: str | None = Field(default=None, description="quotation mark: double, single or none")
    dates: dict[str, str] = Field(
        default_factory=dict, description="forms of dates by column, such as { birth = \"dd.mm.yyyy\" }"
    )

    @field_validator("delimiter", mode="after")
    @classmethod
    def _one_character(cls, value: str | None) -> str | None:
        if value is None:
            return None
        mark = DELIMITERS.get(value.lower(), value)
        if len(mark) != 1 or mark in "\"'\r\n\0" or mark.isalnum() or not mark.isascii():
            raise ValueError("delimiter must be comma, semicolon, tab, pipe, or one other character")
        return mark

    @field_validator("decimal", mode="after")
    @classmethod
    def _decimal(cls, value: str | None) -> str | None:
        return _one_of("decimal", value, DECIMALS)

    @field_validator("thousands", mode="after")
    @classmethod
    def _thousands(cls, value: str | None) -> str | None:
        return _one_of("thousands", value, THOUSANDS)

    @field_validator("quote", mode="after")
    @classmethod
    def _quote(cls, value: str | None) -> str | None:
        return _one_of("quote", value, QUOTES)

    @field_validator("encoding", mode="after")
    @classmethod
    def _encoding(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            return encoding_name(value)
        except LookupError:
            known = ["utf-8", "utf-16", "latin-1", "windows-1252", "windows-1250", "iso-8859-15", "cp850", "mac-roman"]
            raise ValueError(f"encoding: there is no encoding {value!r}; {nearest_names(value, known)}") from None

    @field_validator("dates", mode="after")
    @classmethod
    def _dates(cls, value: dict[str, str]) -> dict[str, str]:
        return {name: stated_form(text).text for name, text in value.items()}

    @model_validator(mode="after")
    def _marks_differ(self) -> CsvFormat:
        if self.thousands and self.thousands == self.decimal:
            raise ValueError("decimal and thousands must be different marks")
        return self

    def plain(self) -> dict[str, Any]:
        """The stated values, with words for marks that are hard to read in a file."""
        words = {"delimiter": DELIMITERS, "decimal": DECIMALS, "thousands": THOUSANDS, "quote": QUOTES}
        given = {k: v for k, v in self.model_dump().items() if v is not None and v != {}}
        return {k: _word(v, words[k]) if k in words else v for k, v in given.items()}


NOTHING_STATED = CsvFormat()


def _one_of(name: str, value: str | None, marks: Mapping[str, str]) -> str | None:
    """A mark, from its word or as it is."""
    if value is None:
        return None
    mark = marks.get(value.lower(), value)
    if mark not in marks.values():
        raise ValueError(f"{name} must be {', '.join(list(marks)[:-1])} or {list(marks)[-1]}")
    return mark


def _word(mark: str, marks: Mapping[str, str]) -> str:
    return next((word for word, other in marks.items() if other == mark), mark)


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How one CSV file is written. `numeric` are columns whose first cells are all numbers in this notation.

    `ambiguous` are columns whose first cells are numbers under two notations, such as 1,234, if no other column decides.
    `doubtful` are columns in which all numbers look like 1.234. `dates` are the forms of columns with dates.
    """

    delimiter: str = ","
    quote: str = '"'
    decimal: str = "."
    thousands: str = ""
    encoding: str = "utf-8"
    numeric: frozenset[str] = field(default=frozenset(), compare=False)
    ambiguous: frozenset[str] = field(default=frozenset(), compare=False)
    doubtful: frozenset[str] = field(default=frozenset(), compare=False)
    dates: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def is_usual_notation(self) -> bool:
        """Whether numbers have decimal points and no thousands separators."""
        return self.decimal == "." and not self.thousands

    @property
    def is_usual(self) -> bool:
        """Whether only the delimiter may differ from a comma: UTF-8, double quotation marks, decimal points."""
        return self.is_usual_notation and self.encoding == "utf-8" and self.quote == '"'

    def text(self) -> str:
        """The dialect in words, such as: semicolon, decimal comma, Windows-1252."""
        parts = [_word(self.delimiter, DELIMITERS) if self.delimiter in DELIMITERS.values() else repr(self.delimiter)]
        if self.quote != '"':
            parts.append("single quotation marks" if self.quote else "no quotation marks")
        if not self.is_usual_notation:
            parts.append(f"decimal {_word(self.decimal, DECIMALS)}")
        if self.thousands:
            parts.append(f"thousands {_word(self.thousands, THOUSANDS)}")
        forms: dict[str, list[str]] = {}
        for name, form in self.dates.items():
            forms.setdefault(form, []).append(name)
        dates = [f"dates {form} ({', '.join(names)})" for form, names in forms.items()]
        return ", ".join([*parts, _SHOWN.get(self.encoding, self.encoding), *dates])


USUAL_DIALECT = CsvDialect()


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A path with what is stated about its CSV format. `like` is the dialect to assume where the file leaves a choice."""

    path: str | Path
    format: CsvFormat = NOTHING_STATED
    like: CsvDialect | None = None

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return str(self.path)


def file_like(other: Any, dialect: CsvDialect | None) -> Any:
    """A file that probably has the dialect of another one; anything else as it is."""
    is_path = isinstance(other, str | Path) and "://" not in str(other)
    return SourceFile(other, like=dialect) if is_path and dialect is not None else other


def stated_format(source: Any) -> tuple[CsvFormat, CsvDialect | None]:
    """What is stated about a source, and the dialect that it probably has; nothing for a plain path."""
    return (source.format, source.like) if isinstance(source, SourceFile) else (NOTHING_STATED, None)
