"""Choose the figure for a set of numbers, or a sentence in its place."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.headline import Headline, unbeaten
from larvatus.core.number_format import EXACT, count, loss, plural, share
from larvatus.reporting.figures.captions import loss_sentence, risk_sentence
from larvatus.reporting.figures.dot_plot import DotTone, draw_dots
from larvatus.reporting.figures.strip_chart import draw_strips
from larvatus.reporting.page.blocks import Figure, Fold, Paragraph, ReportBlock
from larvatus.reporting.page.chart_rows import FEW, Lane, select_marks
from larvatus.reporting.page.search_table import search_table
from larvatus.reporting.page.tables import MOST_ACROSS, lanes_table

_MOST_LANES = 20
FEWER_LANES = 15
MOST_STRIPS = 80


def lanes_blocks(
    name: str, what: str, heads: Sequence[Headline], lanes: Sequence[Lane], tone: DotTone, methods: int = 1
) -> tuple[ReportBlock, ...]:
    """Figures of the worst lanes and a table of all, or one sentence if that says the same."""
    if not lanes:
        return (Paragraph(f"There are no figures by {what}.", "quiet"),)
    if len(lanes) == 1 and what == "sub-group":
        return (Paragraph("There is only one sub-group, so its figure is the overall figure.", "quiet"),)
    if all(abs(m.value) < EXACT for lane in lanes for m in lane.marks if m):
        return (Paragraph(f"The {tone} is 0 in every {what} of every release.", "quiet"),)
    whole = lanes_table(f"{name}: {tone} by {what}", what, heads, lanes, tone)
    each = search_table(name, what, heads, lanes, tone, methods) if len(heads) > MOST_ACROSS else None
    tables: tuple[ReportBlock, ...] = (whole, each) if each else (whole,)
    return (*_drawn(name, what, heads, lanes, tone), Fold(f"All {plural(len(lanes), what)} as a table", tables, "worst"))


def _drawn(name: str, what: str, heads: Sequence[Headline], lanes: Sequence[Lane], tone: DotTone) -> tuple[ReportBlock, ...]:
    if len(heads) <= FEW:
        return (_dots(f"{name}: {tone} by {what}", what, heads, lanes, tone),)
    out: list[ReportBlock] = [_strips(f"{name}: {tone} by {what}, all releases", what, heads, lanes, tone)]
    places = [h.number - 1 for h in (unbeaten(heads) or heads)[:FEW]]
    if tone == "risk":
        few = [heads[p] for p in places]
        kept = select_marks(lanes, places)
        if kept:
            out.append(_dots(f"{name}: {tone} by {what}, releases on the frontier", what, few, kept, tone, FEWER_LANES))
    return tuple(out)


def _dots(
    title: str, what: str, heads: Sequence[Headline], lanes: Sequence[Lane], tone: DotTone, most: int = _MOST_LANES
) -> Figure:
    shown = lanes[:most]
    sentence = _said(lanes, heads, what, tone) + _more(lanes, what, tone, most)
    return Figure(title, sentence, draw_dots(title, sentence, [h.name for h in heads], shown, tone))


def _strips(title: str, what: str, heads: Sequence[Headline], lanes: Sequence[Lane], tone: DotTone) -> Figure:
    sentence = _said(lanes, heads, what, tone) + _more(lanes, what, tone)
    if len(heads) > MOST_STRIPS:
        sentence += f" The figure shows the first {MOST_STRIPS} of {count(len(heads))} releases."
    few = select_marks(lanes, range(min(len(heads), MOST_STRIPS)))[:_MOST_LANES]
    return Figure(title, sentence, draw_strips(title, sentence, [h.number for h in heads[:MOST_STRIPS]], few, tone))


def _said(lanes: Sequence[Lane], heads: Sequence[Headline], what: str, tone: DotTone) -> str:
    return risk_sentence(lanes, heads, what) if tone == "risk" else loss_sentence(lanes, heads, what)


def _more(lanes: Sequence[Lane], what: str, tone: DotTone, most: int = _MOST_LANES) -> str:
    if len(lanes) <= most:
        return ""
    rest = lanes[most].worst
    highest = share(rest) if tone == "risk" else loss(rest)
    others = "" if tone == "risk" and rest >= 1 else f"; the others are at most {highest}"
    return f" The figure shows the worst {most} of {plural(len(lanes), what)}{others}."
