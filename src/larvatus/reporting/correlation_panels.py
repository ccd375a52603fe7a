"""Correlations as squares of colour: original, released and their difference, orange above zero and blue below."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from larvatus.reporting.numbers import EXACT
from larvatus.reporting.panels import WIDTH, heading
from larvatus.reporting.svg import document, element, shortened, text, text_width

GAP, LEFT, TOP, NAMES = 16.0, 150.0, 30.0, 36.0
WRITTEN = 8  # columns up to which the figures stand in the cells
LARGEST = 40.0
LEVELS = 20  # depths of colour
TIGHT = 26.0
STRONG = 0.6  # depth from which the figure is written in the colour of the paper
Matrix = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Panel:
    """One release's correlations by pair."""

    name: str
    released: Matrix
    difference: Matrix


def drawn_correlations(
    title: str, sentence: str, names: Sequence[str], original: Matrix, panels: Sequence[Panel], largest: float
) -> str:
    """As many releases in a line as stay legible, their differences below them; columns carry the rows' numbers."""
    each = 4 if len(names) <= 4 else 2
    left = min(LEFT, max(text_width(f"{len(names)} {n}") for n in names) + 8)
    beside = min(each, len(panels)) + 1
    cell = min(LARGEST, (WIDTH - left - GAP * (beside - 1)) / beside / len(names))
    high = NAMES + cell * len(names) + 22
    body, y = [_legend(largest)], TOP
    for start in range(0, len(panels), each):
        some = panels[start : start + each]
        wide = cell * len(names) + GAP
        for i, (name, matrix) in enumerate([("original", original), *((p.name, p.released) for p in some)]):
            body.append(_matrix(name, names, matrix, left + i * wide, y, cell, 1.0))
        body += [_names(names, 0, y, cell, left), _names(names, wide, y + high, cell, left)]
        for i, p in enumerate(some):
            body.append(_matrix("difference", names, p.difference, left + (i + 1) * wide, y + high, cell, largest))
        y += 2 * high
    return document(title, sentence, WIDTH, y, "".join(body))


def _names(names: Sequence[str], x: float, y: float, cell: float, left: float) -> str:
    out = []
    for i, name in enumerate(names):
        said = f"{i + 1} {name}"
        short = shortened(said, left - 8)
        out.append(text(x, y + NAMES + cell * (i + 0.5) + 4, short, hint=name if short != said else ""))
    return "".join(out)


def _matrix(name: str, names: Sequence[str], matrix: Matrix, x: float, y: float, cell: float, largest: float) -> str:
    out = [heading(x, y + 14, cell * len(names) + GAP - 6, name)]
    places: dict[tuple[str, int], list[str]] = {}
    texts: list[str] = []
    square = f"h{cell:.2f}v{cell:.2f}h-{cell:.2f}z"
    every = math.ceil((text_width(str(len(names))) + 3) / cell)
    for i, a in enumerate(names):
        if i % every == 0:
            out.append(text(x + cell * (i + 0.5), y + NAMES - 5, str(i + 1), "tick", "middle"))
        for j, b in enumerate(names):
            value = matrix.get((a, b), matrix.get((b, a)))
            if value is not None and i != j:
                places.setdefault(_colour(value, largest), []).append(f"M{x + cell * j:.1f} {y + NAMES + cell * i:.1f}{square}")
                if len(names) <= WRITTEN:
                    texts.append(_figure(value, x + cell * j, y + NAMES + cell * i, cell, largest))
    out += [element("path", d="".join(parts), class_=f"heat {tone}", fill_opacity=f"{depth / LEVELS:.2f}")
            for (tone, depth), parts in places.items() if depth]
    out += texts
    out.append(element("rect", x=x, y=y + NAMES, width=cell * len(names), height=cell * len(names), class_="frame"))
    return "".join(out)


def _colour(value: float, largest: float) -> tuple[str, int]:
    """Above or below zero, and one of a few depths, so that a path holds all cells of one colour."""
    return "above" if value > 0 else "below", round(LEVELS * min(abs(value) / largest, 1.0))


def _figure(value: float, x: float, y: float, cell: float, largest: float) -> str:
    class_ = "in" + " tight" * (cell < TIGHT) + " strong" * (_colour(value, largest)[1] > STRONG * LEVELS)
    return text(x + cell / 2, y + cell / 2 + 4, hundredths(value), class_, "middle")


def hundredths(value: float) -> str:
    """Two decimals without what every correlation has in common."""
    if abs(value) < EXACT:
        return "0"
    said = f"{abs(value):.2f}".removeprefix("0")
    return f"{'−' if value < 0 and said != '.00' else ''}{said}"


def _legend(largest: float) -> str:
    out = []
    for i in range(9):
        value = (i - 4) / 4
        class_ = "heat above" if value > 0 else "heat below"
        out.append(element("rect", x=28 + 16 * i, y=4, width=16, height=13, class_=class_, fill_opacity=f"{abs(value):.2f}"))
    out += [text(22, 15, "−1", "tick", "end"), text(178, 15, "1", "tick")]
    named = f"scale of correlations; of differences, −{largest:g} to {largest:g}"
    return "".join((*out, text(202, 15, named, "tick")))
