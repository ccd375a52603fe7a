"""Correlations before and after, and their difference, for every release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from larvatus.comparison.headline import Headline
from larvatus.comparison.release_sentences import plain_title
from larvatus.core.number_format import EXACT, finite_number, loss, plural, quote
from larvatus.data.score import Rows, Score
from larvatus.reporting.figures.release_selection import ScoredRelease, select_releases
from larvatus.reporting.figures.small_multiples import WIDTH, heading
from larvatus.reporting.figures.svg import document, element, shorten, text, text_width
from larvatus.reporting.page.blocks import Figure, Fold, ReportBlock
from larvatus.reporting.page.chart_rows import FEW

_MOST_COLUMNS, _MOST_PLACES = 15, 2


def correlation_figures(heads: Sequence[Headline], scores: Sequence[Score | None]) -> list[ReportBlock]:
    """One figure of the columns that changed most, and folded figures of the sub-groups that changed most."""
    drawn, left_out = select_releases(heads, scores)
    places = _MOST_PLACES if len(heads) <= FEW else 1
    inside = [figure for head, score in drawn for figure in _sub_groups(head, score, places)]
    fold = [Fold("The same for the sub-groups that changed most", tuple(inside))] if inside else []
    return [*_figure(drawn, left_out), *fold]


def _sub_groups(head: Headline, score: Score, most: int) -> list[ReportBlock]:
    """The correlations within the sub-groups that changed most in one release."""
    rows = score.details.get("sub_group_pairs", Rows())
    places = [str(p) for p in dict.fromkeys(rows.column("sub_group"))][:most]
    out: list[ReportBlock] = []
    for place in places:
        there = replace(score, by_pair=Rows.of(r for r in rows if r.get("sub_group") == place))
        if any((finite_number(r.get("loss")) or 0.0) >= EXACT for r in there.by_pair):
            out += _figure([(head, there)], "", f" in {place}")
    return out


def _figure(drawn: Sequence[ScoredRelease], left_out: str, where: str = "") -> list[ReportBlock]:
    """Original, released and difference side by side; empty if no pair has both figures."""
    original: dict[tuple[str, str], float] = {}
    panels: list[CorrelationPanel] = []
    for head, score in drawn:
        before, after = _matrices(score)
        original = {**before, **original}
        if after:
            panels.append(CorrelationPanel(head.name, after, {pair: after[pair] - before[pair] for pair in after}))
    names = _worst(panels)
    if not names:
        return []
    kept = names[:_MOST_COLUMNS]
    inside = [abs(v) for p in panels for (a, b), v in p.difference.items() if a in kept and b in kept]
    title = f"{plain_title(drawn[0][1].method)}{where}: original, released and difference"
    some = f" The figure shows the {_MOST_COLUMNS} of {plural(len(names), 'column')} that changed most."
    sentence = _sentence(panels) + (some if len(names) > _MOST_COLUMNS else "") + left_out
    order = [n for n in dict.fromkeys(c for pair in original for c in pair) if n in kept]
    largest = round_end(max(inside, default=0.0))
    return [Figure(title, sentence, draw_correlations(title, sentence, order, original, panels, largest))]


def _matrices(score: Score) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    before, after = {}, {}
    for row in score.by_pair:
        was, now = finite_number(row.get("original")), finite_number(row.get("released"))
        if was is not None and now is not None:
            pair = str(row.get("first")), str(row.get("second"))
            before[pair], after[pair] = was, now
    return before, after


def _worst(panels: Sequence[CorrelationPanel]) -> list[str]:
    """All columns, those with the largest change in any pair first."""
    changed: dict[str, float] = {}
    for p in panels:
        for pair, value in p.difference.items():
            for name in pair:
                changed[name] = max(abs(value), changed.get(name, 0.0))
    return sorted(changed, key=lambda name: -changed[name])


def _sentence(panels: Sequence[CorrelationPanel]) -> str:
    """The pair that changed most, and the releases that preserve every correlation."""
    exact = [quote(p.name) for p in panels if _most(p.difference)[0] < EXACT]
    if len(exact) == len(panels):
        return "Every correlation is unchanged up to rounding."
    most, pair, panel = max((*_most(p.difference), p.name) for p in panels)
    under = f" in {quote(panel)}" if len(panels) > 1 else ""
    said = f"The correlation of {pair[0]} and {pair[1]}{under} changes most: by {loss(most)}."
    keeps = "preserves" if len(exact) == 1 else "preserve"
    return said + (f" {' and '.join(exact)} {keeps} every correlation up to rounding." if exact else "")


def _most(difference: CorrelationCells) -> tuple[float, tuple[str, str]]:
    return max((abs(v), pair) for pair, v in difference.items())


def round_end(largest: float) -> float:
    """The next round number, as the end of the colour scale for differences; 1 if there are none."""
    if largest < EXACT:
        return 1.0
    step = 10.0 ** math.floor(math.log10(largest))
    return min(float(f"{step * math.ceil(largest / step):.1g}"), 2.0)


_GAP, _LEFT, _TOP, _NAMES = 16.0, 150.0, 30.0, 36.0
_WRITTEN = 8  # columns up to which the figures stand in the cells
_LARGEST = 40.0
_LEVELS = 20  # depths of colour
TIGHT = 26.0
STRONG = 0.6  # depth from which the figure is written in the colour of the paper
CorrelationCells = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class CorrelationPanel:
    """One release's correlations by pair."""

    name: str
    released: CorrelationCells
    difference: CorrelationCells


