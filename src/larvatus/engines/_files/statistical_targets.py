"""Write a table as a file of SPSS, Stata or SAS, with what the format can hold of its labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from larvatus.core.errors import WriteError
from larvatus.data.labelling.labels import ColumnLabels, FileLabels, MissingCode
from larvatus.engines._files.byte_layouts.transport_files import write_transport_tags
from larvatus.engines._files.file_packages import package_of
from larvatus.engines._files.missing_codes import flat_array, is_tag, is_text, tags_of
from larvatus.engines._files.statistical_files import from_moment, program_of
from larvatus.engines._files.texts_in_numbers import has_texts

if TYPE_CHECKING:
    import pyarrow as pa

_EXACT, _MOST_CODES = 2.0**53, 3  # SPSS states up to three single codes of missing values
_LONGEST = {"SPSS": 32_767, "Stata": 2_000_000_000, "SAS": 32_767}
# Smallest and largest number; beyond them are codes of missing values (SPSS, Stata), or nothing (SAS transport files).
_RANGE = {"SPSS": (0.0, 1.797e308), "Stata": (0.0, 8.98e307), "SAS": (5.4e-79, 7.2e75)}
_DATE = {"SPSS": "DATE11", "Stata": "%td", "SAS": "DATE9."}
_TIME = {"SPSS": "DATETIME20", "Stata": "%tc", "SAS": "DATETIME20."}
_REASONS = {
    "space": "a column name has a space", "illegal": "a column name has a character that is not allowed",
    "too long": "a column name is too long", "reserved": "a column name is a reserved word",
}
_SPSS_AT, _SPSS = 92, b"01 Jan 7000:00:00"  # date and time in the file header, after the bias of compression
_STATA_END, _STATA = b"</timestamp></header>", b"01 Jan 1970 00:00"
_TEXT_FORMAT = re.compile(r"(?i)a\d+|%-?\d+s|\$.*")  # A10 in SPSS, %10s in Stata, $10. in SAS
_SAS_AT, _SAS, _SAS_SHAPE = (144, 160, 464, 480), b"01JAN70:00:00:00", rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d"
_HEADER = 4096  # bytes, enough for the header of each format


@dataclass(frozen=True, slots=True)
class _Cells:
    """A column as a writer needs it: numbers with NaN or texts with "", extended missing values by row, and a format."""

    values: Any
    tags: Mapping[int, str]
    shown: str = ""

    @property
    def text(self) -> bool:
        return bool(self.values.dtype == object)


@dataclass(frozen=True, slots=True)
class _Content:
    """What is written: columns, the labels that still fit them, and whether the source was a file of the same program."""

    cells: Mapping[str, _Cells]
    labels: Mapping[str, ColumnLabels]
    file: FileLabels
    own: bool

    def options(self) -> dict[str, Any]:
        """What all formats have in common."""
        own = {n: self.labels[n].format for n in self.labels if self.own}
        return {
            "column_labels": [self.file[n].label or None for n in self.cells], "file_label": self.file.title,
            "variable_format": {n: f for n, c in self.cells.items() if (f := own.get(n) or c.shown)},
        }

    def frame(self, letters: bool = False) -> Any:
        """The columns as a data frame, with `letters` for extended missing values among numbers."""
        pandas = package_of("pandas", "the file")
        columns = {n: _lettered(c) if letters and c.tags else c.values for n, c in self.cells.items()}
        return pandas.DataFrame({n: pandas.Series(v, dtype=v.dtype) for n, v in columns.items()})


def write_statistical(table: pa.Table, path: Path, target: Path, labels: FileLabels) -> None:
    """Write a table in the format of the target's suffix."""
    program = program_of(target.suffix)
    try:
        mixed = next((f.name for f in table.schema if has_texts(f)), None)
        if mixed is not None:
            raise WriteError(f"{mixed!r} has texts that stand for missing values among its numbers, which a {target.suffix} "
                             "file cannot hold. Write .csv or .xlsx, or use numbers such as -7 for them in the source.")
        cells = {n: _cells(n, table.column(n), program, target.suffix) for n in table.column_names}
        fitting = {n: labels[n] for n in cells if _fits(labels[n], cells[n].text)}
        _WRITERS[target.suffix.lower()](_Content(cells, fitting, labels, program_of(labels.suffix) == program), path)
        _fix_writing_time(path)
    except (MemoryError, OSError):
        raise
    except WriteError as error:
        raise WriteError(f"{target.name}: {error}") from None
    except Exception as error:
        raise WriteError(f"{target.name}: {_reason(str(error), program)}") from None


def _cells(name: str, column: Any, program: str, suffix: str) -> _Cells:
    import pyarrow as pa

    flat = flat_array(column)
    flat = flat.cast(flat.type.value_type) if pa.types.is_dictionary(flat.type) else flat
    kind = flat.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _Cells(from_moment(flat, program), {}, (_DATE if pa.types.is_date(kind) else _TIME)[program])
    if is_text(kind):
        return _Cells(_texts(name, flat, program), {})
    if pa.types.is_boolean(kind):
        flat = flat.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
        raise WriteError(f"{name!r} has type {kind}, which a {suffix} file cannot hold. Write a .parquet file.")
    values = flat.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if pa.types.is_integer(kind) and np.any(np.abs(values) > _EXACT):
        raise WriteError(f"{name!r} has whole numbers above 2**53, which a {suffix} file cannot hold. Write a .parquet file.")
    low, high = _RANGE[program]
    if np.any((np.abs(values) > high) | ((values != 0) & (np.abs(values) < low))):
        raise WriteError(f"{name!r} has numbers that a {suffix} file cannot hold (beyond {high:g}, or closer to zero than "
                         f"{low:g}). Rescale the column, or write a .parquet file.")
    letters = tags_of(values)
    return _Cells(values, {int(row): f".{chr(letters[row])}" for row in np.flatnonzero(letters)})


