"""Dates as they are written in the cells of a CSV file, such as 2024-03-01, 01.03.2024 or 2024-03-01T10:00.

    form = year, month and day in some order with a separator, then optionally a time and a time zone:
    yyyy-mm-dd   dd.mm.yyyy   d/m/yyyy   yyyy-mm-ddThh:mm   yyyy-mm-dd hh:mm:ss.fff   yyyy-mm-ddThh:mm:ssZ

All cells of a column must have one form; a column of several forms is text. Whether 01/03/2024 is in January or in March is
decided by the file: by a day above 12 in the same column or, if there is none, in another column with the same separator.
Otherwise the form must be stated. Two digits do not state a year.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

FORM = b"larvatus.date_form"
_ZONE = r"(Z|[+-]\d\d:\d\d)"
_SHAPE = re.compile(
    r"(?:(?P<first>\d{4})(?P<a>[-/.])\d{1,2}(?P=a)\d{1,2}|\d{1,2}(?P<b>[-/.])\d{1,2}(?P=b)\d{4})"
    r"(?:(?P<mark>[T ])\d\d:\d\d(?P<second>:\d\d(?:\.(?P<fraction>\d{1,9}))?)?(?P<zone>" + _ZONE + r")?)?"
)
_STATED = re.compile(
    r"(?P<date>(?:yyyy|mm?|dd?)(?:[-/.]?(?:yyyy|mm?|dd?)){2})"
    r"(?:(?P<mark>[T ])hh:mm(?P<second>:ss(?P<fraction>\.f{1,9})?)?(?P<zone>" + _ZONE + r")?)?"
)
_TOKEN = re.compile(r"yyyy|mm?|dd?")
_PATTERNS = {"yyyy": r"(?P<y>\d{4})", "mm": r"(?P<m>0[1-9]|1[0-2])", "dd": r"(?P<d>0[1-9]|[12]\d|3[01])",
             "m": r"(?P<m>[1-9]|1[0-2])", "d": r"(?P<d>[1-9]|[12]\d|3[01])"}
_SECOND, _PER_SECOND = 86_400, {"ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, slots=True)
class DateForm:
    """One way to write dates: the date, the mark before a time (none without a time), digits of seconds, and the zone."""

    date: str
    mark: str = ""
    second: bool = False
    fraction: int = 0
    zone: str = ""

    @property
    def text(self) -> str:
        """The form as a user states it."""
        time = f"{self.mark}hh:mm{':ss' * self.second}{'.' * bool(self.fraction)}{'f' * self.fraction}" if self.mark else ""
        return self.date + time + self.zone

    @property
    def pattern(self) -> str:
        """A regular expression that matches a whole cell, for Python and for Arrow."""
        out, last = "", 0
        for found in _TOKEN.finditer(self.date):
            out += re.escape(self.date[last : found.start()]) + _PATTERNS[found[0]]
            last = found.end()
        if self.mark:
            out += rf"{self.mark}(?P<h>[01]\d|2[0-3]):(?P<n>[0-5]\d)"
            out += r":(?P<s>[0-5]\d)" if self.second else ""
            out += rf"\.(?P<f>\d{{{self.fraction}}})" if self.fraction else ""
        return f"^{out}{re.escape(self.zone)}$"

    @property
    def order(self) -> str:
        """The order of day and month, with the separator: d/ or m/."""
        return self.date[0] + next((c for c in self.date if c in "-/."), "")

    @property
    def type(self) -> Any:
        """The Arrow type of the column."""
        import pyarrow as pa

        if not self.mark:
            return pa.date32()
        zone = "UTC" if self.zone == "Z" else self.zone or None
        return pa.timestamp("ns" if self.fraction > 6 else "us" if self.fraction > 3 else "ms", tz=zone)

    def read(self, texts: Any) -> pa.Array | None:
        """Cells as dates; None if a cell that is not null is no date in this form, such as 29 February 2023."""
        cells = texts.dictionary_encode()
        found = self._read(cells.dictionary)  # the same date often occurs many times
        return None if found is None else found.take(cells.indices)

    def _read(self, texts: Any) -> pa.Array | None:
        import pyarrow as pa
        import pyarrow.compute as pc

        parts = pc.extract_regex(texts, pattern=self.pattern)
        gone = np.asarray(pc.is_null(texts).to_numpy(zero_copy_only=False))
        if (np.asarray(pc.is_null(parts).to_numpy(zero_copy_only=False)) & ~gone).any():
            return None
        part = {name: _whole(pc.struct_field(parts, name)) for name in "ymdhnsf" if f"(?P<{name}>" in self.pattern}
        day, valid = _day_numbers(part["y"], part["m"], part["d"])
        if not (valid | gone).all():
            return None
        kind = self.type
        if not self.mark:
            return pa.array(np.where(gone, 0, day).astype(np.int32), mask=gone).cast(kind)
        scale = _PER_SECOND[kind.unit]
        seconds = day * _SECOND + part["h"] * 3600 + part["n"] * 60 + part.get("s", 0) - self._offset()
        rest = part.get("f", 0) * scale // 10**self.fraction if self.fraction else 0
        if (np.abs(seconds[~gone]) > 2**63 // scale - 1).any():  # nanoseconds before 1678 or after 2261
            return None
        return pa.array(np.where(gone, 0, seconds * scale + rest), mask=gone).cast(kind)

    def write(self, column: Any) -> pa.Array:
        """Dates as texts in this form. A finer time than the form has is cut."""
        import pyarrow as pa
        import pyarrow.compute as pc

        gone = np.asarray(pc.is_null(column).to_numpy(zero_copy_only=False))
        unit = "ns" if self.fraction > 6 else "us"
        moments = pc.fill_null(column.cast(pa.timestamp(unit, tz=getattr(column.type, "tz", None))).cast(pa.int64()), 0)
        seconds, rest = np.divmod(np.asarray(moments.to_numpy(zero_copy_only=False)), _PER_SECOND[unit])
        day, second = np.divmod(seconds + self._offset(), _SECOND)
        stamp = day.astype("M8[D]")
        month = stamp.astype("M8[M]")
        number = {"y": stamp.astype("M8[Y]").astype(np.int64) + 1970, "m": month.astype(np.int64) % 12 + 1,
                  "d": (stamp - month).astype(np.int64) + 1}
        out: list[Any] = []
        for token in re.split(r"(yyyy|mm?|dd?)", self.date):
            if token and token[0] in number:
                out.append(_padded(number[token[0]], len(token)))
            elif token:
                out.append(pa.scalar(token))
        if self.mark:
            out += [pa.scalar(self.mark), _padded(second // 3600, 2), pa.scalar(":"), _padded(second // 60 % 60, 2)]
            out += [pa.scalar(":"), _padded(second % 60, 2)] if self.second else []
            part = rest * 10**self.fraction // _PER_SECOND[unit]
            out += [pa.scalar("."), _padded(part, self.fraction)] if self.fraction else []
        texts = pc.binary_join_element_wise(*out, pa.scalar(self.zone), "")
        return pc.if_else(pa.array(gone), pa.scalar(None, pa.string()), texts)

    def _offset(self) -> int:
        """Seconds by which the written time is ahead of UTC."""
        if self.zone in ("", "Z"):
            return 0
        ahead = int(self.zone[1:3]) * 3600 + int(self.zone[4:6]) * 60
        return -ahead if self.zone[0] == "-" else ahead


def _whole(texts: Any) -> NDArray[np.int64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    return np.asarray(pc.fill_null(texts, "0").cast(pa.int64()).to_numpy(zero_copy_only=False))


def _padded(values: NDArray[np.int64], width: int) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.utf8_lpad(pa.array(values).cast(pa.string()), width=width, padding="0")


def _day_numbers(
    year: NDArray[np.int64], month: NDArray[np.int64], day: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Days since 1970, and which of the dates exist."""
    first = ((year - 1970) * 12 + month - 1).astype("M8[M]")
    length = ((first + 1).astype("M8[D]") - first.astype("M8[D]")).astype(np.int64)
    return first.astype("M8[D]").astype(np.int64) + day - 1, (year >= 1) & (day <= length)