def draw_correlations(
    title: str, sentence: str, names: Sequence[str], original: CorrelationCells, panels: Sequence[CorrelationPanel],
    largest: float
) -> str:
    """As many releases in a line as stay legible, with their differences below; columns are numbered like the rows."""
    each = 4 if len(names) <= 4 else 2
    left = min(_LEFT, max(text_width(f"{len(names)} {n}") for n in names) + 8)
    beside = min(each, len(panels)) + 1
    cell = min(_LARGEST, (WIDTH - left - _GAP * (beside - 1)) / beside / len(names))
    high = _NAMES + cell * len(names) + 22
    body, y = [_legend(largest)], _TOP
    for start in range(0, len(panels), each):
        some = panels[start : start + each]
        wide = cell * len(names) + _GAP
        for i, (name, matrix) in enumerate([("original", original), *((p.name, p.released) for p in some)]):
            body.append(draw_matrix(name, names, matrix, left + i * wide, y, cell, 1.0))
        body += [draw_names(names, 0, y, cell, left), draw_names(names, wide, y + high, cell, left)]
        for i, p in enumerate(some):
            body.append(draw_matrix("difference", names, p.difference, left + (i + 1) * wide, y + high, cell, largest))
        y += 2 * high
    return document(title, sentence, WIDTH, y, "".join(body))


def draw_names(names: Sequence[str], x: float, y: float, cell: float, left: float) -> str:
    out = []
    for i, name in enumerate(names):
        said = f"{i + 1} {name}"
        short = shorten(said, left - 8)
        out.append(text(x, y + _NAMES + cell * (i + 0.5) + 4, short, hint=name if short != said else ""))
    return "".join(out)


def draw_matrix(
    name: str, names: Sequence[str], matrix: CorrelationCells, x: float, y: float, cell: float, largest: float
) -> str:
    out = [heading(x, y + 14, cell * len(names) + _GAP - 6, name)]
    places: dict[tuple[str, int], list[str]] = {}
    texts: list[str] = []
    square = f"h{cell:.2f}v{cell:.2f}h-{cell:.2f}z"
    every = math.ceil((text_width(str(len(names))) + 3) / cell)
    for i, a in enumerate(names):
        if i % every == 0:
            out.append(text(x + cell * (i + 0.5), y + _NAMES - 5, str(i + 1), "tick", "middle"))
        for j, b in enumerate(names):
            value = matrix.get((a, b), matrix.get((b, a)))
            if value is not None and i != j:
                places.setdefault(_colour(value, largest),
                                  []).append(f"M{x + cell * j:.1f} {y + _NAMES + cell * i:.1f}{square}")
                if len(names) <= _WRITTEN:
                    texts.append(_cell_figure(value, x + cell * j, y + _NAMES + cell * i, cell, largest))
    out += [element("path", d="".join(parts), class_=f"heat {tone}", fill_opacity=f"{depth / _LEVELS:.2f}")
            for (tone, depth), parts in places.items() if depth]
    out += texts
    out.append(element("rect", x=x, y=y + _NAMES, width=cell * len(names), height=cell * len(names), class_="frame"))
    return "".join(out)


def _colour(value: float, largest: float) -> tuple[str, int]:
    """Above or below zero, and one of a few depths, so that one path can draw all cells of one colour."""
    return "above" if value > 0 else "below", round(_LEVELS * min(abs(value) / largest, 1.0))


def _cell_figure(value: float, x: float, y: float, cell: float, largest: float) -> str:
    class_ = "in" + " tight" * (cell < TIGHT) + " strong" * (_colour(value, largest)[1] > STRONG * _LEVELS)
    return text(x + cell / 2, y + cell / 2 + 4, hundredths(value), class_, "middle")


def hundredths(value: float) -> str:
    """Two decimals without the leading zero."""
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
    named = f"colours of correlations; for differences, −{largest:g} to {largest:g}"
    return "".join((*out, text(202, 15, named, "tick")))
