"""Original and released distributions: choose the variables, releases and sub-groups to draw, and describe them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from larvatus.comparison.headline import Headline
from larvatus.core.number_format import EXACT, plural, quote, share
from larvatus.data.score import Score
from larvatus.reporting.figures.ecdf import ecdf_blocks
from larvatus.reporting.figures.histograms import WHOLE, Histogram, cumulate, histograms_of
from larvatus.reporting.figures.release_selection import select_releases
from larvatus.reporting.figures.small_multiples import (
    WIDTH,
    Frame,
    base_line,
    columns,
    heading,
    panel_steps,
    rising,
    value_ticks,
)
from larvatus.reporting.figures.svg import document, element, line, shorten, text, text_width
from larvatus.reporting.page.blocks import Figure, Fold, Paragraph, ReportBlock

_MOST_VARIABLES = 6
_MOST_PLACES = 3
_WIDENING = " Bins are wider in the tails, so the axis is not to scale."
_OPEN = " The outermost bins include all values beyond them."
ByPlace = dict[str, dict[str, Histogram]]


def distribution_figures(heads: Sequence[Headline], scores: Sequence[Score | None]) -> list[ReportBlock]:
    """One figure of the whole file with all releases, and folded figures of the sub-groups that changed most."""
    drawn, left_out = select_releases(heads, scores)
    found = [(head, histograms_of(score)) for head, score in drawn]
    whole = [(head, places.get(WHOLE, {})) for head, places in found]
    variables = _worst([by_variable for _, by_variable in whole])
    if not variables:
        return []
    rows = tuple(
        DistributionRow(v, tuple(DistributionPanel(head.name, by[v]) for head, by in whole if v in by))
        for v in variables[:_MOST_VARIABLES]
    )
    title = "Original and released distributions"
    sentence = _sentence(rows, len(whole)) + _variables_text(variables) + left_out + _bins_text(rows)
    figure = Figure(title, sentence, draw_distributions(title, sentence, rows))
    gaps = ecdf_blocks([(head.name, by) for head, by in whole if by], variables, left_out)
    inside = [made for head, places in found for made in _sub_groups(head, places, len(heads))]
    if not inside:
        return [figure, *gaps]
    return [figure, *gaps, Fold("The same for the sub-groups that changed most", tuple(inside))]


def _worst(files: Sequence[dict[str, Histogram]]) -> list[str]:
    """All variables, those that changed most in any release first."""
    moved: dict[str, float] = {}
    for by_variable in files:
        for name, h in by_variable.items():
            moved[name] = max(h.share_moved, moved.get(name, 0.0))
    return sorted(moved, key=lambda name: -moved[name])


def _sentence(rows: Sequence[DistributionRow], releases: int) -> str:
    """The variable that changed most, and the releases in which nothing changed."""
    panels = [(p.histogram.share_moved, row.heading, p.name) for row in rows for p in row.panels]
    most, variable, name = max(panels)
    if most < EXACT:
        return "Every histogram is unchanged" + (" in every release." if releases > 1 else ".")
    under = f" in {quote(name)}" if releases > 1 else ""
    said = f"{variable} changes most{under}: {share(most)} of its records would have to change bin to restore the original."
    names = dict.fromkeys(name for _, _, name in panels)
    same = [quote(n) for n in names if all(m < EXACT for m, _, other in panels if other == n)]
    return said + (f" {' and '.join(same)} {'keeps' if len(same) == 1 else 'keep'} every histogram unchanged." if same else "")


def _variables_text(variables: Sequence[str]) -> str:
    if len(variables) <= _MOST_VARIABLES:
        return ""
    return f" The figure shows the {_MOST_VARIABLES} of {plural(len(variables), 'variable')} that changed most."


def _bins_text(rows: Sequence[DistributionRow]) -> str:
    return _OPEN + (_WIDENING if any(p.histogram.axis.widens for row in rows for p in row.panels) else "")


def _sub_groups(head: Headline, places: ByPlace, releases: int) -> list[ReportBlock]:
    """One release: the sub-groups that changed most side by side, or a note that none changed."""
    chosen = [place for place in places if place != WHOLE][:_MOST_PLACES]
    variables = _worst([places[place] for place in chosen])
    if not variables:
        return []
    rows = tuple(
        DistributionRow(v, tuple(DistributionPanel(place, places[place][v]) for place in chosen if v in places[place]))
        for v in variables[:_MOST_VARIABLES]
    )
    most, variable, place = max((p.histogram.share_moved, row.heading, p.name) for row in rows for p in row.panels)
    if most < EXACT:
        return [Paragraph(f"{quote(head.name)} keeps every histogram unchanged in every sub-group.", "quiet")]
    title = f"{head.name}: " * (releases > 1) + f"the {plural(len(chosen), 'sub-group')} that changed most"
    sentence = f"{variable} changes most in {place}: {share(most)} of the records would have to change bin."
    sentence += _variables_text(variables)
    return [Figure(title, sentence, draw_distributions(title, sentence, rows))]


_TOP, _NAMES, _HIGH, BETWEEN, CUMULATED, _FOOT = 34.0, 62.0, 74.0, 10.0, 46.0, 38.0
_BESIDE = 2  # panels up to which cumulated shares stand beside the histogram instead of below it


@dataclass(frozen=True, slots=True)
class DistributionPanel:
    """A histogram under its name."""

    name: str
    histogram: Histogram


@dataclass(frozen=True, slots=True)
class DistributionRow:
    """Panels that share their heading and the height of their scale."""

    heading: str
    panels: tuple[DistributionPanel, ...]


def draw_distributions(
    title: str, sentence: str, rows: Sequence[DistributionRow], binned: str = "bin", verb: str = "change bin"
) -> str:
    """All rows, each on its own scale, so that neighbouring panels can be compared."""
    most = max(len(row.panels) for row in rows)
    high = _NAMES + _HIGH + _FOOT + (0 if most <= _BESIDE else BETWEEN + CUMULATED)
    body = [_legend(most <= _BESIDE, binned)]
    body += [_row(row, _TOP + high * i, most, verb) for i, row in enumerate(rows)]
    return document(title, sentence, WIDTH, _TOP + high * len(rows) - 12, "".join(body))


def _row(row: DistributionRow, y: float, most: int, verb: str) -> str:
    highest = max(h for p in row.panels for side in (p.histogram.original, p.histogram.released)
                  for h in p.histogram.heights(side))
    out = [line(0, y + 2, WIDTH, y + 2, "grid"), text(0, y + 20, shorten(row.heading, WIDTH), "row", hint=row.heading)]
    places = columns(2 * most if most <= _BESIDE else most)
    for i, panel in enumerate(row.panels):
        beside = most <= _BESIDE
        x, wide = places[2 * i if beside else i]
        upper = Frame(x, y + _NAMES, wide, _HIGH)
        lower = Frame(places[2 * i + 1][0], y + _NAMES, wide, _HIGH) if beside else (
            Frame(x, upper.base + BETWEEN, wide, CUMULATED)
        )
        out.append(heading(x, y + 39, wide, panel.name, _moved(panel.histogram.share_moved, verb)))
        out.append(_panel(panel.histogram, upper, lower, highest))
        out.append(value_ticks(panel.histogram.axis, lower) + (value_ticks(panel.histogram.axis, upper) if beside else ""))
    return "".join(out)


def _moved(moved: float, verb: str) -> str:
    return "same in every bin" if moved < EXACT else f"{share(moved)} {verb}"


def _panel(drawn: Histogram, upper: Frame, lower: Frame, highest: float) -> str:
    ends = drawn.axis.ends
    sides = ((drawn.original, "was"), (drawn.released, "now"))
    out = [panel_steps(ends, drawn.heights(shares), upper, class_, highest) for shares, class_ in sides]
    out += [line(lower.x, lower.up(p), lower.x + lower.wide, lower.up(p), "grid") for p in (0.5, 1.0)]
    out += [rising(ends, cumulate(shares), lower, f"{class_} line") for shares, class_ in sides]
    return "".join((*out, base_line(upper), base_line(lower)))


def _legend(beside: bool, binned: str) -> str:
    where = ("left", "right") if beside else ("above", "below")
    said = f"{where[0]}: share of records by {binned}; {where[1]}: cumulative share, 0 to 100 %"
    out = [element("rect", x=0, y=5, width=18, height=12, class_="was"), text(24, 16, "original", "tick")]
    out += [line(90, 11, 110, 11, "now line"), text(116, 16, "released", "tick")]
    return "".join((*out, text(116 + text_width("released") + 18, 16, said, "tick")))
