"""Notes of steps for the public, with figures rounded: an exact bound or mean may be the value of one person.

The figures that a note names as values of the data always lose a digit and are marked as approximate, because even a short
figure may be somebody's value. In a promise that names none, every figure is rounded. In other notes only long figures are.
"""

from __future__ import annotations

import re

from larvatus.data.notes import Note

_NUMBER = r"[-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w,]|\.\d)"
_FIGURE = re.compile(rf"(?<![\w.,]){_NUMBER}")
_DIGITS = 3
_LEAST = 2
_LONG = 5  # digits that a figure needs to be taken for a value


def public_note(note: Note) -> str:
    """The text of the note; counts have separators and do not change."""

    def shown(found: re.Match[str]) -> str:
        figure = found.group()
        stated = figure in note.figures if note.figures else note.promise
        return _rounded(figure) if stated or _digits(figure) >= _LONG else figure

    return _FIGURE.sub(shown, str(note))


def _digits(figure: str) -> int:
    return len(re.sub(r"e.*|[-−.]", "", figure).strip("0"))


def _rounded(figure: str) -> str:
    digits = min(_DIGITS, max(_LEAST, _digits(figure) - 1))
    value = float(f"{float(figure.replace('−', '-')):.{digits}g}")
    said = f"{value:,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.{_DIGITS}g}"
    return f"about {said}"