def _texts(name: str, flat: Any, program: str) -> Any:
    texts = ["" if v is None else v for v in flat.to_pylist()]
    longest = max((len(v.encode()) for v in texts), default=0)
    if longest > _LONGEST[program]:
        raise WriteError(f"{name!r} has a text of {longest:,} bytes, and a file of {program} holds at most "
                         f"{_LONGEST[program]:,}. Shorten it, or write a .parquet file.")
    return np.array(texts, dtype=object)


def _lettered(cells: _Cells) -> Any:
    """Numbers among which Stata's extended missing values are letters."""
    out: list[Any] = [None if v != v else v for v in cells.values.tolist()]
    for row, tag in cells.tags.items():
        out[row] = tag[1].lower()
    return np.array(out, dtype=object)


def _fits(labels: ColumnLabels, text: bool) -> bool:
    """Whether labels of codes still fit a column: not if a mask has turned numbers into text, or the other way round."""
    codes = [*(v for v, _ in labels.values), *(c for c in labels.missing if not isinstance(c, tuple))]
    texts = [isinstance(c, str) for c in codes if not is_tag(c)]
    if _TEXT_FORMAT.fullmatch(labels.format) and not text:
        return False
    return all(kind == text for kind in texts) and not (text and labels.missing and not texts)


def _value_labels(content: _Content, tags: bool = False) -> dict[str, dict[Any, str]]:
    """Value labels by column; those of extended missing values are labels of letters."""
    out = {}
    for name, given in content.labels.items():
        found = {_key(code): text for code, text in given.values if tags or not is_tag(code)}
        if found:
            out[name] = found
    return out


def _key(code: Any) -> Any:
    if is_tag(code):
        return code[1].lower()
    return code if isinstance(code, str) else float(code)


def _write_spss(content: _Content, path: Path, compress: bool = False) -> None:
    tagged = next((n for n, c in content.cells.items() if c.tags), None)
    if tagged is not None:
        raise WriteError(f"{tagged!r} has extended missing values (.a), which a file of SPSS cannot hold. Write a .dta file, "
                         "or recode them.")
    package_of("pyreadstat", path.name).write_sav(
        content.frame(), str(path), variable_value_labels=_value_labels(content),
        missing_ranges={n: _ranges(g.missing) for n, g in content.labels.items() if g.missing},
        variable_measure={n: g.measure for n, g in content.labels.items()},
        variable_display_width={n: g.width for n, g in content.labels.items() if content.own and g.width},
        note=list(content.file.notes) if content.own and content.file.notes else None,
        compress=compress, row_compress=not compress, **content.options(),
    )


def _ranges(codes: tuple[MissingCode, ...]) -> list[Any]:
    """Missing codes as SPSS stores them: three values, or a range and one value. Others stay in the cells, not declared."""
    ranges = [{"lo": c[0], "hi": c[1]} for c in codes if isinstance(c, tuple)][:1]
    single = [c if isinstance(c, str) else float(c) for c in codes if not isinstance(c, tuple) and not is_tag(c)]
    return [*ranges, *single[: 1 if ranges else _MOST_CODES]]


def _write_compressed_spss(content: _Content, path: Path) -> None:
    _write_spss(content, path, compress=True)


def _write_stata(content: _Content, path: Path) -> None:
    tags = {n: [*content.cells[n].tags.values(), *(str(c) for c in g.missing if is_tag(c))] for n, g in content.labels.items()}
    letters = {n: sorted({t[1].lower() for t in found}) for n, found in tags.items()}
    numeric = {n: found for n, found in _value_labels(content, tags=True).items() if not content.cells[n].text}
    whole = {n: {k: v for k, v in found.items() if isinstance(k, str) or k.is_integer()} for n, found in numeric.items()}
    package_of("pyreadstat", path.name).write_dta(
        content.frame(letters=True), str(path), variable_value_labels=whole,
        missing_user_values={n: v for n, v in letters.items() if v}, **content.options(),
    )


def _write_transport(content: _Content, path: Path) -> None:
    package_of("pyreadstat", path.name).write_xport(content.frame(), str(path), **content.options())
    tags = {n: c.tags for n, c in content.cells.items() if c.tags}
    if tags:
        write_transport_tags(path, tags)


_WRITERS: Mapping[str, Callable[[_Content, Path], None]] = {
    ".sav": _write_spss, ".zsav": _write_compressed_spss, ".dta": _write_stata, ".xpt": _write_transport,
}


def _fix_writing_time(path: Path) -> None:
    """Replace the time of writing in a file that was just written, so that the same release is the same bytes."""
    with path.open("r+b") as file:
        head = file.read(_HEADER)
        for place, fixed in _places(head):
            file.seek(place)
            file.write(fixed)


def _places(head: bytes) -> list[tuple[int, bytes]]:
    if head.startswith((b"$FL2", b"$FL3")):
        return [(_SPSS_AT, _SPSS)]
    if head.startswith(b"<stata_dta>"):
        place = head.find(_STATA_END) - len(_STATA)
        return [(place, _STATA)] if place > 0 and head[place - 1] == len(_STATA) else []
    return [(place, _SAS) for place in _SAS_AT if re.fullmatch(_SAS_SHAPE, head[place:place + len(_SAS)])]


def _reason(said: str, program: str) -> str:
    """Why a file cannot be written, without the message of the package, which may quote a value."""
    why = next((text for word, text in _REASONS.items() if word in said), "")
    if why:
        return f"{why} in files of {program}. Rename the column, or write a .parquet file."
    return f"it cannot be written as a file of {program}. Write a .parquet file; its codebook has the labels."