@cache
def stated_form(form: str) -> DateForm:
    """A form that a user states; raises ValueError if it is none."""
    found = _STATED.fullmatch(form.strip())
    tokens = _TOKEN.findall(found["date"]) if found else []
    if "yyyy" not in tokens and re.search(r"(?<!y)yy(?!y)", form):
        raise ValueError(f"{form!r} has two digits for the year, which do not state the century. Write years with four digits")
    if found is None or sorted(t[0] for t in tokens) != ["d", "m", "y"]:
        raise ValueError(f"{form!r} is not a form of dates. Examples: yyyy-mm-dd, dd.mm.yyyy, mm/dd/yyyy, yyyy-mm-dd hh:mm:ss")
    if not re.search(r"[-/.]", found["date"]) and found["date"] not in ("yyyymmdd", "ddmmyyyy", "mmddyyyy"):
        raise ValueError(f"{form!r} has no separator between its parts, and they have no fixed length. Use yyyymmdd")
    fraction = len(found["fraction"] or ".") - 1
    return DateForm(found["date"], found["mark"] or "", bool(found["second"]), fraction, found["zone"] or "")


def possible_forms(texts: Any) -> frozenset[str]:
    """The forms in which all cells that are not null are dates; none if there is no such cell."""
    import pyarrow.compute as pc

    first = _SHAPE.fullmatch(str(pc.first(texts).as_py() or ""))  # most columns of text are decided by one cell
    if first is None:
        return frozenset()
    there = pc.unique(texts).drop_null()
    mark = first["a"] or first["b"]
    orders = ["yyyy-mm-dd"] if first["first"] else ["dd-mm-yyyy"] if mark == "." else ["dd-mm-yyyy", "mm-dd-yyyy"]
    dates = [o.replace("-", mark) for o in (*orders, *(o.replace("mm", "m").replace("dd", "d") for o in orders))]
    time = first["mark"] or "", bool(first["second"]), len(first["fraction"] or ""), first["zone"] or ""
    return frozenset(f.text for f in (DateForm(d, *time) for d in dates) if f.read(there) is not None)


