"""User-missing values of SPSS portable files (.por), which pyreadstat reads as missing values without their codes.

A portable file is text in lines of 80 characters. After 200 characters of titles and a table of 256 characters it has tagged
records: variables (7), their missing values (8, 9, A, B) and labels (C, D), and the data (F). Numbers have the base 30.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from larvatus.data.labelling.labels import CodeValue, MissingCode, is_missing_code

_LINE, _START, _SIGNATURE, _BASE = 80, 456, "SPSSPORT", 30
_DIGITS = {c: i for i, c in enumerate("0123456789ABCDEFGHIJKLMNOPQRST")}
_INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class PortableCodes:
    """Codes of missing values by position of the column, and the cells that have one: position, row and code."""

    missing: dict[int, tuple[MissingCode, ...]] = field(default_factory=dict)
    cells: dict[int, dict[int, CodeValue]] = field(default_factory=dict)


def portable_codes(path: Path) -> PortableCodes:
    """The user-missing values of a portable file; none if it is not written as described above."""
    raw = path.read_bytes().decode("latin-1")
    text = "".join(line.rstrip("\r").ljust(_LINE) for line in raw.split("\n"))
    if text[_START : _START + len(_SIGNATURE)] != _SIGNATURE:
        return PortableCodes()
    try:
        return _codes(_Records(text, _START + len(_SIGNATURE)))
    except (ValueError, IndexError, KeyError):
        return PortableCodes()


class _Records:
    """Reads tags, numbers and strings one after another."""

    def __init__(self, text: str, at: int) -> None:
        self._text, self._at = text, at

    def tag(self) -> str:
        self._at += 1
        return self._text[self._at - 1]

    def ends(self) -> bool:
        return self._text[self._at] == "Z"

    def string(self) -> str:
        size = int(self.number() or 0)
        self._at += size
        return self._text[self._at - size : self._at]

    def number(self) -> float | None:
        """A number such as `-7/`, `A.F/` or `1+3/`; None for `*.`, a missing value."""
        while self._text[self._at] == " ":
            self._at += 1
        if self._text[self._at] == "*":
            self._at += 2
            return None
        end = self._text.index("/", self._at)
        written, self._at = self._text[self._at : end], end + 1
        sign = -1 if written.startswith("-") else 1
        digits = written.lstrip("-")
        split = next((i for i, c in enumerate(digits) if c in "+-"), len(digits))
        whole, _, rest = digits[:split].partition(".")
        power = 0 if split == len(digits) else _whole(digits[split + 1 :]) * (-1 if digits[split] == "-" else 1)
        try:
            return float(sign * _whole(whole + rest) * Fraction(_BASE) ** (power - len(rest)))
        except OverflowError:  # the largest number, as an end of a range
            return sign * _INFINITE

    def value(self, width: int) -> CodeValue | None:
        return self.string() if width else self.number()


def _whole(digits: str) -> int:
    out = 0
    for c in digits:
        out = out * _BASE + _DIGITS[c]
    return out


def _codes(records: _Records) -> PortableCodes:
    records.tag()  # version
    for _ in ("date", "time"):
        records.string()
    widths, named = list[int](), dict[str, int]()
    missing: dict[int, list[MissingCode]] = {}
    while (tag := records.tag()) != "F":
        if tag in "1236":
            records.string()
        elif tag in "45":
            records.number()
        elif tag == "7":
            widths.append(int(records.number() or 0))
            named[records.string()] = widths[-1]
            for _ in range(6):
                records.number()
        elif tag in "89AB":
            missing.setdefault(len(widths) - 1, []).append(_missing_code(records, tag, widths[-1]))
        elif tag == "C":
            records.string()
        elif tag == "D":
            _skip_labels(records, named)
        elif tag == "E":
            for _ in range(int(records.number() or 0)):
                records.string()
        else:
            raise ValueError(tag)
    stated = {i: tuple(codes) for i, codes in missing.items()}
    return PortableCodes(stated, _cells(records, widths, stated) if stated else {})


def _missing_code(records: _Records, tag: str, width: int) -> MissingCode:
    first = _plain(records.value(width))
    if tag == "8":
        return first
    low, high = -_INFINITE, _INFINITE
    if tag == "9":
        high = float(first)
    else:
        low = float(first)
    return (low, float(_plain(records.value(width))) if tag == "B" else high)


def _skip_labels(records: _Records, widths: dict[str, int]) -> None:
    """Value labels, which pyreadstat reads. All variables of a set of labels have the same type."""
    names = [records.string() for _ in range(int(records.number() or 0))]
    for _ in range(int(records.number() or 0)):
        records.value(widths[names[0]])
        records.string()


def _cells(
    records: _Records, widths: list[int], missing: dict[int, tuple[MissingCode, ...]]
) -> dict[int, dict[int, CodeValue]]:
    out: dict[int, dict[int, CodeValue]] = {i: {} for i in missing}
    row = 0
    while not records.ends():
        for i, width in enumerate(widths):
            value = records.value(width)
            if i in missing and value is not None and is_missing_code(_plain(value), missing[i]):
                out[i][row] = _plain(value)
        row += 1
    return out


def _plain(value: CodeValue | None) -> CodeValue:
    if value is None:
        raise ValueError
    if isinstance(value, str):
        return value.rstrip()
    return int(value) if float(value).is_integer() else float(value)
