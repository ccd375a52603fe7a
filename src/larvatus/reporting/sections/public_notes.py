"""What steps say to the public, with figures rounded: a bound or a mean in full is somebody's own value.

The figures that a note names as values of the data lose a digit, however short they are, and are called approximate: a bound
may be somebody's own value, and a whole number. A promise that names none has all its figures rounded. Elsewhere only long
figures are taken for values.
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
    """The note's text; counts have separators and stay as they are."""

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
