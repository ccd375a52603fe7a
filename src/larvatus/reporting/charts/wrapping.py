"""Text in lines that fit a width. No letter is left out: long words are broken."""

from __future__ import annotations

from html import escape

from larvatus.reporting.figures.svg import LETTER, element

LINE = 15.0  # height of a line in pixels


def wrap_name(name: str, width: float, letter: float = LETTER) -> list[str]:
    """The text in lines of at most this width; breaks at spaces, and inside a word only if it is longer than a line."""
    most = max(4, int(width / letter))
    lines: list[str] = []
    for word in name.split(" "):
        parts = [word[i : i + most] for i in range(0, len(word), most)] or [""]
        for i, part in enumerate(parts):
            if i == 0 and lines and len(lines[-1]) + 1 + len(part) <= most:
                lines[-1] += f" {part}"
            else:
                lines.append(part)
    return lines


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
    return max((len(said) for said in lines), default=0) * letter
