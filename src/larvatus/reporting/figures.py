"""Which figure is drawn for which numbers, or which sentence stands in its place."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.reporting.contents import Block, Figure, Fold, Paragraph
from larvatus.reporting.dots import Tone, drawn_dots
from larvatus.reporting.headline import Headline, unbeaten
from larvatus.reporting.lanes import Lane, chosen
from larvatus.reporting.numbers import count, loss, plural, share
from larvatus.reporting.risk_utility_map import drawn_map, points_of
from larvatus.reporting.sentences import FEW, loss_sentence, map_sentence, risk_sentence
from larvatus.reporting.strips import drawn_strips
from larvatus.reporting.tables import lanes_table

MOST_LANES = 30
MOST_STRIPS = 80


def map_block(heads: Sequence[Headline], measures: Sequence[str]) -> Block:
    """The risk–utility map, or why there is none."""
    points = points_of(heads)
    if not points:
        lacking = "attack" if all(h.attack is None for h in heads) else "loss that all releases share"
        return Paragraph(f"There is no risk–utility map: no {lacking} is known.", "quiet")
    title = "Risk and loss of each release"
    sentence = map_sentence(points, len(heads) - len(points))
    axis = f"loss: {measures[0].replace('_', ' ')}" if len(measures) == 1 else f"loss: mean of {count(len(measures))} measures"
    return Figure(title, sentence, drawn_map(points, title, sentence, axis))


def lanes_blocks(name: str, what: str, heads: Sequence[Headline], lanes: Sequence[Lane], tone: Tone) -> tuple[Block, ...]:
    """Figures of the worst lanes and a table of all, or the one sentence that says as much."""
    if not lanes:
        return (Paragraph(f"No figure by {what} is given.", "quiet"),)
    if len(lanes) == 1 and what == "sub-group":
        return (Paragraph("There is one sub-group, so the overall figure is also its figure.", "quiet"),)
    if all(m.value == 0 for lane in lanes for m in lane.marks if m):
        return (Paragraph(f"The {tone} is 0 in every {what} of every release.", "quiet"),)
    whole = lanes_table(f"{name}: {tone} by {what}", what, heads, lanes, tone)
    return (*_drawn(name, what, heads, lanes, tone), Fold(f"All {plural(len(lanes), what)} as a table", (whole,)))


def _drawn(name: str, what: str, heads: Sequence[Headline], lanes: Sequence[Lane], tone: Tone) -> tuple[Block, ...]:
    if len(heads) <= FEW:
        return (_dots(f"{name}: {tone} by {what}", what, heads, lanes, tone),)
    out: list[Block] = [_strips(f"{name}: {tone} by {what}, all releases", what, heads, lanes, tone)]
    places = [h.number - 1 for h in (unbeaten(heads) or heads)[:FEW]]
    if tone == "risk":
        few = [heads[p] for p in places]
        kept = chosen(lanes, places)
        if kept:
            out.append(_dots(f"{name}: {tone} by {what}, the least risky unbeaten releases", what, few, kept, tone))
    return tuple(out)


def _dots(title: str, what: str, heads: Sequence[Headline], lanes: Sequence[Lane], tone: Tone) -> Figure:
    shown = lanes[:MOST_LANES]
    sentence = _said(lanes, heads, what, tone) + _more(lanes, what, tone)
    return Figure(title, sentence, drawn_dots(title, sentence, [h.name for h in heads], shown, tone))


def _strips(title: str, what: str, heads: Sequence[Headline], lanes: Sequence[Lane], tone: Tone) -> Figure:
    sentence = _said(lanes, heads, what, tone) + _more(lanes, what, tone)
    if len(heads) > MOST_STRIPS:
        sentence += f" The first {MOST_STRIPS} of {count(len(heads))} releases are drawn."
    few = chosen(lanes, range(min(len(heads), MOST_STRIPS)))[:MOST_LANES]
    return Figure(title, sentence, drawn_strips(title, sentence, [h.number for h in heads[:MOST_STRIPS]], few, tone))


def _said(lanes: Sequence[Lane], heads: Sequence[Headline], what: str, tone: Tone) -> str:
    return risk_sentence(lanes, heads) if tone == "risk" else loss_sentence(lanes, heads, what)


def _more(lanes: Sequence[Lane], what: str, tone: Tone) -> str:
    if len(lanes) <= MOST_LANES:
        return ""
    rest = lanes[MOST_LANES].worst
    highest = share(rest) if tone == "risk" else loss(rest)
    return f" The {MOST_LANES} worst of {plural(len(lanes), what)} are drawn; none of the others is above {highest}."