def decide_forms(possible: Mapping[str, frozenset[str]], like: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The form of each column, and the columns in which day and month cannot be told apart.

    `like` gives the forms of another file of the same data, which decide if they are possible.
    """
    left = {n: {f: stated_form(f) for f in forms} for n, forms in possible.items() if forms}
    chosen = {n: like[n] for n in left if like.get(n) in left[n]}
    chosen |= {n: _padded_first(f) for n, f in left.items() if n not in chosen and len({x.order for x in f.values()}) == 1}
    known = {stated_form(f).order for f in chosen.values()}
    unclear = []
    for name in (n for n in left if n not in chosen):
        fitting = {t: f for t, f in left[name].items() if f.order in known}
        if len({f.order for f in fitting.values()}) == 1:
            chosen[name] = _padded_first(fitting)
        else:
            unclear.append(name)
    return chosen, unclear


def _padded_first(forms: Mapping[str, DateForm]) -> str:
    return max(forms, key=len)


def form_of_field(field: Any) -> str:
    """The form in which a column of a CSV file was written; empty if it has none."""
    return str((field.metadata or {}).get(FORM, b"").decode())


def with_forms(schema: Any, forms: Mapping[str, str]) -> Any:
    """A schema whose fields state the form in which their dates are written in CSV."""
    for i, field in enumerate(schema):
        if forms.get(field.name):
            schema = schema.set(i, field.with_metadata({**(field.metadata or {}), FORM: forms[field.name].encode()}))
    return schema


def without_forms(schema: Any) -> Any:
    """The schema without these statements, for formats that have dates of their own."""
    for i, field in enumerate(schema):
        if form_of_field(field):
            kept = {k: v for k, v in field.metadata.items() if k != FORM}
            schema = schema.set(i, field.with_metadata(kept) if kept else field.remove_metadata())
    return schema
