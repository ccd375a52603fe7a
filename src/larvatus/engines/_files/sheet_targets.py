"""Write a release as one sheet of an Excel or OpenDocument file, at full precision."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from larvatus.core.errors import WriteError
from larvatus.engines._files.file_packages import package_of
from larvatus.engines._files.missing_codes import tags_of
from larvatus.engines._files.texts_in_numbers import has_texts, which_are_numbers

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS, _COLUMNS, _TEXT, _EXACT = 1_048_576, 16_384, 32_767, 2**53
_WRITTEN = datetime.datetime(1980, 1, 1)  # the time of writing that files state, so that the same release is the same bytes
_FIRST_DAY = datetime.datetime(1900, 3, 1)  # Excel counts a day too many before it
SHEET = "release"


def _checked(table: pa.Table, name: str) -> None:
    """Raise an error if a sheet cannot hold the table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if table.num_rows >= _ROWS or table.num_columns > _COLUMNS:
        raise WriteError(f"{name}: the release has {table.num_rows:,} records and {table.num_columns:,} columns, and a sheet "
                         f"holds {_ROWS - 1:,} records and {_COLUMNS:,} columns. Write a .parquet or .csv file.")
    for column in table.column_names:
        kind = table.schema.field(column).type
        if pa.types.is_string(kind) and (pc.max(pc.utf8_length(table.column(column))).as_py() or 0) > _TEXT:
            raise WriteError(f"{name}: {column!r} has a text of more than {_TEXT:,} characters, which a cell cannot hold. "
                             "Write a .parquet or .csv file.")
        if pa.types.is_integer(kind):
            ends = pc.min_max(table.column(column))
            if max(abs(ends["min"].as_py() or 0), abs(ends["max"].as_py() or 0)) > _EXACT:
                raise WriteError(f"{name}: {column!r} has whole numbers above 2**53, which a cell cannot hold. Write a "
                                 ".parquet or .csv file.")


def _columns(table: pa.Table) -> list[list[Any]]:
    """The cells of each column as plain values; an extended missing value is a text such as `.a`."""
    import pyarrow as pa

    out = []
    for field, column in zip(table.schema, table.columns, strict=True):
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        cells = plain.to_pylist()
        if has_texts(field):
            numbers = which_are_numbers(plain).to_pylist()
            cells = [float(c) if number else c for c, number in zip(cells, numbers, strict=True)]
        if pa.types.is_floating(plain.type):
            for row in np.flatnonzero(tags := tags_of(plain.to_numpy())):
                cells[row] = f".{chr(tags[row])}"
        out.append(cells)
    return out


def write_excel(table: pa.Table, path: Path, name: str) -> None:
    """Write an .xlsx file."""
    writer = package_of("xlsxwriter", name)
    from xlsxwriter.worksheet import Worksheet

    class ExactSheet(Worksheet):  # type: ignore[misc]
        """A sheet whose numbers have all their digits; the package writes 16, and some need 17."""

        def _xml_number_element(self, number: float, attributes: Any = ()) -> None:
            given = "".join(f' {key}="{self._escape_attributes(value)}"' for key, value in attributes)
            self.fh.write(f"<c{given}><v>{number!r}</v></c>")

    _checked(table, name)
    options = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False, "nan_inf_to_errors": True}
    with writer.Workbook(str(path), options) as book:
        book.set_properties({"created": _WRITTEN})
        sheet = book.add_worksheet(SHEET, worksheet_class=ExactSheet)
        shown: dict[type, Any] = {datetime.date: book.add_format({"num_format": "yyyy-mm-dd"}),
                                  datetime.datetime: book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})}
        for j, title in enumerate(table.column_names):
            sheet.write_string(0, j, title)
        for j, cells in enumerate(_columns(table)):
            for i, cell in enumerate(cells, 1):
                _write_cell(sheet, i, j, cell, shown)


def _write_cell(sheet: Any, i: int, j: int, cell: Any, shown: Mapping[type, Any]) -> None:
    if cell is None or cell != cell:
        return
    if isinstance(cell, str):
        sheet.write_string(i, j, cell)
    elif isinstance(cell, bool):
        sheet.write_boolean(i, j, cell)
    elif isinstance(cell, datetime.date):
        moment = cell if isinstance(cell, datetime.datetime) else datetime.datetime(cell.year, cell.month, cell.day)
        if moment < _FIRST_DAY:
            sheet.write_string(i, j, cell.isoformat(*(" ",) if isinstance(cell, datetime.datetime) else ()))
        else:
            sheet.write_datetime(i, j, cell, shown[type(cell)])
    else:
        sheet.write_number(i, j, cell)


def write_opendocument(table: pa.Table, path: Path, name: str) -> None:
    """Write an .ods file."""
    package_of("odf", name)
    from odf.opendocument import OpenDocumentSpreadsheet
    from odf.table import Table, TableRow

    _checked(table, name)
    book, sheet = OpenDocumentSpreadsheet(), Table(name=SHEET)
    for cells in ([*table.column_names], *map(list, zip(*_columns(table), strict=True))):
        row = TableRow()
        for cell in cells:
            row.addElement(_open_cell(cell))
        sheet.addElement(row)
    book.spreadsheet.addElement(sheet)
    with path.open("wb") as file:
        book.write(file)


def _open_cell(cell: Any) -> Any:
    from odf.table import TableCell
    from odf.text import P

    if cell is None or cell != cell:
        return TableCell()
    if isinstance(cell, str):
        out = TableCell(valuetype="string")
        out.addElement(P(text=cell))
        return out
    if isinstance(cell, bool):
        return TableCell(valuetype="boolean", booleanvalue=str(cell).lower())
    if isinstance(cell, datetime.date):
        return TableCell(valuetype="date", datevalue=cell.isoformat())
    return TableCell(valuetype="float", value=repr(cell))


SHEET_WRITERS: Mapping[str, Callable[[Any, Path, str], None]] = {".xlsx": write_excel, ".ods": write_opendocument}
