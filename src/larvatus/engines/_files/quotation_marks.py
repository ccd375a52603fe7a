"""Quotation marks in CSV files. A field that opens with one ends at its closing mark; the delimiter or a line end must follow.

    file   = ( text | mark inside a field | quoted field )*
    quoted = "  ( text | "" )*  "   followed by the delimiter, the end of the line or the end of the file

A reader that meets an open mark would take everything up to the next mark, or the rest of the file, as one cell. A mark inside
a field that does not open with one is a character like any other.
"""

from __future__ import annotations

import mmap
import re
from pathlib import Path

import numpy as np

from larvatus.core.errors import ReadError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLOCK = 1 << 18
_BREAK, _MARK = re.compile(rb"\r\n|\n|\r"), re.compile(b'"')


def check_quotation_marks(path: Path, delimiter: str) -> None:
    """Raise an error that names the line in which a quotation mark opens and is not closed properly."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find(b'"') < 0:
            return
        start = len(BYTE_ORDER_MARK) if content[:3] == BYTE_ORDER_MARK else 0
        with memoryview(content) as whole, whole[start:] as text:
            problem = "" if _alternate(text, delimiter) else _problem(text, delimiter)
    if problem:
        raise ReadError(f"{path.name}: a quotation mark opens in line {problem}")


def _alternate(text: memoryview, delimiter: str) -> bool:
    """Whether marks open and close in turn, at the edges of fields: a quick look that settles most files.

    Every odd mark follows a delimiter, a line end or an even mark, and every even one precedes such a place.
    """
    content, before = np.frombuffer(text, dtype=np.uint8), 0
    edge = np.zeros(256, dtype=bool)
    edge[[ord("\n"), ord("\r"), ord('"'), ord(delimiter)]] = True
    for low in range(0, len(content), _BLOCK):
        marks = low + np.flatnonzero(content[low : low + _BLOCK] == ord('"'))
        opening, closing = marks[before % 2 :: 2], marks[1 - before % 2 :: 2]
        before += len(marks)
        opening, closing = opening[opening > 0], closing[closing < len(content) - 1]
        if not (edge[content[opening - 1]].all() and edge[content[closing + 1]].all()):
            return False
    return before % 2 == 0


def _problem(text: memoryview, delimiter: str) -> str:
    """Where the first open mark is and what follows, or nothing if all are closed."""
    edges = {ord("\n"), ord("\r"), ord(delimiter)}
    opens = _first_open(text, edges)
    if opens == len(text):
        return ""
    closes = _closing(text, opens)
    line = _line(text, opens)
    if closes == len(text):
        return f"{line} and is never closed: the rest of the file would be read as one cell. Close or remove it."
    return (f"{line}, and text follows the closing one in line {_line(text, closes)}. Close or remove it; a mark inside a "
            "quoted field is written twice.")


def _first_open(text: memoryview, edges: set[int]) -> int:
    """The place of the first mark that opens a field and is not closed at the end of one; the end of the file if none is."""
    place = 0
    while mark := _MARK.search(text, place):
        opens = mark.start()
        if opens and text[opens - 1] not in edges:  # inside a field
            place = opens + 1
            continue
        closes = _closing(text, opens)
        if closes == len(text) or (closes + 1 < len(text) and text[closes + 1] not in edges):
            return opens
        place = closes + 1
    return len(text)


def _closing(text: memoryview, opens: int) -> int:
    """The place of the mark that closes a quoted field, in which two marks stand for one; the end of the file if none does."""
    place = opens + 1
    while mark := _MARK.search(text, place):
        closes = mark.start()
        if closes + 1 == len(text) or text[closes + 1] != ord('"'):
            return closes
        place = closes + 2
    return len(text)


def _line(text: memoryview, place: int) -> int:
    return 1 + sum(1 for _ in _BREAK.finditer(text, 0, place))
