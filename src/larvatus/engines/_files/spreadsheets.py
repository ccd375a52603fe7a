"""Read one sheet of an Excel or OpenDocument file: its first row is the header, all other rows are records."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from larvatus.core.errors import ReadError, nearest_names
from larvatus.core.file_signatures import likeness
from larvatus.core.memory_size import usable_memory
from larvatus.data.labelling.labels import ColumnLabels, FileLabels
from larvatus.data.text_columns import MISSING
from larvatus.engines._files.file_packages import package_of
from larvatus.engines._files.statistical_files import SHEET_FORMATS

if TYPE_CHECKING:
    import pyarrow as pa

_TIMES_UNPACKED = 4  # memory that reading needs, in sizes of the unpacked file


def sheet_names(path: Path, sheet: str | None = None) -> list[str]:
    """The column names in the first row of a sheet."""
    return _header(_rows(path, sheet, 1)[0], path)


def sheet_chunks(path: Path, sheet: str | None) -> tuple[FileLabels, Iterator[dict[str, Any]], str]:
    """The columns of a sheet, and a note on which of several sheets was taken."""
    rows, note = _rows(path, sheet)
    names = _header(rows, path)
    if len(set(names)) != len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise ReadError(f"duplicate column name: {twice!r}. Give each column a different name.")
    columns = {n: _array([row[i] for row in rows[1:]]) for i, n in enumerate(names)}
    labels = FileLabels(path.suffix.lower(), {n: ColumnLabels(format=_shown(columns[n])) for n in names},
                        sheet=sheet or "")
    return labels, iter([columns] if len(rows) > 1 else []), note


def _check_fits(path: Path) -> None:
    """Refuse a file that needs more memory than there is when it is unpacked. A small one can contain very much."""
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, OSError, NotImplementedError):  # .xls is not packed; whoever opens it reports other faults
        return
    needed, most = _TIMES_UNPACKED * unpacked, usable_memory()
    if needed > most:
        raise ReadError(f"{path.name} needs about {needed / 1e9:,.1f} GB of memory to be read, and {most / 1e9:,.1f} GB may be "
                        "used. Save the sheet as CSV, which is read in blocks.")


def _first_shown(book: Any) -> str:
    """The first sheet of cells that is not hidden; the first of all if there is none."""
    shown = [m.name for m in book.sheets_metadata if "Hidden" not in str(m.visible) and str(m.typ).endswith("WorkSheet")]
    return str(next(iter(shown), book.sheet_names[0]))


def _rows(path: Path, sheet: str | None, most: int | None = None) -> tuple[list[list[Any]], str]:
    calamine = package_of("python_calamine", path.name)
    _check_fits(path)
    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
        every = list(book.sheet_names)
    except MemoryError:
        raise
    except Exception:
        like = likeness(path)
        why = "; it may be incomplete or protected by a password" if "spreadsheet" in like or not like else like
        raise ReadError(f"{path.name} is not a spreadsheet that can be read{why}. Check its extension, or save it "
                        "again.") from None
    if not every:
        raise ReadError(f"{path.name} has no sheet.")
    if sheet is not None and sheet not in every:
        raise ReadError(f"{path.name} has no sheet {sheet!r}; {nearest_names(sheet, every)}", subject="sheet")
    taken = sheet if sheet is not None else _first_shown(book)
    try:
        opened = book.get_sheet_by_name(taken)
        rows = opened.to_python(skip_empty_area=True, nrows=most)
        first = (opened.start or (0, 0))[0]
        merged = sum(low[0] > first or high[0] > first for low, high in opened.merged_cell_ranges or ())
    except MemoryError:
        raise
    except Exception:
        raise ReadError(f"{path.name}: the sheet {taken!r} cannot be read. If a cell shows a newer error such as #SPILL! or "
                        "#CALC!, empty it. Then save the file again.") from None
    if not rows:
        raise ReadError(f"{path.name}: the sheet {taken!r} is empty. Name another one (sheet=…).")
    which = "the first one" if taken == every[0] else "the first one with cells that is not hidden"
    note = "" if sheet is not None or len(every) == 1 else (
        f"{path.name} has {len(every)} sheets, and {which}, {taken!r}, was read. Name another one with --sheet (sheet=…)."
    )
    if merged:
        note += (f" {path.name}: cells of the sheet {taken!r} are merged ({merged:,} times). Only the first cell has a value, "
                 "and the others are missing. Split them in the source, and fill all.")
    return rows, note.strip()


def _header(rows: Sequence[Sequence[Any]], path: Path) -> list[str]:
    """Column names: an empty one is numbered, as in a CSV file."""
    names = [_text(v) for v in rows[0]]
    if not any(n.strip() for n in names):
        raise ReadError(f"{path.name} has no header row.")
    if len(names) > 2 and not any(n.strip() for n in names[1:]):
        raise ReadError(f"{path.name}: the first row has a name for 1 of {len(names)} columns. Remove titles above the header, "
                        "or name all columns.")
    return [n if n.strip() else f"column {i}" for i, n in enumerate(names, 1)]


def _shown(column: pa.Array) -> str:
    import pyarrow as pa

    moment = "date" if pa.types.is_date(column.type) else "time" if pa.types.is_timestamp(column.type) else ""
    return next((shown for shown, kind in SHEET_FORMATS.items() if kind == moment), "")


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.timedelta):  # 28:48:00, as a sheet shows it
        seconds = round(value.total_seconds())
        return f"{'-' * (seconds < 0)}{abs(seconds) // 3600}:{abs(seconds) // 60 % 60:02d}:{abs(seconds) % 60:02d}"
    return str(value)


def _array(cells: list[Any]) -> pa.Array:
    """A column as numbers, truth values, dates, dates with times, or text if its cells are of several kinds."""
    import pyarrow as pa

    there = [None if isinstance(c, str) and c.strip() in MISSING else c for c in cells]
    kinds = {type(c) for c in there if c is not None}
    if kinds <= {int, float}:
        return pa.array([None if c is None else float(c) for c in there], type=pa.float64())
    if kinds == {bool}:
        return pa.array(there, type=pa.bool_())
    if kinds == {datetime.date}:
        return pa.array(there, type=pa.date32())
    if kinds <= {datetime.date, datetime.datetime}:
        midnight = datetime.time()
        whole = [datetime.datetime.combine(c, midnight) if type(c) is datetime.date else c for c in there]
        return pa.array(whole, type=pa.timestamp("ms"))
    return pa.array([None if c is None else _text(c) for c in there], type=pa.string())
