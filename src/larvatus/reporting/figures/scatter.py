"""Scatter plots of the pairs that changed most, original and released side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from larvatus.comparison.headline import Headline
from larvatus.core.number_format import EXACT, count, quote, share
from larvatus.data.score import Score
from larvatus.reporting.figures.release_selection import select_releases
from larvatus.reporting.figures.scatter_grids import Grid, GridCells, GridPair, grids_of, pair_losses, select_pairs
from larvatus.reporting.figures.small_multiples import WIDTH, Frame, columns, heading, value_ticks
from larvatus.reporting.figures.svg import document, element, line, shorten, text
from larvatus.reporting.figures.value_axis import ValueAxis
from larvatus.reporting.page.blocks import Figure, ReportBlock

_MOST_PAIRS = 4
_WIDENING = " Cells are wider in the tails, so the axes are not to scale."


def scatter_figures(heads: Sequence[Headline], scores: Sequence[Score | None]) -> list[ReportBlock]:
    """One figure: one row for each of the worst pairs, one panel for the original and each release."""
    drawn, left_out = select_releases(heads, scores)
    grids = grids_of([score for _, score in drawn])
    found = [(head, g, pair_losses(score)) for (head, score), g in zip(drawn, grids, strict=True) if g]
    pairs = select_pairs([g for _, g, _ in found], _MOST_PAIRS)
    if not pairs:
        return []
    rows = [
        ScatterRow(*pair, tuple(_panel(head, g[pair], losses.get(pair)) for head, g, losses in found if pair in g))
        for pair in pairs
    ]
    title = "Scatter plots of the pairs that changed most"
    sentence = _sentence(found, pairs) + left_out
    if any(len(row.panels) < len(found) for row in rows):
        sentence += " Each release is shown for the pairs that changed most in it."
    if any(axis.widens for row in rows for axis in (row.panels[0].grid.x, row.panels[0].grid.y)):
        sentence += _WIDENING
    return [Figure(title, sentence, draw_scatter(title, sentence, rows))]


def _panel(head: Headline, grid: Grid, lost: float | None) -> ScatterPanel:
    return ScatterPanel(head.name, "" if lost is None else "unchanged" if lost < EXACT else f"{share(lost)} change cell", grid)


def _sentence(found: Sequence[tuple[Headline, Mapping[GridPair, Grid], Mapping[GridPair, float]]],
              pairs: Sequence[GridPair]) -> str:
    """The releases that change most and least, over the drawn pairs."""
    means = []
    for head, _, losses in found:
        known = [losses[p] for p in pairs if p in losses]
        if known:
            means.append((sum(known) / len(known), head.name))
    over = "For this pair" if len(pairs) == 1 else f"On average over these {count(len(pairs))} pairs"
    if not means:
        return f"{over}, the share of records that would have to change cell is not known."
    (low, least), (high, most) = min(means), max(means)
    if len(means) == 1 or low == high:
        return f"{over}, {share(high)} of the records would have to change cell to restore the original."
    return (
        f"{over}, {quote(least)} changes least ({share(low)} of the records would have to change cell to restore the "
        f"original) and {quote(most)} changes most ({share(high)})."
    )


_TOP, _NAMES, _FOOT, SIDE, _START = 34.0, 62.0, 42.0, 180.0, 44.0
_LEVELS = 8


@dataclass(frozen=True, slots=True)
class ScatterPanel:
    """The grid of one release with its loss in words."""

    name: str
    said: str
    grid: Grid


@dataclass(frozen=True, slots=True)
class ScatterRow:
    """A pair of columns in the releases that have a grid for it."""

    first: str
    second: str
    panels: tuple[ScatterPanel, ...]


def draw_scatter(title: str, sentence: str, rows: Sequence[ScatterRow]) -> str:
    """All rows; within a row every panel has the same axes and the same colours."""
    places = columns(max(len(row.panels) for row in rows) + 1, _START)
    high = _NAMES + min(places[0][1], SIDE) + _FOOT
    body = [_legend(), *(_row(row, _TOP + high * i, places) for i, row in enumerate(rows))]
    return document(title, sentence, WIDTH, _TOP + high * len(rows) - 10, "".join(body))


def _row(row: ScatterRow, y: float, places: Sequence[tuple[float, float]]) -> str:
    first, side = row.panels[0].grid, min(places[0][1], SIDE)
    deepest = max(max(cells.values()) for p in row.panels for cells in (p.grid.original, p.grid.released))
    name = f"{row.second} ↑ by {row.first} →"
    out = [line(0, y + 2, WIDTH, y + 2, "grid"), text(0, y + 20, shorten(name, WIDTH), "row", hint=name)]
    drawn = [("original", "", first.original, "before"), *((p.name, p.said, p.grid.released, "after") for p in row.panels)]
    for (x, wide), (panel, said, cells, class_) in zip(places, drawn, strict=False):
        frame = Frame(x, y + _NAMES, side, side)
        out += [heading(x, y + 39, wide, panel, said), _cells(first, cells, frame, deepest, class_)]
        out.append(value_ticks(first.x, frame))
    return "".join((*out, _side_ticks(first.y, Frame(_START, y + _NAMES, side, side))))


def _side_ticks(axis: ValueAxis, frame: Frame) -> str:
    return "".join(text(frame.x - 6, frame.up(part) + 4, said, "tick", "end") for part, said in axis.ticks((0.1, 0.5, 0.9)))


def _cells(grid: Grid, cells: GridCells, frame: Frame, deepest: float, class_: str) -> str:
    """One path for each depth of colour, in units of cells."""
    levels: dict[int, list[str]] = {}
    ends = grid.x.ends, grid.y.ends
    for (i, j), part in cells.items():
        levels.setdefault(_level(part, deepest), []).append(_square(ends[0][i : i + 2], ends[1][j : j + 2], frame))
    out = [element("rect", x=frame.x, y=frame.y, width=frame.wide, height=frame.high, class_="field")]
    out += [element("path", d="".join(parts), class_=f"heat {class_}", fill_opacity=_opacity(level))
            for level, parts in sorted(levels.items())]
    return "".join(out)


def _square(x: Sequence[float], y: Sequence[float], frame: Frame) -> str:
    left, right, low, high = frame.along(x[0]), frame.along(x[1]), frame.up(y[0]), frame.up(y[1])
    return f"M{left:.1f} {low:.1f}H{right:.1f}V{high:.1f}H{left:.1f}z"


def _level(share: float, deepest: float) -> int:
    """From 1 to the deepest, by the root of the share, so that sparse cells remain visible."""
    return max(1, math.ceil(_LEVELS * math.sqrt(share / deepest)))


def _opacity(level: int) -> str:
    return f"{0.1 + 0.9 * level / _LEVELS:.2f}"


def _legend() -> str:
    out = [text(0, 16, "few", "tick")]
    for class_, x in (("before", 28), ("after", 28)):
        y = 2 if class_ == "before" else 11
        out += [element("rect", x=x + 14 * (n - 1), y=y, width=14, height=9, class_=f"heat {class_}", fill_opacity=_opacity(n))
                for n in range(1, _LEVELS + 1)]
    return "".join((*out, text(34 + 14 * _LEVELS, 16, "many records in a cell; grey: original, coloured: released", "tick")))
