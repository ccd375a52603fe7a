"""Awkward CSV files and spreadsheets, as one table: untouched cells come back as they were, or one sentence says what to do."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest
import xlsxwriter

import larvatus as lv
from larvatus.core.errors import LarvatusError, LarvatusWarning
from sample import SECRET

ENGINES = ["memory", "duckdb"]
N = 24
CELL = "98765.4321"  # occurs in the cells of the files that are refused, and in no message


@dataclass(frozen=True, slots=True)
class Case:
    """A file to write, and what comes of it: it is refused, it is noted, or nothing is said and it comes back whole."""

    make: Callable[[Path], object]
    suffix: str = ".csv"
    refused: str = ""
    noted: str = ""
    columns: tuple[str, ...] = ("s", "t")


def table(s: Callable[[int], str] = lambda i: str(i % 3), t: Callable[[int], str] = lambda i: "Köln",
          header: str = "x;s;t", x: Callable[[int], str] = lambda i: f"{i}.5") -> str:
    return header + "\n" + "".join(f"{x(i)};{s(i)};{t(i)}\n" for i in range(N))


def text(content: str, encoding: str = "utf-8", end: bytes = b"") -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content.encode(encoding) + end)


def raw(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def packed(*names: str, keep: int | None = None) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in names:
                archive.writestr(name, table())
        path.write_bytes(path.read_bytes()[:keep])

    return make


def renamed(writer: Callable[[pd.DataFrame, Path], object]) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        other = path.with_name("other" + path.suffix)
        writer(pd.DataFrame({"x": [float(CELL)] * N, "s": [1, 2] * (N // 2), "t": ["a"] * N}), other)
        other.rename(path)

    return make


def sheet(change: Callable[[Any, Any], object] = lambda book, page: None, header: tuple[str, ...] = ("x", "s", "t"),
          at: int = 0, s: Any = None, **options: Any) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        with xlsxwriter.Workbook(str(path), options) as book:
            page = book.add_worksheet()
            page.write_row(at, 0, header)
            for i in range(N):
                page.write_row(at + 1 + i, 0, [i + 0.5, i % 3 if s is None else s, "Köln"])
            change(book, page)

    return make


def dated(book: Any, page: Any) -> None:
    shown = book.add_format({"num_format": "dd/mm/yyyy hh:mm"})
    for i in range(N):
        page.write_datetime(i + 1, 2, datetime.datetime(2024, 1, 1 + i, 10, 5), shown)


def formulas(book: Any, page: Any) -> None:
    for i in range(N):
        page.write_formula(i + 1, 1, "=A2*2", None, i * 2.5)


def empty_first(path: Path) -> None:
    with xlsxwriter.Workbook(str(path)) as book:
        book.add_worksheet()
        book.add_worksheet("data").write_row(0, 0, ["x", "s", "t"])


def hidden_first(book: Any, page: Any) -> None:
    page.write(1, 1, "hidden")
    page.hide()
    other = book.add_worksheet("data")
    other.activate()
    other.set_first_sheet()
    other.write_row(0, 0, ["x", "s", "t"])
    for i in range(N):
        other.write_row(1 + i, 0, [i + 0.5, i % 3, "Köln"])


def chart_first(path: Path) -> None:
    with xlsxwriter.Workbook(str(path)) as book:
        book.add_chartsheet("chart")
        page = book.add_worksheet("data")
        page.write_row(0, 0, ["x", "s", "t"])
        for i in range(N):
            page.write_row(1 + i, 0, [i + 0.5, i % 3, "Köln"])


def with_error(code: str) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        sheet(lambda b, p: p.write_formula(3, 0, "=1/0", None, "#DIV/0!"))(path)
        parts = {n: archive.read(n) for archive in [zipfile.ZipFile(path)] for n in archive.namelist()}
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in parts.items():
                archive.writestr(name, content.replace(b"#DIV/0!", code.encode()))

    return make


def day(i: int) -> str:
    return f"{i + 1:02d}"


CASES = {
    # encodings
    "UTF-8 with a byte order mark": Case(text(table(), "utf-8-sig")),
    "UTF-16 with a byte order mark": Case(text(table(), "utf-16"), noted="UTF-16"),
    "UTF-16 without one": Case(text(table(), "utf-16-le"), noted="UTF-16"),
    "big-endian UTF-16 without one": Case(text(table(), "utf-16-be"), noted="UTF-16"),
    "UTF-16 cut in a character": Case(raw(table().encode("utf-16")[:-1]), refused="is not UTF-16 text"),
    "UTF-32": Case(text(table(), "utf-32"), refused="is UTF-32 text, which is not supported"),
    "Latin-1": Case(text(table(), "latin-1"), noted="Windows-1252"),
    "UTF-8 with one line of Latin-1": Case(
        text(table(), end="1.5;1;Zürich\n".encode("latin-1")), refused=r"other bytes in it \(1, the first in line 26\)"),
    "a zero byte": Case(text(table(t=lambda i: "K\0ln")), refused="has NUL bytes"),
    # lines and cells
    "line ends of old Macs": Case(text(table().replace("\n", "\r"))),
    "two kinds of line ends": Case(text(table().replace("\n", "\r\n", 9))),
    "empty lines at the end": Case(text(table() + "\n\n\n")),
    "a short line": Case(text(table() + "1;2\n"), refused="Expected 3 columns, got 2 in line 26"),
    "a long line": Case(text(table() + "1;2;a;b\n"), refused="Expected 3 columns, got 4 in line 26"),
    "an open quotation mark": Case(text(table() + '1;2;"abc\n'), refused="opens in line 26 and is never closed"),
    "a quotation mark in a cell": Case(text(table(t=lambda i: 'a"b'))),
    "line breaks in cells": Case(text(table(t=lambda i: '"a\nb"'))),
    "texts of 30,000 characters": Case(text(table(t=lambda i: "w" * 30_000))),
    "texts that look like formulas": Case(text(table(t=lambda i: "=1+1"))),
    "an infinite number": Case(text(table() + "inf;1;a\n"), refused="'x' has 1 infinite values"),
    "a line of totals": Case(text(table() + "Total;;\n"), refused=r"contains text in 1 of 25 cells \(line 26, column 1\)"),
    "postcodes with leading zeros": Case(text(table(s=lambda i: f"0{i:04d}"))),
    "whole numbers beyond 2**53": Case(text(table(s=lambda i: str(2**53 + 1 + 2 * i), t=lambda i: "9" * 24 + str(i)))),
    "decimals with more digits than a float": Case(
        text(table(s=lambda i: f"{i}.1234567890123456", t=lambda i: f"{i}." + "7" * 30))),
    "numbers with currency signs": Case(text(table(x=lambda i: f"€{i}.5")), refused="contains text in 24 of 24 cells"),
    # dates
    "dates of two forms": Case(text(table(t=lambda i: f"2024-01-{day(i)}" if i % 2 else f"{day(i)}.01.2024"))),
    "dates with one time zone": Case(text(table(t=lambda i: f"2024-01-{day(i)}T10:00:00+01:00"))),
    "dates with two time zones": Case(text(table(t=lambda i: f"2024-01-{day(i)}T10:00:00+0{i % 2 + 1}:00"))),
    "dates before 1582": Case(text(table(t=lambda i: f"1500-02-{day(i)}"))),
    "the year 0": Case(text(table(t=lambda i: f"0000-02-{day(i)}"))),
    "24 o'clock": Case(text(table(t=lambda i: f"2024-01-{day(i)} 24:00"))),
    "days and months that cannot be told apart": Case(
        text(table(t=lambda i: f"{i % 12 + 1:02d}/0{i % 9 + 1}/2024")), refused="State the form"),
    # headers
    "two columns of one name": Case(text(table(header="x;s;s")), refused="duplicate column names: 's'"),
    "names that differ in case": Case(text(table(header="x;S;s")), columns=("S", "s")),
    "a column without a name": Case(text(table(header="x;;t")), columns=("column 2", "t")),
    "a name with a line break": Case(text(table(header='x;s;"t\nu"')), columns=("s", "t\nu")),
    "a name of 5,000 characters": Case(text(table(header="x;s;" + "t" * 5000)), columns=("s", "t" * 5000)),
    "names with blanks around them": Case(text(table(header="x; s ; t ")), columns=(" s ", " t ")),
    "a title above the header": Case(text("Survey 2024\n\n" + table()), refused="Remove titles above the header"),
    "a title with empty cells": Case(text("Survey 2024;;\n" + table()), refused="has a name for 1 of 3 columns"),
    "a line for Excel": Case(text("sep=;\n" + table()), refused=r"is for Excel alone \(sep=;\)\. Remove it"),
    # files
    "nothing": Case(raw(b""), refused="is empty"),
    "a byte order mark alone": Case(raw(b"\xef\xbb\xbf"), refused="has no header line"),
    "line ends alone": Case(raw(b"\n\n"), refused="has no header line"),
    "a web page": Case(raw(b"<html><table><tr><td>98765.4321</td></tr></table></html>"), refused="looks like a web page"),
    "a spreadsheet named as CSV": Case(sheet(), refused=r"looks like a spreadsheet \(\.xlsx, \.ods\)"),
    "a Parquet file named as CSV": Case(renamed(lambda f, p: f.to_parquet(p)), refused=r"looks like a Parquet file"),
    "an SPSS file named as CSV": Case(
        renamed(lambda f, p: pyreadstat.write_sav(f, str(p))), refused="looks like a file of SPSS"),
    "a compressed file named as CSV": Case(
        raw(gzip.compress(table().encode())), refused=r"looks like a compressed file \(\.gz\)"),
    "CSV named as Parquet": Case(text(table(x=lambda i: CELL)), ".parquet", "looks like text, perhaps CSV"),
    "CSV named as a spreadsheet": Case(text(table(x=lambda i: CELL)), ".xlsx", "looks like text, perhaps CSV"),
    "a web page named as a spreadsheet": Case(raw(b"<html>98765.4321</html>"), ".xls", "looks like a web page"),
    "CSV named as compressed": Case(text(table(x=lambda i: CELL)), ".csv.gz", "it is damaged or incomplete"),
    "a compressed file cut short": Case(raw(gzip.compress(table().encode())[:-12]), ".csv.gz", "it is damaged or incomplete"),
    "an archive of one file": Case(packed("a.csv", "__MACOSX/._a.csv"), ".zip"),
    "an archive of two files": Case(packed("a.csv", "b.csv"), ".zip", r"contains 2 files: a\.csv, b\.csv"),
    "an archive of no file": Case(packed(), ".zip", "contains 0 files"),
    "an archive of a document": Case(packed("a.pdf"), ".zip", r"contains a\.pdf, which is not a CSV file"),
    "an archive cut short": Case(packed("a.csv", keep=-30), ".zip", "it is damaged or incomplete"),
    # sheets
    "merged cells": Case(sheet(lambda b, p: p.merge_range(1, 2, 4, 2, "one")), ".xlsx", noted=r"are merged \(1 times\)"),
    "a merged title": Case(sheet(lambda b, p: p.merge_range(0, 0, 0, 2, "Survey"), at=1), ".xlsx", "a name for 1 of 3 columns"),
    "formulas": Case(sheet(formulas), ".xlsx"),
    "dates and times": Case(sheet(dated), ".xlsx"),
    "dates since 1904": Case(sheet(dated, date_1904=True), ".xlsx"),
    "a first sheet without cells": Case(empty_first, ".xlsx", "the sheet 'Sheet1' is empty"),
    "a table that begins lower down": Case(sheet(at=5), ".xlsx"),
    "a hidden first sheet": Case(sheet(hidden_first), ".xlsx", noted="with cells that is not hidden, 'data'"),
    "a chart before the cells": Case(chart_first, ".xlsx", noted="with cells that is not hidden, 'data'"),
    "a formula that failed": Case(with_error("#DIV/0!"), ".xlsx"),
    "a formula that failed in a newer way": Case(with_error("#SPILL!"), ".xlsx", "such as #SPILL! or #CALC!, empty it"),
    "a footnote": Case(sheet(lambda b, p: p.write(N + 2, 0, "Source: office")), ".xlsx", "contains text in 1 of 25 cells"),
    "names with line breaks": Case(sheet(header=("x", "s\n(EUR)", "t")), ".xlsx", columns=("s\n(EUR)", "t")),
    "numbers as text": Case(sheet(lambda b, p: p.write_column(1, 0, [str(i) + ".5" for i in range(N)])), ".xlsx",
                            "has numbers stored as text"),
}
REFUSED = [name for name, case in CASES.items() if case.refused]
WHOLE = [name for name, case in CASES.items() if not case.refused]


def cells(path: Path, suffix: str, columns: tuple[str, ...]) -> list[list[Any]]:
    """Cells of the columns that are not masked, read without this package; empty names are numbered."""
    if suffix == ".xlsx":
        every = pd.read_excel(path, engine="calamine", header=None, sheet_name=None)
        frame = every.get("data", next(iter(every.values()))).dropna(how="all")
        return [[None if pd.isna(v) else v for v in frame.loc[:, frame.iloc[0] == n].iloc[1:, 0]] for n in columns]
    content = path.read_bytes()
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            content = archive.read("a.csv")
    wide = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}.get(content[:2], "")
    guessed = wide or ("utf-16-le" if content[1:2] == b"\0" else "utf-16-be" if content[:1] == b"\0" else "utf-8-sig")
    try:
        plain = content.decode(guessed)
    except UnicodeDecodeError:
        plain = content.decode("latin-1")
    rows = [row for row in csv.reader(io.StringIO(plain, newline=""), delimiter=";") if row]
    names = [n or f"column {i}" for i, n in enumerate(rows[0], 1)]
    return [[row[names.index(n)] for row in rows[1:]] for n in columns]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", WHOLE)
def test_untouched_cells_come_back(tmp_path, name, engine):
    case = CASES[name]
    source = tmp_path / f"in{case.suffix}"
    target = tmp_path / ("out.csv" if case.suffix == ".zip" else f"out{case.suffix}")
    case.make(source)

    def release() -> None:
        data = lv.read(source, confidential=["x"], non_confidential=list(case.columns), engine=engine)
        lv.mask(data, "additive_noise", secret=SECRET).write(target, row_order="keep")

    if case.noted:
        with pytest.warns(LarvatusWarning, match=case.noted):
            release()
    else:
        release()
    assert cells(target, target.suffix, case.columns) == cells(source, case.suffix, case.columns)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", REFUSED)
def test_one_sentence_says_what_to_do_and_nothing_is_left(tmp_path, monkeypatch, name, engine):
    case, work = CASES[name], tmp_path / "work"
    source = tmp_path / f"in{case.suffix}"
    case.make(source)
    monkeypatch.setenv("LARVATUS_TEMP", str(work))
    with pytest.raises(LarvatusError, match=case.refused) as caught:
        lv.mask(lv.read(source, confidential="x", non_confidential=["s", "t"], engine=engine), "additive_noise", secret=SECRET)
    assert len(str(caught.value).splitlines()) == 1
    assert CELL not in str(caught.value)
    assert {p.name for p in tmp_path.iterdir()} <= {f"in{case.suffix}", "work"}
    assert not list(work.rglob("*.parquet"))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_small_spreadsheet_that_unpacks_to_more_than_the_memory_is_refused(tmp_path, monkeypatch, engine):
    sheet()(tmp_path / "in.xlsx")
    monkeypatch.setattr("larvatus.engines._files.spreadsheets.usable_memory", lambda: 30_000)
    with pytest.raises(LarvatusError, match=r"in\.xlsx needs about 0\.0 GB of memory to be read.*Save the sheet as CSV"):
        lv.read(tmp_path / "in.xlsx", confidential="x", engine=engine)
    assert len(list(tmp_path.iterdir())) == 1
