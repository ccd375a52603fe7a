"""Read files of SPSS, Stata and SAS with their labels, in chunks, as Arrow columns. Errors never quote a value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from larvatus.core.errors import ReadError
from larvatus.core.file_signatures import likeness
from larvatus.core.safe_files.trial_process import survives
from larvatus.data.labelling.labels import STATISTICAL, CodeValue, ColumnLabels, FileLabels, MeasureLevel, MissingCode
from larvatus.engines._files.byte_layouts.portable_files import portable_codes
from larvatus.engines._files.byte_layouts.transport_files import transport_tags
from larvatus.engines._files.file_packages import package_of
from larvatus.engines._files.missing_codes import is_tag, tagged_nan

if TYPE_CHECKING:
    import pyarrow as pa

_READERS = {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat",
            ".xpt": "read_xport"}
_CELLS, FEWEST_ROWS = 1 << 21, 1000
_SECONDS = 86_400
SHEET_FORMATS = {"yyyy-mm-dd": "date", "yyyy-mm-dd hh:mm:ss": "time"}
# First day of each program's calendar, in days before 1970-01-01.
EPOCH = {"SPSS": 141_428, "Stata": 3_653, "SAS": 3_653}
_DATES = {
    "SPSS": re.compile(r"((A|E|S|J)?DATE|MOYR|QYR|WKYR)\d*"), "Stata": re.compile(r"%-?t?d.*"),
    "SAS": re.compile(r"(DATE|DDMMYY|MMDDYY|YYMMDD|E8601DA|B8601DA|JULIAN|WEEKDATE|WORDDATE)[A-Z]*\d*(\.\d*)?"),
}
_TIMES = {
    "SPSS": re.compile(r"(DATETIME|YMDHMS)\d*(\.\d+)?"), "Stata": re.compile(r"%-?t[cC].*"),
    "SAS": re.compile(r"(DATETIME|E8601DT|B8601DT)\d*(\.\d*)?"),
}


def program_of(suffix: str) -> str:
    """The program whose file has this suffix: SPSS, Stata or SAS; empty for other files."""
    return STATISTICAL.get(suffix.lower(), "")


def moment_of(program: str, shown: str) -> str:
    """What a display format says of a numeric column: `date`, `time` for a date with a time, or empty for a number."""
    if not program:
        return SHEET_FORMATS.get(shown, "")
    upper = shown if program == "Stata" else shown.upper()
    if program in _TIMES and _TIMES[program].fullmatch(upper):
        return "time"
    return "date" if program in _DATES and _DATES[program].fullmatch(upper) else ""


def statistical_names(path: Path) -> list[str]:
    """The columns of a file."""
    return list(_described(path).column_names)


def file_chunks(path: Path, catalog: Path | None) -> tuple[FileLabels, Iterator[dict[str, Any]]]:
    """The labels of a file, and its columns in chunks of rows, as Arrow arrays by name."""
    about = _described(path)
    labels = _labels(path, about, _catalog(catalog) if catalog is not None else {})
    if path.suffix.lower() == ".por":
        names, codes = list(about.column_names), portable_codes(path)
        stated = labels.with_missing({names[i]: found for i, found in codes.missing.items()})
        return stated, _chunks(path, about, stated, {names[i]: found for i, found in codes.cells.items()})
    return labels, _chunks(path, about, labels, transport_tags(path) if path.suffix.lower() == ".xpt" else {})


def _described(path: Path) -> Any:
    """What a file says about its columns. The library crashes on some damaged files, so that a copy of the process tries it."""
    if not survives(lambda: _asked(path, metadataonly=True)):
        raise ReadError(f"{path.name} is damaged: the library that reads it crashes. Copy it again, or save it again.")
    return _asked(path, metadataonly=True)[1]


def _asked(path: Path, **options: Any) -> tuple[Mapping[str, list[Any]], Any]:
    """What pyreadstat returns. Its own messages are replaced, because they may quote a value."""
    suffix = path.suffix.lower()
    reader = getattr(package_of("pyreadstat", path.name), _READERS[suffix])
    if suffix not in (".xpt", ".por"):
        options["user_missing"] = True
    try:
        found: tuple[Mapping[str, list[Any]], Any] = reader(
            str(path), output_format="dict", disable_datetime_conversion=True, **options
        )
    except MemoryError:
        raise
    except Exception as error:
        if isinstance(error, UnicodeDecodeError) or "convert string" in str(error):
            why = "contains text in an encoding that does not match the one it states. Save it again as UTF-8."
        elif "expected number of rows" in str(error) or "Unable to read" in str(error):
            why = f"is incomplete, or it is not a file of {STATISTICAL[suffix]}{_other(path)}. Copy it again, or check its " \
                  "extension."
        else:
            why = f"is not a file of {STATISTICAL[suffix]} that can be read{_other(path)}. Check its extension, or save it " \
                  "again."
        raise ReadError(f"{path.name} {why}") from None
    if None in found[1].column_names:
        raise ReadError(f"{path.name} has a column without a name that can be read. Copy it again, or name the column.")
    return found


def _other(path: Path) -> str:
    """What the file looks like, if it looks like a file of another program."""
    like = likeness(path)
    return "" if f"of {STATISTICAL[path.suffix.lower()]} " in like or path.suffix.lower() == ".por" else like


def _labels(path: Path, about: Any, catalog: Mapping[str, Mapping[Any, str]]) -> FileLabels:
    names = list(about.column_names)
    if catalog:
        sets = {n: about.variable_to_label.get(n) or _format_name(about.original_variable_types.get(n)) for n in names}
        stated = {n: catalog.get(str(sets[n]).upper()) or {} for n in names}
    else:
        stated = {n: about.variable_value_labels.get(n) or {} for n in names}
    columns = {
        n: ColumnLabels(
            label=about.column_names_to_labels.get(n) or "",
            values=tuple((_plain(code, about.readstat_variable_types.get(n)), str(text)) for code, text in stated[n].items()),
            missing=_ranges(about.missing_ranges.get(n) or ()),
            measure=_measure(about.variable_measure.get(n)),
            format=about.original_variable_types.get(n) or "",
            width=int(about.variable_display_width.get(n) or 0),
        ) for n in names
    }
    return FileLabels(path.suffix.lower(), columns, about.file_label or "", tuple(map(str, about.notes or ())))


def _measure(given: Any) -> MeasureLevel:
    return given if given in get_args(MeasureLevel) else "unknown"


def _plain(code: Any, stored: str | None = None) -> CodeValue:
    """A labelled code as a plain value: whole numbers as integers, extended missing values with their point."""
    if isinstance(code, str):
        return code if stored is None or stored.startswith("string") else f".{code}"
    return int(code) if float(code).is_integer() else float(code)


def _ranges(given: Sequence[Any]) -> tuple[MissingCode, ...]:
    """Codes of missing values. Range ends at the limits of a number become infinite."""
    out: list[MissingCode] = []
    for one in given:
        low, high = (one["lo"], one["hi"]) if isinstance(one, Mapping) else (one, one)
        if isinstance(low, str) or low == high:
            out.append(low if isinstance(low, str) else _plain(low))
        else:
            out.append((float(low), float(high)))
    return tuple(out)


def _catalog(path: Path) -> dict[str, Mapping[Any, str]]:
    """The value labels of a SAS catalog, by the name of their format."""
    reader = package_of("pyreadstat", path.name).read_sas7bcat
    try:
        return {str(name).upper(): labels for name, labels in reader(str(path), output_format="dict")[1].value_labels.items()}
    except MemoryError:
        raise
    except Exception:
        raise ReadError(f"{path.name} is not a SAS catalog that can be read. Give a file .sas7bcat.") from None


def _format_name(shown: str | None) -> str:
    """The name of a SAS format without its width."""
    return re.sub(r"\d*(\.\d*)?$", "", shown or "")


def _chunks(
    path: Path, about: Any, labels: FileLabels, codes: Mapping[str, Mapping[int, CodeValue]]
) -> Iterator[dict[str, Any]]:
    """The columns in chunks of rows. `codes` are codes of missing values by column and row that pyreadstat does not return."""
    names = list(about.column_names)
    if not names:
        return
    size, done, rows = max(_CELLS // len(names), FEWEST_ROWS), 0, about.number_rows
    while rows is None or done < rows:
        found, _ = _asked(path, row_offset=done, row_limit=size)
        got = len(found[names[0]])
        if got:
            yield {n: _array(n, found[n], about, labels, {r - done: t for r, t in codes.get(n, {}).items()}) for n in names}
        done += got
        if got < size:
            break
    if rows is not None and done < rows:
        raise ReadError(f"{path.name} is incomplete: it has {done:,} of {rows:,} records. Copy it again.")


def _array(name: str, cells: list[Any], about: Any, labels: FileLabels, codes: Mapping[int, CodeValue]) -> pa.Array:
    """A column as text, numbers, dates, or dates with times. Empty text is missing, as in these programs."""
    import pyarrow as pa

    if about.readstat_variable_types[name].startswith("string"):
        return pa.array([codes.get(i, c) or None for i, c in enumerate(cells)], type=pa.string())
    values, tagged = _numbers(cells)
    for row, code in codes.items():
        if 0 <= row < len(values):
            values[row], tagged[row] = (tagged_nan(code), True) if isinstance(code, str) else (code, False)
    return pa.array(values, mask=np.isnan(values) & ~tagged, from_pandas=False)


def _numbers(cells: list[Any]) -> tuple[Any, Any]:
    """Numbers, and which of them are extended missing values."""
    try:
        values = np.array(cells, dtype=np.float64)
        return values, np.zeros(len(values), dtype=bool)
    except (TypeError, ValueError):
        texts = np.array([isinstance(c, str) for c in cells])
        plain = [np.nan if isinstance(c, str) else c for c in cells]
        values = np.array(plain, dtype=np.float64)
        for row in np.flatnonzero(texts):
            tag = f".{cells[row]}"
            if is_tag(tag):
                values[row] = tagged_nan(tag)
        return values, texts


def as_moment(values: pa.Array, program: str, moment: str) -> pa.Array | None:
    """Numbers as dates, or as dates with times; None if they are not whole days or cannot be represented."""
    import pyarrow as pa

    numbers = values.to_numpy(zero_copy_only=False)
    gone = np.isnan(numbers)
    unit = _SECONDS if program == "SPSS" else 1
    if moment == "date":
        days = numbers / unit - EPOCH[program]
        if not np.all(gone | ((days == np.rint(days)) & (np.abs(days) < 2**31 - 1))):
            return None
        return pa.array(np.where(gone, 0, days).astype(np.int32), mask=gone).cast(pa.date32())
    thousandths = numbers if program == "Stata" else numbers * 1000
    moments = thousandths - EPOCH[program] * _SECONDS * 1000.0
    if not np.all(gone | ((moments == np.rint(moments)) & (np.abs(moments) < 2**53))):
        return None
    return pa.array(np.where(gone, 0, moments).astype(np.int64), mask=gone).cast(pa.timestamp("ms"))


def from_moment(values: pa.Array, program: str) -> Any:
    """The inverse of `as_moment`: numbers as the program stores them, NaN if missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    gone = pc.is_null(values).to_numpy(zero_copy_only=False)
    if pa.types.is_date32(values.type):
        days = pc.fill_null(values.cast(pa.int32()), 0).to_numpy(zero_copy_only=False).astype(np.float64)
        out = (days + EPOCH[program]) * (_SECONDS if program == "SPSS" else 1)
    else:
        stored = values.cast(pa.timestamp("us")).cast(pa.int64())
        seconds = pc.fill_null(stored, 0).to_numpy(zero_copy_only=False) / 1e6
        out = (seconds + EPOCH[program] * float(_SECONDS)) * (1000 if program == "Stata" else 1)
    return np.where(gone, np.nan, out)
