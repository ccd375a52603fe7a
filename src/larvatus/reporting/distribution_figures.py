"""Original against released distributions: which variables, releases and sub-groups are drawn, and what to see."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.data.score import Score
from larvatus.reporting.contents import Block, Figure, Fold, Paragraph
from larvatus.reporting.distribution_panels import Panel, Row, drawn_distributions
from larvatus.reporting.drawn_releases import drawn_releases
from larvatus.reporting.ecdf_figures import ecdf_blocks
from larvatus.reporting.headline import Headline
from larvatus.reporting.histograms import WHOLE, Histogram, histograms_of
from larvatus.reporting.numbers import EXACT, plural, quoted, share

MOST_VARIABLES = 6
MOST_PLACES = 3
WIDENING = " Bins widen towards the tails, so equal steps along the axis are not equal steps in value."
OPEN = " The outermost bins hold all that lies beyond."
ByPlace = dict[str, dict[str, Histogram]]


def distribution_figures(heads: Sequence[Headline], scores: Sequence[Score | None]) -> list[Block]:
    """One figure of the whole file with all releases, and the most changed sub-groups of each release on request."""
    drawn, left_out = drawn_releases(heads, scores)
    found = [(head, histograms_of(score)) for head, score in drawn]
    whole = [(head, places.get(WHOLE, {})) for head, places in found]
    variables = _worst([by_variable for _, by_variable in whole])
    if not variables:
        return []
    rows = tuple(
        Row(v, tuple(Panel(head.name, by[v]) for head, by in whole if v in by)) for v in variables[:MOST_VARIABLES]
    )
    title = "Original against released distributions"
    sentence = _sentence(rows, len(whole)) + _variables_text(variables) + left_out + _bins_text(rows)
    figure = Figure(title, sentence, drawn_distributions(title, sentence, rows))
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
            moved[name] = max(h.moved, moved.get(name, 0.0))
    return sorted(moved, key=lambda name: -moved[name])


def _sentence(rows: Sequence[Row], releases: int) -> str:
    """The panel that changed most, and the releases in which nothing changed."""
    panels = [(p.histogram.moved, row.heading, p.name) for row in rows for p in row.panels]
    most, variable, name = max(panels)
    if most < EXACT:
        return "Every histogram is the same before and after" + (" in every release." if releases > 1 else ".")
    under = f" under {quoted(name)}" if releases > 1 else ""
    said = f"{variable} changes most{under}: {share(most)} of its records would have to change bin to make both alike."
    names = dict.fromkeys(name for _, _, name in panels)
    same = [quoted(n) for n in names if all(m < EXACT for m, _, other in panels if other == n)]
    return said + (f" {' and '.join(same)} {'keeps' if len(same) == 1 else 'keep'} every histogram as it was." if same else "")


def _variables_text(variables: Sequence[str]) -> str:
    if len(variables) <= MOST_VARIABLES:
        return ""
    return f" The {MOST_VARIABLES} most changed of {plural(len(variables), 'variable')} are drawn."


def _bins_text(rows: Sequence[Row]) -> str:
    return OPEN + (WIDENING if any(p.histogram.axis.widens for row in rows for p in row.panels) else "")


def _sub_groups(head: Headline, places: ByPlace, releases: int) -> list[Block]:
    """One release: its most changed sub-groups beside each other, or that none changed."""
    chosen = [place for place in places if place != WHOLE][:MOST_PLACES]
    variables = _worst([places[place] for place in chosen])
    if not variables:
        return []
    rows = tuple(
        Row(v, tuple(Panel(place, places[place][v]) for place in chosen if v in places[place]))
        for v in variables[:MOST_VARIABLES]
    )
    most, variable, place = max((p.histogram.moved, row.heading, p.name) for row in rows for p in row.panels)
    if most < EXACT:
        return [Paragraph(f"{quoted(head.name)} keeps every histogram as it was in every sub-group.", "quiet")]
    title = f"{head.name}: " * (releases > 1) + f"the {plural(len(chosen), 'sub-group')} that changed most"
    sentence = f"{variable} changes most in {place}: {share(most)} of the records would have to change bin."
    sentence += _variables_text(variables)
    return [Figure(title, sentence, drawn_distributions(title, sentence, rows))]
