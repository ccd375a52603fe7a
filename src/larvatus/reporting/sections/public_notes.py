"""Notes of steps for the public, with figures rounded: an exact bound or mean may be the value of one person.

Promises state bounds and means of the data. These always lose a digit and are marked as approximate, because even a short
figure may be somebody's value. In other notes only long figures are treated as values.
"""

from __future__ import annotations

import re

from larvatus.data.notes import Note

_NUMBER = r"[-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w,]|\.\d)"
_FIGURE = re.compile(rf"(?<![\w.,]){_NUMBER}")
STATED = re.compile(rf"(?<=\babove |\bbelow )({_NUMBER})|(?<=\bis )({_NUMBER})")
_DIGITS = 3
_LEAST = 2
_LONG = 5  # digits that a figure needs to be taken for a value


def public_note(note: Note) -> str:
    """The text of the note; counts have separators and do not change."""
    said = _FIGURE.sub(lambda found: _rounded(found.group()) if _digits(found.group()) >= _LONG else found.group(), str(note))
    return STATED.sub(lambda found: _rounded(found.group()), said) if note.promise else said


def _digits(figure: str) -> int:
    return len(re.sub(r"e.*|[-−.]", "", figure).strip("0"))


def _rounded(figure: str) -> str:
    digits = min(_DIGITS, max(_LEAST, _digits(figure) - 1))
    value = float(f"{float(figure.replace('−', '-')):.{digits}g}")
    said = f"{value:,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.{_DIGITS}g}"
    return f"about {said}"
