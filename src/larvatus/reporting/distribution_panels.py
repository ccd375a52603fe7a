"""Histograms and cumulated shares of original and released values, one row per variable, one panel per release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from larvatus.reporting.histograms import Histogram, cumulated
from larvatus.reporting.numbers import EXACT, share
from larvatus.reporting.panels import WIDTH, Frame, base_line, columns, heading, rising, steps, value_ticks
from larvatus.reporting.svg import document, element, line, shortened, text, text_width

TOP, NAMES, HIGH, BETWEEN, CUMULATED, FOOT = 34.0, 62.0, 74.0, 10.0, 46.0, 38.0
BESIDE = 2  # panels up to which cumulated shares stand beside the histogram instead of below it


@dataclass(frozen=True, slots=True)
class Panel:
    """A histogram under its name."""

    name: str
    histogram: Histogram


@dataclass(frozen=True, slots=True)
class Row:
    """Panels that share their heading and the height of their scale."""

    heading: str
    panels: tuple[Panel, ...]


def drawn_distributions(
    title: str, sentence: str, rows: Sequence[Row], binned: str = "bin", verb: str = "change bin"
) -> str:
    """All rows, each on its own scale, so that panels beside each other can be compared."""
    most = max(len(row.panels) for row in rows)
    high = NAMES + HIGH + FOOT + (0 if most <= BESIDE else BETWEEN + CUMULATED)
    body = [_legend(most <= BESIDE, binned)]
    body += [_row(row, TOP + high * i, most, verb) for i, row in enumerate(rows)]
    return document(title, sentence, WIDTH, TOP + high * len(rows) - 12, "".join(body))


def _row(row: Row, y: float, most: int, verb: str) -> str:
    highest = max(h for p in row.panels for side in (p.histogram.original, p.histogram.released)
                  for h in p.histogram.heights(side))
    out = [line(0, y + 2, WIDTH, y + 2, "grid"), text(0, y + 20, shortened(row.heading, WIDTH), "row", hint=row.heading)]
    places = columns(2 * most if most <= BESIDE else most)
    for i, panel in enumerate(row.panels):
        beside = most <= BESIDE
        x, wide = places[2 * i if beside else i]
        upper = Frame(x, y + NAMES, wide, HIGH)
        lower = Frame(places[2 * i + 1][0], y + NAMES, wide, HIGH) if beside else (
            Frame(x, upper.base + BETWEEN, wide, CUMULATED)
        )
        out.append(heading(x, y + 39, wide, panel.name, _moved(panel.histogram.moved, verb)))
        out.append(_panel(panel.histogram, upper, lower, highest))
        out.append(value_ticks(panel.histogram.axis, lower) + (value_ticks(panel.histogram.axis, upper) if beside else ""))
    return "".join(out)


def _moved(moved: float, verb: str) -> str:
    return "same in every bin" if moved < EXACT else f"{share(moved)} {verb}"


def _panel(drawn: Histogram, upper: Frame, lower: Frame, highest: float) -> str:
    ends = drawn.axis.ends
    sides = ((drawn.original, "was"), (drawn.released, "now"))
    out = [steps(ends, drawn.heights(shares), upper, class_, highest) for shares, class_ in sides]
    out += [line(lower.x, lower.up(p), lower.x + lower.wide, lower.up(p), "grid") for p in (0.5, 1.0)]
    out += [rising(ends, cumulated(shares), lower, f"{class_} line") for shares, class_ in sides]
    return "".join((*out, base_line(upper), base_line(lower)))


def _legend(beside: bool, binned: str) -> str:
    where = ("left", "right") if beside else ("above", "below")
    said = f"{where[0]}: share of records by {binned}; {where[1]}: cumulated share, 0 to 100 %"
    out = [element("rect", x=0, y=5, width=18, height=12, class_="was"), text(24, 16, "original", "tick")]
    out += [line(90, 11, 110, 11, "now line"), text(116, 16, "released", "tick")]
    return "".join((*out, text(116 + text_width("released") + 18, 16, said, "tick")))
