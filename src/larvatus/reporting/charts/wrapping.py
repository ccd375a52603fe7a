"""Text in lines that fit a width. No letter is left out: long words are broken, after a hyphen or a comma if they have one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from html import escape

from larvatus.reporting.figures.svg import LETTER, element, text_width

LINE = 15.0  # height of a line in pixels
_FEWEST = 4  # letters that fit any line
_PIECE = re.compile(r"[^-_/,;:=|+]*[-_/,;:=|+]+|[^-_/,;:=|+]+")


def wrap_name(name: str, width: float, letter: float = LETTER) -> list[str]:
    """The text in lines of at most this width; breaks at spaces, and inside a word only if it is longer than a line."""
    most = max(width, _FEWEST * letter)
    lines: list[str] = []
    for word in name.split(" "):
        for i, part in enumerate(_break_word(word, most, letter)):
            if i == 0 and lines and text_width(f"{lines[-1]} {part}", letter) <= most:
                lines[-1] += f" {part}"
            else:
                lines.append(part)
    return lines


def _break_word(word: str, most: float, letter: float) -> list[str]:
    """A word in parts that fit."""
    if text_width(word, letter) <= most:
        return [word]
    parts = [""]
    for piece in (p for long in _PIECE.findall(word) for p in _break_letters(long, most, letter)):
        if text_width(parts[-1] + piece, letter) <= most:
            parts[-1] += piece
        else:
            parts.append(piece)
    return [p for p in parts if p]


def _break_letters(piece: str, most: float, letter: float) -> Iterator[str]:
    """Parts of a piece without a place to break; a mark stays with its letter."""
    part = ""
    for one in piece:
        if part and not unicodedata.category(one).startswith("M") and text_width(part + one, letter) > most:
            yield part
            part = ""
        part += one
    yield part


def text_lines(x: float, y: float, lines: list[str], class_: str = "label", anchor: str = "start", hint: str = "") -> str:
    """Lines of text below each other; `y` is the baseline of the first."""
    if len(lines) == 1:
        inner = escape(lines[0])
    else:
        inner = "".join(element("tspan", escape(said), x=x, dy=LINE if i else 0.0) for i, said in enumerate(lines))
    title = element("title", escape(hint)) if hint else ""
    return element("text", title + inner, x=x, y=y, class_=class_, text_anchor=anchor)


def lines_width(lines: list[str], letter: float = LETTER) -> float:
    """The width of the longest line."""
    return max((text_width(said, letter) for said in lines), default=0.0)
