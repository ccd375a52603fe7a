"""Lay out tables as lines of text that fit the terminal, without losing a column.

If a table is too wide, its texts are wrapped. If that is not enough, its columns are split into several tables that repeat the
first columns. If even that does not fit, each row becomes a block. Numbers are never cut. Without a width, as in a pipe, every
row is one line.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len

from larvatus.core.number_format import cell_text

if TYPE_CHECKING:
    from larvatus.data.score import Row

_GAP, HEADER, KEYS, FEW_ROWS, _LEAST = 2, 16, 3, 2, 12


@dataclass(frozen=True, slots=True)
class TableLine:
    """A line of text, and whether it is a heading."""

    text: str
    heading: bool = False


@dataclass(frozen=True, slots=True)
class _Column:
    """One column as text: its heading, its cells, and its natural and minimum width."""

    name: str
    head: str
    cells: tuple[str, ...]
    numeric: bool
    natural: int
    least: int

    @classmethod
    def of(cls, name: str, rows: Sequence[Row]) -> _Column:
        head, cells = name.replace("_", " "), tuple(" ".join(cell_text(r.get(name)).splitlines()) for r in rows)
        numeric = all(isinstance(r.get(name), int | float | None) for r in rows)
        longest = max(map(cell_len, cells))
        heads = max(map(cell_len, textwrap.wrap(head, HEADER, break_long_words=False) or [""]))
        words = max((cell_len(part) for cell in cells for part in _parts(cell)), default=0)
        least = longest if numeric else max(words, min(longest, _LEAST))
        return cls(name, head, cells, numeric, max(longest, heads), max(least, max(map(cell_len, head.split()), default=0)))


def lay_out(rows: Sequence[Row], width: int | None) -> list[TableLine]:
    """The rows as one table, several tables or blocks, so that every column fits the width."""
    names = list(dict.fromkeys(n for row in rows for n in row))
    columns = [_Column.of(n, rows) for n in names]
    if not columns:
        return []
    if width is None:
        return _table(columns, [max(c.natural, cell_len(c.head)) for c in columns])
    widths = _fitted(columns, width)
    if widths:
        return _table(columns, widths)
    folded = _folded(columns, width) if len(rows) > FEW_ROWS else []
    if not folded:
        return _blocks(columns, width)
    parts = [_table(part, _fitted(part, width) or []) for part in folded]
    return [line for i, part in enumerate(parts) for line in ([TableLine("")] if i else []) + part]


def _fitted(columns: Sequence[_Column], width: int) -> list[int] | None:
    """Widths that fit: texts shrink, the widest first, numbers do not; None if there is no room."""
    room = width - _GAP * (len(columns) - 1)
    widths = [c.natural for c in columns]
    while sum(widths) > room:
        wide = [i for i, c in enumerate(columns) if widths[i] > c.least]
        if not wide:
            return None
        widths[max(wide, key=lambda i: widths[i])] -= 1
    return widths


def _folded(columns: Sequence[_Column], width: int) -> list[list[_Column]]:
    """Columns in parts that fit, each after the leading text columns; empty if there is no room."""
    lead = next((i for i, c in enumerate(columns) if c.numeric), len(columns))
    keys, rest = list(columns[: max(1, min(lead, KEYS))]), list(columns[max(1, min(lead, KEYS)) :])
    parts: list[list[_Column]] = []
    for column in rest:
        if parts and _fitted([*parts[-1], column], width):
            parts[-1].append(column)
        elif _fitted([*keys, column], width):
            parts.append([*keys, column])
        else:
            return []
    return parts


def _table(columns: Sequence[_Column], widths: Sequence[int]) -> list[TableLine]:
    """A table without a box, drawn by rich; headings stand on the line above the first row."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    heads = [_wrapped(c.head, w) for c, w in zip(columns, widths, strict=True)]
    tall = max(map(len, heads))
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, show_edge=False)
    for column, head, width in zip(columns, heads, widths, strict=True):
        side: Literal["left", "right"] = "right" if column.numeric else "left"
        title = Text("\n" * (tall - len(head)) + "\n".join(head))
        table.add_column(title, justify=side, width=width, overflow="fold")
    for cells in zip(*(c.cells for c in columns), strict=True):
        table.add_row(*(Text("\n".join(_wrapped(t, w))) for t, w in zip(cells, widths, strict=True)))
    console = Console(width=sum(widths) + _GAP * len(widths), color_system=None, legacy_windows=False)
    lines = ["".join(s.text for s in line).rstrip() for line in console.render_lines(table, pad=False)]
    return [TableLine(text, i < tall) for i, text in enumerate(lines)]


def _blocks(columns: Sequence[_Column], width: int) -> list[TableLine]:
    """One block per row: every heading with its cell, side by side or, if too narrow, one below the other."""
    label = max(len(c.head) for c in columns) + _GAP
    label = label if width - label >= _LEAST else _GAP
    lines: list[TableLine] = []
    for r in range(len(columns[0].cells)):
        lines += [TableLine("")] if r else []
        for column in columns:
            first, *more = _wrapped(column.cells[r], max(width - label, 1))
            if len(column.head) + _GAP <= label:
                lines.append(TableLine(f"{column.head.ljust(label)}{first}".rstrip()))
            else:
                lines += [TableLine(column.head[:width]), TableLine(" " * label + first)]
            lines += [TableLine(" " * label + text) for text in more]
    return lines


def _parts(text: str) -> list[str]:
    """Parts that are not broken: words, and parts of names between underscores and hyphens."""
    return text.replace("_", "_ ").replace("-", "- ").split()


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of at most a width, broken at blanks, after underscores and hyphens, and within words only if necessary."""
    if cell_len(text) <= width:
        return [text]
    lines, line = [], ""
    for word in text.split(" "):
        parts = _parts(word) or [""]
        for i, part in enumerate(parts):
            glue = " " if line and i == 0 else ""
            if len(line) + len(glue) + len(part) <= width:
                line += glue + part
                continue
            lines += [line] if line else []
            *full, line = textwrap.wrap(part, width) or [""]
            lines += full
    return [*lines, line] if line or not lines else lines
