"""What steps say to the public, with every long figure rounded: a bound in full is somebody's own value."""

from __future__ import annotations

import re

from larvatus.data.notes import Note

FIGURE = re.compile(r"(?<![\w.,])[-−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w,]|\.\d)")
DIGITS = 3
LONG = 5  # digits that a figure needs to be taken for a value; four in a promise, which states bounds and means


def public_note(note: Note) -> str:
    """The note's text; counts have separators and stay as they are."""
    least = LONG - note.promise
    return FIGURE.sub(lambda found: _rounded(found.group(), least), str(note))


def _rounded(figure: str, least: int) -> str:
    if len(re.sub(r"e.*|[-−.]", "", figure).strip("0")) < least:
        return figure
    value = float(f"{float(figure.replace('−', '-')):.{DIGITS}g}")
    said = f"{value:,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.{DIGITS}g}"
    return f"about {said}"
