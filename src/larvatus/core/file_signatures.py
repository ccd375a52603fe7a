"""What a file is by its first bytes, whatever its name says; for messages on files that cannot be read."""

from __future__ import annotations

from pathlib import Path

_SIGNATURES = (
    (b"PK\x03\x04", "a spreadsheet (.xlsx, .ods) or an archive (.zip)"), (b"PK\x05\x06", "an empty archive (.zip)"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file (.xls) or a workbook with a password"), (b"PAR1", "a Parquet file (.parquet)"),
    (b"$FL2", "a file of SPSS (.sav)"), (b"$FL3", "a file of SPSS (.zsav)"), (b"<stata_dta>", "a file of Stata (.dta)"),
    (b"HEADER RECORD*******", "a transport file of SAS (.xpt)"),
    (b"\0" * 12 + b"\xc2\xea\x81\x60", "a file of SAS (.sas7bdat)"),
    (b"\x1f\x8b", "a compressed file (.gz)"), (b"\x28\xb5\x2f\xfd", "a compressed file (.zst)"), (b"%PDF", "a PDF document"),
    (b"ARROW1", "an Arrow file (.arrow)"), (b"SQLite format 3\0", "a database of SQLite (.sqlite)"),
)
_PAGES = (b"<html", b"<!doctype html", b"<table", b"<?xml")
LONGEST = 512


def kind_by_content(start: bytes) -> str:
    """What a file seems to be, such as `a Parquet file (.parquet)`; empty if its first bytes do not tell."""
    known = next((kind for mark, kind in _SIGNATURES if start.startswith(mark)), "")
    page = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:40].lower()
    return known or ("a web page or an XML document" if page.startswith(_PAGES) else "")


def likeness(path: Path) -> str:
    """A clause for a message on a file that is not what its name says; empty if its first bytes do not tell."""
    try:
        with path.open("rb") as file:
            start = file.read(LONGEST)
    except OSError:
        return ""
    kind = kind_by_content(start) or ("text, perhaps CSV (.csv)" if _is_text(start) else "")
    return f"; it looks like {kind}" if kind else ""


def _is_text(start: bytes) -> bool:
    return bool(start) and not any(byte < 32 and byte not in b"\t\r\n\f" for byte in start)
