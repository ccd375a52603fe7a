"""The time of writing in files of SPSS, Stata and SAS: replaced by a fixed one, so that the same release is the same bytes."""

from __future__ import annotations

import re
from pathlib import Path

_SPSS_AT, _SPSS = 92, b"01 Jan 7000:00:00"  # date and time in the file header, after the bias of compression
_STATA_END, _STATA = b"</timestamp></header>", b"01 Jan 1970 00:00"
_SAS_AT, _SAS, _SAS_SHAPE = (144, 160, 464, 480), b"01JAN70:00:00:00", rb"\d\d[A-Z]{3}\d\d:\d\d:\d\d:\d\d"
_HEADER = 4096  # bytes, enough for the header of each format


def fix_writing_time(path: Path) -> None:
    """Replace the time of writing in a file that was just written; other bytes stay."""
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
