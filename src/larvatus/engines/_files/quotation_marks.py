"""Quotation marks in CSV files. A field that opens with one ends at its closing mark; the delimiter or a line end must follow.

    file   = ( text | mark inside a field | quoted field )*
    quoted = "  ( text | "" )*  "   followed by the delimiter, the end of the line or the end of the file

A reader that meets an open mark would take everything up to the next mark, or the rest of the file, as one cell. A mark inside
a field that does not open with one is a character like any other. If a later mark closes an open one by chance, the lines
between have as many delimiters as a record; such a file is refused too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from larvatus.core.errors import ReadError
from larvatus.data.csv_files.dialect import CsvDialect
from larvatus.engines._files.text_stream import utf8_blocks

_BREAK = re.compile(rb"\r\n|\n|\r")
Blocks = Callable[[], Iterator[bytes]]


def check_quotation_marks(path: Path, dialect: CsvDialect) -> None:
    """Raise an error that names the line in which a quotation mark opens and is not closed properly, or a NUL byte stands."""
    blocks = partial(utf8_blocks, path, dialect)
    problem = _swallowed(blocks, dialect) if _alternate(blocks, dialect) else _problem(blocks, dialect)
    if problem:
        raise ReadError(f"{path.name}: {problem}")


def _with_neighbours(blocks: Blocks) -> Iterator[tuple[int, bytes]]:
    """Blocks with one byte of the one before and one of the next, a line end at both ends of the file.

    The number is the place in the file of the block's first own byte, which is its second byte here.
    """
    before, place, held = b"\n", 0, b""
    for block in blocks():
        if held:
            yield place, before + held + block[:1]
            before, place = held[-1:], place + len(held)
        held = block
    if held:
        yield place, before + held + b"\n"


def _alternate(blocks: Blocks, dialect: CsvDialect) -> bool:
    """Whether marks open and close in turn, at the edges of fields: a quick look that settles most files.

    Every odd mark follows a delimiter, a line end or an even mark, and every even one precedes such a place. A file with a NUL
    byte does not pass.
    """
    edge, before = np.zeros(256, dtype=bool), 0
    quote = ord(dialect.quote) if dialect.quote else 0
    edge[[ord("\n"), ord("\r"), quote, ord(dialect.delimiter)]] = True
    for _, block in _with_neighbours(blocks):
        if b"\0" in block:
            return False
        if not dialect.quote or dialect.quote.encode() not in block:
            continue
        content = np.frombuffer(block, dtype=np.uint8)
        marks = 1 + np.flatnonzero(content[1:-1] == quote)
        opening, closing = marks[before % 2 :: 2], marks[1 - before % 2 :: 2]
        before += len(marks)
        if not (edge[content[opening - 1]].all() and edge[content[closing + 1]].all()):
            return False
    return before % 2 == 0


def _swallowed(blocks: Blocks, dialect: CsvDialect) -> str:
    """The problem if every whole line inside quoted fields has the delimiters of a record; for files whose marks alternate."""
    if not dialect.quote:
        return ""
    before, columns, alike, first = 0, 0, 0, -1
    for start, block in _with_neighbours(blocks):
        own = block[1:-1]
        if not start:
            columns = _BREAK.split(own, maxsplit=1)[0].count(dialect.delimiter.encode())
        content = np.frombuffer(own, dtype=np.uint8)
        mark = np.cumsum(content == ord(dialect.quote)) + before
        ends = np.flatnonzero(content == ord("\n"))
        before = int(mark[-1]) if len(mark) else before
        inside = mark[ends] % 2 == 1
        for k in np.flatnonzero(inside[:-1] & inside[1:] & (mark[ends][:-1] == mark[ends][1:])):
            if own[ends[k] + 1 : ends[k + 1]].count(dialect.delimiter.encode()) != columns:
                return ""
            alike, first = alike + 1, start + int(ends[k]) if first < 0 else first
    if not columns or alike < (1 if columns > 1 else 2):
        return ""
    return (f"a quoted cell holds line {_line(blocks, first) + 1}, which has as many delimiters as a record ({alike:,} such "
            "lines). A quotation mark was probably opened and not closed. Close or remove it, or take the line breaks out of "
            "the cell.")


def _problem(blocks: Blocks, dialect: CsvDialect) -> str:
    """What the first problem is, or nothing: a NUL byte, a mark that is not closed, or text after a closing mark."""
    edges, quote = {ord("\n"), ord("\r"), ord(dialect.delimiter)}, dialect.quote.encode() or b"\0"
    special, opens, escaped = re.compile(b"[\0" + re.escape(quote) + b"]"), -1, -1
    for start, block in _with_neighbours(blocks):
        for found in special.finditer(block, 1, len(block) - 1):
            here, place = found.start(), start + found.start() - 1
            if found[0] == b"\0":
                return f"line {_line(blocks, place)} has a NUL byte: the file is damaged or not text. Repair it."
            if opens < 0:
                if block[here - 1] in edges or place == 0:
                    opens = place
            elif place == escaped:  # the second of two marks inside a field
                escaped = -1
            elif block[here + 1 : here + 2] == quote:
                escaped = place + 1
            elif block[here + 1] in edges:
                opens = -1
            else:
                first, last = _line(blocks, opens), _line(blocks, place)
                return (f"a quotation mark opens in line {first}, and text follows the closing one in line {last}. Close or "
                        "remove it; a mark inside a quoted field is written twice.")
    if opens < 0:
        return ""
    return (f"a quotation mark opens in line {_line(blocks, opens)} and is never closed: the rest of the file would be "
            "read as one cell. Close or remove it.")


def _line(blocks: Blocks, place: int) -> int:
    """The line of a byte of the file."""
    ends = 0
    for start, block in _with_neighbours(blocks):
        own = block[1 : 1 + max(min(place - start, len(block) - 2), 0)]
        ends += sum(1 for _ in _BREAK.finditer(own))
        if start and block[:1] == b"\r" and own[:1] == b"\n":
            ends -= 1  # a line end that two blocks share
    return 1 + ends
