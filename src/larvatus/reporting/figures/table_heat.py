"""The loss of every table of two columns as a heat map, for every release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from larvatus.comparison.headline import Headline
from larvatus.core.number_format import EXACT, finite_number, loss, plural, quote
from larvatus.data.score import Score
from larvatus.reporting.figures.correlation import draw_matrix, draw_names, round_end
from larvatus.reporting.figures.release_selection import select_releases
from larvatus.reporting.figures.small_multiples import WIDTH
from larvatus.reporting.figures.svg import document, element, text, text_width
from larvatus.reporting.page.blocks import Figure, ReportBlock

_MOST_COLUMNS, _GAP, _LEFT, _TOP, _LARGEST = 40, 16.0, 150.0, 30.0, 40.0
_Cells = Mapping[tuple[str, str], float]


def table_heat_figures(heads: Sequence[Headline], scores: Sequence[Score | None]) -> list[ReportBlock]:
    """One figure: a heat map of each release, all in the same colours; empty if there are no tables of two columns."""
    drawn, left_out = select_releases(heads, scores)
    panels = [(head.name, _cells(score)) for head, score in drawn]
    panels = [(name, cells) for name, cells in panels if cells]
    every = [(value, pair, name) for name, cells in panels for pair, value in cells.items()]
    if not every:
        return []
    worst: dict[str, float] = {}
    for value, pair, _ in every:
        for column in pair:
            worst[column] = max(value, worst.get(column, 0.0))
    names = sorted(worst, key=lambda n: (-worst[n], n))[:_MOST_COLUMNS]
    most, pair, release = max(every)
    under = f" in {quote(release)}" if len(panels) > 1 else ""
    statistic = str(drawn[0][1].settings.get("statistic", "loss"))
    sentence = f"The table of {pair[0]} and {pair[1]}{under} changes most: {statistic} {loss(most)}." if most >= EXACT else (
        "Every table is unchanged.")
    if len(worst) > len(names):
        sentence += f" The figure shows the {len(names)} of {plural(len(worst), 'column')} that changed most."
    title = f"Tables of two columns: {statistic}"
    return [Figure(title, sentence + left_out, _drawing(title, sentence, sorted(names), panels, round_end(most)))]


def _cells(score: Score) -> dict[tuple[str, str], float]:
    found = ((str(r.get("first")), str(r.get("second")), finite_number(r.get("loss"))) for r in score.by_pair)
    return {(a, b): value for a, b, value in found if value is not None}


def _drawing(title: str, sentence: str, names: Sequence[str], panels: Sequence[tuple[str, _Cells]], largest: float) -> str:
    """Two heat maps in a line; columns are numbered like the rows."""
    beside = min(2, len(panels))
    left = min(_LEFT, max(text_width(f"{len(names)} {n}") for n in names) + 8)
    cell = min(_LARGEST, (WIDTH - left - _GAP * (beside - 1)) / beside / len(names))
    wide, high = cell * len(names) + _GAP, 36.0 + cell * len(names) + 22
    body, y = [_legend(largest)], _TOP
    for start in range(0, len(panels), beside):
        body.append(draw_names(names, 0, y, cell, left))
        for i, (name, cells) in enumerate(panels[start : start + beside]):
            body.append(draw_matrix(name, names, cells, left + i * wide, y, cell, largest))
        y += high
    return document(title, sentence, WIDTH, y, "".join(body))


def _legend(largest: float) -> str:
    steps = [element("rect", x=28 + 16 * i, y=4, width=16, height=13, class_="heat above", fill_opacity=f"{i / 8:.2f}")
             for i in range(9)]
    return "".join((*steps, text(22, 15, "0", "tick", "end"), text(178, 15, f"{largest:g}", "tick")))
